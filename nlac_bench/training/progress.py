"""Counts the resources that a training run has spent, and keeps its best validation success."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.config import Budget, BudgetUnit
from nlac_bench.training.idle import cause, counts_of, rewards
from nlac_bench.types import Episode

MAX_IDLE = 50
"""Number of iterations without a gradient step after which training is stopped."""
MAX_HOPELESS = 3
"""The same number if something else than the rewards is the reason, which further episodes do not change."""
NO_SIGNAL = 3
"""Number of successive iterations without a gradient, after which there is nothing to learn from."""


SPENT_FIELD: Mapping[BudgetUnit, str] = {
    "steps": "gradient_steps_total", "env_steps": "env_steps", "tokens": "tokens",
}  # fmt: skip
"""Unit of a budget → field of ``metrics.jsonl`` that has the amount spent."""


def has_signal(row: Mapping[str, Any]) -> bool:
    """Return whether an iteration with the metrics ``row`` took a gradient step that was not 0."""
    return bool(row.get("gradient_steps")) and row.get("grad_norm") != 0


@dataclass
class Progress:
    """The progress of a training run; part of every checkpoint."""

    iteration: int = 0
    gradient_steps: int = 0
    env_steps: int = 0
    tokens: int = 0
    """Tokens generated for training, by all roles."""
    seconds: float = 0.0
    """Wall time of the iterations, without validations and probes."""
    idle: int = 0
    """Number of successive iterations without a gradient step."""
    counted: dict[str, float] = field(default_factory=dict)
    """Sums over these iterations; see ``idle.counts_of``."""
    first_answers: dict[str, float] = field(default_factory=dict)
    """Numbers of the first answers of each role; see ``readable.check_readable``."""
    without_signal: int = 0
    """Number of successive iterations without a gradient, or whose gradients were all 0."""
    best: float = -1.0
    """Success of the best validation."""
    best_iteration: int = 0
    usage: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Tokens and calls by role at the last checkpoint."""
    costs: dict[str, float] = field(default_factory=dict)
    """Costs of the last iteration in the unit of a budget of tokens or environment steps: of its episodes
    (``play``) and its update (``learn``), of one ``task`` and of one ``mini_batch``; those of an update's
    second stage end in ``/2``. See ``Allowance``."""

    def spent(self, budget: Budget) -> int:
        """Return the amount spent, in the unit of ``budget``."""
        return int(self.row()[SPENT_FIELD[budget.unit]])

    def steps_left(self, budget: Budget) -> int | None:
        """Return the remaining gradient steps; None if the budget has another unit."""
        return budget.amount - self.gradient_steps if budget.unit == "steps" else None

    def count(
        self, episodes: Sequence[Episode], metrics: Mapping[str, float], tokens: int, seconds: float
    ) -> None:
        """Add an iteration.

        Args:
            episodes: played in the iteration.
            metrics: return value of the algorithm's ``update``.
            tokens: generated since the start of training.
            seconds: wall time of the iteration.
        """
        self.iteration += 1
        self.gradient_steps += int(metrics.get("gradient_steps", 0))
        self.env_steps += sum(len(e.turns) for e in episodes) + int(metrics.get("extra_env_steps", 0))
        if metrics.get("gradient_steps"):
            self.idle, self.counted = 0, {}
        else:
            self.idle += 1
            for name, count in counts_of(episodes, metrics).items():
                self.counted[name] = self.counted.get(name, 0.0) + count
        self.without_signal = 0 if has_signal(metrics) else self.without_signal + 1
        self.tokens = tokens
        self.seconds += seconds

    def idle_reason(self, budget: Budget, keep_going: bool = False) -> str | None:
        """Return why the budget would be spent without learning, or never be spent; else None.

        That is so if the last ``MAX_IDLE`` iterations took no gradient step, or ``MAX_HOPELESS`` if rewards
        are not the reason. A budget of environment steps or tokens may end with iterations without a gradient
        step, for example because all episodes succeed, but must not consist of them only.

        Args:
            keep_going: wait for ``MAX_IDLE`` iterations, whatever the reason is.
        """
        if budget.unit != "steps" and self.gradient_steps:
            return None
        reason = cause(self.counted)
        if self.idle < (MAX_HOPELESS if reason and not keep_going else MAX_IDLE):
            return None
        return (
            f"{self.idle} successive iterations took no gradient step: {reason or rewards(self.counted)}"
            + (". --keep-going goes on" if self.idle < MAX_IDLE and not self.gradient_steps else "")
        )

    def check_learned(self, budget: Budget, keep_going: bool = False) -> None:
        """Raise an error if the training takes no gradient step at all; see ``idle_reason``.

        Raises:
            NlacBenchError: there was none so far, and none is to be expected.
        """
        if not self.gradient_steps and (reason := self.idle_reason(budget, keep_going)):
            raise NlacBenchError(reason)

    def row(self) -> dict[str, Any]:
        """Return the fields at the start of every row of metrics."""
        return {
            "iteration": self.iteration,
            "gradient_steps_total": self.gradient_steps,
            "env_steps": self.env_steps,
            "tokens": self.tokens,
            "seconds": self.seconds,
        }

    def is_best(self, success: float) -> bool:
        """Return whether ``success`` exceeds that of all earlier validations; if so, it is stored as the
        best."""
        better = success > self.best
        if better:
            self.best, self.best_iteration = success, self.iteration
        return better
