"""The environment first_steps."""

from nlac_bench.envs.first_steps.env import FirstStepsEnv
from nlac_bench.envs.vector import vectorized

FirstStepsEnvVector = vectorized(FirstStepsEnv)

__all__ = ["FirstStepsEnv", "FirstStepsEnvVector"]
