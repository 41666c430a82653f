"""An engine process, which runs an ``HFEngine`` for ``ProcessEngine``; started by ``EngineChild``.

The main thread reads requests, an event loop in another thread answers them. Once a second the process tells
its parent that it lives, with the number of tokens that it has generated.
"""

import asyncio
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlac_bench import garbage
from nlac_bench.child_process import Parent
from nlac_bench.rollout.engines import weight_file
from nlac_bench.rollout.engines.hf.wire import error_row, request_of

if TYPE_CHECKING:
    import torch

ALIVE_EVERY_S = 1.0


def main() -> None:
    parent = Parent()
    garbage.collect_rarely()
    garbage.use_few_arenas()
    sys.setswitchinterval(0.0002)  # as in the command, because the engine's thread shares the interpreter
    worker = _Worker(parent)
    threading.Thread(target=asyncio.run, args=(worker.run(),), daemon=True).start()
    worker.started.wait()
    while True:
        worker.loop.call_soon_threadsafe(worker.accept, parent.receive())


@dataclass(frozen=True)
class _Sent:
    """The weights that the parent wrote to a file, and its log-probabilities of the probe text."""

    path: Path
    probe: list[float]

    def named_tensors(self) -> "Iterator[tuple[str, torch.Tensor]]":
        return weight_file.read(self.path)

    def logprobs(self, ids: Sequence[int], prompt_len: int) -> Sequence[float]:
        return self.probe


class _Worker:
    """Answers the requests of the parent."""

    def __init__(self, parent: Parent) -> None:
        self.started = threading.Event()
        self._parent = parent
        self._engine: Any = None
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Tell the parent every second that this process lives."""
        self.loop = asyncio.get_running_loop()
        self.started.set()
        while True:
            self._parent.send({"tokens": self._tokens()})
            await asyncio.sleep(ALIVE_EVERY_S)

    def accept(self, message: dict[str, Any]) -> None:
        """Begin to answer ``message``, or cancel the request that it names."""
        number, name = message.pop("id"), message.pop("call")
        if name == "cancel":
            if number in self._tasks:
                self._tasks[number].cancel()
            return
        task = self.loop.create_task(self._answer(number, getattr(self, f"_{name}"), message))
        self._tasks[number] = task
        task.add_done_callback(lambda done: self._tasks.pop(number))

    async def _answer(self, number: int, function: Any, arguments: dict[str, Any]) -> None:
        reply: dict[str, Any]
        try:
            reply = {"result": await function(**arguments)}
        except Exception as error:
            reply = {"error": error_row(error)}
        self._parent.send({"id": number, "tokens": self._tokens(), **reply})

    def _tokens(self) -> list[int]:
        """Return the numbers of tokens generated, of the prompts, of those that were cached, and computed."""
        engine = self._engine
        return [0] * 4 if engine is None else [
            engine.generated_tokens, engine.prompt_tokens, engine.cached_tokens, engine.read_tokens
        ]  # fmt: skip

    async def _load(self, model: str, options: dict[str, Any]) -> dict[str, Any]:
        self._engine = await asyncio.to_thread(_loaded, model, options)
        return {"context": self._engine.context}

    async def _sample(self, request: dict[str, Any]) -> Any:
        return await self._engine.sample(request_of(request))

    async def _logprobs(self, ids: list[int], prompt_len: int, slot: Any) -> list[float]:
        return await self._engine.logprobs(ids, prompt_len, slot)

    async def _sync(self, path: str, probe: list[float], version: int, slot: Any) -> dict[str, Any]:
        """Load the weights of a file, let the engine check them, and return its version and digests."""
        slope = await asyncio.to_thread(self._engine.sync, _Sent(Path(path), probe), version, slot)
        digests = await asyncio.to_thread(self._engine.weight_digests, slot)
        return {"version": self._engine.version(slot), "digests": digests, "slope": slope}


def _loaded(model: str, options: dict[str, Any]) -> Any:
    from nlac_bench.rollout.engines.hf.engine import HFEngine  # importing torch takes seconds

    return HFEngine.from_pretrained(model, **options)


if __name__ == "__main__":
    main()
