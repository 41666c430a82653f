"""Statistics of runs: intervals, pass^k, paired comparisons, tables."""
