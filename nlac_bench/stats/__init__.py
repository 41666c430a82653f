"""Statistics of runs: intervals, pass^k, paired comparisons and tables."""
