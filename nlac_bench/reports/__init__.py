"""Pages and figures: learning curves, reports of runs and comparisons, boards."""
