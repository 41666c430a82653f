"""The settings of NLAC's ablations and controls. This file does not import torch."""

from dataclasses import replace
from typing import Literal, Self

from pydantic import Field, model_validator

from nlac_bench.agents.nlac.config import (
    FuturesConfig,
    ImprovementConfig,
    LanguageCriticConfig,
    PlayedReadConfig,
    RefinementConfig,
    ShuffleConfig,
)
from nlac_bench.baselines.config import CandidatesConfig, PpoConfig, RftConfig
from nlac_bench.errors import ConfigError
from nlac_bench.learner.transition_cost import Counts, TransitionCost


class DrlcConfig(PpoConfig, ImprovementConfig, FuturesConfig, ShuffleConfig):
    """Settings of DRLC; the others are those of PPO.

    The authors' scripts weigh good and bad spans by 0.8 and 0.8 (sentiment) or by 0.1 and 0.5 (toxicity), and
    the environment's reward by 1.
    """

    verdict_coef: float = Field(
        0.8,
        ge=0,
        description="reward of a turn whose action the critic calls optimal, and cost of the others, less "
        "their mean (alpha 2); 0 is PPO",
    )

    @property
    def samples_initial(self) -> bool:
        """Whether a critic is asked: it is the initial model."""
        return self.verdict_coef > 0

    def own_cost(self, turns: float) -> TransitionCost:
        """Return the cost of PPO, with a future and a critique of each action."""
        judged = float(self.verdict_coef > 0)
        answers: Counts = {"policy": 1, "successor": judged * self.num_nlq_samples, "evaluator": judged}
        return replace(super().own_cost(turns), answers=answers)


class EarlyExperienceConfig(RftConfig):
    """Settings of Early Experience; the paper chooses K for each environment."""

    imitates: Literal["successes", "expert"] = Field(
        "successes",
        description="what is imitated: successes of the policy, or an expert as in the paper, which is the "
        "environment's oracle; no other method learns from it",
    )
    num_alternatives: int = Field(
        4, ge=0, description="other actions that are drawn in each state (K); 0 is imitation only"
    )
    world_model_share: float = Field(
        0.25,
        ge=0,
        le=1,
        description="share of the budget in which answers to the other actions are learned, before imitation",
    )

    def own_cost(self, turns: float) -> TransitionCost:
        """Return the mean cost of both stages; the expert plays the tasks of an iteration again."""
        first, tried = self.world_model_share, self.num_alternatives
        explored, expert = first * tried, float(self.imitates == "expert")
        return TransitionCost(
            further_steps=explored + (first * (turns - 1) / 2 if tried else 0) + expert,
            answers={"policy": 1 + explored},
            backward={"policy": (items := explored + (1 - first if tried else 1))},
            items=items,
        )


class CritiqueRlConfig(ImprovementConfig, FuturesConfig):
    """Settings of Critique-RL, with the defaults of its published scripts where they have the setting."""

    ANY_TEMPERATURE = False

    reward: Literal["critique_rl", "ctrl", "rl4f"] = Field(
        "critique_rl",
        description="of a critique: critique_rl (the verdict, in stage two also the refined action), ctrl "
        "(success of the refined action, -1 without a verdict) or rl4f (success of the refined action)",
    )
    stage_one: float = Field(
        0.25, ge=0, le=1, description="share of the budget of the first stage of critique_rl"
    )
    num_critiques: int = Field(4, ge=2, description="critiques of an action, which are compared (G)")
    num_nlq_samples: int = Field(
        1,
        ge=0,
        description="futures of a critique, which are learned with it (k); 0 as in the paper (the embedded "
        "models learned to read at least 1)",
    )
    transitions_per_iteration: int = Field(
        32, ge=1, description="actions per iteration that are criticised; refined ones cost environment steps"
    )
    policy_coef: float = Field(1.0, ge=0, description="weight of L2, which distils a refined action")
    improvement_temperature: float = Field(0.0, ge=0, description="sampling temperature of the refiner")
    clip_ratio: float = Field(0.2, gt=0, description="bound of the probability ratio (epsilon)")
    num_epochs: int = Field(2, ge=1, description="passes over an iteration's critiques")
    kl_coef: float = Field(0.01, ge=0, description="weight of KL(policy || initial policy)")

    def own_cost(self, turns: float) -> TransitionCost:
        """Return the mean cost of both stages; in the second one each critique has a refined action."""
        count, passes, before = self.num_critiques, self.num_epochs, (turns - 1) / 2
        futures = count * self.num_nlq_samples
        played = max(1.0, self.train_batch_size * turns / self.transitions_per_iteration)
        second = 1 - self.stage_one if self.reward == "critique_rl" else 1.0
        return TransitionCost(
            played=played,
            further_steps=second * (before + count * (before + 1)),
            answers={
                "policy": played + second * count * before,
                "successor": futures,
                "evaluator": count,
                "refiner": second * count,
            },
            backward={
                "successor": futures * passes,
                "evaluator": count * passes,
                "policy": second * passes,
            },
            forward={"successor": futures, "evaluator": count, "policy": second},
            items=(futures + count + second) * passes,
        )


class NlqlConfig(LanguageCriticConfig, CandidatesConfig):
    """Settings of NLQL: those of NLAC's critic, and the number of candidates."""

    def own_cost(self, turns: float) -> TransitionCost:
        """Return what the roles answer: a backup, and a critique of each candidate."""
        bellman, played, candidates = float(self.backs_up), 1 / self.replay_ratio, self.num_candidates
        return TransitionCost(
            played=played,
            answers={
                "policy": played + bellman + candidates,
                "successor": bellman + candidates * self.num_nlq_samples,
                "backup": bellman,
                "evaluator": candidates,
            },
            backward={"successor": bellman, "policy": 1},
        )


class SelfDistillationConfig(RefinementConfig, PlayedReadConfig):
    """Settings of Self-Distillation; by default without L1."""

    critic_coef: float = Field(0.0, ge=0, description="weight of L1; 0 does not train the successor model")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.num_refinement_steps > 1:
            raise ConfigError(
                f"train.num_refinement_steps = {self.num_refinement_steps}: only the played action has a "
                "real future, so a refined action cannot be judged again; set it to 1 (or 0)"
            )
        return self

    def own_cost(self, turns: float) -> TransitionCost:
        """Return what the roles answer: a critique and a refined action, and a backup if L1 has a weight."""
        bellman, rounds = float(self.backs_up), self.num_refinement_steps
        return TransitionCost(
            answers={
                "policy": 1 + bellman,
                "successor": bellman,
                "backup": bellman,
                "evaluator": rounds,
                "refiner": rounds,
            },
            backward={"successor": bellman, "policy": 1},
        )
