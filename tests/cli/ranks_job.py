"""Trains on two ranks and kills them at chosen places; run as a process by test_ranks_killed.py.

torchrun starts each rank as a new Python, which imports torch for seconds. Here the ranks are forks of this
process, which has imported everything, in the environment that torchrun gives them. Like torchrun, it sends
SIGTERM to the others when one has failed, but no SIGKILL 30 seconds later: they must end by themselves.
"""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nlac_bench.__main__ import main as nlac_bench
from nlac_bench.agents.nlac.nlac import NLAC
from nlac_bench.cli import run as _run  # noqa: F401 - imports what all ranks use before they are forked
from nlac_bench.learner import tensor_file
from nlac_bench.learner.learner import Learner
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.training import run as _training  # noqa: F401
from nlac_bench.training.player import TrainingPlayer

TRAIN = {
    "train_batch_size": 2, "mini_batch_size": 1, "val_tasks": 1, "max_response_length": 32, "row_tokens": 256,
    "test_freq": 100, "save_freq": 1, "probes": 1, "probe_states": 0, "lr": 1e-4, "deterministic": "true",
    "precision": "fp32", "budget": "steps=4",
}  # fmt: skip
RUN = [
    "run", "--env", 'math500_hard@{"level": 1}', "--agent", "nlac", "--limit", "1", "--max-tokens", "32",
    "--concurrency", "4", "--replicas", "1", *(f"--train={name}={value}" for name, value in TRAIN.items()),
]  # fmt: skip
PHASES = ("rollout", "roles", "step", "push", "checkpoint")


@dataclass(frozen=True)
class Fault:
    """What happens in which phase of the first iteration of a process, and to whom.

    ``who`` is a rank, or "job"; ``what`` is a signal, or "error" for an exception on that rank.
    """

    phase: str
    who: int | str
    what: int | str = signal.SIGKILL


@dataclass
class Ended:
    """How the ranks of a job ended: exit codes (negative for signals), seconds from the fault, messages."""

    codes: list[int]
    seconds: float
    errors: str


def job(folder: Path, arguments: Sequence[str], world: int, fault: Fault | None = None) -> Ended:
    """Run the command with ``arguments`` on ``world`` ranks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torchrun = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world)}
    for file in folder.glob("pid-*"):
        file.unlink()
    running: dict[int, int] = {}
    for rank in range(world):
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, next(iter(running), 0))
            _become(folder, rank, arguments, torchrun if world > 1 else {}, fault)
        os.setpgid(pid, next(iter(running), pid))
        running[pid] = rank
    codes, began = [0] * world, 0.0
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            code = codes[running.pop(pid)] = os.waitstatus_to_exitcode(status)
            if code and not began:
                began = time.monotonic()
                for other in running:
                    os.kill(other, signal.SIGTERM)
        time.sleep(0.01)
    texts = [(folder / f"errors-{rank}").read_text() for rank in range(world)]
    return Ended(codes, time.monotonic() - began if began else 0.0, "\n".join(texts))


def _become(
    folder: Path, rank: int, arguments: Sequence[str], torchrun: dict[str, str], fault: Fault | None
) -> None:
    """Be a rank; does not return."""
    os.environ |= torchrun
    if torchrun:
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    (folder / f"pid-{rank}").write_text(str(os.getpid()))
    out = os.open(folder / f"out-{rank}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    err = os.open(folder / f"errors-{rank}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.argv = ["nlac-bench", *arguments]
    if fault is not None:
        _plant(folder, rank, fault)
    nlac_bench()
    raise SystemExit(0)


def _plant(folder: Path, rank: int, fault: Fault) -> None:
    """Make ``fault`` happen in this process."""
    phase: list[str] = []

    def happen() -> None:
        if fault.what == "error":
            raise ValueError("planted")
        number = int(fault.what)
        if fault.who == "job":
            os.killpg(0, number)
        os.kill(int((folder / f"pid-{fault.who}").read_text()), number)

    def during(owner: Any, name: str, label: str) -> None:
        original = getattr(owner, name)

        async def wrapped(*arguments: Any) -> Any:
            phase.append(label)
            try:
                return await original(*arguments)
            finally:
                phase.pop()

        setattr(owner, name, wrapped)

    def before(owner: Any, name: str, when: Callable[..., bool]) -> None:
        original = getattr(owner, name)

        def wrapped(*arguments: Any, **named: Any) -> Any:
            if when(*arguments):
                happen()
            return original(*arguments, **named)

        setattr(owner, name, wrapped)

    def nth(count: int) -> Callable[..., bool]:
        calls = [0]

        def reached(*_: Any) -> bool:
            calls[0] += 1
            return calls[0] == count

        return reached

    by_player = rank == 0
    own = rank == fault.who or (fault.who == "job" and rank == 1)
    match fault.phase:
        case "rollout" | "roles" if by_player:
            during(TrainingPlayer, "train", "rollout")
            during(NLAC, "ask", "roles")
            second = nth(2)
            before(HFEngine, "sample", lambda *_: bool(phase) and phase[-1] == fault.phase and second())
        case "step" if own:
            before(torch.nn.utils, "clip_grad_norm_", nth(1))
        case "push" if own:
            before(Learner, "_gathered", nth(3))  # the first two are the push of both slots at the start
        case "checkpoint" if own:
            before(tensor_file, "write", lambda path, *_: path.name == f"rank-{rank}.safetensors")


def progress(run: Path) -> int:
    """The iteration of the last checkpoint."""
    state = json.loads((run / "checkpoints" / "last" / "loop_state.json").read_text())
    return int(state["loop"]["progress"]["iteration"])


def main(out: str) -> None:
    """The same run on one and two ranks; killed ten times; stopped; with an error on rank 0."""
    folder = Path(out)
    result: dict[str, Any] = {"kills": []}
    result["one"] = job(folder, [*RUN, "--out", str(folder / "one")], 1).codes
    result["two"] = job(folder, [*RUN, "--out", str(folder / "two")], 2).codes
    run = folder / "killed"
    ended = job(folder, [*RUN, "--out", str(run)], 2, Fault("rollout", 0, signal.SIGTERM))
    result["stopped"] = {"codes": ended.codes, "errors": ended.errors, "iteration": progress(run)}
    again = ["resume", str(run)]
    for number, phase in enumerate(2 * PHASES):  # each phase with two of the three targets
        who = (1, 0, "job")[number % 3]
        before = progress(run)
        ended = job(folder, again, 2, Fault(phase, who))
        kill = {"phase": phase, "who": who, "before": before, "after": progress(run), **vars(ended)}
        result["kills"].append(kill)
        print(kill, flush=True)
    ended = job(folder, again, 2, Fault("step", 0, "error"))
    result["error"] = vars(ended) | {"iteration": progress(run)}
    ended = job(folder, again, 2, Fault("rollout", 1, signal.SIGTERM))
    result["asked"] = vars(ended) | {"iteration": progress(run)}
    ended = job(folder, again, 2)
    result["end"] = vars(ended)
    (folder / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
