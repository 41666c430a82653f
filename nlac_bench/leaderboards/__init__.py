"""Entries of boards: made from runs, checked, and collected."""
