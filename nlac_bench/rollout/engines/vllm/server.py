"""Server: one vLLM server with the weights of one slot."""

import contextlib
import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nlac_bench.rollout.engines.backoff import Retries, TransientFault
from nlac_bench.rollout.engines.engine import EngineError, Slot, SyncError
from nlac_bench.rollout.engines.shared_source import SharedSource
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.vllm.http import Http, RefusedError
from nlac_bench.rollout.engines.vllm.plugin import WeightsBy
from nlac_bench.rollout.engines.vllm.sampling import Generated
from nlac_bench.rollout.engines.vllm.server_check import QUICK_S, Found, look

if TYPE_CHECKING:
    from nlac_bench.rollout.engines.vllm.group import Invitation

RETRIES = Retries(attempts=3, timeouts=1, longest=2.0)
"""Number of attempts of a request for a sample; then another replica answers it."""
_NO_LOGPROB = -9999.0
"""The number that vLLM sends in place of NaN and minus infinity."""


class Server:
    """A vLLM server. All methods are called on one event loop.

    Each method raises ``EngineError`` of kind ``connection`` if the server cannot be used: it does not answer
    in time, answers with an error or without log-probabilities, or has another model or other weights. It
    must then get weights again (``look``, ``transfer``).

    Args:
        url: the server's address.
        model: name or folder of the model that it must serve.
        slot: the slot whose weights it has; part of the weights' version.
        tokenizer: the model's tokenizer.
        timeout: seconds for each request.
        weights_by: how the server will get weights.

    Raises:
        NlacBenchError: ``url`` is not the address of a server.
    """

    def __init__(
        self,
        url: str,
        model: str,
        slot: Slot,
        tokenizer: Tokenizer,
        timeout: float,
        weights_by: WeightsBy = "file",
    ) -> None:
        self.http = Http(url, timeout)
        self.model, self.slot, self.tokenizer = model, slot, tokenizer
        self._weights_by = weights_by
        self.version = 0
        self.intact = False
        self.prompt_tokens = self.cached_tokens = 0
        """Numbers of tokens of the prompts, and of those read from the prefix cache, as the server reports
        them."""
        self._found = Found(None, ())
        self._label = ""
        self.group = ""
        """The name of the process group that its workers have joined (see ``Fanout``)."""

    @property
    def context(self) -> int:
        """See ``Receiver``."""
        return self._found.context

    @property
    def exact(self) -> bool:
        """See ``Receiver``."""
        return self._found.exact

    @property
    def block_size(self) -> int:
        """See ``Receiver``."""
        return self._found.block_size

    @property
    def dtype(self) -> str:
        """The name of the model's dtype, such as ``bfloat16``."""
        return self._found.dtype

    @property
    def on_gpu(self) -> bool:
        """Whether the server uses GPUs of NVIDIA."""
        return self._found.device == "cuda"

    @property
    def salt(self) -> str:
        """The name of the weights, ``SLOT:VERSION:RANDOM``, which is new in every transfer.

        Requests send it as the salt of the prefix cache, so that they read entries of these weights only.
        """
        return self._label

    async def look(self) -> None:
        """Check the server's version, model and flags.

        Raises:
            EngineError: the server cannot be used; the message lists all problems.
        """
        self._found = await look(self.http, self.model, self._weights_by)
        if self._found.problems:
            raise self.lost("; ".join(self._found.problems))

    async def generate(self, prompt: Sequence[int], arguments: Mapping[str, Any]) -> Generated:
        """Answer ``prompt``.

        Args:
            arguments: of vLLM's ``SamplingParams``.
        """
        reply = await self._generate(prompt, arguments)
        with self._reading():
            choice = reply["choices"][0]
            ids = [int(i) for i in choice["token_ids"]]
            rows = choice["logprobs"]["content"] if ids else []
            logprobs = [float(row["logprob"]) for row in rows]
            finish, versions = choice["finish_reason"], choice["weight_versions"] or []
            details = (reply.get("usage") or {}).get("prompt_tokens_details") or {}
            if len(logprobs) != len(ids) or not all(math.isfinite(p) and p > _NO_LOGPROB for p in logprobs):
                raise ValueError("log-probabilities are missing or not finite")
            if min(ids, default=0) < 0 or len(ids) > arguments["max_tokens"]:
                raise ValueError("token ids are negative or too many")
            if finish not in ("stop", "length"):
                raise ValueError(f"finish_reason is {finish!r}")
            labels = {str(span["version"]) for span in versions}
        if labels - {self._label} or (ids and not labels):
            raise self.lost(self._other_weights(", ".join(sorted(labels))))
        if "cached_tokens" in details:
            self.prompt_tokens += len(prompt)
            self.cached_tokens += int(details["cached_tokens"])
        at_end = finish == "stop" and choice.get("stop_reason") is None  # the last token ended the answer
        text = str(self.tokenizer.decode(ids[:-1] if at_end else ids, skip_special_tokens=True))
        places = [at for at in map(text.find, arguments.get("stop") or ()) if at >= 0]
        if finish == "stop" and places:
            text = text[: min(places)]
        return Generated(ids, logprobs, text, finish == "stop", self.version)

    async def logprobs(self, ids: Sequence[int], prompt_len: int) -> list[float]:
        """Return the log-probabilities of ``ids[prompt_len:]``; the prefix cache is not read."""
        reply = await self._generate(ids, {"temperature": 1.0, "max_tokens": 1, "prompt_logprobs": 0})
        with self._reading():
            rows = reply["prompt_logprobs"]
            return [float(rows[i][str(ids[i])]["logprob"]) for i in range(prompt_len, len(ids))]

    async def greedy(self, prompt: Sequence[int], count: int) -> tuple[list[int], list[float]]:
        """Return ``count`` greedy tokens after ``prompt`` and their log-probabilities at temperature 1."""
        arguments = {"temperature": 0.0, "max_tokens": count, "logprobs": 0, "ignore_eos": True}
        done = await self.generate(prompt, arguments)
        return done.ids, done.logprobs

    async def transfer(self, source: SharedSource, version: int) -> None:
        """Load the weights of ``source`` and set their version.

        Requests of other programs are paused during the transfer.

        Raises:
            SyncError: the server's workers refused the weights (see ``Loading``).
        """
        self.intact = False
        self.version, self._label = version, f"{self.slot}:{version}:{secrets.token_hex(4)}"
        try:
            await self.http.post("/pause?mode=keep&clear_cache=true")
            await self.start()
            await source.deliver(self)
            await self.http.post("/finish_weight_update", {"weight_version": self._label})
        except (TransientFault, RefusedError) as fault:
            if "digests:" in str(fault):
                raise SyncError(f"vLLM refused the weights of version {version}: {fault}") from None
            raise self.lost(str(fault)) from None
        finally:
            with contextlib.suppress(TransientFault, RefusedError):  # the weights' version is checked next
                await self.http.post("/resume", timeout=QUICK_S)

    async def start(self) -> None:
        """Start a weight update; end the one of a program that was killed during it, if there is one.

        Raises:
            TransientFault, RefusedError: the server does not start it; so do ``update``, ``workers`` and
                ``join``.
        """
        try:
            await self.http.post("/start_weight_update")
        except TransientFault:
            with contextlib.suppress(TransientFault):  # the server refuses it, and ends the earlier update
                await self.update({"path": "", "digests": {}})
            await self.http.post("/start_weight_update")

    async def update(self, info: Mapping[str, object]) -> None:
        """See ``Receiving.update``."""
        await self.http.post("/update_weights", {"update_info": dict(info)})

    async def workers(self) -> int:
        """Return the number of the server's workers: its GPUs, or processes on CPUs."""
        reply = await self.http.get("/get_world_size")
        try:
            return int(reply["world_size"])
        except (TypeError, LookupError, ValueError) as error:
            problem = f"{self.http}: unexpected reply to /get_world_size ({type(error).__name__}: {error})"
            raise TransientFault(problem, "bad_reply") from None

    async def join(self, invitation: "Invitation") -> None:
        """Let the server's workers join a process group."""
        await self.http.post("/init_weight_transfer_engine", {"init_info": asdict(invitation)})

    async def check_version(self, version: int) -> None:
        """Check the version of the weights that the server reports.

        Raises:
            SyncError: the version is another one.
        """
        try:
            label = (await self.http.get("/weight_info"))["weight_version"]
        except (TransientFault, RefusedError, TypeError, LookupError) as error:
            raise self.lost(str(error)) from None
        if label != self._label:
            raise SyncError(self._other_weights(str(label)))

    async def _generate(self, prompt: Sequence[int], arguments: Mapping[str, object]) -> Any:
        body = {
            "model": self._found.served,
            "token_ids": list(prompt),
            "sampling_params": dict(arguments),
            "cache_salt": self.salt,
        }
        try:
            return await RETRIES.run(
                f"the server {self.http}", lambda: self.http.post("/inference/v1/generate", body)
            )
        except RefusedError as error:
            if error.status == 400:  # the request is at fault, not the server
                raise EngineError(str(error), "refused") from None
            raise self.lost(str(error)) from None
        except EngineError as error:
            raise self.lost(str(error)) from None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn what reading an unexpected reply raises into ``EngineError``."""
        try:
            yield
        except (TypeError, LookupError, ValueError) as error:
            raise self.lost(f"unexpected reply: {type(error).__name__}: {error}") from None

    def _other_weights(self, label: str) -> str:
        return (
            f"versions: the server has the weights {label!r}, not {self._label!r}: it was restarted, or "
            "another program replaced its weights"
        )

    def lost(self, why: str) -> EngineError:
        self.intact, self.group = False, ""
        return EngineError(f"the server {self.http} ({self.slot}) is left out: {why}", "connection")
