"""VLLMEngine: runs vLLM in this process (extra ``vllm``), on GPU or CPU, with weights that can be replaced.

vLLM runs on its own event loop, so that requests may come from any loop and ``sync`` may be called from any
thread. Prompts and samples are token ids; log-probabilities are those of the sampling distribution
(``logprobs_mode="processed_logprobs"``).
"""

import asyncio
import itertools
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.engine import (
    EngineError,
    Finish,
    Sample,
    SampleRequest,
    Slot,
    SyncError,
    WeightSource,
    derive_seed,
)
from nlac_bench.rollout.engines.model_files import check_model
from nlac_bench.rollout.engines.tool_calls import parse_tool_calls
from nlac_bench.rollout.engines.weight_file import WeightFile
from nlac_bench.rollout.engines.weights import check_arrived, probe_ids
from nlac_bench.types import Usage

T = TypeVar("T")


class VLLMEngine:
    """An engine that runs a model with vLLM's ``AsyncLLM``.

    vLLM does continuous batching and prefix caching. The slot ``target`` is a second vLLM instance, which is
    started at the slot's first sync. Methods that use it need memory for both: set ``gpu_memory_utilization``
    to 0.45 or less.

    Args:
        model: name or folder of a Hugging Face model with a chat template.
        context: largest number of tokens of prompt and answer together; by default the model's own.
        sync_tolerance: largest mean difference of the probe's log-probabilities after a sync.
        options: further arguments of vLLM's ``AsyncEngineArgs`` (``dtype``, ``tensor_parallel_size`` …).

    Raises:
        NlacBenchError: vLLM is not installed, or cannot run the model, or its files are refused.
    """

    slots: tuple[Slot, ...] = ("policy", "target")

    def __init__(
        self, model: str, *, context: int | None = None, sync_tolerance: float = 0.05, **options: Any
    ) -> None:
        try:
            import vllm  # noqa: F401
        except ImportError as error:
            raise NlacBenchError(
                f"vLLM cannot be imported ({error}); run pip install 'nlac-bench[vllm]', or use --engine hf"
            ) from None
        check_model(model)
        self.model = model
        self.sync_tolerance = sync_tolerance
        self._options = {**options, "max_model_len": context} if context else options
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="nlac-bench-vllm", daemon=True)
        self._thread.start()
        self._names = itertools.count()
        self._engines: dict[Slot, Any] = {}
        self._versions: dict[Slot, int] = {"policy": 0, "target": 0}
        self._running = 0
        self._idle = self._call(_event())
        self._open = self._call(_event())
        self._call(self._start("policy"))
        self._format = ChatFormat(self._engines["policy"].get_tokenizer())
        self.context = int(self._engines["policy"].model_config.max_model_len)

    def __repr__(self) -> str:
        return f"VLLMEngine({self.model!r})"

    @property
    def tokenizer(self) -> Any:
        """See ``TrainableEngine.tokenizer``."""
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

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> None:
        """See ``TrainableEngine.sync``. It waits for running samples to end; later requests wait for it."""
        with WeightFile(source) as file:
            self._call(self._take_over(file.path, file, version, slot))

    def close(self) -> None:
        """Shut vLLM down."""
        for engine in self._engines.values():
            engine.shutdown()
        self._engines = {}
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    # --- on the caller's thread -----------------------------------------------------------------

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        if not self._thread.is_alive():
            coroutine.close()
            raise EngineError(f"{self!r} is closed", "closed")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._submit(coroutine).result()

    # --- on vLLM's event loop -------------------------------------------------------------------

    async def _start(self, slot: Slot) -> None:
        from vllm import AsyncEngineArgs
        from vllm.platforms import current_platform
        from vllm.v1.engine.async_llm import AsyncLLM

        arguments = {
            "model": self.model,
            "trust_remote_code": False,
            "load_format": "safetensors",
            "logprobs_mode": "processed_logprobs",
            "worker_extension_cls": "nlac_bench.rollout.engines.vllm.worker.WeightLoader",
            # Compiled graphs would keep packed weights of the old model.
            "enforce_eager": current_platform.is_cpu(),
            "disable_log_stats": True,
            **self._options,
        }
        try:
            self._engines[slot] = AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))
        except (ValueError, OSError, RuntimeError) as error:
            raise NlacBenchError(f"vLLM cannot run {self.model!r}: {str(error)[:1000]}") from None

    def _of(self, slot: Slot) -> Any:
        if slot not in self._engines:
            raise NlacBenchError(f"the slot {slot!r} has no weights yet; call sync before sampling from it")
        return self._engines[slot]

    async def _sample(self, request: SampleRequest) -> list[Sample]:
        began = time.perf_counter()
        self._of(request.slot)
        prompt = self._format.prompt_ids(request)
        left = self.context - len(prompt)
        if left < 1:
            samples = [Sample("", "context_overflow", prompt, [], []) for _ in range(request.n)]
        else:
            numbers = range(request.n)
            samples = await asyncio.gather(*(self._one(request, prompt, left, i) for i in numbers))
        usages = [Usage(completion_tokens=len(sample.ids or ())) for sample in samples]
        usages[0] = usages[0] + Usage(1, len(prompt), 0, 0.0, time.perf_counter() - began)
        return [
            Sample(s.text, s.finish, prompt, s.ids, s.logprobs, s.weight_version, usage, s.tool_calls)
            for s, usage in zip(samples, usages, strict=True)
        ]

    async def _one(self, request: SampleRequest, prompt: list[int], left: int, number: int) -> Sample:
        from vllm import SamplingParams

        sampling = request.sampling
        limit = min(left, sampling.max_tokens)
        seed = request.seed
        if seed is not None and number > 0:
            seed = derive_seed(seed, number)
        params = SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=limit,
            stop=list(sampling.stop),
            seed=seed,
            logprobs=0,
        )
        output = await self._generate(request.slot, prompt, params)
        version = self._versions[request.slot]
        done = output.outputs[0]
        ids = [int(i) for i in done.token_ids]
        logprobs = [float(step[i].logprob) for i, step in zip(ids, done.logprobs, strict=True)]
        finish: Finish = "stop"
        if done.finish_reason == "length":
            finish = "length" if limit == sampling.max_tokens else "context_overflow"
        elif done.finish_reason != "stop":
            raise EngineError(f"{self!r} ended a sample with {done.finish_reason!r}", "server")
        text, calls = parse_tool_calls(done.text) if request.tools else (done.text, ())
        if calls and finish == "stop":
            finish = "tool_calls"
        return Sample(text, finish, prompt, ids, logprobs, version, Usage(), calls)

    async def _logprobs(
        self, ids: Sequence[int], prompt_len: int, slot: Slot, inside_sync: bool = False
    ) -> list[float]:
        from vllm import SamplingParams

        params = SamplingParams(temperature=1.0, max_tokens=1, prompt_logprobs=0, detokenize=False)
        steps = (await self._generate(slot, list(ids), params, inside_sync)).prompt_logprobs
        return [float(steps[i][ids[i]].logprob) for i in range(prompt_len, len(ids))]

    async def _generate(self, slot: Slot, prompt: list[int], params: Any, inside_sync: bool = False) -> Any:
        """Generate and return the final output; waits while weights are being replaced."""
        from vllm.sampling_params import RequestOutputKind

        params.output_kind = RequestOutputKind.FINAL_ONLY
        if not inside_sync:
            await self._open.wait()
            self._running += 1
            self._idle.clear()
        try:
            output = None
            name = f"nlac-{next(self._names)}"
            async for latest in self._of(slot).generate({"prompt_token_ids": prompt}, params, name):
                output = latest
        except (asyncio.CancelledError, NlacBenchError):
            raise
        except Exception as error:
            raise EngineError(f"{self!r} failed: {type(error).__name__}: {error}"[:1000], "server") from None
        finally:
            if not inside_sync:
                self._running -= 1
                if self._running == 0:
                    self._idle.set()
        if output is None:
            raise EngineError(f"{self!r} returned no output", "server")
        return output

    async def _take_over(self, path: Path, source: WeightSource, version: int, slot: Slot) -> None:
        self._open.clear()
        try:
            await self._idle.wait()
            if slot not in self._engines:
                await self._start(slot)
            engine = self._engines[slot]
            try:
                await engine.collective_rpc("nlac_load_weights", args=(str(path),))
            except Exception as error:
                raise SyncError(
                    f"{self!r} could not load the weights of version {version}: {error}"[:2000]
                ) from None
            await engine.reset_prefix_cache()  # the cache was computed with the old weights
            ids = probe_ids(self._format.tokenizer)
            found = await self._logprobs(ids, 1, slot, inside_sync=True)
            check_arrived(found, list(source.logprobs(ids, 1)), self.sync_tolerance, version)
            self._versions[slot] = version
        finally:
            self._open.set()


async def _event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event
