"""Compares an answer with the gold answer."""
