"""A small training run on vLLM servers in which something happens in a chosen phase."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from nlac_bench import files
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.learner import checkpoint
from nlac_bench.learner.learner import Learner
from nlac_bench.rollout.engines.vllm.server import Server
from nlac_bench.training.loop import TrainingLoop
from tests.training.test_training import SMALL, config, play

PHASES = ("rollout", "roles", "step", "push", "checkpoint")


def settings(servers: str, steps: int, agent: str = "nlac", **train: Any) -> RunConfig:
    """The run: two gradient steps in each iteration, a checkpoint after each."""
    own = {name: value for name, value in SMALL.items() if name not in ("deterministic", "probes")}
    return config(steps, agent=agent, servers=servers, train={**own, "budget": f"steps={steps}", **train})


def shortest(servers: str, iterations: int) -> RunConfig:
    """The run with so little to play and to learn that most of its time is that of what is tested."""
    few: dict[str, Any] = {
        "train_batch_size": 2,
        "mini_batch_size": 1,
        "val_tasks": 1,
        "test_freq": 100,
        "probe_states": 0,
    }
    return settings(servers, 2 * iterations, **few).changed(limit=2)


@contextlib.contextmanager
def happening(phase: str, iteration: int, what: Callable[[], None]) -> Iterator[None]:
    """Within this context, call ``what`` when ``phase`` is first reached in the ``iteration``-th iteration of
    this process, from 1.

    ``rollout`` and ``roles`` are samples that are asked for while episodes are played and while the method
    learns; ``step`` is a gradient step, ``push`` the time between the start of a transfer and its file, in
    training, and ``checkpoint`` the time before it takes the place of the old one.
    """
    begun, now, happened = 0, "", False

    def reach(name: str) -> None:
        nonlocal happened
        if name == phase and begun == iteration and not happened:
            happened = True
            what()

    generate, start, step = Server.generate, Server.start, Learner.optim_step
    replace, begin = files.replace_folder, TrainingLoop.iterate

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

    async def iterating(self: TrainingLoop) -> None:
        nonlocal begun
        begun += 1

        def on_phase(name: str) -> None:
            nonlocal now
            now = name

        self.on_phase = on_phase
        await begin(self)

    with (
        mock.patch.object(Server, "generate", generating),
        mock.patch.object(Server, "start", starting),
        mock.patch.object(Learner, "optim_step", stepping),
        mock.patch.object(checkpoint, "replace_folder", replacing),
        mock.patch.object(TrainingLoop, "iterate", iterating),
    ):
        yield


def killed(folder: Path, servers: str, phase: str, iteration: int) -> None:
    """Play the run in ``folder`` until ``phase`` of an iteration is reached; then kill this process."""
    with happening(phase, iteration, lambda: os.kill(os.getpid(), signal.SIGKILL)):
        play(folder, shortest(servers, iterations=2))
