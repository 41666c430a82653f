"""Reads what is known about each object."""
