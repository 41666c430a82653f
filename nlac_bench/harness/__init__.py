"""Runs: what is on disk, and how episodes are played from a configuration."""
