"""Runs on disk, configurations, and from a configuration to played episodes."""
