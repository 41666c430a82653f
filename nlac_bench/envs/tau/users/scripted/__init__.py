"""Implements the scripted user, which parses the agent's messages and answers without a model."""
