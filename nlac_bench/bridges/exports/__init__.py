"""Writes what a run played in the formats of other programs: Inspect, ATIF, Every Eval Ever, tables."""
