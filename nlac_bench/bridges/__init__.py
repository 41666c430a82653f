"""Bridges to other packages' environments, evaluation tools, trainers and trackers; each is an extra."""

from nlac_bench.bridges.require import require

__all__ = ["require"]
