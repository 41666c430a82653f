"""Computes the values of nodes, exactly and numerically."""
