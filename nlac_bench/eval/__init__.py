"""Evaluation: runs on disk, measurements, training runs, sweeps, statistics and comparisons."""
