"""The names of the built-in agents that are not trained; training algorithms are in ``agents.methods``."""

FLOORS = ("silent", "random", "constant", "copy", "transfer", "oracle")
"""Agents that play without a model."""

PROMPTED = ("react", "act", "tool_calling")
"""Agents that prompt a model and are never trained."""
