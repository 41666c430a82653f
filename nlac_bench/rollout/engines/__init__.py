"""Engines, which sample text from a model for an agent, a simulator or a training algorithm."""
