"""Fanout: sends the learner's weights to all workers of several servers at once, by broadcast.

This process is rank 0. vLLM's own client numbers the workers of one server from 1; here, the workers of each
server follow those of the servers before it. Requests are made on the event loop of the servers, collectives
in a daemon thread with a time limit, and the calling thread waits for both: a server that refuses a request,
ends or never takes part is named in bounded time.
"""

import contextlib
import functools
import secrets
import socket
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import urlsplit

import torch
import torch.distributed as dist

from nlac_bench.rollout.engines.backoff import TransientFault
from nlac_bench.rollout.engines.vllm import loop
from nlac_bench.rollout.engines.vllm.group import BROKEN, Group, GroupError, Invitation, Meeting, within
from nlac_bench.rollout.engines.vllm.http import RefusedError
from nlac_bench.rollout.engines.vllm.packing import BUFFER_BYTES, packed
from nlac_bench.rollout.engines.vllm.server import Server

T = TypeVar("T")

FAULTS = (TransientFault, RefusedError)
NamedTensors = Callable[[], Iterable[tuple[str, torch.Tensor]]]
_LOOKS_S = (0.001, 0.02)
"""Seconds between two checks for missing workers: at first, and after one second."""
_ANSWER_S = 15.0
"""Seconds for a server to answer after the time limit of its workers, which starts before ours."""


class Fanout:
    """A process group of this process and the workers of servers, which is made at the first ``send``.

    Args:
        limit: seconds for each step: to join the group, and to send a buffer.
        size: bytes of a buffer.
    """

    def __init__(self, limit: float, size: int = BUFFER_BYTES) -> None:
        self.limit, self.size = limit, size
        self._ranks: dict[Server, range] = {}
        self._group: Group | None = None
        self._name, self._steps = "", 0

    def send(self, servers: Sequence[Server], tensors: NamedTensors) -> dict[Server, Exception]:
        """Send ``tensors`` to ``servers``, each of which has started an update of its weights.

        If a server is lost, the group is made again without it and everything is sent once more to the
        others; if that fails too, all of them are lost.

        Args:
            tensors: called in this thread, for each attempt.

        Returns:
            The servers that did not get all tensors, and why: ``TransientFault`` or ``RefusedError``.
        """
        lost: dict[Server, Exception] = {}
        left = list(servers)
        for attempt in (1, 2):
            try:
                self._send(left, tensors)
                break
            except _Failed as failed:
                self.close()
                lost |= failed.lost
                left = [server for server in left if server not in lost]
                if attempt == 1:
                    lost |= self._failures({server: loop.submit(server.start()) for server in left})
                    left = [server for server in left if server not in lost]
                else:
                    reason = f"the broadcast failed twice, the last time: {failed.why}"
                    lost |= {server: TransientFault(reason, "connection") for server in left}
            if not left:
                break
        return lost

    def close(self) -> None:
        """Leave the group; the workers of the servers leave it when they are invited to another one."""
        self._leave()
        for server in self._ranks:
            server.group = ""
        self._ranks = {}

    def _leave(self) -> None:
        if self._group is not None:
            self._group.close()
            self._group = None

    def _send(self, servers: Sequence[Server], tensors: NamedTensors) -> None:
        dtypes = {server.dtype for server in servers}
        dtype = getattr(torch, dtypes.pop() if len(dtypes) == 1 else "float32")
        if self._ranks.keys() != set(servers) or any(s.group != self._name for s in servers):
            self.close()
            self._join(servers)
        with contextlib.closing(packed(tensors(), dtype, self._device, self.size)) as buffers:
            for parts, data in buffers:
                assert self._group is not None
                self._together(
                    f"buffer-{self._steps}",
                    functools.partial(Server.update, info={"number": self._steps, "parts": parts}),
                    functools.partial(self._group.broadcast, data),
                )
                self._steps += 1

    def _join(self, servers: Sequence[Server]) -> None:
        """Make a group with all workers of ``servers``.

        Raises:
            _Failed: a server does not take part.
        """
        asked = {server: loop.submit(server.workers()) for server in servers}
        if lost := self._failures(asked):
            raise _Failed(lost, "a server does not report its number of workers")
        size = 1
        self._ranks = {}
        for server, reply in asked.items():
            self._ranks[server] = range(size, size + reply.result())
            size += len(self._ranks[server])
        on_gpus = torch.cuda.is_available() and all(server.on_gpu for server in servers)
        self._device = torch.device("cuda", torch.cuda.current_device()) if on_gpus else torch.device("cpu")
        backend, address, limit = "nccl" if on_gpus else "gloo", _own_address(servers), self.limit
        store = dist.TCPStore(address, 0, None, True, timedelta(seconds=limit), wait_for_workers=False)
        self._name, self._steps = f"nlac-bench-{secrets.token_hex(4)}", 0
        self._meeting = Meeting(store, self._name, limit)

        def join(server: Server) -> Coroutine[Any, Any, None]:
            first = self._ranks[server].start
            return server.join(Invitation(address, store.port, self._name, first, size, backend, limit))

        def connect() -> None:
            store = self._meeting.store
            self._group = Group(store, 0, size, backend, self._device, address, limit)

        self._together("join", join, connect)
        for server in servers:
            server.group = self._name

    def _together(
        self, step: str, ask: Callable[[Server], Coroutine[Any, Any, None]], collective: Callable[[], None]
    ) -> None:
        """Send a request to all servers, and call ``collective`` when all workers take part in it.

        Raises:
            _Failed: the group cannot be used any more.
        """
        replies = {server: loop.submit(ask(server)) for server in self._ranks}
        absent = self._absent(step, replies)
        why = "; ".join(str(fault) for fault in absent.values())
        self._meeting.begin(step, why)
        if not absent:
            try:
                within(self.limit, collective)
            except GroupError as error:
                why = str(error).removeprefix(f"{BROKEN} ")
                self._leave()  # so that workers that wait for this process fail and their servers answer
        others = {server: reply for server, reply in replies.items() if server not in absent}
        faults = absent | self._failures(others)
        if faults or why:
            lost = {server: fault for server, fault in faults.items() if BROKEN not in str(fault)}
            raise _Failed(lost, why or "; ".join(map(str, faults.values())))
        self._meeting.forget(step, [rank for ranks in self._ranks.values() for rank in ranks])

    def _absent(self, step: str, replies: "Mapping[Server, Future[None]]") -> dict[Server, Exception]:
        """Wait until all workers have reached ``step``; return the servers of others, with the reason."""
        began = time.monotonic()
        everyone = [rank for ranks in self._ranks.values() for rank in ranks]
        while True:
            # Read before ``missing``: a worker reaches the step before its server answers.
            answered = {server: reply for server, reply in replies.items() if reply.done()}
            missing = set(self._meeting.missing(step, everyone))
            if not missing:
                return {}
            absent = [server for server, ranks in self._ranks.items() if missing & set(ranks)]
            if refused := {server: answered[server] for server in absent if server in answered}:
                did_not = TransientFault("the server answered before its workers took part", "bad_reply")
                failures = self._failures(refused)
                return {server: failures.get(server, did_not) for server in refused}
            waited = time.monotonic() - began
            if waited > self.limit:
                for server in absent:
                    replies[server].cancel()
                return {server: self._late(step, server, missing) for server in absent}
            time.sleep(_LOOKS_S[waited > 1])

    def _late(self, step: str, server: Server, missing: set[int]) -> TransientFault:
        ranks = self._ranks[server]
        count = len(missing & set(ranks))
        return TransientFault(
            f"{server.http}: {count} of its {len(ranks)} workers did not come to the step {step!r} of the "
            f"broadcast within {self.limit:g} s; increase --request-timeout if the server works",
            "timeout",
        )

    def _failures(self, replies: "Mapping[Server, Future[T]]") -> dict[Server, Exception]:
        """Wait for ``replies`` and return the faults."""
        failures: dict[Server, Exception] = {}
        until = time.monotonic() + self.limit + _ANSWER_S
        for server, reply in replies.items():
            try:
                reply.result(max(0.0, until - time.monotonic()))
            except FAULTS as fault:
                failures[server] = fault
            except TimeoutError:
                reply.cancel()
                reason = f"{server.http} did not answer within {self.limit:g} s after the broadcast"
                failures[server] = TransientFault(reason, "timeout")
        return failures


class _Failed(Exception):
    """A step failed, so the group cannot be used; ``lost`` are the servers at fault, if known."""

    def __init__(self, lost: Mapping[Server, Exception], why: str) -> None:
        super().__init__(why)
        self.lost, self.why = dict(lost), why


def _own_address(servers: Sequence[Server]) -> str:
    """Return an address of this machine that the machines of all ``servers`` can reach.

    It is the one that this machine uses towards them: the loopback address if all are here.
    """
    addresses = []
    for server in servers:
        parts = urlsplit(server.http.url)
        family, kind, protocol, _, to = socket.getaddrinfo(
            parts.hostname, parts.port or 80, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(to)  # sends nothing
            addresses.append(str(probe.getsockname()[0]))
    return next((each for each in addresses if not each.startswith("127.") and each != "::1"), addresses[0])
