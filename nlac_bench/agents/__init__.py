"""Agents: floors, the oracle, prompted agents, and the registry of training algorithms."""
