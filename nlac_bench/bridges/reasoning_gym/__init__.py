"""The task families of the package reasoning-gym as environments of one step."""

from nlac_bench.bridges.reasoning_gym.env import ReasoningGymEnv, ReasoningGymEnvVector

__all__ = ["ReasoningGymEnv", "ReasoningGymEnvVector"]
