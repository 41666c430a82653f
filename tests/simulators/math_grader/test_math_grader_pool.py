"""The workers around the grader: time, memory, crashes, threads, forks, and nothing left behind."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.errors import EnvInfraError
from nlac_bench.simulators.math_grader import grader as grader_module
from nlac_bench.simulators.math_grader.grader import Grader, default_grader

SLOW = r"\int_0^{\infty} e^{-x^2}\sin(x^3)\ln(1+x^7) dx"
HEAVY = r"\int_0^1 (a+b+c+d+x)^{60} dx"


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with pytest.MonkeyPatch.context() as patch, Grader(timeout_s=2.0, workers=2) as one:
        patch.setattr(grader_module, "_WALL_FACTOR", 60)  # two seconds of CPU time on a busy machine
        yield one


def _workers_of(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and _state(int(folder.name)) != "Z":
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if grader_module._MODULE.encode() in words and str(pid).encode() in words:
                found.append(int(folder.name))
    return found


def _wait_until_gone(pids: list[int]) -> None:
    """Returns when none of ``pids`` runs any more; pytest-timeout stops a test that waits here for ever."""
    while any(_state(pid) != "Z" for pid in pids):
        time.sleep(0.05)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0]
    except OSError:
        return "Z"


def test_a_timeout_is_ungraded_and_the_next_case_is_graded(grader: Grader) -> None:
    slow = grader.grade("42", SLOW)
    assert slow.correct is None and slow.reason == "ungraded: time-out after 2 s"
    assert slow.ms >= 2_000
    assert grader.grade("x+1", "1+x").correct is True


@pytest.mark.slow(reason="waits for the time-outs of several cases")
def test_waiting_for_a_worker_does_not_count_as_the_cases_time() -> None:
    with Grader(timeout_s=2.0) as one:
        grades = []
        threads = [
            threading.Thread(target=lambda pred=pred: grades.append((pred, one.grade("x+1", pred))))
            for pred in [SLOW, SLOW, *["1+x"] * 6]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [grade.correct for pred, grade in grades if pred != SLOW] == [True] * 6


@pytest.mark.parametrize(
    "mapped_gb",
    [0, pytest.param(4, marks=pytest.mark.slow(reason="starts workers with a second memory limit"))],
)
def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mapped_gb: int) -> None:
    """What the worker has mapped before the case neither adds to its 64 MB nor is taken from them."""
    reserve = (
        f"import mmap; mapped = mmap.mmap(-1, {mapped_gb} << 30, prot=mmap.PROT_READ)" if mapped_gb else ""
    )
    (tmp_path / "sitecustomize.py").write_text(reserve)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Grader(timeout_s=600.0, memory_mb=64) as one:
        for gold, pred, verdict in (("x+1", "1+x", True), ("5", HEAVY, None), ("x+1", "1+x", True)):
            grade = one.grade(gold, pred)
            assert grade.correct is verdict, grade
            assert verdict or grade.reason == "ungraded: more than 64 MB of memory"


def test_a_worker_that_died_between_two_cases_is_replaced() -> None:
    others = set(_workers_of(os.getpid()))
    with Grader() as one:
        assert one.grade("x+1", "1+x").correct is True
        (worker,) = set(_workers_of(os.getpid())) - others
        os.kill(worker, signal.SIGSEGV)
        _wait_until_gone([worker])
        assert one.grade("x+1", "1+x").correct is True


def test_threads_and_event_loop(grader: Grader) -> None:
    async def many() -> list[bool | None]:
        pairs = [(f"x+{n}", f"{n}+x" if n % 2 else f"{n + 1}+x") for n in range(40)]
        return [grade.correct for grade in await asyncio.gather(*(grader.agrade(*pair) for pair in pairs))]

    assert asyncio.run(many()) == [False, True] * 20
    found: list[bool | None] = []
    threads = [
        threading.Thread(target=lambda: found.append(grader.grade("a+b", "b+a").correct)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def _in_child(pipe: Connection) -> None:
    grade = default_grader().grade("x+1", "1+x")
    pipe.send((grade.correct, _workers_of(os.getpid())))
    default_grader().close()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_daemonic_children_have_their_own_grader(method: str) -> None:
    assert default_grader().grade("x+1", "1+x").correct is True
    mine = _workers_of(os.getpid())
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    child = context.Process(target=_in_child, args=(theirs,), daemon=True)
    child.start()
    correct, workers = ours.recv()
    child.join()
    assert correct is True and len(workers) == 1 and not set(workers) & set(mine)
    _wait_until_gone(workers)
    assert default_grader().grade("x+2", "2+x").correct is True
    assert set(mine) <= set(_workers_of(os.getpid()))


@pytest.mark.parametrize("busy", [False, True])
def test_a_killed_parent_leaves_no_worker(busy: bool) -> None:
    pred = SLOW if busy else "1+x"
    script = textwrap.dedent(
        f"""
        import os, threading, time
        from nlac_bench.simulators.math_grader.grader import Grader
        grader = Grader(timeout_s=3.0)
        grader.grade("x+1", "1+x")
        sibling = os.fork()
        if sibling == 0:  # it keeps a copy of the pipes open
            time.sleep(3600)
            os._exit(0)
        threading.Thread(target=grader.grade, args=("x+1", {pred!r}), daemon=True).start()
        time.sleep(0.5)
        print(sibling, flush=True)
        time.sleep(3600)
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    sibling = int(parent.stdout.readline())
    workers = _workers_of(parent.pid)
    assert len(workers) == 1
    parent.kill()
    parent.wait()
    parent.stdout.close()
    _wait_until_gone(workers)
    os.kill(sibling, signal.SIGKILL)


def test_exit_ends_the_default_grader() -> None:
    script = (
        "import os; from nlac_bench.simulators.math_grader.grader import grade, default_grader;"
        "print(grade('x+1', '1+x').correct, [w.pid for w in default_grader().running][0])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    correct, pid = done.stdout.split()
    assert correct == "True" and done.stderr == ""
    _wait_until_gone([int(pid)])


def test_a_closed_grader_says_so() -> None:
    one = Grader()
    one.close()
    assert one.grade("5", "5").correct is True  # needs no worker
    with pytest.raises(EnvInfraError, match="closed"):
        one.grade("x+1", "1+x")


def test_a_worker_that_cannot_start_is_an_infrastructure_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grader_module, "_MODULE", "nlac_bench.no_such_module")
    with Grader() as one, pytest.raises(EnvInfraError, match=r"did not start .*no_such_module"):
        one.grade("x+1", "1+x")


def test_limits_are_checked() -> None:
    for wrong in (
        {"timeout_s": 0},
        {"timeout_s": float("nan")},
        {"timeout_s": float("inf")},
        {"memory_mb": 1},
        {"memory_mb": 10**15},
        {"workers": 0},
        {"workers": 10**12},
    ):
        with pytest.raises(ValueError, match=r"timeout_s must be positive.*memory_mb at least 64"):
            Grader(**wrong)
