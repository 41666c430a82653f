"""Measurements for machines with GPUs (``nlac-bench bench-gpu``): learner, weight pushes, rollout."""
