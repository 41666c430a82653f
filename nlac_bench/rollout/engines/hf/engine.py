"""HFEngine: runs a transformers model in this process, on CPU or GPU; one thread batches all requests."""

import asyncio
import contextlib
import copy
import secrets
import time
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any, Self

import numpy as np
import torch

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.engine import (
    Sample,
    SampleRequest,
    Slot,
    WeightSource,
)
from nlac_bench.rollout.engines.filling import Filling
from nlac_bench.rollout.engines.forms import FormTokens
from nlac_bench.rollout.engines.hf import attention
from nlac_bench.rollout.engines.hf.batching import Batching, Job, WorkerCall
from nlac_bench.rollout.engines.hf.decoder import Decoder
from nlac_bench.rollout.engines.hf.loading import (
    check_layers,
    check_vocabulary,
    context_of,
    end_ids,
    load_model,
    load_tokenizer,
)
from nlac_bench.rollout.engines.hf.precision import fast_bf16
from nlac_bench.rollout.engines.hf.row import Row
from nlac_bench.rollout.engines.hf.threads import end_idle_threads
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.tool_calls import read_sample
from nlac_bench.rollout.engines.weight_file import digest
from nlac_bench.rollout.engines.weights import (
    NOISE,
    TOLERANCE,
    check_arrived,
    forward_logprobs,
    load_weights,
    probe_ids,
    slope_of_change,
)
from nlac_bench.types import Usage


class HFEngine(Batching):
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
            With fewer rows than concurrent episodes, turns are computed from their first token. The
            memory of the cache is ``max_rows`` times that of the longest conversation.

    Raises:
        NlacBenchError: the model has layers without full attention, or there is no chat template.
    """

    slots: tuple[Slot, ...] = ("policy", "target")

    def __init__(
        self,
        model: Any,
        tokenizer: Tokenizer,
        *,
        max_rows: int = 64,
        deterministic: bool = False,
    ) -> None:
        check_layers(model)
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, got {max_rows!r}")
        check_vocabulary(model, tokenizer)
        self.tokenizer = tokenizer
        self.context = context_of(model)
        """Largest number of tokens of prompt and answer together."""
        self.deterministic = deterministic
        attention.use_where_faster(model)
        self.sync_tolerance = TOLERANCE[model.dtype == torch.float32]
        """Largest mean difference of the probe's log-probabilities after a sync."""
        self._format = ChatFormat(tokenizer)
        self._max_rows = max_rows
        self.end_ids = end_ids(model, tokenizer)
        self._versions: dict[Slot, int] = {"policy": 0}
        super().__init__({"policy": self._decoder(model)})

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
        model = self.decoders["policy"].model
        return (
            f"HFEngine({model.config.name_or_path or type(model).__name__!r}, device={str(model.device)!r})"
        )

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """See ``Engine.sample``.

        Raises:
            EngineError: the model failed (out of memory, NaN), or the engine is closed.
            NlacBenchError: the chat template fails on the messages or renders no text, or the slot has no
                weights yet.
        """
        end_idle_threads()  # of a learner or a loader in the caller's thread
        job = Job(request, Future(), time.perf_counter())
        self._submit(job)
        return await asyncio.wrap_future(job.future)

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """See ``Engine.logprobs``."""
        call = WorkerCall(
            lambda: forward_logprobs(self._decoder_of(slot).model, ids, prompt_len), Future(), alone=False
        )
        self._submit(call)
        return list(await asyncio.wrap_future(call.future))

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens of all prompts so far."""
        return sum(decoder.prompt_tokens for decoder in list(self.decoders.values()))

    @property
    def cached_tokens(self) -> int:
        """Number of ``prompt_tokens`` whose keys and values were cached."""
        return sum(decoder.cached_tokens for decoder in list(self.decoders.values()))

    @property
    def read_tokens(self) -> int:
        """Number of tokens of prompts computed so far; read by progress displays."""
        return sum(decoder.read_tokens for decoder in list(self.decoders.values()))

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> float | None:
        """See ``TrainableEngine.sync``. It waits for running samples to end; later requests wait for it.

        The first sync of slot ``target`` copies the model.
        """
        call = WorkerCall(lambda: self._take_over(source, version, slot), Future(), alone=True)
        self._submit(call)
        slope: float | None = call.future.result()
        return slope

    def forget(self) -> None:
        """Drop all cached keys and values, which new weights make useless; running samples end first."""

        def drop() -> None:
            for decoder in self.decoders.values():
                decoder.reset()
            end_idle_threads()

        call = WorkerCall(drop, Future(), alone=True)
        self._submit(call)
        call.future.result()

    def version(self, slot: Slot) -> int:
        """Return the version of the weights in ``slot``."""
        return self._versions[slot]

    def weight_digests(self, slot: Slot) -> dict[str, tuple[str, str]]:
        """Return dtype and ``weight_file.digest`` of each parameter in ``slot``, by all of its names."""

        def compute() -> dict[str, tuple[str, str]]:
            named = self._decoder_of(slot).model.named_parameters(remove_duplicate=False)
            return {name: (str(p.dtype).removeprefix("torch."), digest(p)) for name, p in named}

        call = WorkerCall(compute, Future(), alone=False)
        self._submit(call)
        digests: dict[str, tuple[str, str]] = call.future.result()
        return digests

    def _rows(self, job: Job) -> list[Row]:
        """Return the rows of a request. If its prompt fills the context, deliver a result and return []."""
        request = job.request
        self._decoder_of(request.slot)
        job.prompt = self._format.prompt_ids(request)
        if not job.prompt:
            raise NlacBenchError(
                "the prompt has no tokens: the chat template renders the messages as no text"
            )
        left = self.context - len(job.prompt)
        seed = request.seed if request.seed is not None else secrets.randbits(63)
        limit = min(left, request.sampling.max_tokens)
        form = None if request.form is None else FormTokens(request.form, self.tokenizer)
        rows = [
            Row(
                job.prompt,
                request.sampling,
                limit,
                np.random.Generator(np.random.PCG64([seed, number])),
                owner=job,
                stopped=self._at_stop if request.sampling.stop else None,
                filling=None if form is None else Filling(form, limit, self.end_ids),
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

    def _at_stop(self, row: Row) -> bool:
        longest = max(len(stop) for stop in row.sampling.stop)
        tail = self.tokenizer.decode(row.ids[-longest - 8 :], skip_special_tokens=True)
        return any(stop in tail for stop in row.sampling.stop)

    def _deliver(self, job: Job) -> None:
        seconds = time.perf_counter() - job.began
        samples = []
        for number, row in enumerate(job.rows):
            usage = Usage(completion_tokens=sum(row.filling.filled.sampled) if row.filling else len(row.ids))
            if number == 0:
                usage = usage + Usage(1, len(job.prompt), 0, 0.0, seconds)
            samples.append(self._sample(row, job, usage))
        with contextlib.suppress(InvalidStateError):  # the request may be cancelled concurrently
            job.future.set_result(samples)

    def _sample(self, row: Row, job: Job, usage: Usage) -> Sample:
        version = self._versions[job.request.slot]
        if (filling := row.filling) is not None:
            finish = row.finish
            assert finish is not None
            return Sample(
                filling.read(job.prompt),
                finish,
                job.prompt,
                row.ids,
                row.logprobs,
                version,
                usage,
                filled=filling.filled,
            )
        ended = bool(row.ids) and row.ids[-1] in self.end_ids
        ids = row.ids[: len(row.ids) - ended]
        text = row.sampling.cut(str(self.tokenizer.decode(ids, skip_special_tokens=True)))
        text, calls = read_sample(
            self.tokenizer, job.prompt, ids, text, lambda: row.sampling.cut(str(self.tokenizer.decode(ids))),
            job.request.tools,
        )  # fmt: skip
        finish = "tool_calls" if calls and row.finish == "stop" else row.finish
        assert finish is not None
        return Sample(text, finish, job.prompt, row.ids, row.logprobs, version, usage, calls)

    def _take_over(self, source: WeightSource, version: int, slot: Slot) -> float | None:
        if slot not in self.decoders:
            twin = copy.deepcopy(self.decoders["policy"].model)
            self.decoders[slot] = self._decoder(twin)
        decoder = self.decoders[slot]
        decoder.reset()  # the cached keys and values belong to the old weights
        ids = probe_ids(self.tokenizer)
        before = forward_logprobs(decoder.model, ids, 1)
        load_weights(decoder.model, source)
        after, expected = forward_logprobs(decoder.model, ids, 1), source.logprobs(ids, 1)
        check_arrived(after, expected, self.sync_tolerance, version)
        self._versions[slot] = version
        return slope_of_change(before, after, expected, NOISE[decoder.model.dtype == torch.float32])

    def _decoder(self, model: Any) -> Decoder:
        return Decoder(model.eval(), self.end_ids, self._max_rows, alone=self.deterministic)
