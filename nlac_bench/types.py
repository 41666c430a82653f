"""The records that environments, engines, agents and reports exchange: messages, turns, episodes, usage."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from nlac_bench.errors import EnvInfraError
from nlac_bench.thoughts import drop_reasoning

Role: TypeAlias = Literal[
    "policy", "successor", "backup", "evaluator", "refiner", "aggregator", "picker", "user", "oracle", "judge"
]
Message: TypeAlias = dict[str, Any]
"""A chat message in the format of OpenAI-compatible servers; has at least ``role`` and ``content``."""

Messages: TypeAlias = Sequence[Mapping[str, Any]]
ToolSchema: TypeAlias = dict[str, Any]
"""A tool in OpenAI's function format, as parsed from JSON."""

Info: TypeAlias = dict[str, Any]
"""The ``info`` or ``options`` of an environment; Gymnasium allows values of any type."""
StepResult: TypeAlias = tuple[str, float, bool, bool, Info]
"""What ``step`` of a text environment returns: observation, reward, terminated, truncated, info."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of model calls. Instances can be added with ``+``.

    ``cost`` is in US dollars, and 0 if the price is unknown; ``seconds`` is the time waited for replies.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The reply of a simulator's model, and the usage of the call."""

    text: str
    usage: Usage = Usage(calls=1)


ChatFn: TypeAlias = Callable[[Messages, Role], Awaitable[ChatReply]]
"""The function with which an environment calls a model (as user simulator, oracle or judge).

Raises ``EnvInfraError`` if the model cannot be reached, and ``ContentFilterError`` if a filter stopped its
reply.
"""


class ContentFilterError(EnvInfraError):
    """A content filter stopped the reply of an environment's user, oracle or judge.

    Playing the episode again would usually end in the same way, so the driver ends it: it is not scored, and
    it is not played again. ``role`` is the role whose reply was stopped, ``usage`` the cost of that call.
    """

    def __init__(self, role: Role, usage: Usage = Usage(calls=1)) -> None:
        super().__init__(f"a content filter stopped the reply of the model that plays the {role!r} role")
        self.role = role
        self.usage = usage
        self.charge({role: usage})


@dataclass(slots=True)
class Turn:
    """One action of the policy, with the environment's observation and reward.

    ``prompt_ids`` and ``output_ids`` are the tokens that the engine read and sampled (None if the server does
    not return them); training uses them as they are and never tokenises ``text`` again. ``logprobs`` are the
    log-probabilities of ``output_ids`` under the sampling distribution. ``usage`` is that of ``role``, and
    ``other_usage`` that of the other roles that chose or refined the action (``--best-of``, ``--refine``).
    """

    text: str
    observation: str = ""
    reward: float = 0.0
    role: Role = "policy"
    prompt_ids: list[int] | None = None
    output_ids: list[int] | None = None
    logprobs: list[float] | None = None
    finish: str = "stop"
    weight_version: int = 0
    usage: Usage = field(default_factory=Usage)
    info: Info = field(default_factory=dict)
    other_usage: dict[Role, Usage] = field(default_factory=dict)

    @property
    def played(self) -> bool:
        """Whether the action was passed to the environment.

        A reply that did not fit into the context, that a content filter stopped, or whose whole budget of
        tokens went into thoughts is not passed on; it ends the episode.
        """
        if self.finish == "length":
            return bool(drop_reasoning(self.text))
        return self.finish not in ("context_overflow", "content_filter")


def beginning_of(info: Info) -> Info:
    """Return the rules, tools and examples in the ``info`` of ``reset``; they may depend on the task."""
    return {key: info[key] for key in ("policy", "tools", "examples") if key in info}


CONTENT_FILTER = "content_filter"
"""``end_reason`` of an episode that a content filter stopped: not scored, and not played again."""
SHAPED = "shaped@"
"""Begins the name of a reward that is shaped for training; boards take no such rewards."""


@dataclass(slots=True)
class Episode:
    """One episode of one task, from the first observation to the end."""

    env: str
    task_id: str
    trial: int
    seed: int
    first_observation: str
    turns: list[Turn] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False
    success: bool | None = None
    end_reason: str = ""
    info: Info = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    seconds: float = 0.0
    beginning: Info | None = field(default=None, compare=False, repr=False)
    """What ``reset`` told the policy beside the first observation (``beginning_of``); None in episodes that
    are read from files, which do not contain it."""

    def __post_init__(self) -> None:
        """Gymnasium's ``TimeLimit`` also truncates an episode that terminates at the limit; it is no cut."""
        self.truncated = self.truncated and not self.terminated

    @property
    def total_reward(self) -> float:
        """Undiscounted return."""
        return sum(turn.reward for turn in self.turns)

    @property
    def filtered(self) -> bool:
        """Whether a content filter stopped the episode; such an episode has no result."""
        return self.success is None and self.end_reason == CONTENT_FILTER
