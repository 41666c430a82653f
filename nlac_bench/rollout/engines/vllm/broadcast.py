"""Broadcast: the learner's weights for several servers, which get them all at the same time."""

import asyncio
from collections.abc import Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Self

from nlac_bench.rollout.engines.engine import WeightSource
from nlac_bench.rollout.engines.shared_source import Receiving, SharedSource
from nlac_bench.rollout.engines.vllm.fanout import Fanout
from nlac_bench.rollout.engines.vllm.server import Server

if TYPE_CHECKING:
    import torch


class Broadcast(SharedSource):
    """The weights of ``source`` for the servers of a slot, sent by ``fanout``.

    They are sent when each server has either started an update of its weights or failed. The thread in
    ``answer`` sends them, because tensors of the learner are gathered in the thread of its collectives.
    """

    def __init__(self, source: WeightSource, fanout: Fanout) -> None:
        super().__init__(source)
        self._fanout = fanout
        self._waiting: dict[Server, Future[None]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def named_tensors(self) -> "Iterable[tuple[str, torch.Tensor]]":
        """Return the tensors of the source."""
        return self.source.named_tensors()

    async def deliver(self, receiver: Receiving) -> None:
        """See ``SharedSource.deliver``.

        Raises:
            TransientFault, RefusedError: the server did not get all tensors.
        """
        assert isinstance(receiver, Server)
        done: Future[None] = Future()

        def wait() -> None:
            self._waiting[receiver] = done

        def refused(asked: "Future[None]") -> None:
            if error := asked.exception():
                _refuse(done, error)

        self._ask(wait).add_done_callback(refused)
        await asyncio.wrap_future(done)

    def _everyone_waits(self, users: int) -> None:
        """Send the weights, if all ``users`` of this object wait for them."""
        if not self._waiting or len(self._waiting) < users:
            return
        lost = self._fanout.send(list(self._waiting), self.named_tensors)
        waiting, self._waiting = self._waiting, {}
        for server, done in waiting.items():
            if server in lost:
                done.set_exception(lost[server])
            else:
                done.set_result(None)

    def _stop(self, failure: BaseException) -> None:
        """Release all servers that wait."""
        self._fanout.close()
        waiting, self._waiting = self._waiting, {}
        for done in waiting.values():
            _refuse(done, failure)


def _refuse(done: "Future[None]", failure: BaseException) -> None:
    """Set ``failure``; Ctrl-C becomes an ordinary error, because it would end the event loop."""
    if not isinstance(failure, Exception):
        failure = RuntimeError(f"the push was stopped ({type(failure).__name__})")
    done.set_exception(failure)
