"""The settings of the controls of NLAC: DRLC, Early Experience and Critique-RL. It does not import torch."""

from pydantic import Field

from nlac_bench.agents.nlac.config import FuturesConfig, ImprovementConfig, ShuffleConfig
from nlac_bench.baselines.config import PpoConfig


class DrlcConfig(PpoConfig, ImprovementConfig, FuturesConfig, ShuffleConfig):
    """Settings of DRLC; the others are those of PPO.

    The authors' scripts weigh good and bad spans by 0.8 and 0.8 (sentiment) or by 0.1 and 0.5 (toxicity), and
    the environment's reward by 1.
    """

    verdict_coef: float = Field(
        0.8,
        ge=0,
        description="reward of a turn whose action the critic calls optimal, and cost of any other (alpha 2); "
        "0 is PPO",
    )
