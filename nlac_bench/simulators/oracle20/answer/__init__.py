"""Computes for which objects a formula is true."""
