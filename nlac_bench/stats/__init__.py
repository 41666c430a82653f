"""Intervals, pass^k, paired comparisons, comparisons over seeds."""
