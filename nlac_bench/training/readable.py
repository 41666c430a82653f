"""Finds out whether the critic's answers can be read; a run that learns from none of them should stop."""

from collections.abc import Mapping

from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.config import TrainConfig

MOST = 0.5
"""Share of a role's answers that may be unreadable at the start of a training."""
FEWEST = 8
"""Fewer answers of a role say too little about it."""
ANSWERS, PREFIX = "answers_", "unparseable_"
ADVICE = (
    "use a model that follows instructions better, or longer answers if they are cut (--train "
    "max_response_length=N); answers.jsonl contains a sample of the answers"
)


class UnreadableError(NlacBenchError):
    """More than half of a critic role's answers could not be read."""


def answers_of(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return each role's number of answers (``answers_ROLE``) and of unreadable ones (``unparseable_ROLE``).

    Args:
        metrics: of an iteration, in which ``unparseable_ROLE`` is a share.
    """
    counts: dict[str, float] = {}
    for name, answers in metrics.items():
        if name.startswith(ANSWERS):
            unread = PREFIX + name.removeprefix(ANSWERS)
            counts |= {name: answers, unread: answers * metrics.get(unread, 0.0)}
    return counts


def unreadable(counts: Mapping[str, float]) -> str:
    """Return the roles of the critic with the share of answers that could not be read if it exceeds ``MOST``.

    Roles with fewer than ``FEWEST`` answers are left out.

    Args:
        counts: see ``answers_of``; of one iteration or of several.
    """
    shares = {
        role: counts.get(PREFIX + role, 0.0) / answers
        for name, answers in counts.items()
        if name.startswith(ANSWERS) and answers >= FEWEST
        and (role := name.removeprefix(ANSWERS)) != "policy"  # what it writes is played as it is
    }  # fmt: skip
    return ", ".join(
        f"{share:.0%} of the answers as {role}" for role, share in sorted(shares.items()) if share > MOST
    )


def check_readable(
    first: dict[str, float], metrics: Mapping[str, float], config: TrainConfig, keep_going: bool = False
) -> None:
    """Check the first answers of each role of the critic, when there are ``FEWEST`` of them.

    Args:
        first: the counts of each role's answers in the iterations up to then; those of ``metrics`` are added.
        metrics: of the newest iteration.
        keep_going: only count.

    Raises:
        UnreadableError: more than ``MOST`` of a role's answers could not be read.
    """
    judged: dict[str, float] = {}
    for name, count in answers_of(metrics).items():
        role = name.removeprefix(ANSWERS).removeprefix(PREFIX)
        if first.get(ANSWERS + role, 0.0) < FEWEST:
            judged[name] = first.get(name, 0.0) + count
    first |= judged
    roles = unreadable(judged)
    if roles and not keep_going:
        forms = "set --train forms=filled, or " if config.forms == "free" else ""
        raise UnreadableError(
            f"at the start of the training {roles} could not be read, so the critic teaches nothing; "
            f"{forms}{ADVICE}. --keep-going goes on"
        )
