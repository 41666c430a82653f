"""Implements the grammar of yes/no questions, which maps words to formulas."""
