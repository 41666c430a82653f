"""The Agent protocol: one policy, many episodes at once. Defined beside the driver, which plays agents."""

from nlac_bench.rollout.actor import Actor, Agent

__all__ = ["Actor", "Agent"]
