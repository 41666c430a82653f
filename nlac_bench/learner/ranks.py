"""Lets rank 0 use a learner that is sharded over several ranks as if there were one process.

Rank 0 alone executes the command, with its environments, engines and files. Before it calls a function of the
learner that is marked as ``collective``, it sends the call to the other ranks, which do nothing else than
execute such calls (``follow``). So a training algorithm needs no code for several ranks, and no two ranks can
decide differently. Calls contain the losses of algorithms, which are closures, and are sent with cloudpickle
between the processes of one job.
"""

import atexit
import contextlib
import faulthandler
import functools
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import cloudpickle
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from nlac_bench.errors import NlacBenchError
from nlac_bench.learner import torchrun

P = ParamSpec("P")
R = TypeVar("R")

BETWEEN_CALLS = timedelta(days=30)
"""Time for which a rank waits for the next call: rank 0 may play for hours before it sends one."""

EXIT_SECONDS = 20
"""Time after which a rank that should exit, but waits for others, prints its stacks and is ended."""


class RankError(NlacBenchError):
    """A rank has ended, so the learner that was sharded over it can no longer be used."""


class Numbered(Protocol):
    """A learner; ``number`` identifies it on all ranks."""

    number: int


L = TypeVar("L", bound=Numbered)


class Ranks:
    """The process group of all ranks, and the calls that rank 0 sends in it."""

    def __init__(self) -> None:
        cuda = torch.cuda.is_available()
        backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
        if torchrun.world_size() > 1:
            dist.init_process_group(backend)
            # The group of the learner keeps torch's time-out, which notices a rank that hangs.
            self._calls = dist.new_group(backend="gloo", timeout=BETWEEN_CALLS)
        else:
            dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
            atexit.register(_leave)
        if cuda:
            torch.cuda.set_device(torchrun.local_rank())
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.mesh: DeviceMesh = init_device_mesh("cuda" if cuda else "cpu", (self.size,))
        self.stopping = False
        """Whether this rank has received a stop signal."""
        self._busy = False
        self._learners = 0

    def begin(self, function: Callable[..., object], number: int, *args: object, **kwargs: object) -> None:
        """On rank 0, have all other ranks call ``function`` with learner ``number`` and the other arguments.

        Raises:
            RankError: a rank has ended, or an earlier call has failed.
        """
        if self.size == 1 or self.rank > 0:
            return
        if self._busy:
            raise RankError(
                "the learner cannot be used after one of its calls has failed; resume the run, which starts "
                "all ranks again"
            )
        self._busy = True
        with reported():
            self._send((function, number, args, kwargs))

    def end(self) -> None:
        """On rank 0, mark the call as complete; an incomplete call leaves the ranks in an unknown state."""
        self._busy = False

    def new_number(self) -> int:
        """Return the number of a new learner."""
        self._learners += 1
        return self._learners

    def follow(self) -> None:
        """Execute the calls of rank 0; see ``follow``."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._stop)
        learners: dict[int, object] = {}
        while True:
            with reported():
                received: list[object] = [None]
                dist.broadcast_object_list(received, src=0, group=self._calls)
                call = cloudpickle.loads(received[0])
                if call is None:
                    dist.barrier()
                    return
                function, number, args, kwargs = call
                if number in learners:
                    function(learners[number], *args, **kwargs)
                else:  # the first call that concerns a learner creates it
                    learners[number] = function(*args, **kwargs)

    def release(self) -> None:
        """On rank 0, let the other ranks end; after a failed call, they end when they lose the connection."""
        if self._busy:
            _exit_soon()
        else:
            self._busy = True
            with contextlib.suppress(RuntimeError):
                self._send(None)
                dist.barrier()
        _leave()

    def _send(self, call: object) -> None:
        dist.broadcast_object_list([cloudpickle.dumps(call)], src=0, group=self._calls)

    def _stop(self, number: int, frame: object) -> None:
        self.stopping = True


@functools.cache
def ranks() -> Ranks:
    """Return the ranks of this job; the first call waits until all of them have made it."""
    return Ranks()


def collective(function: Callable[Concatenate[L, P], R]) -> Callable[Concatenate[L, P], R]:
    """Mark a function whose first argument is a learner as one that all ranks execute when rank 0 calls it.

    Its other arguments are sent to the other ranks.
    """

    @functools.wraps(function)
    def call(learner: L, /, *args: P.args, **kwargs: P.kwargs) -> R:
        ranks().begin(call, learner.number, *args, **kwargs)
        with reported():
            result = function(learner, *args, **kwargs)
        ranks().end()
        return result

    return call


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn errors of lost connections between ranks into RankError."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and "gloo" not in str(error):
            raise
        raise RankError(
            f"a rank has ended or does not answer ({str(error).partition('. ')[0]:.200}); torchrun's "
            "messages name it and its exit code"
        ) from error


def follow() -> None:
    """Execute the calls of rank 0 until it ends.

    A signal to stop does not end this rank; rank 0 asks whether one has arrived.

    Raises:
        SystemExit: rank 0 has ended with an error, whose message it has printed.
    """
    try:
        ranks().follow()
    except BaseException as error:
        _exit_soon()
        if isinstance(error, RankError):
            raise SystemExit(1) from error
        raise
    finally:
        _leave()


@contextlib.contextmanager
def leading() -> Iterator[None]:
    """Make this process rank 0: the other ranks follow it inside the block, and end after it."""
    all_ranks = ranks()
    try:
        yield
    finally:
        all_ranks.release()


def _exit_soon() -> None:
    """End this process even if broken connections keep it from exiting; torchrun then stops the job."""
    faulthandler.dump_traceback_later(EXIT_SECONDS, exit=True)


def _leave() -> None:
    """End Gloo's threads before the interpreter exits; otherwise the process may abort or hang at exit."""
    if dist.is_initialized():
        dist.destroy_process_group()
