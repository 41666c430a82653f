"""Decides what the customer answers."""
