"""A small training run on vLLM servers in which something happens in a chosen phase.

As a process it plays the run in a folder, and is killed there:
``python -m tests.eval.server_run FOLDER SERVERS PHASE NUMBER``; with ``-`` as phase it ends.
"""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from nlac_bench.eval.runs.configuration import RunConfig
from nlac_bench.eval.training.loop import Training
from nlac_bench.rollout.engines.vllm.server import Server
from nlac_bench.train import checkpoint
from nlac_bench.train.learner import Learner
from tests.eval.test_training import SMALL, config, play

PHASES = ("rollout", "roles", "step", "push", "checkpoint")


def settings(servers: str, steps: int, agent: str = "nlac", **train: Any) -> RunConfig:
    """The run: two gradient steps in each iteration, a checkpoint after each."""
    own = {name: value for name, value in SMALL.items() if name not in ("deterministic", "probes")}
    return config(steps, agent=agent, servers=servers, train={**own, "budget": f"steps={steps}", **train})


@contextlib.contextmanager
def happening(phase: str, number: int, what: Callable[[], None]) -> Iterator[None]:
    """Within this context, call ``what`` at the ``number``-th time that ``phase`` is reached, from 1.

    ``rollout`` and ``roles`` are samples that are asked for while episodes are played and while the method
    learns; ``step`` is a gradient step, ``push`` the time between the start of a transfer and its file, in
    training, and ``checkpoint`` the time before it takes the place of the old one.
    """
    reached, now = 0, ""

    def reach(name: str) -> None:
        nonlocal reached
        reached += name == phase
        if name == phase and reached == number:
            what()

    generate, start, step = Server.generate, Server._start, Learner.optim_step
    replace, begin = checkpoint.replace_folder, Training.iterate

    async def generating(self: Server, *args: Any) -> Any:
        reach({"playing": "rollout", "learning": "roles"}.get(now, ""))
        return await generate(self, *args)

    async def starting(self: Server) -> None:
        await start(self)
        if now == "learning":
            reach("push")

    def stepping(self: Learner) -> Any:
        reach("step")
        return step(self)

    def replacing(new: Path, path: Path) -> None:
        reach("checkpoint")
        replace(new, path)

    async def iterating(self: Training) -> None:
        def on_phase(name: str) -> None:
            nonlocal now
            now = name

        self.on_phase = on_phase
        await begin(self)

    with (
        mock.patch.object(Server, "generate", generating),
        mock.patch.object(Server, "_start", starting),
        mock.patch.object(Learner, "optim_step", stepping),
        mock.patch.object(checkpoint, "replace_folder", replacing),
        mock.patch.object(Training, "iterate", iterating),
    ):
        yield


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    folder, servers, phase, number = sys.argv[1:]
    with happening(phase, int(number), kill):
        print(json.dumps(play(Path(folder), settings(servers, steps=6))))
