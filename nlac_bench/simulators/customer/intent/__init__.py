"""Describes what the customer wants and knows, and writes it as text."""
