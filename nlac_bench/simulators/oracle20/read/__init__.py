"""Parses a question into a formula."""
