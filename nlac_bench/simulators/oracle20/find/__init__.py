"""Finds the question in a message, and its words."""
