"""Finds out why iterations took no gradient step, from what was counted in them."""

from collections.abc import Mapping, Sequence

from nlac_bench.training.readable import ADVICE, answers_of, unreadable
from nlac_bench.types import Episode

TOO_LONG = (
    "were longer than train.max_prompt_length or train.max_response_length, so they were not learned from; "
    "increase them"
)


def counts_of(episodes: Sequence[Episode], metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the counts of an iteration that explain why it took no gradient step.

    They are numbers of episodes and turns, and of each role's answers (``readable.answers_of``).
    """
    return {
        "episodes": float(len(episodes)),
        "succeeded": float(sum(bool(e.success) for e in episodes)),
        "truncated": float(sum(e.truncated for e in episodes)),
        "turns": float(sum(len(e.turns) for e in episodes)),
        "too_long": metrics.get("too_long", 0.0),
        **answers_of(metrics),
    }


def cause(counts: Mapping[str, float]) -> str | None:
    """Return why nothing could be learned, and what to change; None if only the rewards can be the reason."""
    if found := unreadable(counts):
        return f"{found} could not be read; {ADVICE}"
    if counts.get("too_long", 0) >= counts.get("turns", 0) > 0:
        return f"all {counts['turns']:,.0f} turns {TOO_LONG}"
    if counts.get("truncated", 0) == counts.get("episodes", 0) > 0:
        return (
            f"all {counts['episodes']:,.0f} episodes were cut before their end, so their outcome is unknown; "
            "use a model with a longer context"
        )
    return None


def rewards(counts: Mapping[str, float]) -> str:
    """Return what the rewards of the episodes were, and what to change if they taught nothing."""
    episodes, succeeded = counts.get("episodes", 0), counts.get("succeeded", 0)
    if too_long := counts.get("too_long"):
        return f"{succeeded:,.0f} of {episodes:,.0f} episodes succeeded, and {too_long:,.0f} turns {TOO_LONG}"
    if not succeeded:
        return f"none of {episodes:,.0f} episodes succeeded; use easier tasks or a stronger model"
    if succeeded == episodes:
        return f"all {episodes:,.0f} episodes succeeded; use harder tasks"
    return (
        f"{succeeded:,.0f} of {episodes:,.0f} episodes succeeded, those of each task with the same result; "
        "use tasks that the model sometimes solves, or more --train rollouts_per_task"
    )
