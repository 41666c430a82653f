"""Figures, reports of runs and sweeps, pages of boards."""
