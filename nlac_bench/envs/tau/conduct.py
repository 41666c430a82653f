"""Judges how an agent has worked, beside what it has reached: the graded parts of the reward.

They are information: no default reward contains them, and boards do not show them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nlac_bench.envs.tau.actions import RESPOND
from nlac_bench.envs.tau.airline.rules import RULES as AIRLINE_RULES
from nlac_bench.envs.tau.consent import Exchange, consented
from nlac_bench.envs.tau.domain import DomainName, Task
from nlac_bench.envs.tau.invoke import TRANSFER
from nlac_bench.envs.tau.retail.rules import RULES as RETAIL_RULES
from nlac_bench.envs.tau.writes import Rule, Write

RULES: Mapping[DomainName, Sequence[Rule]] = {"retail": RETAIL_RULES, "airline": AIRLINE_RULES}
LOOK_UPS: Mapping[DomainName, tuple[str, ...]] = {
    "retail": ("find_user_id_by_email", "find_user_id_by_name_zip"),
    "airline": ("get_user_details",),
}
"""The tools with which the policy finds out who the user is; the airline's user may also say it."""


@dataclass(frozen=True, slots=True)
class Course:
    """The course of an episode.

    ``said`` and ``heard`` are the messages of the agent and of the user, who speaks first. ``found_user``:
    one of ``LOOK_UPS`` has found the user before the first call that changed the database. ``steps`` counts
    all actions of the agent. ``transferred``: the last one handed over to a human.
    """

    domain: DomainName
    task: Task
    said: Sequence[str]
    heard: Sequence[str]
    writes: Sequence[Write]
    found_user: bool
    steps: int
    transferred: bool

    @property
    def exchanges(self) -> list[Exchange]:
        """The agent's messages with the user's replies."""
        return list(zip(self.said, self.heard[1:], strict=False))

    @property
    def hands_over(self) -> bool:
        """Whether the gold calls end with a transfer."""
        return any(call.name == TRANSFER for call in self.task.actions)


def conduct(course: Course) -> dict[str, float]:
    """Return the graded parts.

    * ``identified``: 1 if the agent knew who the user is before its first call that changed the database.
    * ``consented``: 1 if the user agreed to each such call before it (see ``consent``). Both are 1 if nothing
      was changed.
    * ``violations``: the number of calls that the policy forbids, also of those that a tool refused.
    * ``needless_transfer``: 1 if the agent transferred the user and the gold calls do not.
    * ``steps_over_oracle``: see :func:`steps_over_oracle`.
    """
    done = [write for write in course.writes if not write.failed]
    exchanges = course.exchanges
    rules, user_id = RULES[course.domain], course.task.user_id
    forbidden = [w for w in course.writes if any(rule.broken_by(w, user_id) for rule in rules)]
    return {
        "identified": float(not done or _identified(course, done[0])),
        "consented": float(all(consented(write, exchanges[: write.said]) for write in done)),
        "violations": float(len(forbidden)),
        "needless_transfer": float(course.transferred and not course.hands_over),
        "steps_over_oracle": float(steps_over_oracle(course)),
    }


def _identified(course: Course, first: Write) -> bool:
    by_id = course.domain == "airline" and any(
        course.task.user_id in message for message in course.heard[: first.said + 1]
    )
    return course.found_user or by_id


def steps_over_oracle(course: Course) -> int:
    """Return how many more actions the agent took than the oracle to an end of the same kind, at least 0.

    The oracle makes the gold calls; then it sends one message with all required outputs, unless there are
    none and the gold calls end with a transfer; then it transfers the user if the episode ended so.
    """
    gold = sum(call.name not in (TRANSFER, RESPOND) for call in course.task.actions)
    message = bool(course.task.outputs) or not course.hands_over
    return max(0, course.steps - gold - message - course.transferred)
