"""Engines: what samples text for an agent, a simulator or a training algorithm."""
