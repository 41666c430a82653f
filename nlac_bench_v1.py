"""The module of the id ``nlac-bench-v1`` of verifiers, which imports top-level modules only."""

from nlac_bench.bridges.verifiers import ChatHarness, NlacEnv, NlacTaskset

__all__ = ["ChatHarness", "NlacEnv", "NlacTaskset"]
