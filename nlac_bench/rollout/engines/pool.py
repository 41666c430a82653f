"""EnginePool: several engines that run the same model, used as one engine."""

from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from nlac_bench.errors import NlacBenchError
from nlac_bench.redaction import redact
from nlac_bench.rollout.engines.engine import (
    EngineError,
    Sample,
    SampleRequest,
    Slot,
    SyncError,
    TrainableEngine,
    WeightSource,
    engine_name,
)
from nlac_bench.rollout.engines.routing import Router
from nlac_bench.rollout.engines.shared_source import SharedSource
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.weight_file import WeightFile
from nlac_bench.rollout.engines.weights import probe_ids
from nlac_bench.rollout.interrupts import tell

T = TypeVar("T")

LOST = ("connection", "closed")
"""Kinds of an ``EngineError`` after which a replica gets no further requests."""


class Replica(TrainableEngine, Protocol):
    """An engine of a pool."""

    def close(self) -> object:
        """End the engine; requests that have not ended fail with ``EngineError``."""


class EnginePool:
    """A ``TrainableEngine`` that distributes requests over ``replicas``.

    Requests of one conversation (see ``routing``) go to the same replica. If a replica is lost, a message is
    printed, its requests are sent to another one with the same seeds, and it is not used any more, unless it
    takes the weights of a later ``sync``: a server may have been restarted.

    Which replica answers does not change a sample, as far as samples of a single replica do not depend on
    other requests.

    Args:
        replicas: engines with the same model, at least one.
    """

    def __init__(self, replicas: Sequence[Replica]) -> None:
        self.replicas = tuple(replicas)
        self.router = Router(len(self.replicas))
        self._closed = False

    def __repr__(self) -> str:
        return f"EnginePool({list(self.replicas)!r})"

    @property
    def name(self) -> str:
        """The name of the replicas' engine in the records of runs."""
        return engine_name(self.replicas[0])

    @property
    def tokenizer(self) -> Tokenizer:
        """See ``TrainableEngine.tokenizer``."""
        return self.replicas[0].tokenizer

    @property
    def slots(self) -> tuple[Slot, ...]:
        """See ``TrainableEngine.slots``."""
        return self.replicas[0].slots

    @property
    def generated_tokens(self) -> int:
        """Number of tokens that all replicas have sampled so far; read by progress displays."""
        return self._total("generated_tokens")

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens of all prompts so far."""
        return self._total("prompt_tokens")

    @property
    def cached_tokens(self) -> int:
        """Number of ``prompt_tokens`` that were read from a cache."""
        return self._total("cached_tokens")

    @property
    def read_tokens(self) -> int:
        """Number of tokens of prompts that all replicas have computed so far; read by progress displays."""
        return self._total("read_tokens")

    def _total(self, name: str) -> int:
        return sum(int(getattr(replica, name, 0)) for replica in self.replicas)

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """See ``Engine.sample``.

        Raises:
            EngineError: the model failed, or no replica is left.
        """
        return await self._ask(lambda replica: replica.sample(request), request.n)

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """See ``Engine.logprobs``."""
        return await self._ask(lambda replica: replica.logprobs(ids, prompt_len, slot), 1)

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> float | None:
        """See ``TrainableEngine.sync``. Each replica checks its own weights; lost replicas are left out, and
        used again if they take these weights.

        ``source`` is used in the calling thread alone, and its weights are read once for all replicas.

        Returns:
            The smallest value of the replicas.

        Raises:
            SyncError: a replica does not have the new weights; the message names it.
            EngineError: no replica is left.
        """
        if not isinstance(source, SharedSource):
            with WeightFile(source) as file:
                return self.sync(file, version, slot)
        source.logprobs(probe_ids(self.tokenizer), 1)
        with ThreadPoolExecutor(len(self.replicas)) as threads:
            numbers = range(len(self.replicas))
            running = [threads.submit(self._sync_one, n, source, version, slot) for n in numbers]
            source.answer(running)
        results = [future.result() for future in running]
        for result in results:
            if isinstance(result, NlacBenchError):
                raise result
        if not self.router.replicas:
            raise self._none_left()
        return min((slope for slope in results if isinstance(slope, float)), default=None)

    def close(self) -> None:
        """End all replicas."""
        self._closed = True
        for replica in self.replicas:
            replica.close()

    async def _ask(self, ask: Callable[[Replica], Awaitable[T]], samples: int) -> T:
        """Call ``ask`` with a replica; if that is lost, with another one."""
        while (number := self.router.begin(samples)) is not None:
            try:
                return await ask(self.replicas[number])
            except EngineError as error:
                if error.kind not in LOST or self._closed:
                    raise
                self.leave_out(number, error)
            finally:
                self.router.end(number, samples)
        raise self._none_left()

    def _sync_one(
        self, number: int, source: SharedSource, version: int, slot: Slot
    ) -> NlacBenchError | float | None:
        """Return the result or the error of one replica; None for a replica that is left out."""
        replica, used = self.replicas[number], number in self.router.replicas
        try:
            slope = replica.sync(source, version, slot)
        except SyncError as error:
            failure = SyncError(f"replica {number + 1} of {len(self.replicas)}, {replica!r}: {error}")
            if used:
                return failure
            tell(redact(f"{failure}; it stays left out"))
            return None
        except EngineError as error:
            if error.kind not in LOST or self._closed:
                return error
            self.leave_out(number, error)
            return None
        if not used:
            self.router.admit(number)
            tell(f"{replica!r} has the weights of version {version} and is used again")
        return slope

    def leave_out(self, number: int, error: EngineError) -> None:
        if self.router.leave_out(number):
            left = len(self.router.replicas)
            text = f"{error}; its requests go to the other replicas, of which {left} are left"
            tell(redact(text if left else f"{error}; no replica is left"))

    def _none_left(self) -> EngineError:
        if self._closed:
            return EngineError(f"{self!r} is closed", "closed")
        return EngineError(
            f"all {len(self.replicas)} replicas were lost, the messages above say why; resume the run when "
            "they work again, or with fewer --replicas if the memory was full",
            "connection",
        )
