"""MATH500-Hard: mathematics problems, the grader of their answers, and generated problems of the same kind."""

from nlac_bench.envs.math500_hard.env import Math500HardEnv, Math500HardEnvVector

__all__ = ["Math500HardEnv", "Math500HardEnvVector"]
