"""The schema of a leaderboard's entry: one JSON file per submitted run, or per algorithm with several seeds.

An entry holds the outcome of every planned episode, so that two entries are paired by task without their run
folders, and every number is derived from these outcomes (``numbers.py``). Unknown fields and other versions
of the schema are refused. Texts come from others: their lengths are bounded here, and the code that prints
them escapes them.
"""

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    Field,
    JsonValue,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from nlac_bench.agents.names import FLOORS
from nlac_bench.leaderboards.entry_part import (
    Amount,
    Bounds,
    Count,
    EntryPart,
    Id,
    Name,
    Rate,
    Return,
    Sha256,
    Text,
)
from nlac_bench.leaderboards.subject import Subject, Tokens
from nlac_bench.stats.seed_errors import is_approximate
from nlac_bench.types import SHAPED

SCHEMA_VERSION: Literal[1] = 1

MAX_TRIALS = 10_000
"""Largest number of trials of a task."""

Kind: TypeAlias = Literal["models", "algorithms"]
"""A board of models compares single runs, one of algorithms compares training methods over several seeds."""
Level: TypeAlias = Literal["reported", "recomputed", "replayed"]
State: TypeAlias = Literal["scored", "unscored", "content_filter", "infra", "owed"]
"""The state of a planned episode; ``unscored``: it ended without a success value from the environment."""
Relation: TypeAlias = Literal["first_party", "third_party", "collaborative", "other"]
"""Relation of the submitter to the model, in the words of Every Eval Ever 0.3 (``evaluator_relationship``).
"""


class Limits(EntryPart):
    """Administrative limits of an episode; None means unlimited."""

    max_turns: Count | None = None
    max_seconds: Amount | None = None


class Simulator(EntryPart):
    """The model that plays the environment's user, oracle or judge."""

    model: Name | None
    temperature: Amount
    max_tokens: Count


class BoardKey(EntryPart):
    """What was measured. Entries are compared only if all of this is equal; ``board_id`` is its hash.

    ``arguments`` are the environment's, without the world (which belongs to the subject) and without what
    other fields state. ``rules`` are all other conditions of the environment: its user, oracle or judge, and
    the hashes of their prompts.
    """

    env: Name
    env_version: Name | None = None
    arguments: dict[Name, JsonValue] = Field(default_factory=dict, max_length=100)
    split: Name | None = None
    data_source: Name | None = None
    data_sha256: Name | None = None
    reward: Name | None = None
    rules: dict[Name, JsonValue] = Field(default_factory=dict, max_length=100)
    simulator: Simulator | None = None
    limits: Limits = Limits()

    @field_validator("reward")
    @classmethod
    def _unshaped(cls, reward: str | None) -> str | None:
        if reward is not None and reward.startswith(SHAPED):
            raise ValueError(
                "boards take no shaped rewards, which are for training: measure with the original"
            )
        return reward


class WrongOutcomeError(Exception):
    """The first wrong outcome of an entry. It ends the validation: pydantic would otherwise describe every
    fault of a file, with about a kilobyte for each of millions of values.

    Args:
        fault: pydantic's description of it.
    """

    def __init__(self, fault: ValidationError) -> None:
        super().__init__(str(fault))
        self.fault = fault


class TaskOutcome(EntryPart):
    """The planned trials of one task, in the order of their numbers. All lists have the same length.

    ``success`` and ``reward`` are None where there is no result.
    """

    state: list[State] = Field(min_length=1, max_length=MAX_TRIALS)
    success: list[bool | None] = Field(max_length=MAX_TRIALS)
    reward: list[Return | None] = Field(max_length=MAX_TRIALS)
    end_reason: list[Name | None] = Field(max_length=MAX_TRIALS)
    truncated: list[bool] = Field(max_length=MAX_TRIALS)

    @model_validator(mode="wrap")
    @classmethod
    def _stop_at_the_first(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(value)
        except ValidationError as fault:
            raise WrongOutcomeError(fault) from None

    @model_validator(mode="after")
    def _check(self) -> Self:
        n = len(self.state)
        if any(len(column) != n for column in (self.success, self.reward, self.end_reason, self.truncated)):
            raise ValueError("state, success, reward, end_reason and truncated must have the same length")
        if any((s == "scored") != (won is not None) for s, won in zip(self.state, self.success, strict=True)):
            raise ValueError("a trial must have a success value if its state is 'scored', and none otherwise")
        return self


class RunOutcomes(EntryPart):
    """All outcomes of one run, by task id in planned order (tasks are sorted in the file)."""

    seed: int
    tasks: dict[Name, TaskOutcome] = Field(min_length=1, max_length=1_000_000)
    recovered_errors: Count = 0
    """Infrastructure errors of episodes that were then played again and recorded."""
    unknown_rate: Rate | None = None
    """Share of questions whose answer the environment's oracle did not know; None if no oracle answers."""


class PassPowerK(EntryPart):
    """pass^k, or why it cannot be estimated."""

    k: Annotated[int, Field(ge=1)]
    value: Rate | None
    ci: Bounds | None
    why_not: Text | None = None


class EpisodeCounts(EntryPart):
    """Numbers of episodes, as in ``stats.outcomes.Counts``, summed over the runs."""

    planned: Count
    scored: Count
    unscored: Count
    infra_errors: Count
    owed: Count
    truncated: Count
    content_filter: Count
    length: Count
    recovered_errors: Count


class Numbers(EntryPart):
    """Everything that is computed from ``outcomes``; the mean over runs where there are several.

    ``success`` is the rate over scored trials. ``success_if_missing_failed`` counts every planned episode
    without a score as a failure; boards are ranked by it, and ``ci`` is the interval of this rate. A
    ``reported`` entry has only what its source states.
    """

    tasks: Count | None
    trials: Count | None
    success: Rate | None
    success_if_missing_failed: Rate | None
    ci: Bounds | None
    ci_method: Name | None
    mean_reward: float | None
    by_seed: list[Rate]
    """``success_if_missing_failed`` of each run."""
    pass_k: list[PassPowerK] = Field(max_length=1_000)
    """pass^k from k = 1 on; empty if there are several runs."""
    counts: EpisodeCounts | None
    end_reasons: dict[Name, Count]


class CurvePoint(EntryPart):
    """One validation during training."""

    gradient_steps: Count
    environment_steps: Count
    tokens: Count
    seconds: Amount
    success: Rate
    ci: Bounds | None
    tasks: Count
    best: bool
    """Whether this was the best checkpoint so far; the last best checkpoint was tested."""


class Curve(EntryPart):
    """The validations of the training with one seed."""

    seed: int
    points: list[CurvePoint] = Field(max_length=100_000)


class Cost(EntryPart):
    """The cost of the test episodes, summed over the runs (``seconds`` of episodes that ran side by side)."""

    tokens_by_role: dict[Name, Tokens] = Field(default_factory=dict, max_length=200)
    seconds: Amount = 0.0


class RunProvenance(EntryPart):
    """The origin of a run: code, packages, and hashes of its files."""

    started: Name
    nlac_bench: Name
    python: Name
    commit: Name | None
    dirty: bool | None
    """Whether tracked files differed from the commit; None if that is unknown."""
    packages_sha256: Sha256
    manifest_sha256: Sha256
    episodes_sha256: Sha256


class Provenance(EntryPart):
    """The origin of an entry. ``relation`` is the submitter's relation to the model, None if not stated."""

    runs: list[RunProvenance] = Field(default_factory=list, max_length=1_000)
    submitter: Name | None = None
    relation: Relation | None = None


class Source(EntryPart):
    """The source of a ``reported`` entry."""

    title: Name
    url: Annotated[str, StringConstraints(pattern=r"^https://[!-~]{1,500}$")] | None
    where: Name
    """The table, section or file within the source."""


class Entry(EntryPart):
    """An entry of a leaderboard.

    ``level`` says what was checked. ``recomputed``: the plan is the whole split, the seeds follow the rule,
    and every number was derived again from the episodes. ``replayed``: every action of every episode was also
    played again through the environment. Neither level proves which model acted. ``reported`` entries come
    from a publication; they are unranked, as ``partial`` entries are: some of their planned episodes, or
    tasks of the split, are missing. An entry of an algorithm with fewer than ``FEWEST_SEEDS`` seeds is
    unranked too, because its intervals are only approximate.
    """

    schema_version: Literal[1]
    entry_id: Id
    board_id: Id
    kind: Kind
    board: BoardKey
    subject: Subject
    outcomes: list[RunOutcomes] = Field(max_length=1_000)
    numbers: Numbers
    curves: list[Curve] = Field(default_factory=list, max_length=1_000)
    cost: Cost = Cost()
    provenance: Provenance = Provenance()
    level: Level
    partial: bool = False
    warnings: list[Text] = Field(default_factory=list, max_length=100)
    reproduce: Text | None = None
    """The command that makes the run again; without servers and paths."""
    source: Source | None = None

    @property
    def standing(self) -> Literal["ranked", "unranked", "floor", "oracle"]:
        """How boards show the entry: only ``ranked`` entries are tested against each other."""
        if self.level != "reported" and not self.partial and self.subject.agent in FLOORS:
            return "oracle" if self.subject.agent == "oracle" else "floor"
        unranked = self.level == "reported" or self.partial or self.few_seeds
        return "unranked" if unranked else "ranked"

    @property
    def version_number(self) -> int | None:
        """The version of the environment, if it is a number; None otherwise."""
        text = self.board.env_version or ""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None

    @property
    def few_seeds(self) -> bool:
        """Whether there are several seeds, but so few that the interval is only approximate."""
        return is_approximate(len(self.outcomes))

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.level == "reported") != (self.source is not None):
            raise ValueError("an entry must have a source exactly if its level is 'reported'")
        if (self.level == "reported") != (not self.outcomes):
            raise ValueError("an entry must have outcomes, except if its level is 'reported'")
        if self.outcomes and (len(self.outcomes) > 1) != (self.kind == "algorithms"):
            raise ValueError("an entry of kind 'algorithms' needs at least two runs, of kind 'models' one")
        tasks = [set(run.tasks) for run in self.outcomes]
        if any(each != tasks[0] for each in tasks[1:]):
            raise ValueError("the runs of an entry must have the same tasks")
        if self.kind == "algorithms" and self.outcomes and len(tasks[0]) < 2:
            raise ValueError("an entry of kind 'algorithms' needs at least two tasks")
        if len({len(task.state) for run in self.outcomes for task in run.tasks.values()}) > 1:
            raise ValueError("all tasks of all runs must have the same number of trials")
        return self
