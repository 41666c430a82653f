"""Simulations of the coverage of the confidence intervals; docs/statistics.md contains the results."""
