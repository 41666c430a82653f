"""ProcessEngine: runs an HFEngine in another process, so that several of them use several cores."""

import asyncio
import functools
import weakref
from collections.abc import Sequence

import torch

from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Slot, SyncError, WeightSource
from nlac_bench.rollout.engines.hf.child import EngineChild
from nlac_bench.rollout.engines.hf.loading import load_tokenizer
from nlac_bench.rollout.engines.hf.wire import sample_of
from nlac_bench.rollout.engines.model_files import check_model
from nlac_bench.rollout.engines.pool import EnginePool
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.weight_file import WeightFile, check_digests
from nlac_bench.rollout.engines.weights import probe_ids


class ProcessEngine:
    """An engine that runs an ``HFEngine`` in a separate process, which ends with this one.

    Requests and samples are exchanged as JSON, weights by a safetensors file in shared memory. Samples equal
    those of an ``HFEngine`` in this process with the same number of threads: in batches their last bits
    depend on the other requests, with ``deterministic=True`` they are bitwise the same.

    The constructor returns while the process loads the model; ``wait_until_loaded`` waits for it.

    Args:
        model: name or folder of a Hugging Face model with a chat template.
        threads: number of CPU threads of the process.
        options: further arguments of ``HFEngine.from_pretrained``.

    Raises:
        EngineError: the process cannot be started.
    """

    name = "HFEngine"
    """The engine's name in the records of runs, which do not depend on the number of processes."""
    slots: tuple[Slot, ...] = ("policy", "target")

    def __init__(self, model: str, *, threads: int = 1, **options: object) -> None:
        self.model = model
        self.child = EngineChild(f"an engine process of {model!r}", threads)
        self.child.name = repr(self)
        self.close = weakref.finalize(self, self.child.close)
        """Ends the process; requests that have not ended fail with ``EngineError``. Also called at exit."""
        self._loading = self.child.call("load", model=model, options=options)

    def __repr__(self) -> str:
        return f"ProcessEngine({self.model!r}, pid={self.child.pid})"

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        """See ``TrainableEngine.tokenizer``."""
        return load_tokenizer(self.model)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self.child.pid

    @property
    def generated_tokens(self) -> int:
        """Number of tokens sampled so far; at most a second old. Read by progress displays."""
        return self.child.tokens

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens of all prompts so far; at most a second old."""
        return self.child.prompts[0]

    @property
    def cached_tokens(self) -> int:
        """Number of ``prompt_tokens`` whose keys and values were cached."""
        return self.child.prompts[1]

    @property
    def read_tokens(self) -> int:
        """Number of tokens of prompts computed so far; at most a second old. Read by progress displays."""
        return self.child.prompts[2]

    @property
    def context(self) -> int:
        """Largest number of tokens of prompt and answer together."""
        return int(self._loading.result()["context"])

    def wait_until_loaded(self) -> None:
        """Wait until the process has loaded the model.

        Raises:
            NlacBenchError: the model cannot be loaded.
            EngineError: the process has ended.
        """
        self._loading.result()

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """See ``Engine.sample``.

        Raises:
            EngineError: the model failed, or the process has ended (kind ``connection`` or ``closed``).
            NlacBenchError: the chat template fails on the messages, or the slot has no weights yet.
        """
        rows = await asyncio.wrap_future(self.child.call("sample", request=request))
        return [sample_of(row) for row in rows]

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """See ``Engine.logprobs``."""
        call = self.child.call("logprobs", ids=list(ids), prompt_len=prompt_len, slot=slot)
        return list(await asyncio.wrap_future(call))

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> float | None:
        """See ``TrainableEngine.sync``. It waits for running samples to end; later requests wait for it.

        The process compares its log-probabilities of the probe text with those of ``source``. Afterwards this
        process compares the version and the digests of all parameters of the other process.
        """
        if not isinstance(source, WeightFile):
            with WeightFile(source) as file:
                return self.sync(file, version, slot)
        probe = list(source.logprobs(probe_ids(self.tokenizer), 1))
        call = self.child.call("sync", path=str(source.path), probe=probe, version=version, slot=slot)
        synced = call.result()
        if synced["version"] != version:
            raise SyncError(f"the engine has version {synced['version']} after the sync to version {version}")
        check_digests(synced["digests"], source.named_tensors())
        slope: float | None = synced["slope"]
        return slope


def start_pool(
    model: str, replicas: int, *, max_rows: int, deterministic: bool = False, dtype: str = "auto"
) -> EnginePool:
    """Start ``replicas`` engine processes and return them as one engine when all have loaded the model.

    Args:
        model: name or folder of a Hugging Face model with a chat template.
        max_rows: as of ``HFEngine``, for all processes together.
        deterministic: as of ``HFEngine``. Each process then uses as many threads as an engine in this process
            would, because sums may depend on their number.
        dtype: as of ``HFEngine.from_pretrained``.

    Raises:
        NlacBenchError: the model cannot be loaded, or a process ended while it was loading it.
    """
    check_model(model)
    threads = torch.get_num_threads() if deterministic else 1
    options: dict[str, object] = {
        "max_rows": -(-max_rows // replicas),
        "deterministic": deterministic,
        "dtype": dtype,
    }
    pool = EnginePool([ProcessEngine(model, threads=threads, **options) for _ in range(replicas)])
    try:
        _ = pool.tokenizer  # loaded meanwhile
        for replica in pool.replicas:
            assert isinstance(replica, ProcessEngine)
            replica.wait_until_loaded()
    except BaseException:
        pool.close()
        raise
    return pool
