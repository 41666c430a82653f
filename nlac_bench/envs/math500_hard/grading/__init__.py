"""Grading mathematical answers: extraction, parsing, comparison, and the worker processes that bound them."""
