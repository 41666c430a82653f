"""Extracts the final answer from a solution."""
