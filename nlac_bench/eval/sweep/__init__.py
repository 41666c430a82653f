"""Sweeps: methods × environments × seeds, played and compared."""
