"""A process group of its own for weights: rank 0 is in the learner, the others are workers of vLLM servers.

It is not torch's default group, which the learner's ranks and vLLM use themselves. It uses NCCL between GPUs
and Gloo between CPUs. Before each collective, all members meet at a store of rank 0 (``Meeting``): a
collective begins only when every member has said that it takes part, because a member that is missing would
block the others. Nothing here waits without a time limit.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from nlac_bench.rollout.engines.checksum import checksums
from nlac_bench.rollout.engines.vllm.packing import Part, read_parts, unpacked

BROKEN = "broadcast:"
"""The beginning of messages about a failure of the group, not of the server that reports it."""
_NEVER = timedelta(days=30)
"""NCCL's own time limit, after which NCCL ends the process. Ours are shorter."""


class GroupError(RuntimeError):
    """The group cannot be used any more; the message begins with ``BROKEN``."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{BROKEN} {why}")


@dataclass(frozen=True)
class Invitation:
    """The data with which a server's workers join a group; the ``init_info`` of vLLM's request.

    ``address`` and ``port`` are those of rank 0's store, ``rank_offset`` is the rank of the server's first
    worker, ``backend`` is ``nccl`` or ``gloo``, and ``limit`` the seconds that each step may take.
    """

    address: str
    port: int
    name: str
    rank_offset: int
    world_size: int
    backend: str
    limit: float


class Meeting:
    """The members of the group ``name`` at a store, and the steps that they have reached."""

    def __init__(self, store: Any, name: str, limit: float) -> None:
        self.store = dist.PrefixStore(name, store)
        self.limit = timedelta(seconds=limit)

    def come(self, step: str, rank: int) -> None:
        """As a member, wait until ``step`` begins.

        Raises:
            GroupError: rank 0 does not begin it, or cannot be reached.
        """
        try:
            self.store.set(f"{step}/{rank}", "")
            self.store.wait([f"{step}/begin"], self.limit)
            why = self.store.get(f"{step}/begin").decode()
        except RuntimeError as error:
            raise GroupError(f"rank 0 did not begin the step {step!r} ({_short(error)})") from None
        if why:
            raise GroupError(f"rank 0 does not begin the step {step!r}: {why}")

    def missing(self, step: str, ranks: Sequence[int]) -> list[int]:
        """As rank 0, return those of ``ranks`` that have not reached ``step``."""
        if self.store.check([f"{step}/{rank}" for rank in ranks]):
            return []
        return [rank for rank in ranks if not self.store.check([f"{step}/{rank}"])]

    def begin(self, step: str, why_not: str = "") -> None:
        """As rank 0, let the members begin ``step``, or tell them why it does not begin."""
        self.store.set(f"{step}/begin", why_not)

    def forget(self, step: str, ranks: Sequence[int]) -> None:
        """As rank 0, remove ``step``, which has ended, from the store."""
        for name in (*map(str, ranks), "begin"):
            self.store.delete_key(f"{step}/{name}")


class Group:
    """The membership of this process in the process group; the constructor waits for the other members.

    Raises:
        GroupError: the members cannot connect to each other.
    """

    def __init__(
        self, store: Any, rank: int, size: int, backend: str, device: torch.device, address: str, limit: float
    ) -> None:
        self._rank, self._limit = rank, timedelta(seconds=limit)
        with _reported(rank):
            if backend == "nccl":
                torch.cuda.set_device(device)
                nccl = dist.ProcessGroupNCCL.Options()
                nccl._timeout = _NEVER
                self._group: Any = dist.ProcessGroupNCCL(store, rank, size, nccl)
                self.broadcast(torch.zeros(1, dtype=torch.uint8, device=device))  # connects the members
            else:
                kind: Any = dist.ProcessGroupGloo  # torch's stubs lack its options
                gloo = kind._Options()
                gloo._timeout = self._limit
                gloo._devices = [kind.create_device(hostname=address)]
                gloo._threads = 1
                self._group = kind(store, rank, size, gloo)

    def broadcast(self, data: torch.Tensor) -> None:
        """Send ``data`` as rank 0, or receive it as another member; return when it is complete.

        Raises:
            GroupError: a member is lost, or the time limit has passed.
        """
        options = dist.BroadcastOptions()
        options.rootRank = 0
        with _reported(self._rank):
            work = self._group.broadcast([data], options)
            work.wait(self._limit)  # with NCCL too, this returns when the data have arrived
            if not work.is_completed():
                raise GroupError(f"rank {self._rank} has waited {self._limit.total_seconds():g} s")

    def close(self) -> None:
        """Leave the group; the others' operations fail.

        Gloo closes its connections when nothing refers to the group; NCCL must be told, and may block.
        """
        group, self._group = self._group, None
        if group is not None and group.name() == "nccl":
            threading.Thread(target=group.abort, daemon=True).start()


class Member:
    """A worker of a server in the group; used by the plug-in.

    Args:
        worker: number of the worker within its server.
        device: where the worker's model is.

    Raises:
        ConnectionError: rank 0 cannot be reached.
        GroupError: the group is not formed within the time limit.
    """

    def __init__(self, invitation: Invitation, worker: int, device: torch.device) -> None:
        self.rank = invitation.rank_offset + worker
        self._device = device if invitation.backend == "nccl" else torch.device("cpu")
        host, port, limit = invitation.address, invitation.port, invitation.limit
        try:
            with socket.create_connection((host, port), limit) as connection:
                own = connection.getsockname()[0]  # the address of this machine for the others on the network
            store = dist.TCPStore(host, port, None, False, timedelta(seconds=limit), wait_for_workers=False)
        except (OSError, RuntimeError) as error:
            raise ConnectionError(
                f"the worker of rank {self.rank} cannot reach rank 0 at {host}:{port} ({_short(error)}); the "
                "learner's machine must accept connections at any port, or run with --weights-by file"
            ) from None
        self._meeting = Meeting(store, invitation.name, limit)
        self._meeting.come("join", self.rank)
        size, backend = invitation.world_size, invitation.backend
        self._group = Group(self._meeting.store, self.rank, size, backend, self._device, own, limit)

    def receive(self, number: int, rows: Sequence[Sequence[object]]) -> Iterator[tuple[str, torch.Tensor]]:
        """Receive a buffer and return its tensors, each of which is checked when it is asked for.

        Args:
            number: number of the buffer, as rank 0 counts.
            rows: the fields of each ``Part``.

        Raises:
            GroupError: the group failed.
            ValueError: ``rows`` are not parts; raised by the iterator: a tensor is not the one that was sent.
                Then the message begins with "digests:".
        """
        parts, size = read_parts(rows)
        self._meeting.come(f"buffer-{number}", self.rank)
        data = torch.empty(size, dtype=torch.uint8, device=self._device)
        self._group.broadcast(data)
        return _checked(parts, data)

    def close(self) -> None:
        """Leave the group."""
        self._group.close()


def within(seconds: float, function: Callable[[], None]) -> None:
    """Call ``function`` in a daemon thread, which is left behind if it does not return in time.

    Raises:
        GroupError: ``function`` did not return in time.
        Exception: ``function`` raised this exception.
    """
    failures: list[Exception] = []

    def call() -> None:
        try:
            function()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=call, name="nlac-bench-broadcast", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise GroupError(f"a collective did not end within {seconds:g} s")
    if failures:
        raise failures[0]


def _checked(parts: Sequence[Part], data: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    tensors = list(unpacked(parts, data))
    computed = checksums([tensor for _, tensor in tensors])
    for part, (name, tensor), checksum in zip(parts, tensors, computed, strict=True):
        if checksum != part.checksum:
            raise ValueError(f"digests: the tensor {name!r} that was received is not the one that was sent")
        yield name, tensor


@contextlib.contextmanager
def _reported(rank: int) -> Iterator[None]:
    try:
        yield
    except GroupError:
        raise
    except RuntimeError as error:
        raise GroupError(f"rank {rank} lost the group ({_short(error)})") from None


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
