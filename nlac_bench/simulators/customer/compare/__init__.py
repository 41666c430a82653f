"""Compares what an agent's message says with the customer's goal."""
