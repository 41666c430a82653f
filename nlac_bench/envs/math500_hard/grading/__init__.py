"""Grades mathematical answers: extraction, parsing, comparison, and worker processes with resource limits."""
