"""Simulations of the intervals' coverage; docs/statistics.md has their results."""
