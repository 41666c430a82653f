"""Judges an episode: compares the database with that after the gold calls, and checks the messages.

The gold calls of a task are replayed once per process, on a separate database. Grading compares the changes
of two databases, and modifies neither the episode's database nor its messages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from nlac_bench.envs.tau import airline, retail
from nlac_bench.envs.tau.answers import OutputAnswers
from nlac_bench.envs.tau.database import Database
from nlac_bench.envs.tau.domain import Domain, Task
from nlac_bench.envs.tau.invoke import TRANSFER, Tools, invoke
from nlac_bench.types import Info

TOOLS: Mapping[str, Tools] = {"retail": retail.TOOLS, "airline": airline.TOOLS}
EMBEDDED_TOOLS: Mapping[str, Tools] = {"retail": retail.TOOLS, "airline": airline.EMBEDDED_TOOLS}


@dataclass(frozen=True, slots=True)
class Reward:
    """The judgement of an episode under both rules.

    ``outputs`` and ``strict_outputs`` say for each required output whether the user was told it, by τ-bench's
    rule (a substring of a message, lower-cased, without commas) and by the strict one: it was stated as the
    answer (``nlac_bench.envs.tau.answers``).
    """

    r_actions: bool
    outputs: Mapping[str, bool]
    strict_outputs: Mapping[str, bool]
    gold: Database

    @property
    def original(self) -> float:
        """τ-bench's reward: 1 if the database is correct and every required output was said, else 0."""
        return float(self.r_actions and all(self.outputs.values()))

    @property
    def strict(self) -> float:
        """The reward with ``strict_outputs``; at most ``original``."""
        return float(self.r_actions and all(self.strict_outputs.values()))

    def parts(self) -> dict[str, float]:
        """Return both rewards and the parts of the original one."""
        return {
            "original": self.original,
            "strict": self.strict,
            "r_actions": float(self.r_actions),
            "r_outputs": float(all(self.outputs.values())),
        }

    def info(self) -> Info:
        """Return τ-bench's details of the reward; the gold hash is computed only if they contain it."""
        if self.outputs:
            return {"r_outputs": float(all(self.outputs.values())), "outputs": dict(self.outputs)}
        return {"r_actions": float(self.r_actions), "gt_data_hash": self.gold.hash()}


_gold: WeakKeyDictionary[Domain, dict[str, Database]] = WeakKeyDictionary()


class TauGrader:
    """Runs and judges the tasks of a domain."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        embedded = domain.source.kind == "embedded"
        self.tools = (EMBEDDED_TOOLS if embedded else TOOLS)[domain.name]

    def database(self) -> Database:
        """Return the database at the start of an episode; it shares the domain's tables."""
        return self.domain.new_database()

    def gold(self, task: Task) -> Database:
        """Return the database after the gold calls of ``task``; read-only. Calls that fail do not raise."""
        known = _gold.setdefault(self.domain, {})
        if task.task_id not in known:
            db = self.database()
            for call in task.actions:
                if call.name != TRANSFER:
                    invoke(self.tools, db, call.name, call.kwargs)
            known[task.task_id] = db
        return known[task.task_id]

    def judge(
        self, task: Task, db: Database, said: Sequence[str], answers: OutputAnswers | None = None
    ) -> Reward:
        """Judge an end state ``db``.

        Args:
            task: the task.
            db: the database at the end.
            said: all messages that the agent sent to the user.
            answers: what was told in the conversation; by default, in ``said`` without its other side.
        """
        if answers is None:
            answers = OutputAnswers(task.outputs)
            for message in said:
                answers.say(message)
        outputs = {output: _told(output, said) for output in task.outputs}
        strict = {output: spoken and output in answers.told for output, spoken in outputs.items()}
        return Reward(db.same_as(self.gold(task)), outputs, strict, self.gold(task))

    def grade(self, task: Task, db: Database, said: Sequence[str]) -> dict[str, float]:
        """Return the figures of :meth:`judge`: ``original``, ``strict``, ``r_actions``, ``r_outputs``."""
        return self.judge(task, db, said).parts()


def _told(output: str, said: Sequence[str]) -> bool:
    return any(output.lower() in message.lower().replace(",", "") for message in said)
