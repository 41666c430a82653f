"""Compares this engine with the original τ-bench, by recorded calls and by running both."""
