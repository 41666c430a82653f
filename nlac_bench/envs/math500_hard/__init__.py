"""MATH500-Hard: official and generated mathematics problems, and the grader of their answers."""

from nlac_bench.envs.math500_hard.env import Math500HardEnv, Math500HardEnvVector

__all__ = ["Math500HardEnv", "Math500HardEnvVector"]
