"""What a training run has spent, and how good its policy was at best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.train.config import Budget
from nlac_bench.types import Episode

MAX_IDLE = 50


@dataclass
class Progress:
    """Where training stands; part of every checkpoint."""

    iteration: int = 0
    gradient_steps: int = 0
    env_steps: int = 0
    tokens: int = 0
    """Generated for learning, by all roles."""
    seconds: float = 0.0
    """Wall time of the iterations, validations and probes left out."""
    idle: int = 0
    """Iterations in a row that made no gradient step."""
    best: float = -1.0
    """Success of the best validation."""
    best_iteration: int = 0
    usage: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Tokens and calls of each role at the last checkpoint."""

    def spent(self, budget: Budget) -> int:
        """What was spent, in the budget's unit."""
        return {"steps": self.gradient_steps, "env_steps": self.env_steps, "tokens": self.tokens}[budget.unit]

    def steps_left(self, budget: Budget) -> int | None:
        """Gradient steps left; None where the budget is in another unit."""
        return budget.amount - self.gradient_steps if budget.unit == "steps" else None

    def count(
        self, episodes: Sequence[Episode], metrics: Mapping[str, float], tokens: int, seconds: float
    ) -> None:
        """Add an iteration.

        Args:
            metrics: what the algorithm's ``update`` returned.
            tokens: generated since the start of the training.
            seconds: that the iteration took.
        """
        self.iteration += 1
        self.gradient_steps += int(metrics.get("gradient_steps", 0))
        self.env_steps += sum(len(e.turns) for e in episodes) + int(metrics.get("extra_env_steps", 0))
        self.idle = 0 if metrics.get("gradient_steps") else self.idle + 1
        self.tokens = tokens
        self.seconds += seconds

    def check_idle(self, budget: Budget) -> None:
        """Stop a training that would never spend a budget of gradient steps.

        Raises:
            NlacBenchError: the last ``MAX_IDLE`` iterations made no gradient step.
        """
        if self.idle >= MAX_IDLE and budget.unit == "steps":
            raise NlacBenchError(
                f"{MAX_IDLE} iterations in a row taught nothing: no episode succeeded, or none differed from "
                "another of its task. Take easier tasks or a stronger model"
            )

    def row(self) -> dict[str, Any]:
        """What every row of metrics begins with."""
        return {
            "iteration": self.iteration,
            "gradient_steps_total": self.gradient_steps,
            "env_steps": self.env_steps,
            "tokens": self.tokens,
            "seconds": self.seconds,
        }

    def is_best(self, success: float) -> bool:
        """Whether ``success`` exceeds that of all earlier validations; it is the best from now on."""
        better = success > self.best
        if better:
            self.best, self.best_iteration = success, self.iteration
        return better
