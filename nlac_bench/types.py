"""What flows between the rooms: plain records, no behaviour beyond their own arithmetic."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal[
    "policy", "successor", "backup", "evaluator", "refiner", "aggregator", "picker", "user", "oracle", "judge"
]
Message: TypeAlias = dict[str, Any]
"""A chat message as OpenAI-compatible servers take it: at least ``role`` and ``content``."""

Messages: TypeAlias = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls cost. Sums with ``+``.

    ``cost`` is in US dollars and 0 where no price is known; ``seconds`` is time spent waiting.
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
    """What a simulator's model said, and what that cost."""

    text: str
    usage: Usage = Usage(calls=1)


ChatFn: TypeAlias = Callable[[Messages, Role], Awaitable[ChatReply]]
"""How an environment reaches a model (a user simulator, an oracle, a judge) without knowing one.

Raises ``EnvInfraError`` when the model cannot be reached.
"""


@dataclass(slots=True)
class Turn:
    """One action of the policy and what came of it. Token-in, token-out: text is never tokenised again.

    ``prompt_ids`` and ``output_ids`` are what the engine saw and sampled (None where the server does not
    say), ``logprobs`` the log-probabilities of ``output_ids`` under the sampling distribution.
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
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def played(self) -> bool:
        """Whether the environment heard it: one that did not fit into the context ends the episode before."""
        return self.finish != "context_overflow"


@dataclass(slots=True)
class Episode:
    """One play of one task, first observation to end."""

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
    info: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def total_reward(self) -> float:
        """Undiscounted return."""
        return sum(turn.reward for turn in self.turns)
