"""The question in a message, and its words."""
