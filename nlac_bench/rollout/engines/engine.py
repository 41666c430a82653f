"""The Engine protocol, the common interface of all that run a model, with its requests and samples."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from nlac_bench.errors import EnvInfraError, NlacBenchError
from nlac_bench.rollout.engines.forms import Filled, Form
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.thoughts import drop_reasoning
from nlac_bench.types import ChatFn, ChatReply, ContentFilterError, Messages, Role, ToolSchema, Usage

if TYPE_CHECKING:
    import torch

Slot: TypeAlias = Literal["policy", "target"]
"""The weights that answer a request: the policy's own, or their moving average."""

Finish: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "context_overflow"]
"""The reason why a sample ended. ``context_overflow``: the context window was full before the model ended its
answer. ``length`` with an empty text: the budget of tokens was used up before the answer began.
``content_filter``: a filter of the server stopped it, and the text is a fragment."""


class EngineError(EnvInfraError):
    """A model did not give a usable reply, and no attempts are left.

    ``kind`` is the kind of the last fault: ``rate_limit``, ``server``, ``timeout``, ``connection``,
    ``bad_reply``, ``refused`` (not retried: the server rejects this request) or ``closed``.

    Args:
        usage: what unusable replies cost in ``role``.
    """

    def __init__(
        self, message: str, kind: str, attempts: int = 1, usage: Usage | None = None, role: Role = "policy"
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.attempts = attempts
        self.charge({} if usage is None else {role: usage})


class SyncError(NlacBenchError):
    """The engine does not have the new weights, so it would sample from the wrong model."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters.

    ``temperature=0`` is greedy decoding. A sample's log-probabilities are always those of the sampling
    distribution: with ``top_p=1`` (the default) the softmax at this temperature, below 1 renormalised over
    the nucleus. Greedy samples have the log-probabilities of temperature 1. ``stop`` strings end a sample
    and are removed from its text, but not from its ids.

    Raises:
        ValueError: a parameter is out of range.
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

    def cut(self, text: str) -> str:
        """Return ``text`` up to the first stop string."""
        places = [at for at in (text.find(stop) for stop in self.stop) if at >= 0]
        return text[: min(places)] if places else text


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """A request for ``n`` samples of one prompt, which is either ``messages`` (a chat) or ``prompt_ids``.

    Args:
        prefix_ids: with ``messages``, the exact tokens of the conversation up to and including its last
            assistant message, as an earlier sample returned them (prompt and output). An engine that
            tokenises by itself then tokenises only the later messages, so that the policy reads its own
            text, thoughts included, as the tokens that it sampled. Servers that render chats themselves
            ignore it.
        seed: two requests with the same seed draw the same random numbers; None draws new ones.
        tools: schemas in OpenAI's function format that the model may call natively.
        form: the form of the answer, which the model fills in; ``sampling.stop`` is then not used. Engines
            of OpenAI-compatible servers ignore it, so that their answers have to be parsed.

    Raises:
        ValueError: there is not exactly one non-empty prompt, or ``n`` is below 1.
    """

    messages: Messages | None = None
    prompt_ids: Sequence[int] | None = None
    role: Role = "policy"
    slot: Slot = "policy"
    sampling: Sampling = field(default_factory=Sampling)
    seed: int | None = None
    n: int = 1
    tools: Sequence[ToolSchema] = ()
    prefix_ids: Sequence[int] | None = None
    form: Form | None = None

    def __post_init__(self) -> None:
        if (self.messages is None) == (self.prompt_ids is None):
            raise ValueError("a SampleRequest needs exactly one of messages and prompt_ids")
        if not (self.messages if self.prompt_ids is None else self.prompt_ids):
            raise ValueError("a SampleRequest needs at least one message or one prompt token")
        if self.n < 1:
            raise ValueError(f"n must be at least 1, got {self.n!r}")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A native function call. ``arguments`` is the JSON text that the model wrote; it is not validated."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a model.

    ``ids`` are the sampled tokens, including the end token, and ``logprobs`` their log-probabilities; None if
    a server does not return them. ``text`` excludes the end token, the stop string and native tool calls.
    In a form, ``ids`` and ``text`` contain the fixed words too, with log-probability 0; ``filled`` says which
    tokens were sampled.
    The sum of ``usage`` over a request's samples is the usage of the request; the prompt is counted once.
    """

    text: str
    finish: Finish
    prompt_ids: list[int] | None = None
    ids: list[int] | None = None
    logprobs: list[float] | None = None
    weight_version: int = 0
    usage: Usage = field(default_factory=Usage)
    tool_calls: tuple[ToolCall, ...] = ()
    filled: Filled | None = None


class WeightSource(Protocol):
    """A source of new weights, such as the learner.

    One that computes log-probabilities in lower precision than float32 has the attribute ``exact = False``.
    """

    def named_tensors(self) -> Iterable[tuple[str, "torch.Tensor"]]:
        """Return the full (unsharded) parameters with their Hugging Face names."""

    def logprobs(self, ids: Sequence[int], prompt_len: int) -> Sequence[float]:
        """Return the source's own log-probabilities of ``ids[prompt_len:]``, for the check after a sync."""


class Engine(Protocol):
    """Samples text from a model. Its coroutines may be awaited from any event loop, by many tasks at once."""

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The Hugging Face tokenizer that the engine uses, with its chat template; the style of the prompts
        depends on it. None for a server, which tokenises and renders chats itself."""

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """Return ``request.n`` samples.

        Raises:
            EngineError: the model cannot be reached. It is an ``EnvInfraError``: not the policy's fault.
        """

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """Return the log-probabilities of ``ids[prompt_len:]``, each given the ids before it, at temperature
        1."""


@runtime_checkable
class TrainableEngine(Engine, Protocol):
    """An engine whose weights can be replaced while it runs. Training requires this interface.

    Its samples must have ``prompt_ids`` and ``ids``, since the learner trains on exactly
    these tokens.
    """

    @property
    def tokenizer(self) -> Tokenizer:
        """The Hugging Face tokenizer that the engine uses."""

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots that ``sync`` can fill. Methods that keep a moving average need ``target``."""

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> float | None:
        """Replace the weights of ``slot`` by those of ``source`` and check the result with a probe text.

        Samples that are running end with the old weights; later ones have ``weight_version`` ``version``.

        Returns:
            How far the engine's log-probabilities of the probe text moved, as a multiple of the source's
            change (1 if all weights arrived); None if the change is below rounding errors, or was not
            measured.

        Raises:
            SyncError: the engine's log-probabilities of the probe text differ from the source's.
        """


def tokenizer_of(engine: Engine) -> Tokenizer | None:
    """Return ``engine.tokenizer``.

    Raises:
        NlacBenchError: the engine has no such attribute. Without it, a model would silently get prompts in a
            style that it was not trained on.
    """
    try:
        return engine.tokenizer
    except AttributeError as error:
        raise NlacBenchError(
            f"the engine {type(engine).__name__} has no attribute 'tokenizer' ({error}), so the style of its "
            "model's prompts is unknown; set the attribute to the model's Hugging Face tokenizer, or to None "
            "for a server that renders chats itself"
        ) from None


def missing_for_training(engine: object, slots: Iterable[Slot]) -> list[str]:
    """Return the parts of ``TrainableEngine`` that ``engine`` lacks; empty if it can train the method.

    Args:
        slots: the slots that the method fills.
    """
    lacking = [name for name in ("tokenizer", "sync", "slots") if getattr(engine, name, None) is None]
    offered = getattr(engine, "slots", ())
    return lacking or [f"slot {slot!r}" for slot in slots if slot not in offered]


def engine_name(engine: object) -> str:
    """Return the name of ``engine`` in the records of runs: the name of its class, or of a wrapped engine."""
    return str(getattr(engine, "name", type(engine).__name__))


def derive_seed(*parts: object) -> int:
    """Derive a 63-bit seed from printable ``parts``; it is the same on every machine and in every run."""
    digest = hashlib.sha256(json.dumps([str(part) for part in parts]).encode("utf-8", "backslashreplace"))
    return int.from_bytes(digest.digest()[:8], "big") >> 1


def chat_fn(
    engine: Engine, sampling: Sampling | None = None, *, slot: Slot = "policy", seed: int | None = None
) -> ChatFn:
    """Return a function with which an environment's user, oracle or judge samples replies from ``engine``.

    With ``seed``, the same messages in the same role always draw the same reply; without, replies vary.

    Raises:
        EngineError: raised by the returned function, also if the conversation does not fit into the context
            of the simulator's model, or its reply has only thoughts, which is not the policy's fault.
        ContentFilterError: raised by the returned function if a content filter stopped the reply.
    """
    return EngineChat(engine, sampling if sampling is not None else Sampling(), slot, seed)


@dataclass(frozen=True)
class EngineChat:
    """The function that ``chat_fn`` returns."""

    engine: Engine
    sampling: Sampling
    slot: Slot
    seed: int | None

    async def __call__(self, messages: Messages, role: Role) -> ChatReply:
        """Sample a reply; see ``chat_fn``."""
        seed = self.seed
        drawn = None if seed is None else derive_seed(seed, role, json.dumps(list(messages), default=str))
        request = SampleRequest(
            messages=messages, role=role, slot=self.slot, sampling=self.sampling, seed=drawn
        )
        (sample,) = await self.engine.sample(request)
        if sample.finish == "context_overflow":
            raise EngineError(
                f"the conversation does not fit into the context of the model that plays the {role!r} role; "
                "use a model with a longer context",
                kind="refused",
                usage=sample.usage,
                role=role,
            )
        if sample.finish == "content_filter":
            raise ContentFilterError(role, sample.usage)
        if sample.finish == "length" and not drop_reasoning(sample.text):
            raise EngineError(
                f"the model that plays the {role!r} role used its whole budget of {self.sampling.max_tokens} "
                "tokens for thoughts; increase --user-max-tokens",
                kind="refused",
                usage=sample.usage,
                role=role,
            )
        return ChatReply(sample.text, sample.usage)
