"""ServerEngine: one vLLM server as a replica of an ``EnginePool``."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence

from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.engine import EngineError, Sample, SampleRequest, Slot, WeightSource
from nlac_bench.rollout.engines.shared_source import SharedSource
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.vllm import loop
from nlac_bench.rollout.engines.vllm.plugin import WeightsBy
from nlac_bench.rollout.engines.vllm.push import push
from nlac_bench.rollout.engines.vllm.sampling import Generated, sample
from nlac_bench.rollout.engines.vllm.server import Server
from nlac_bench.rollout.engines.weight_file import WeightFile
from nlac_bench.rollout.engines.weights import TOLERANCE


class ServerEngine:
    """An engine that samples from one vLLM server, which has the weights of one slot.

    Prompts and samples are token ids; log-probabilities are those of the sampling distribution. A server
    cannot be sampled from before its first ``sync``, because its weights are unknown until then. Every sample
    is checked for the version of the weights that computed it.

    Args:
        url: the server's address, such as ``http://10.0.0.5:8000``.
        model: name or folder of the model that it serves.
        slot: the slot that its weights fill.
        format: the model's tokenizer and chat template.
        timeout: seconds for each request.
        weights_by: how the server will get weights.

    Raises:
        NlacBenchError: ``url`` is not the address of a server.
    """

    name = "VLLMServers"
    """The engine's name in the records of runs, which do not depend on the number of servers."""

    def __init__(
        self,
        url: str,
        model: str,
        slot: Slot,
        format: ChatFormat,
        timeout: float,
        weights_by: WeightsBy = "file",
    ) -> None:
        self.slots: tuple[Slot, ...] = (slot,)
        self.generated_tokens = 0
        """Number of tokens in all samples so far; read by progress displays."""
        self._server = Server(url, model, slot, format.tokenizer, timeout, weights_by)
        self._format = format
        self._closed = False
        self._running = 0
        self._idle, self._open = loop.call(_event()), loop.call(_event())

    def __repr__(self) -> str:
        return f"ServerEngine({str(self._server.http)!r}, {self.slots[0]!r})"

    @property
    def tokenizer(self) -> Tokenizer:
        """See ``Engine.tokenizer``."""
        return self._format.tokenizer

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens of all prompts of samples so far; 0 if the server does not report cached ones."""
        return self._server.prompt_tokens

    @property
    def cached_tokens(self) -> int:
        """Number of ``prompt_tokens`` that the server read from its prefix cache."""
        return self._server.cached_tokens

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """See ``Engine.sample``. Each sample of a request has its own seed, derived from the request's.

        Raises:
            EngineError: the server cannot be used (``connection``) or refuses the request (``refused``).
            NlacBenchError: the chat template fails on the messages.
        """
        return await asyncio.wrap_future(loop.submit(self._sample(request)))

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """See ``Engine.logprobs``."""
        if not 1 <= prompt_len <= len(ids):
            raise ValueError(f"prompt_len must be within 1 and the {len(ids)} ids, got {prompt_len}")
        return await asyncio.wrap_future(loop.submit(self._logprobs(ids, prompt_len)))

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> float | None:
        """See ``TrainableEngine.sync`` and ``push``. It waits for running samples to end; later requests wait
        for it. A server whose weights are not known is first asked for its version, model and flags.

        ``source`` is used in the thread that made its ``SharedSource``, or else in the calling thread.

        Raises:
            SyncError: the server does not have the new weights.
            EngineError: the server cannot be used (kind ``connection``).
        """
        if not isinstance(source, SharedSource):
            with WeightFile(source) as file:
                return self.sync(file, version, slot)
        loop.call(self._pause())
        try:
            if not self._server.intact:
                loop.call(self._server.look())
            exact = self._server.exact and source.exact
            return push(self._server, source, version, TOLERANCE[exact], loop.call)
        finally:
            loop.call(self._resume())

    def close(self) -> None:
        """Close the connections; the server keeps running."""
        if not self._closed:
            self._closed = True
            loop.call(self._server.http.close())

    # --- on the event loop of the servers -------------------------------------------------------

    async def _sample(self, request: SampleRequest) -> list[Sample]:
        prompt = self._format.prompt_ids(request)
        if not self._server.context:  # not asked yet
            raise self._without_weights()
        return await sample(request, prompt, self._server.context, self._generate, self.tokenizer)

    async def _generate(self, prompt: list[int], arguments: Mapping[str, object]) -> Generated:
        async with self._request():
            done = await self._server.generate(prompt, arguments)
        self.generated_tokens += len(done.ids)
        return done

    async def _logprobs(self, ids: Sequence[int], prompt_len: int) -> list[float]:
        async with self._request():
            return await self._server.logprobs(ids, prompt_len)

    @contextlib.asynccontextmanager
    async def _request(self) -> AsyncIterator[None]:
        """Wait while weights are being replaced."""
        await self._open.wait()
        if self._closed:
            raise EngineError(f"{self!r} is closed", "closed")
        if not self._server.intact:
            raise self._without_weights()
        self._running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if self._running == 0:
                self._idle.set()

    def _without_weights(self) -> EngineError:
        return EngineError(f"{self!r} has no weights that are known; call sync before sampling", "connection")

    async def _pause(self) -> None:
        """Hold back new requests and wait until the running ones have ended, each within its time limit."""
        self._open.clear()
        await self._idle.wait()

    async def _resume(self) -> None:
        self._open.set()


async def _event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event
