"""VLLMEngine: runs vLLM in this process (extra ``vllm``), on GPU or CPU, with weights that can be replaced.

vLLM runs on its own event loop, so that requests may come from any loop and ``sync`` may be called from any
thread. Prompts and samples are token ids; log-probabilities are those of the sampling distribution
(``logprobs_mode="processed_logprobs"``).
"""

import asyncio
import atexit
import contextlib
import functools
import os
import signal
import threading
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.engine import (
    EngineError,
    Sample,
    SampleRequest,
    Slot,
    WeightSource,
)
from nlac_bench.rollout.engines.hf.precision import fast_bf16
from nlac_bench.rollout.engines.model_files import check_model
from nlac_bench.rollout.engines.shared_source import SharedSource
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.vllm import INSTALL_CPU, INSTALL_GPU
from nlac_bench.rollout.engines.vllm.instance import Instance
from nlac_bench.rollout.engines.vllm.push import push
from nlac_bench.rollout.engines.vllm.sampling import Generated, sample
from nlac_bench.rollout.engines.weight_file import WeightFile
from nlac_bench.rollout.engines.weights import TOLERANCE

T = TypeVar("T")

_LOGGING = {"VLLM_LOGGING_LEVEL": "WARNING", "VLLM_LOGGING_STREAM": "ext://sys.stderr"}
"""Read when vLLM is imported. By default it logs every step of its start, to the standard output."""


class VLLMEngine:
    """An engine that runs a model with vLLM's ``AsyncLLM``.

    vLLM does continuous batching and prefix caching. The slot ``target`` is a second vLLM instance, which is
    started at the slot's first sync. Methods that use it need memory for both: set ``gpu_memory_utilization``
    to 0.45 or less, or lower if a learner uses the same GPU.

    Args:
        model: name or folder of a Hugging Face model with a chat template.
        dtype: ``auto`` is the checkpoint's dtype, or float32 on a CPU that is slow in bf16.
        sync_tolerance: largest mean difference of the probe's log-probabilities after a sync; by default
            ``TOLERANCE``.
        options: further arguments of vLLM's ``AsyncEngineArgs`` (``max_model_len``, ``tensor_parallel_size``
            …).

    Raises:
        NlacBenchError: vLLM is not installed, or cannot run the model, or its files are refused.
    """

    slots: tuple[Slot, ...] = ("policy", "target")

    def __init__(
        self, model: str, *, dtype: str = "auto", sync_tolerance: float | None = None, **options: object
    ) -> None:
        for name, value in _LOGGING.items():
            os.environ.setdefault(name, value)
        try:
            from vllm.platforms import current_platform
        except ImportError as error:
            raise NlacBenchError(
                f"vLLM cannot be imported ({error}); run {INSTALL_GPU}, or without an NVIDIA GPU "
                f"{INSTALL_CPU}; or use --engine hf"
            ) from None
        check_model(model)
        if dtype == "auto" and current_platform.is_cpu() and not fast_bf16():
            dtype = "float32"
        self.model = model
        self.generated_tokens = 0
        """Number of tokens in all samples so far; read by progress displays."""
        self.prompt_tokens = self.cached_tokens = 0
        self._options = {**options, "dtype": dtype}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="nlac-bench-vllm", daemon=True)
        self._thread.start()
        self.instances: dict[Slot, Instance] = {}
        self._running = 0
        self._idle = self._call(_event())
        self._open = self._call(_event())
        try:
            first = self._call(self._start("policy"))
            self._format = ChatFormat(first.tokenizer)
        except BaseException:
            self.close()
            raise
        # Registered after the exit handlers of vLLM and multiprocessing, and so called before them: these end
        # vLLM's processes, which would be reported as an error.
        atexit.register(self.close)
        self.context = first.context
        self.sync_tolerance = sync_tolerance if sync_tolerance is not None else TOLERANCE[first.exact]

    def __repr__(self) -> str:
        return f"VLLMEngine({self.model!r})"

    @property
    def tokenizer(self) -> Tokenizer:
        """See ``Engine.tokenizer``."""
        return self._format.tokenizer

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """See ``Engine.sample``. Each sample of a request has its own seed, derived from the request's.

        Raises:
            EngineError: vLLM failed.
            NlacBenchError: the chat template fails on the messages, or the slot has no weights yet.
        """
        return await asyncio.wrap_future(self._submit(self._sample(request)))

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """See ``Engine.logprobs``."""
        if not 1 <= prompt_len <= len(ids):
            raise ValueError(f"prompt_len must be within 1 and the {len(ids)} ids, got {prompt_len}")
        return await asyncio.wrap_future(self._submit(self._logprobs(ids, prompt_len, slot)))

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> float | None:
        """See ``TrainableEngine.sync`` and ``push``. It waits for running samples to end; later requests wait
        for it. After a failed sync, the slot cannot be sampled from until another one succeeds.

        ``source`` is used in the calling thread alone.
        """
        if not isinstance(source, SharedSource):
            with WeightFile(source) as file:
                return self.sync(file, version, slot)
        self._call(self._pause())
        try:
            instance = self.instances.get(slot) or self._call(self._start(slot))
            return push(instance, source, version, self.sync_tolerance, self._call)
        finally:
            self._call(self._resume())

    def close(self) -> None:
        """Shut vLLM down. An engine that is not closed runs until the end of the process."""
        if not self._thread.is_alive():
            return
        atexit.unregister(self.close)
        for instance in self.instances.values():
            self._call(instance.stop_reading())
            instance.close()
        self.instances = {}
        self._call(_let_tasks_end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    # --- on the caller's thread -----------------------------------------------------------------

    def _submit(self, coroutine: Coroutine[object, object, T]) -> "Future[T]":
        if not self._thread.is_alive():
            coroutine.close()
            raise EngineError(f"{self!r} is closed", "closed")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _call(self, coroutine: Coroutine[object, object, T]) -> T:
        return self._submit(coroutine).result()

    # --- on vLLM's event loop -------------------------------------------------------------------

    def _serve(self) -> None:
        # vLLM's processes inherit the mask. Ctrl-C, which reaches all processes of a terminal, would end them
        # while the run still plays the episodes that have begun. Python's resource tracker, which starts with
        # the first process, would remove the signal from the mask.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._loop.run_forever()

    async def _start(self, slot: Slot) -> Instance:
        self.instances[slot] = Instance(slot, self.model, self._options)
        return self.instances[slot]

    def _instance(self, slot: Slot) -> Instance:
        if slot not in self.instances:
            raise NlacBenchError(f"the slot {slot!r} has no weights yet; call sync before sampling from it")
        if not self.instances[slot].intact:
            raise NlacBenchError(
                f"the last sync of the slot {slot!r} failed; call sync before sampling from it"
            )
        return self.instances[slot]

    async def _sample(self, request: SampleRequest) -> list[Sample]:
        self._instance(request.slot)
        prompt = self._format.prompt_ids(request)
        generate = functools.partial(self._generate, request.slot)
        return await sample(request, prompt, self.context, generate, self.tokenizer)

    async def _generate(self, slot: Slot, prompt: list[int], arguments: Mapping[str, Any]) -> Generated:
        """Answer ``prompt``; waits while weights are being replaced."""
        from vllm import SamplingParams

        async with self._request(slot) as instance:
            output, version = await instance.generate(prompt, SamplingParams(**arguments)), instance.version
        done = output.outputs[0]
        if done.finish_reason not in ("stop", "length"):
            raise EngineError(f"{self!r} ended a sample with {done.finish_reason!r}", "server")
        ids = [int(i) for i in done.token_ids]
        logprobs = [float(step[i].logprob) for i, step in zip(ids, done.logprobs, strict=True)]
        self.generated_tokens += len(ids)
        self.prompt_tokens += len(prompt)
        self.cached_tokens += output.num_cached_tokens or 0
        return Generated(ids, logprobs, done.text, done.finish_reason == "stop", version)

    async def _logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot) -> list[float]:
        async with self._request(slot) as instance:
            return await instance.logprobs(ids, prompt_len)

    @contextlib.asynccontextmanager
    async def _request(self, slot: Slot) -> AsyncIterator[Instance]:
        await self._open.wait()
        self._running += 1
        self._idle.clear()
        try:
            yield self._instance(slot)
        except (asyncio.CancelledError, NlacBenchError):
            raise
        except Exception as error:
            raise EngineError(f"{self!r} failed: {type(error).__name__}: {error}"[:1000], "server") from None
        finally:
            self._running -= 1
            if self._running == 0:
                self._idle.set()

    async def _pause(self) -> None:
        """Hold back new requests and wait until the running ones have ended."""
        self._open.clear()
        await self._idle.wait()

    async def _resume(self) -> None:
        self._open.set()


async def _let_tasks_end() -> None:
    """Wait for the tasks of vLLM's front end, which were cancelled."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait(tasks, timeout=5) if tasks else None


async def _event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event
