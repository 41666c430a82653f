"""Agents: floors, prompted agents, NLAC, and the roles that trained methods share."""
