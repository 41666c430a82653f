"""Measuring an agent: from a configuration to played episodes."""
