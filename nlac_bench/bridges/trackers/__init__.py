"""Experiment trackers; each implements ``nlac_bench.harness.runs.trackers.Tracker``."""

PROJECT = "nlac-bench"
"""The project or experiment that runs are logged to, where the tracker's own settings name none."""
