"""The environment twenty questions, its oracles, its objects and its question parser."""

from nlac_bench.envs.twenty_questions.env import TwentyQuestionsEnv
from nlac_bench.envs.vector import vectorized

TwentyQuestionsEnvVector = vectorized(TwentyQuestionsEnv)

__all__ = ["TwentyQuestionsEnv", "TwentyQuestionsEnvVector"]
