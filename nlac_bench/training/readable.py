"""Finds out whether the critic's answers can be read; a run that learns from none of them should stop."""

from collections.abc import Mapping

from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.config import TrainConfig

MOST = 0.5
"""Share of a role's answers that may be unreadable in the first iteration."""
FEWEST = 8
"""Fewer answers of a role say too little about it."""
PREFIX = "unparseable_"
ADVICE = (
    "use a model that follows instructions better, or longer answers if they are cut (--train "
    "max_response_length=N); answers.jsonl contains a sample of the answers"
)


class UnreadableError(NlacBenchError):
    """More than half of a critic role's answers could not be read."""


def unreadable(metrics: Mapping[str, object], fewest: int = 0) -> str:
    """Return the roles of the critic with the share of answers that could not be read if it exceeds ``MOST``.

    Args:
        metrics: of an iteration.
        fewest: roles with fewer answers are left out.
    """
    shares = {
        role: share
        for name, share in metrics.items()
        if name.startswith(PREFIX) and isinstance(share, float) and share > MOST
        and _answers(metrics, role := name.removeprefix(PREFIX)) >= fewest
    }  # fmt: skip
    shares.pop("policy", None)  # what it writes is played as it is
    return ", ".join(f"{share:.0%} of the answers as {role}" for role, share in sorted(shares.items()))


def _answers(metrics: Mapping[str, object], role: str) -> float:
    count = metrics.get(f"answers_{role}")
    return count if isinstance(count, float) else 0.0


def check_readable(metrics: Mapping[str, object], config: TrainConfig) -> None:
    """Check that the critic was readable in the first iteration.

    Raises:
        UnreadableError: more than ``MOST`` of the answers in one of its roles, at least ``FEWEST``, were not.
    """
    if found := unreadable(metrics, FEWEST):
        forms = "set --train forms=filled, or " if config.forms == "free" else ""
        raise UnreadableError(
            f"in the first iteration {found} could not be read, so the critic teaches nothing; "
            f"{forms}{ADVICE}. --keep-going goes on"
        )
