"""Compares what runs cost, and training runs at equal cost, from their validation curves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.learner.config import Budget, BudgetUnit
from nlac_bench.stats.distributions import Z95, t_quantile
from nlac_bench.stats.estimates import Estimate
from nlac_bench.stats.intervals import mean_interval, wilson_bounds
from nlac_bench.stats.outcomes import Outcomes
from nlac_bench.stats.tables import number, render_table
from nlac_bench.stats.verdicts import UNDECIDED, Verdict, decided, worded
from nlac_bench.training.curve import AXES, rows_of
from nlac_bench.training.progress import SPENT_FIELD, has_signal

PER_EPISODE = "generated tokens of a test episode"
"""The name of what it costs to play an agent."""
UNEQUAL = 0.05
"""Relative difference of the budgeted cost above which a comparison warns."""


@dataclass(frozen=True)
class BudgetUse:
    """The use of a training budget, without validation, probes and test.

    ``kind`` is what the budget counts: ``steps`` (gradient steps), ``env_steps`` or ``tokens``.
    """

    kind: BudgetUnit
    planned: int
    spent: float

    @property
    def overshoot(self) -> float:
        """The amount spent beyond the budget."""
        return max(0, self.spent - self.planned)

    @classmethod
    def of(cls, run: RunFolder, last: Mapping[str, Any]) -> "BudgetUse":
        """Return the use of the budget of ``run``, whose last iteration has the metrics ``last``.

        Raises:
            RunFolderError: the configuration has no valid budget.
        """
        try:
            budget = Budget.parse(str(run.config["train"]["budget"]))
        except (LookupError, TypeError, ConfigError) as error:
            raise RunFolderError(
                f"{run.path / 'config.json'} is damaged (train.budget: {error}); restore the file"
            ) from None
        return cls(budget.unit, budget.amount, last[SPENT_FIELD[budget.unit]])

    def to_json(self) -> dict[str, object]:
        """Return the object that ``--json`` prints."""
        return {**vars(self), "overshoot": self.overshoot}


@dataclass(frozen=True)
class RunCost:
    """The cost of a run: of its training, without base, validation, probes and test; of other runs, of their
    episodes.

    ``generated`` has the tokens by role. ``budget`` and ``signal`` (whether any gradient was not 0) are None
    for runs that are not trained; ``validations`` is empty for them. ``per_episode`` has the tokens that each
    role generated for a test episode: what it costs to play the agent. ``ended_early`` is whether training
    stopped because there was nothing more to learn from, so its last validation holds at any higher cost.
    """

    env_steps: float
    gradient_steps: float
    seconds: float
    generated: Mapping[str, float]
    budget: BudgetUse | None = None
    signal: bool | None = None
    validations: Sequence[Mapping[str, Any]] = ()
    per_episode: Mapping[str, float] = field(default_factory=dict)
    ended_early: bool = False

    @classmethod
    def read(cls, run: RunFolder, outcomes: Outcomes) -> "RunCost":
        """Read the cost of the run in a folder, whose episodes have the ``outcomes``.

        Raises:
            RunFolderError: the metrics are damaged.
        """
        rows = rows_of(run, "iteration") if run.config.get("train") else []
        each = outcomes.generated_per_episode
        if rows:
            return replace(cls.trained(run, rows), per_episode=each)
        turns = sum(len(row.get("turns", ())) for row in run.rows())
        generated = {role: u.completion_tokens for role, u in sorted(outcomes.usage.items())}
        return cls(turns, 0, outcomes.seconds, generated, per_episode=each)

    @classmethod
    def trained(cls, run: RunFolder, rows: Sequence[Mapping[str, Any]]) -> "RunCost":
        """Return the cost of a training run, whose iterations have the metrics ``rows`` (at least one).

        Raises:
            RunFolderError: the validations are damaged.
        """
        last = rows[-1]
        usage = {role: u.get("completion_tokens", 0) for role, u in last.get("usage", {}).items()}
        budget = BudgetUse.of(run, last) if run.config.get("train") else None
        return cls(
            last["env_steps"], last["gradient_steps_total"], last["seconds"], learning_tokens(usage),
            budget, any(map(has_signal, rows)), rows_of(run, "validation"),
            ended_early=bool(last.get("ended_early")),
        )  # fmt: skip

    @property
    def tokens(self) -> float:
        """The generated tokens of all roles."""
        return sum(self.generated.values())

    def to_json(self) -> dict[str, object]:
        """Return the object that ``--json`` prints."""
        return {
            "env_steps": self.env_steps,
            "gradient_steps": self.gradient_steps,
            "generated_tokens": self.tokens,
            "generated_by_role": dict(self.generated),
            "generated_per_episode": dict(self.per_episode),
            "seconds": self.seconds,
            "budget": None if self.budget is None else self.budget.to_json(),
            "signal": self.signal,
        }


def learning_tokens(generated: Mapping[str, float]) -> dict[str, float]:
    """Return the tokens by role without those of validations and probes, named ``validation:policy``."""
    return {role: tokens for role, tokens in sorted(generated.items()) if ":" not in role}


@dataclass(frozen=True)
class Matched:
    """Validation success of two sides at equal cost: the last validation that cost no more than ``at``.

    ``untrained`` is on each side the share of runs of which that is the validation of the untrained model,
    because no other one cost so little. ``low`` and ``high`` are the 95 % interval of the difference, None if
    there is such a run: the wider of that of two independent proportions (Newcombe 1998, method 10),
    which disregards that both played the same tasks, and that over the seeds: Student's t of the differences
    if the seeds are paired, else Welch's, to which a side with one seed adds no variance. It is not corrected
    for several comparisons.
    """

    kind: str
    at: float
    a: float
    b: float
    low: float | None
    high: float | None
    untrained: tuple[float, float] = (0.0, 0.0)

    @property
    def verdict(self) -> Verdict:
        """Which side is better: decided only if there is an interval and it excludes 0."""
        return UNDECIDED if self.low is None or self.high is None else decided(0.0, self.low, self.high)

    def texts(self) -> tuple[str, str]:
        """Return each side's success, with a remark where it is that of the untrained model."""
        first, second = (
            number(success) + {0.0: "", 1.0: " (untrained)"}.get(share, " (in part untrained)")
            for success, share in zip((self.a, self.b), self.untrained, strict=True)
        )
        return first, second

    def to_json(self) -> dict[str, object]:
        """Return the object that ``--json`` prints."""
        return {**vars(self), "difference": self.a - self.b, "verdict": self.verdict}


@dataclass(frozen=True)
class CostComparison:
    """The mean costs of the runs (the seeds) of two sides, which texts call by ``names``.

    ``paired`` is whether the runs at the same place played the same world and are compared with each other.
    """

    a: Sequence[RunCost]
    b: Sequence[RunCost]
    names: tuple[str, str] = ("A", "B")
    paired: bool = False

    @property
    def spent(self) -> tuple[float, float] | None:
        """What each side spent of its budget, on average; None unless all have budgets in the same unit."""
        budgets = [each.budget for each in (*self.a, *self.b)]
        if not all(budgets) or len({each.kind for each in budgets if each}) != 1:
            return None
        first, second = (float(np.mean([x.budget.spent for x in side if x.budget])) for side in self.sides)
        return first, second

    @property
    def sides(self) -> tuple[Sequence[RunCost], Sequence[RunCost]]:
        """Both sides."""
        return self.a, self.b

    @property
    def unequal(self) -> bool:
        """Whether one side spent over ``UNEQUAL`` more of the budgeted cost than the other."""
        return self.spent is not None and max(self.spent) > (1 + UNEQUAL) * min(self.spent)

    @property
    def early(self) -> list[str]:
        """The names of the sides of which a run ended early."""
        sides = zip(self.names, self.sides, strict=True)
        return [name for name, side in sides if any(run.ended_early for run in side)]

    def matched(self) -> Matched | None:
        """Return the validations at equal cost; None if the costs are equal or not comparable, or if a run
        ended early, whose success holds at any higher cost."""
        if not self.unequal or self.spent is None or (budget := self.a[0].budget) is None or self.early:
            return None
        return self.at(budget.kind, min(self.spent))

    def at(self, kind: BudgetUnit, most: float) -> Matched | None:
        """Return the last validations that cost at most ``most``; None if a run has none."""
        rates, bounds, by_seed, shares = [], [], [], []
        for side in self.sides:
            reached = [[v for v in each.validations if v[SPENT_FIELD[kind]] <= most] for each in side]
            if not all(reached):
                return None
            last = [rows[-1] for rows in reached]
            tasks = float(sum(row.get("tasks", 0) for row in last))
            if not tasks:
                return None
            rate = sum(row["success"] * row.get("tasks", 0) for row in last) / tasks
            rates.append(rate)
            by_seed.append([float(row["success"]) for row in last])
            shares.append(float(np.mean([not row["gradient_steps_total"] for row in last])))
            bounds.append([float(x) for x in wilson_bounds(np.asarray(rate), tasks, Z95)])
        (a, b), ((low_a, high_a), (low_b, high_b)), untrained = rates, bounds, (shares[0], shares[1])
        if any(untrained):
            return Matched(kind, most, a, b, None, None, untrained)
        half = (_paired_half_width if self.paired else _welch_half_width)(*by_seed)
        low = max(-1.0, a - b - max(half, float(np.hypot(a - low_a, high_b - b))))
        high = min(1.0, a - b + max(half, float(np.hypot(high_a - a, b - low_b))))
        return Matched(kind, most, a, b, low, high, untrained)

    def to_json(self) -> dict[str, object]:
        """Return the fields ``costs`` and ``matched_cost`` of the object that ``--json`` prints."""
        matched = self.matched()
        return {
            "costs": {name: _mean(side) for name, side in zip("ab", self.sides, strict=True)},
            "matched_cost": None if matched is None else matched.to_json(),
        }

    def to_text(self) -> str:
        """Return a table of both sides' costs, and what holds at equal cost where they differ."""
        header = ["cost", *self.names, " / ".join(self.names)]
        return "\n".join([render_table(header, self.table()), *self.notes()])

    def table(self) -> list[list[str]]:
        """Return a row for each cost: its name, both sides' means, and their ratio."""
        items = {
            AXES["env_steps"]: [[x.env_steps for x in side] for side in self.sides],
            AXES["gradient_steps_total"]: [[x.gradient_steps for x in side] for side in self.sides],
            **self._by_role(AXES["tokens"], "by", lambda run: run.generated),
            "seconds": [[x.seconds for x in side] for side in self.sides],
            **self._by_role(PER_EPISODE, "of a test episode by", lambda run: run.per_episode),
        }
        rows = []
        for name, (first, second) in items.items():
            a, b = float(np.mean(first)), float(np.mean(second))
            if a or b:
                rows.append([name, f"{a:,.0f}", f"{b:,.0f}", f"{a / b:.2f}" if b else "–"])
        return rows

    def _by_role(
        self, name: str, by: str, tokens: Callable[[RunCost], Mapping[str, float]]
    ) -> dict[str, list[list[float]]]:
        """Return the sums over roles of both sides' runs, and the numbers of each role if there are more."""
        roles = dict.fromkeys(role for side in self.sides for each in side for role in tokens(each))
        items = {name: [[sum(tokens(x).values()) for x in side] for side in self.sides]}
        for role in roles if len(roles) > 1 else ():
            items[f"  {by} {role}"] = [[tokens(x).get(role, 0) for x in side] for side in self.sides]
        return items

    def notes(self, verdict: bool = True) -> list[str]:
        """Return sentences on unequal costs, and on sides whose training had no gradient.

        Args:
            verdict: whether to say which side is better at equal cost; that is not corrected, so it does not
                belong beside those of other pairs.
        """
        lines = [
            f"{name} learned nothing: all gradients were 0, so its result is that of the untrained model"
            for name, side in zip(self.names, self.sides, strict=True)
            if side and all(each.signal is False for each in side)
        ]
        budgets = [each.budget for side in self.sides for each in side]
        if all(budgets) and self.spent is None:
            lines.append("the budgets have different units, so the costs are not equal by design")
        if not self.unequal or self.spent is None:
            return lines
        kind = "" if budgets[0] is None else AXES[SPENT_FIELD[budgets[0].kind]]
        a, b = self.spent
        name_a, name_b = self.names
        more, less, ratio = (name_a, name_b, a / b) if a > b else (name_b, name_a, b / a if a else np.inf)
        lines.append(f"warning: {more} spent {ratio - 1:.0%} more {kind} than {less}")
        if self.early:
            lines += [f"{name} ended early, so its success holds at any higher cost" for name in self.early]
        elif (matched := self.matched()) is None:
            lines.append("no validation of both sides is at equal cost")
        else:
            first, second = matched.texts()
            difference = Estimate(matched.a - matched.b, matched.low, matched.high).to_text(sign=True)
            better = worded(matched.verdict, f"{name_a} better", f"{name_b} better")
            lines.append(
                f"at {matched.at:,.0f} {kind} (validation): {name_a} {first}, {name_b} {second}, "
                f"{name_a} − {name_b} = {difference}" + (f": {better}" if verdict else "")
            )
        return lines


def mean_by_role(tokens: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean number of tokens of each role."""
    roles = sorted({role for each in tokens for role in each})
    return {role: float(np.mean([each.get(role, 0) for each in tokens])) for role in roles}


def mean_budget(costs: Sequence[RunCost]) -> BudgetUse | None:
    """Return the use of the budget, with the mean of what was spent; None unless all have the same budget."""
    uses = [each.budget for each in costs if each.budget is not None]
    if not uses or len(uses) < len(costs) or len({(use.kind, use.planned) for use in uses}) > 1:
        return None
    return BudgetUse(uses[0].kind, uses[0].planned, float(np.mean([use.spent for use in uses])))


def _welch_half_width(first: Sequence[float], second: Sequence[float]) -> float:
    """Return half the width of Welch's 95 % interval of the difference of two means over seeds.

    A side with one value adds no variance; without any variance the width is 0.
    """
    errors = [(float(np.var(x, ddof=1)) / len(x), len(x) - 1) for x in (first, second) if len(x) > 1]
    error = sum(variance for variance, _ in errors)
    if not error:
        return 0.0
    df = error**2 / sum(variance**2 / free for variance, free in errors)
    return t_quantile(0.975, df) * float(np.sqrt(error))


def _paired_half_width(first: Sequence[float], second: Sequence[float]) -> float:
    """Return half the width of Student's 95 % interval of the mean difference of paired values; 0 for one
    pair, or if all differences are equal."""
    interval = mean_interval(np.subtract(first, second))
    return 0.0 if interval is None else (interval.high - interval.low) / 2


def _mean(side: Sequence[RunCost]) -> dict[str, object]:
    """Return the JSON object of a run, or the means of several."""
    if len(side) == 1:
        return side[0].to_json()
    return {
        "env_steps": float(np.mean([each.env_steps for each in side])),
        "gradient_steps": float(np.mean([each.gradient_steps for each in side])),
        "generated_tokens": float(np.mean([each.tokens for each in side])),
        "generated_by_role": mean_by_role([each.generated for each in side]),
        "generated_per_episode": mean_by_role([each.per_episode for each in side]),
        "seconds": float(np.mean([each.seconds for each in side])),
        "budget": [None if each.budget is None else each.budget.to_json() for each in side],
        "signal": any(each.signal for each in side) if side[0].signal is not None else None,
    }
