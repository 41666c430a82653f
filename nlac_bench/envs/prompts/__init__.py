"""Rows of a file as tasks of one step: prompts and rewards as verl's data files have them."""

from nlac_bench.envs.prompts.env import PromptsEnv, PromptsEnvVector

__all__ = ["PromptsEnv", "PromptsEnvVector"]
