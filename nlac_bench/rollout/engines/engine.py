"""The Engine protocol: what every source of model text offers, whatever runs the model."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from nlac_bench.errors import EnvInfraError, NlacBenchError
from nlac_bench.types import ChatFn, ChatReply, Messages, Role, Usage

if TYPE_CHECKING:
    import torch

Slot: TypeAlias = Literal["policy", "target"]
"""Which weights answer: the policy's own, or their moving average."""

Finish: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "context_overflow"]
"""Why a sample ended. ``context_overflow``: the context window was full before the model was done."""


class EngineError(EnvInfraError):
    """A model could not be reached, or not in a usable way, and retries are spent.

    ``kind`` says how it failed last: ``rate_limit``, ``server``, ``timeout``, ``connection``,
    ``bad_reply``, ``refused`` (not retried: a wrong key, model name or argument), ``closed``.
    """

    def __init__(self, message: str, kind: str, attempts: int = 1) -> None:
        super().__init__(message)
        self.kind = kind
        self.attempts = attempts


class SyncError(NlacBenchError):
    """New weights did not arrive in the engine: going on would sample from the wrong model."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn.

    ``temperature=0`` is greedy. With ``top_p=1`` (the default) a sample's log-probabilities are those of
    the softmax at this temperature; below 1 they are renormalised over the nucleus, so that they are
    always those of the distribution that was sampled from. Greedy samples get those of temperature 1.
    ``stop`` strings end a sample and are cut from its text, never from its ids.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 100:
            raise ValueError(f"temperature must be within 0 and 100, got {self.temperature!r}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, got {self.top_p!r}")
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, got {self.max_tokens!r}")
        if isinstance(self.stop, str) or not all(self.stop):
            raise ValueError(f"stop must be a tuple of non-empty strings, got {self.stop!r}")


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """``n`` samples of one prompt, which is either ``messages`` (a chat) or ``prompt_ids``.

    Args:
        prefix_ids: with ``messages``, the exact tokens of the conversation up to and including its last
            assistant message, as an earlier sample returned them (prompt and output). An engine that
            tokenises by itself then tokenises only what came after, so that the policy sees its own
            words as it sampled them, thoughts included; servers that render chats themselves ignore it.
        seed: two requests with the same seed draw the same random numbers; None draws fresh ones.
        tools: schemas in OpenAI's function format that the model may call natively.
    """

    messages: Messages | None = None
    prompt_ids: Sequence[int] | None = None
    role: Role = "policy"
    slot: Slot = "policy"
    sampling: Sampling = field(default_factory=Sampling)
    seed: int | None = None
    n: int = 1
    tools: Sequence[Mapping[str, Any]] = ()
    prefix_ids: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if (self.messages is None) == (self.prompt_ids is None):
            raise ValueError("a SampleRequest takes either messages or prompt_ids, and not both")
        if not (self.messages if self.prompt_ids is None else self.prompt_ids):
            raise ValueError("a SampleRequest needs at least one message or one prompt token")
        if self.n < 1:
            raise ValueError(f"n must be at least 1, got {self.n!r}")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A native function call; ``arguments`` is JSON as the model wrote it, unchecked."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a model said.

    ``ids`` are the sampled tokens, the end token included, and ``logprobs`` theirs; None where a server
    does not tell. ``text`` is without the end token, the stop string and native tool calls. ``usage``
    summed over a request's samples is what the request cost: the prompt is counted once.
    """

    text: str
    finish: Finish
    prompt_ids: list[int] | None = None
    ids: list[int] | None = None
    logprobs: list[float] | None = None
    weight_version: int = 0
    usage: Usage = field(default_factory=Usage)
    tool_calls: tuple[ToolCall, ...] = ()


class WeightSource(Protocol):
    """Where new weights come from: the learner."""

    def named_tensors(self) -> Iterable[tuple[str, "torch.Tensor"]]:
        """Full (unsharded) parameters under their Hugging Face names."""

    def logprobs(self, ids: Sequence[int], prompt_len: int) -> Sequence[float]:
        """The source's own log-probabilities of ``ids[prompt_len:]``, for the check after a sync."""


class Engine(Protocol):
    """A source of model text. Its coroutines may be awaited from any event loop, by many tasks at once."""

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """``request.n`` samples.

        Raises:
            EngineError: the model cannot be reached (an ``EnvInfraError``: it says nothing of the policy).
        """

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """Log-probabilities of ``ids[prompt_len:]`` given what stands before them, at temperature 1."""


@runtime_checkable
class TrainableEngine(Engine, Protocol):
    """An engine whose weights can be replaced while it runs: what training needs of an engine.

    Its samples must have ``prompt_ids`` and ``ids``: the tokens that are trained on are those that were
    sampled.
    """

    @property
    def tokenizer(self) -> Any:
        """The Hugging Face tokenizer with which the engine tokenises, chat template included."""

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots that ``sync`` can fill. ``target`` is needed by methods that keep a moving average."""

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> None:
        """Replace the weights of ``slot`` by those of ``source`` and check that they arrived.

        Samples that are running end with the old weights; later ones have ``weight_version`` ``version``.

        Raises:
            SyncError: the engine's log-probabilities of a probe text are not the source's.
        """


def missing_for_training(engine: object, slots: Iterable[Slot]) -> list[str]:
    """What ``engine`` lacks of ``TrainableEngine``, by name; empty where a method can be trained with it.

    Args:
        slots: those that the method fills.
    """
    lacking = [name for name in ("tokenizer", "sync", "slots") if not hasattr(engine, name)]
    offered = getattr(engine, "slots", ())
    return lacking or [f"slot {slot!r}" for slot in slots if slot not in offered]


def derive_seed(*parts: object) -> int:
    """A seed within 63 bits from anything printable; the same on every machine and run."""
    digest = hashlib.sha256(json.dumps([str(part) for part in parts]).encode("utf-8", "backslashreplace"))
    return int.from_bytes(digest.digest()[:8], "big") >> 1


def chat_fn(
    engine: Engine, sampling: Sampling | None = None, *, slot: Slot = "policy", seed: int | None = None
) -> ChatFn:
    """``engine`` as the model behind an environment's user, oracle or judge.

    With ``seed``, the same messages in the same role always draw the same reply; without, replies vary.

    Raises (from the returned function):
        EngineError: also when the conversation does not fit into the simulator's context, which says
            nothing of the policy that is measured.
    """
    chosen = sampling if sampling is not None else Sampling()

    async def chat(messages: Messages, role: Role) -> ChatReply:
        drawn = None if seed is None else derive_seed(seed, role, json.dumps(list(messages), default=str))
        request = SampleRequest(messages=messages, role=role, slot=slot, sampling=chosen, seed=drawn)
        (sample,) = await engine.sample(request)
        if sample.finish == "context_overflow":
            raise EngineError(
                f"the conversation does not fit into the context of the model that plays the {role!r} role; "
                "use one with a longer context",
                kind="refused",
            )
        return ChatReply(sample.text, sample.usage)

    return chat
