"""Who plays: floors, the oracle, prompted agents, NLAC."""
