"""Instance: one vLLM with the weights of one slot."""

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.engine import Slot, SyncError
from nlac_bench.rollout.engines.shared_source import SharedSource
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.vllm.plugin import BACKENDS, check_registered

SHUTDOWN_S = 30.0
"""Seconds for vLLM's processes to release their memory, on a busy machine too; vLLM's default is 5."""


class Instance:
    """A running vLLM (``AsyncLLM``). All methods but ``close`` are called on vLLM's event loop.

    Args:
        slot: the slot whose weights it has; part of the weights' version.
        model: name or folder of a Hugging Face model.
        options: further arguments of vLLM's ``AsyncEngineArgs``.

    Raises:
        NlacBenchError: vLLM cannot run the model, or does not find this package's plug-in.
    """

    def __init__(self, slot: Slot, model: str, options: Mapping[str, object]) -> None:
        check_registered()
        from vllm import AsyncEngineArgs
        from vllm.platforms import current_platform
        from vllm.v1.engine.async_llm import AsyncLLM

        arguments = {
            "model": model,
            "trust_remote_code": False,
            "load_format": "safetensors",
            "logprobs_mode": "processed_logprobs",
            "enable_prefix_caching": True,
            "weight_transfer_config": {"backend": BACKENDS["file"]},
            # Compiled graphs would keep packed weights of the old model.
            "enforce_eager": current_platform.is_cpu(),
            "disable_log_stats": True,
            **options,
        }
        try:
            self._vllm: Any = AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))
        except (ValueError, OSError, RuntimeError) as error:
            raise NlacBenchError(f"vLLM cannot run {model!r}: {str(error)[:1000]}") from None
        self.slot = slot
        self.version = 0
        self.intact = True
        """Whether the weights are known: False from the start of a transfer until it has been verified."""
        self._transfers = 0
        self._names = itertools.count()

    @property
    def tokenizer(self) -> Tokenizer:
        """The Hugging Face tokenizer."""
        return self._vllm.get_tokenizer()

    @property
    def context(self) -> int:
        """Largest number of tokens of prompt and answer together."""
        return int(self._vllm.model_config.max_model_len)

    @property
    def exact(self) -> bool:
        """Whether the model computes in float32."""
        return "float32" in str(self._vllm.model_config.dtype)

    @property
    def block_size(self) -> int:
        """Number of tokens of a block of the prefix cache; only whole blocks are cached."""
        return int(self._vllm.vllm_config.cache_config.block_size)

    @property
    def salt(self) -> str:
        """The part of the prefix cache that requests read: that of these weights.

        It is new after every transfer, also after one that failed or has the version of an earlier one, so
        that keys and values of other weights are never read.
        """
        return f"{self.slot}:{self.version}:{self._transfers}"

    async def generate(self, prompt: Sequence[int], params: Any) -> Any:
        """Return the final ``RequestOutput`` of vLLM."""
        from vllm.sampling_params import RequestOutputKind

        params.output_kind = RequestOutputKind.FINAL_ONLY
        output = None
        request = {"prompt_token_ids": list(prompt), "cache_salt": self.salt}
        async for latest in self._vllm.generate(request, params, f"nlac-{self.slot}-{next(self._names)}"):
            output = latest
        if output is None:
            raise RuntimeError("vLLM returned no output")
        return output

    async def logprobs(self, ids: Sequence[int], prompt_len: int) -> list[float]:
        """Return the log-probabilities of ``ids[prompt_len:]``; the prefix cache is not read."""
        from vllm import SamplingParams

        params = SamplingParams(temperature=1.0, max_tokens=1, prompt_logprobs=0, detokenize=False)
        steps = (await self.generate(ids, params)).prompt_logprobs
        return [float(steps[i][ids[i]].logprob) for i in range(prompt_len, len(ids))]

    async def greedy(self, prompt: Sequence[int], count: int) -> tuple[list[int], list[float]]:
        """Return ``count`` greedy tokens after ``prompt`` and their log-probabilities at temperature 1."""
        from vllm import SamplingParams

        params = SamplingParams(temperature=0.0, max_tokens=count, logprobs=0, ignore_eos=True)
        done = (await self.generate(prompt, params)).outputs[0]
        ids = [int(i) for i in done.token_ids]
        return ids, [float(step[i].logprob) for i, step in zip(ids, done.logprobs, strict=True)]

    async def transfer(self, source: SharedSource, version: int) -> None:
        """Load the weights of ``source``, which the workers check (see ``Loading``), and set their version.

        Raises:
            SyncError: a worker refused the weights.
        """
        self.intact = False
        self._transfers += 1
        try:
            await self._vllm.start_weight_update()
            await source.deliver(self)
            await self._vllm.finish_weight_update(weight_version=self._label(version))
        except Exception as error:  # vLLM raises its own exception for an exception of a worker
            raise SyncError(f"vLLM refused the weights of version {version}: {error}"[:2000]) from None
        self.version = version

    async def update(self, info: Mapping[str, Any]) -> None:
        """See ``Receiving.update``."""
        from vllm.distributed.weight_transfer.base import WeightTransferUpdateRequest

        await self._vllm.update_weights(WeightTransferUpdateRequest(update_info=dict(info)))

    async def check_version(self, version: int) -> None:
        """Check the version of the weights that vLLM reports.

        Raises:
            SyncError: the version or its slot is another one.
        """
        label = await self._vllm.get_weight_version()
        if label != self._label(version):
            raise SyncError(f"versions: vLLM has the weights {label!r}, not {self._label(version)!r}")

    async def stop_reading(self) -> None:
        """Stop reading vLLM's outputs, whose end it would report as an error; called before ``close``."""
        if (reader := self._vllm.output_handler) is not None:
            reader.cancel()
            await asyncio.wait([reader])

    def close(self) -> None:
        """End vLLM's processes. Those that have not ended after a while are killed."""
        self._vllm.shutdown(timeout=SHUTDOWN_S)
        # Its finalizer shuts it down again, which fails while the interpreter ends.
        self._vllm.shutdown = lambda: None

    def _label(self, version: int) -> str:
        return f"{self.slot}:{version}"
