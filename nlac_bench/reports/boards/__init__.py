"""Renders boards: tables and pages of the entries of each board."""
