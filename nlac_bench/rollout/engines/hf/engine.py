"""HFEngine: runs a transformers model in this process, on CPU or GPU; one thread batches all requests."""

import asyncio
import atexit
import contextlib
import copy
import queue
import secrets
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import torch

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.engine import (
    EngineError,
    Sample,
    SampleRequest,
    Slot,
    ToolCall,
    WeightSource,
)
from nlac_bench.rollout.engines.hf import attention
from nlac_bench.rollout.engines.hf.decoder import Decoder, Row
from nlac_bench.rollout.engines.hf.loading import load_model, load_tokenizer
from nlac_bench.rollout.engines.hf.precision import fast_bf16
from nlac_bench.rollout.engines.tool_calls import parse_tool_calls
from nlac_bench.rollout.engines.weight_file import digest
from nlac_bench.rollout.engines.weights import (
    NOISE,
    check_arrived,
    forward_logprobs,
    load_weights,
    probe_ids,
    slope_of_change,
)
from nlac_bench.types import Usage

_running: "weakref.WeakSet[HFEngine]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Stop every worker thread: a thread inside torch at interpreter shutdown aborts the process."""
    for engine in list(_running):
        engine.close()


@dataclass(eq=False, slots=True)
class _Job:
    """A request in progress. ``rows`` is filled when the prompt is tokenised."""

    request: SampleRequest
    future: Future[list[Sample]]
    began: float
    prompt: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class _Call:
    """Another function for the worker thread. With ``alone`` it is not called while rows are decoded."""

    function: Callable[[], Any]
    future: Future[Any]
    alone: bool


class HFEngine:
    """An engine that runs a transformers causal LM.

    Requests of any number of tasks and event loops are decoded together (continuous batching): rows join and
    leave the batch between tokens. The keys and values of earlier turns are cached, so that the next turn of
    a conversation computes only its new tokens.

    Each sample has its own random generator, seeded by the request's seed and the sample's number, so its
    random numbers do not depend on other requests. Its logits depend on them in their last bits, since the
    order of floating-point sums depends on the batch; this rarely changes a token. ``deterministic=True``
    computes each sample alone, which is slower and bitwise reproducible.

    Args:
        model: a transformers causal LM with full attention in all layers; it is put in eval mode and stays on
            its device.
        tokenizer: a tokenizer with a chat template.
        max_rows: number of samples decoded together, and of conversations whose keys and values are cached.
            With fewer than the number of concurrent episodes, turns are computed from their first token. The
            memory of the cache is ``max_rows`` times that of the longest conversation.
        context: largest number of tokens of prompt and answer together; by default the model's own.
        sync_tolerance: largest mean difference of the probe's log-probabilities after a sync; by default
            1e-3 in float32 and 0.05 in lower precision.

    Raises:
        NlacBenchError: the model has layers without full attention, or there is no chat template.
    """

    slots: tuple[Slot, ...] = ("policy", "target")

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        max_rows: int = 64,
        deterministic: bool = False,
        context: int | None = None,
        sync_tolerance: float | None = None,
    ) -> None:
        config = model.config.get_text_config()
        kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
        if kinds != {"full_attention"}:
            raise NlacBenchError(
                f"{model.config.name_or_path or type(model).__name__} has layers of kind "
                f"{sorted(kinds - {'full_attention'})}, the transformers engine runs full attention only; "
                "use --engine vllm or a served model"
            )
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, got {max_rows!r}")
        self.tokenizer = tokenizer
        self.context = context or int(config.max_position_embeddings)
        self.deterministic = deterministic
        attention.use_where_faster(model)
        exact = model.dtype == torch.float32
        self.sync_tolerance = sync_tolerance if sync_tolerance is not None else (1e-3 if exact else 0.05)
        self.generated_tokens = 0
        """Number of tokens sampled so far, including unfinished samples; read by progress displays."""
        self._format = ChatFormat(tokenizer)
        self._max_rows = max_rows
        self._end_ids = _end_ids(model, tokenizer)
        self._decoders: dict[Slot, Decoder] = {"policy": self._decoder(model)}
        self._versions: dict[Slot, int] = {"policy": 0}
        self._inbox: queue.SimpleQueue[_Job | _Call | None] = queue.SimpleQueue()
        self._waiting: deque[Row | _Call] = deque()
        self._thread: threading.Thread | None = None
        self._start_lock = threading.Lock()

    @classmethod
    def from_pretrained(cls, name: str, *, device: str = "auto", dtype: str = "auto", **options: Any) -> Self:
        """Load a model and its tokenizer by name or folder.

        Args:
            device: ``cpu``, ``cuda`` …; ``auto`` takes a GPU if there is one.
            dtype: ``auto`` is the checkpoint's dtype, or float32 on a CPU that is slow in bf16.

        Raises:
            NlacBenchError: the model cannot be loaded.
        """
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if dtype == "auto" and device == "cpu" and not fast_bf16():
            dtype = "float32"
        tokenizer = load_tokenizer(name)
        return cls(load_model(name, dtype).to(device), tokenizer, **options)

    def __repr__(self) -> str:
        model = self._decoders["policy"].model
        return (
            f"HFEngine({model.config.name_or_path or type(model).__name__!r}, device={str(model.device)!r})"
        )

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """See ``Engine.sample``.

        Raises:
            EngineError: the model failed (out of memory, NaN), or the engine is closed.
            NlacBenchError: the chat template fails on the messages, or the slot has no weights yet.
        """
        job = _Job(request, Future(), time.perf_counter())
        self._submit(job)
        return await asyncio.wrap_future(job.future)

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """See ``Engine.logprobs``."""
        call = _Call(lambda: forward_logprobs(self._of(slot).model, ids, prompt_len), Future(), alone=False)
        self._submit(call)
        return list(await asyncio.wrap_future(call.future))

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens of all prompts so far."""
        return sum(decoder.prompt_tokens for decoder in list(self._decoders.values()))

    @property
    def cached_tokens(self) -> int:
        """Number of ``prompt_tokens`` whose keys and values were cached."""
        return sum(decoder.cached_tokens for decoder in list(self._decoders.values()))

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> float | None:
        """See ``TrainableEngine.sync``. It waits for running samples to end; later requests wait for it.

        The first sync of slot ``target`` copies the model.
        """
        call = _Call(lambda: self._take_over(source, version, slot), Future(), alone=True)
        self._submit(call)
        slope: float | None = call.future.result()
        return slope

    def version(self, slot: Slot) -> int:
        """Return the version of the weights in ``slot``."""
        return self._versions[slot]

    def weight_digests(self, slot: Slot) -> dict[str, tuple[str, str]]:
        """Return dtype and ``weight_file.digest`` of each parameter in ``slot``, by all of its names."""

        def compute() -> dict[str, tuple[str, str]]:
            named = self._of(slot).model.named_parameters(remove_duplicate=False)
            return {name: (str(p.dtype).removeprefix("torch."), digest(p)) for name, p in named}

        call = _Call(compute, Future(), alone=False)
        self._submit(call)
        found: dict[str, tuple[str, str]] = call.future.result()
        return found

    def close(self) -> None:
        """Stop the worker thread; requests that have not ended fail with ``EngineError``."""
        self._inbox.put(None)
        if self._thread is not None:
            self._thread.join()

    # --- the caller's side ----------------------------------------------------------------------

    def _submit(self, item: _Job | _Call) -> None:
        with self._start_lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="nlac-bench-hf", daemon=True)
                self._thread.start()
                _running.add(self)
            elif not self._thread.is_alive():
                raise EngineError(f"{self!r} is closed", "closed")
        self._inbox.put(item)

    # --- the worker's side ----------------------------------------------------------------------

    def _work(self) -> None:
        while self._collect():
            self._begin_waiting()
            for decoder in self._decoders.values():
                try:
                    self._step(decoder)
                except Exception as error:
                    self._fail_all(decoder, error)
        closed = EngineError(f"{self!r} was closed", "closed")
        for item in [*self._waiting, *(row for d in self._decoders.values() for row in d.active)]:
            _fail(item.future if isinstance(item, _Call) else item.owner.future, closed)

    def _collect(self) -> bool:
        """Tokenise and queue new requests; block if there is nothing else to do. False after ``close``."""
        idle = not self._waiting and not self._busy()
        while True:
            try:
                item = self._inbox.get(block=idle)
            except queue.Empty:
                return True
            if item is None:
                return False
            idle = False
            if isinstance(item, _Call):
                self._waiting.append(item)
            else:
                try:
                    self._waiting += self._rows(item)
                except Exception as error:  # a chat template may raise any exception
                    _fail(item.future, error)

    def _rows(self, job: _Job) -> list[Row]:
        """Return the rows of a request. If its prompt fills the context, deliver a result and return []."""
        request = job.request
        self._of(request.slot)
        job.prompt = self._format.prompt_ids(request)
        left = self.context - len(job.prompt)
        seed = request.seed if request.seed is not None else secrets.randbits(63)
        rows = [
            Row(
                job.prompt,
                request.sampling,
                min(left, request.sampling.max_tokens),
                np.random.Generator(np.random.PCG64([seed, number])),
                owner=job,
            )
            for number in range(request.n)
        ]
        job.rows = rows
        if left > 0:
            return rows
        for row in rows:
            row.finish = "context_overflow"
        self._deliver(job)
        return []

    def _begin_waiting(self) -> None:
        """Start waiting rows and calls in the order of their arrival while there is room."""
        while self._waiting:
            head = self._waiting[0]
            if isinstance(head, _Call):
                if head.alone and self._busy():
                    return
                self._waiting.popleft()
                try:
                    head.future.set_result(head.function())
                except Exception as error:
                    _fail(head.future, error)
                continue
            decoder = self._of(head.owner.request.slot)
            room = decoder.max_rows - len(decoder.active)
            rows: list[Row] = []
            while self._waiting and len(rows) < room:
                row = self._waiting[0]
                if isinstance(row, _Call) or row.owner.request.slot != head.owner.request.slot:
                    break
                self._waiting.popleft()
                if not row.owner.future.done():
                    rows.append(row)
            if not rows and room == 0:
                return
            try:
                decoder.admit(rows)
            except Exception as error:
                self._fail_all(decoder, error, rows)

    def _step(self, decoder: Decoder) -> None:
        """Sample one token for every row and deliver the samples that ended."""
        for row in [row for row in decoder.active if row.owner.future.done()]:
            decoder.release(row)  # its request was cancelled
        if not decoder.active:
            return
        self.generated_tokens += decoder.step()
        for row in decoder.active:
            if row.finish is None and row.sampling.stop and self._at_stop(row):
                row.finish = "stop"
        ended = [row for row in decoder.active if row.finish is not None]
        if any(row.broken for row in ended):
            raise EngineError(
                "the model returned NaN instead of probabilities: its weights are invalid", "server"
            )
        for row in ended:
            decoder.release(row)
            if all(other.finish is not None for other in row.owner.rows):
                self._deliver(row.owner)

    def _at_stop(self, row: Row) -> bool:
        longest = max(len(stop) for stop in row.sampling.stop)
        tail = self.tokenizer.decode(row.ids[-longest - 8 :], skip_special_tokens=True)
        return any(stop in tail for stop in row.sampling.stop)

    def _deliver(self, job: _Job) -> None:
        seconds = time.perf_counter() - job.began
        samples = []
        for number, row in enumerate(job.rows):
            usage = Usage(completion_tokens=len(row.ids))
            if number == 0:
                usage = usage + Usage(1, len(job.prompt), 0, 0.0, seconds)
            samples.append(self._sample(row, job, usage))
        with contextlib.suppress(InvalidStateError):  # the request may be cancelled concurrently
            job.future.set_result(samples)

    def _sample(self, row: Row, job: _Job, usage: Usage) -> Sample:
        ended = bool(row.ids) and row.ids[-1] in self._end_ids
        text = str(self.tokenizer.decode(row.ids[: len(row.ids) - ended], skip_special_tokens=True))
        found = [at for at in (text.find(stop) for stop in row.sampling.stop) if at >= 0]
        if found:
            text = text[: min(found)]
        finish = row.finish
        calls: tuple[ToolCall, ...] = ()
        if job.request.tools:
            text, calls = parse_tool_calls(text)
            finish = "tool_calls" if calls and finish == "stop" else finish
        assert finish is not None
        version = self._versions[job.request.slot]
        return Sample(text, finish, job.prompt, row.ids, row.logprobs, version, usage, calls)

    def _fail_all(self, decoder: Decoder, error: Exception, rows: Sequence[Row] = ()) -> None:
        """Fail all rows and reset the decoder, since a failed pass may have left a corrupt cache."""
        if not isinstance(error, NlacBenchError):
            error = EngineError(f"{self!r} failed: {type(error).__name__}: {error}"[:1000], "server")
        for row in [*rows, *decoder.active]:
            _fail(row.owner.future, error)
        decoder.reset()

    def _take_over(self, source: WeightSource, version: int, slot: Slot) -> float | None:
        if slot not in self._decoders:
            twin = copy.deepcopy(self._decoders["policy"].model)
            self._decoders[slot] = self._decoder(twin)
        decoder = self._decoders[slot]
        decoder.reset()  # what is cached belongs to the old weights
        ids = probe_ids(self.tokenizer)
        before = forward_logprobs(decoder.model, ids, 1)
        load_weights(decoder.model, source)
        after, expected = forward_logprobs(decoder.model, ids, 1), source.logprobs(ids, 1)
        check_arrived(after, expected, self.sync_tolerance, version)
        self._versions[slot] = version
        return slope_of_change(before, after, expected, NOISE[decoder.model.dtype == torch.float32])

    def _busy(self) -> bool:
        return any(decoder.active for decoder in self._decoders.values())

    def _of(self, slot: Slot) -> Decoder:
        try:
            return self._decoders[slot]
        except KeyError:
            raise NlacBenchError(f"the slot {slot!r} has no weights yet: sync it before sampling") from None

    def _decoder(self, model: Any) -> Decoder:
        return Decoder(model.eval(), self._end_ids, self._max_rows, alone=self.deterministic)


def _fail(future: Future[Any], error: Exception) -> None:
    with contextlib.suppress(InvalidStateError):
        future.set_exception(error)


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end an answer, from the model's generation settings and its tokenizer."""
    named = getattr(model.generation_config, "eos_token_id", None)
    listed = named if isinstance(named, list) else [named]
    return frozenset(int(i) for i in (*listed, tokenizer.eos_token_id) if i is not None)
