"""Reads what the runs of an entry cost, so that boards compare costs as ``compare`` does."""

from collections.abc import Mapping

from nlac_bench.errors import ConfigError
from nlac_bench.leaderboards.entry import Curve, Entry
from nlac_bench.leaderboards.subject import Tokens, TrainingCost
from nlac_bench.learner.config import Budget
from nlac_bench.training.costs import BudgetUse, RunCost, learning_tokens
from nlac_bench.training.progress import SPENT_FIELD


def spent_by_runs(entry: Entry) -> list[RunCost]:
    """Return the cost of each seed's training, without validations and test; of an entry without training,
    that of its test episodes, whose environment steps are not stored."""
    training, each = entry.subject.training, per_episode(entry)
    if training is None:
        generated = _generated(entry.cost.tokens_by_role)
        cost = RunCost(0, 0, entry.cost.seconds, generated, per_episode=each)
        return [cost] if entry.outcomes else []
    curves = {curve.seed: curve for curve in entry.curves}
    return [
        RunCost(
            run.environment_steps, run.gradient_steps, run.seconds,
            learning_tokens(_generated(run.tokens_by_role)), budget_use(training.budget, run),
            None if run.gradient_steps else False,
            _validations(curves[run.seed]) if run.seed in curves else (), each,
        )
        for run in training.runs
    ]  # fmt: skip


def per_episode(entry: Entry) -> dict[str, float]:
    """Return the mean number of tokens that each role generated for a test episode; empty if unknown."""
    counts = entry.numbers.counts
    played = 0 if counts is None else counts.planned - counts.owed - counts.infra_errors
    generated = _generated(entry.cost.tokens_by_role)
    return {role: tokens / played for role, tokens in generated.items()} if played else {}


def budget_use(budget: str | None, run: TrainingCost) -> BudgetUse | None:
    """Return what a seed spent of ``budget``, the text of an entry; None if that is not a budget."""
    try:
        parsed = Budget.parse(budget or "")
    except ConfigError:
        return None
    return BudgetUse(parsed.unit, parsed.amount, _amounts(run)[SPENT_FIELD[parsed.unit]])


def _amounts(run: TrainingCost) -> dict[str, float]:
    return {
        "gradient_steps_total": run.gradient_steps,
        "env_steps": run.environment_steps,
        "tokens": run.generated_tokens,
    }


def _generated(tokens: Mapping[str, Tokens]) -> dict[str, float]:
    return {role: spent.completion_tokens for role, spent in tokens.items()}


def _validations(curve: Curve) -> list[dict[str, float]]:
    """Return the points of a curve with the names of ``metrics.jsonl``."""
    return [
        {
            "gradient_steps_total": point.gradient_steps, "env_steps": point.environment_steps,
            "tokens": point.tokens, "success": point.success, "tasks": point.tasks,
        }
        for point in curve.points
    ]  # fmt: skip
