"""Reads a message: its units, their acts, and the values that they name."""
