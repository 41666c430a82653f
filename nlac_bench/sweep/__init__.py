"""Plans, plays and reports sweeps: methods × environments × seeds."""
