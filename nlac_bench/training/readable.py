"""Finds out whether the critic's answers can be read; a run that learns from none of them should stop."""

from collections.abc import Mapping

from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.config import TrainConfig

MOST = 0.5
"""Share of a role's answers that may be unreadable in the first iteration."""
PREFIX = "unparseable_"
ADVICE = (
    "use a model that follows instructions better, or longer answers if they are cut (--train "
    "max_response_length=N); answers.jsonl contains a sample of the answers"
)


class UnreadableError(NlacBenchError):
    """More than half of a critic role's answers could not be read."""


def unreadable(metrics: Mapping[str, object]) -> str:
    """Return the roles of the critic with the share of answers that could not be read if it exceeds ``MOST``.

    Args:
        metrics: of an iteration.
    """
    shares = {
        name.removeprefix(PREFIX): share
        for name, share in metrics.items()
        if name.startswith(PREFIX) and isinstance(share, float) and share > MOST
    }
    shares.pop("policy", None)  # what it writes is played as it is
    return ", ".join(f"{share:.0%} of the answers as {role}" for role, share in sorted(shares.items()))


def check_readable(metrics: Mapping[str, object], config: TrainConfig) -> None:
    """Check that the critic was readable in the first iteration.

    Raises:
        UnreadableError: more than ``MOST`` of the answers in one of its roles were not.
    """
    if found := unreadable(metrics):
        forms = "set --train forms=filled, or " if config.forms == "free" else ""
        raise UnreadableError(
            f"in the first iteration {found} could not be read, so the critic teaches nothing; "
            f"{forms}{ADVICE}. --keep-going goes on"
        )
