"""Checks of this engine against the original τ-bench: recorded calls, and both run side by side."""
