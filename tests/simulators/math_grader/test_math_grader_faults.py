"""A grader's worker that is killed, stopped or broken never changes a score; an answer that breaks it fails.

The workers here are real processes that receive real signals. A ``sitecustomize`` module, which each of
them imports when it starts, makes them wait or break at a named answer, so that a signal finds them while
they judge.
"""

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs.math500_hard import Math500HardEnv
from nlac_bench.envs.math500_hard import env as env_module
from nlac_bench.errors import EnvInfraError
from nlac_bench.simulators.math_grader import grader as grader_module
from nlac_bench.simulators.math_grader.grade_file import grade_file
from nlac_bench.simulators.math_grader.grader import Grader
from tests.cli.command import call

GOLD, RIGHT, WRONG = "x+7", "7+x", "7+2x"
SIGNALS = (signal.SIGSTOP, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGALRM, signal.SIGPROF)

HOOK = """
import os, pathlib, signal, sys, time
if any("math_grader.worker" in word for word in sys.orig_argv):
    from nlac_bench.simulators.math_grader.compare import judge
    original, folder = judge.check, pathlib.Path(os.environ["HOOK_FOLDER"])

    def check(gold, pred):
        if gold == "x+7":  # a case of the test, not the worker's own first case or the control
            (folder / f"judging-{os.getpid()}").touch()
            while not (folder / "go").exists():
                time.sleep(0.01)
        if "BREAK" in pred or (folder / "broken").exists() and (gold, pred) != ("x+1", "1 + x"):
            exec((folder / "break.py").read_text())
        return original(gold, pred)

    judge.check = check
"""
BREAKS = {
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", "died (exit status -9)"),
    "SIGSEGV": ("os.kill(os.getpid(), signal.SIGSEGV)", "died (exit status -11)"),
    "SIGSTOP": ("os.kill(os.getpid(), signal.SIGSTOP)", "sent no verdict within 4 s"),
    "exit": ("os._exit(0)", "died (exit status 0)"),
    "sys.exit": ("raise SystemExit('over')", "died (exit status 1: over)"),
    "sleep": ("time.sleep(3600)", "sent no verdict within 4 s"),
    "exception": ("raise OSError(28, 'No space left on device')", "raised OSError: [Errno 28]"),
    "closed pipe": ("os.closerange(3, 99)", "died (exit status"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder through which the test and the workers that it starts tell each other where they are."""
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("HOOK_FOLDER", str(tmp_path))
    (tmp_path / "go").touch()
    return tmp_path


@pytest.fixture
def grader(folder: Path) -> Iterator[Grader]:
    with Grader(timeout_s=1.0) as one:
        yield one


def in_thread(call: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Start ``call`` in a thread; its result, or the error that it raised, is appended to the list."""
    results: list[Any] = []

    def work() -> None:
        try:
            results.append(call())
        except EnvInfraError as error:
            results.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, results


def judging(folder: Path, number: int) -> int:
    """Wait until ``number`` workers have begun to judge, and return the process id of the newest."""
    while len(found := list(folder.glob("judging-*"))) < number:
        time.sleep(0.01)
    return int(max(found, key=lambda path: path.stat().st_mtime_ns).name.rpartition("-")[2])


@pytest.mark.parametrize(
    ("pred", "correct"),
    [
        (RIGHT, True),
        pytest.param(WRONG, False, marks=pytest.mark.slow(reason="starts two workers")),
    ],
)
@pytest.mark.parametrize(
    "sent",
    [
        signal.SIGSTOP,
        signal.SIGKILL,
        *(pytest.param(each, marks=pytest.mark.slow(reason="starts two workers")) for each in SIGNALS[2:]),
    ],
)
def test_a_worker_that_is_signalled_while_it_judges_does_not_change_the_verdict(
    grader: Grader, folder: Path, sent: signal.Signals, pred: str, correct: bool
) -> None:
    (folder / "go").unlink()
    thread, results = in_thread(lambda: grader.grade(GOLD, pred).correct)
    os.kill(judging(folder, 1), sent)
    (folder / "go").touch()
    thread.join()
    assert results == [correct]
    assert grader.grade(GOLD, RIGHT).correct is True


@pytest.mark.slow(reason="workers are started, stopped and waited for several times in each case")
@pytest.mark.parametrize("sent", [signal.SIGSTOP, signal.SIGKILL])
def test_twice_in_one_case_is_the_answer_if_the_control_is_graded(
    grader: Grader, folder: Path, sent: signal.Signals
) -> None:
    (folder / "go").unlink()
    thread, results = in_thread(lambda: grader.grade(GOLD, RIGHT))
    for number in (1, 2):
        os.kill(judging(folder, number), sent)
    thread.join()
    (grade,) = results
    assert grade.correct is None and grade.reason.startswith("ungraded: grader_crash: a worker ")
    (folder / "go").touch()
    assert grader.grade(GOLD, RIGHT).correct is True


@pytest.mark.slow(reason="workers are started, stopped and waited for several times in each case")
@pytest.mark.parametrize("name", BREAKS)
def test_an_answer_that_breaks_every_worker_is_a_crash_and_the_next_case_is_graded(
    grader: Grader, folder: Path, name: str
) -> None:
    code, said = BREAKS[name]
    (folder / "break.py").write_text(code)
    grade = grader.grade(GOLD, "BREAK")
    assert grade.correct is None
    assert grade.reason.startswith("ungraded: grader_crash: ") and grade.reason.count(said) == 2, grade
    assert grader.grade(GOLD, RIGHT).correct is True and grader.grade(GOLD, WRONG).correct is False


@pytest.mark.slow(reason="workers are started, stopped and waited for several times in each case")
@pytest.mark.parametrize("name", BREAKS)
def test_workers_that_are_all_broken_are_an_infrastructure_error(
    grader: Grader, folder: Path, name: str
) -> None:
    code, said = BREAKS[name]
    (folder / "break.py").write_text(code)
    (folder / "broken").touch()
    with pytest.raises(
        EnvInfraError, match=r"the grader does not work: .*a control case failed too"
    ) as caught:
        grader.grade(GOLD, RIGHT)
    assert str(caught.value).count(said) == 3
    (folder / "broken").unlink()
    assert grader.grade(GOLD, RIGHT).correct is True  # mended: the same grader goes on


def test_a_grader_that_calls_the_control_wrong_is_broken(grader: Grader, folder: Path) -> None:
    (folder / "break.py").write_text("if gold == 'x+7': os._exit(1)\nraise MemoryError")
    (folder / "broken").touch()
    with pytest.raises(EnvInfraError, match=r"control case failed too .*MB of memory"):
        grader.grade(GOLD, RIGHT)


def test_a_worker_that_dies_while_it_starts_is_started_again_once(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text(
        "import os, pathlib, sys\n"
        "if any('math_grader.worker' in word for word in sys.orig_argv):\n"
        "    started = pathlib.Path(os.environ['HOOK_FOLDER'], 'started')\n"
        "    if not started.exists():\n"
        "        started.touch()\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    with Grader() as one:
        assert one.grade(GOLD, RIGHT).correct is True


def test_processes_that_cannot_be_started_are_an_infrastructure_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.executable", "/no/such/python")
    with Grader() as one, pytest.raises(EnvInfraError, match=r"cannot be started.*No such file"):
        one.grade(GOLD, RIGHT)


def test_less_memory_than_a_case_may_use_is_an_infrastructure_error(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text(
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))"
    )
    with Grader(memory_mb=8192) as one, pytest.raises(EnvInfraError, match="2048 MB, leaves less than 8192"):
        one.grade(GOLD, RIGHT)


def test_closing_a_grader_that_judges_is_an_infrastructure_error(grader: Grader, folder: Path) -> None:
    (folder / "go").unlink()
    thread, results = in_thread(lambda: grader.grade(GOLD, RIGHT))
    judging(folder, 1)
    grader.close()
    thread.join()
    assert isinstance(results[0], EnvInfraError) and "closed" in str(results[0])


@pytest.mark.slow(reason="workers are started, stopped and waited for several times in each case")
def test_a_long_answer_to_a_stopped_worker_does_not_block(grader: Grader) -> None:
    """A request that is larger than the pipe's buffer cannot be written to a process that does not read."""
    assert grader.grade(GOLD, RIGHT).correct is True
    os.kill(next(iter(grader.running)).pid, signal.SIGSTOP)
    assert grader.grade(GOLD, "y" * 199_000 + r" \boxed{7+x}").correct is True


def test_limits_of_the_answer_are_not_tried_again(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker decides: another attempt would cost the time of the limit again."""
    monkeypatch.setattr(grader_module, "_WALL_FACTOR", 60)  # a second of CPU time on a busy machine
    for pred, reason in (
        (r"\int_0^{\infty} e^{-x^2}\sin(x^3)\ln(1+x^7) dx", "time-out after 1 s"),
        ("y" * 9_000 + "+1", "characters"),
        (r"2^{10^{9}}+x", "ungraded"),
    ):
        grade = grader.grade("42", rf"\boxed{{{pred}}}")
        assert grade.correct is not True and "grader_crash" not in grade.reason
        assert reason in grade.reason or grade.correct is False, grade


# --- the environment, a file of cases, a run ------------------------------------------------------------


def played(
    grader: Grader, monkeypatch: pytest.MonkeyPatch, action: str
) -> tuple[float, bool, dict[str, object]]:
    monkeypatch.setattr(env_module, "default_grader", lambda: grader)
    env = Math500HardEnv(num_tasks=5)
    env.reset(seed=0)
    env._state = type(env._state)(env._state.problem.__class__("t", "?", GOLD, "Algebra", 5, ""))
    _, reward, terminated, _, info = env.step(action)
    json.dumps(info, allow_nan=False)
    return reward, terminated, info


@pytest.mark.slow(reason="workers are started, stopped and waited for several times in each case")
@pytest.mark.parametrize("sent", [signal.SIGSTOP, signal.SIGKILL])
def test_the_environment_rewards_a_right_answer_whatever_happens_to_one_worker(
    grader: Grader, folder: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    (folder / "go").unlink()
    thread, results = in_thread(lambda: played(grader, monkeypatch, rf"\boxed{{{RIGHT}}}"))
    os.kill(judging(folder, 1), sent)
    (folder / "go").touch()
    thread.join()
    reward, terminated, info = results[0]
    assert (reward, terminated, info["end_reason"], info["success"]) == (1.0, True, "success", True)
    assert info["ungraded"] is None


@pytest.mark.slow(reason="workers are started, stopped and waited for several times in each case")
def test_the_environment_scores_an_answer_that_breaks_the_grader_as_a_failure(
    grader: Grader, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "break.py").write_text(BREAKS["SIGKILL"][0])
    reward, terminated, info = played(grader, monkeypatch, r"\boxed{BREAK}")
    assert (reward, terminated, info["end_reason"], info["success"]) == (0.0, True, "failure", False)
    assert info["reward_parts"] == {"correct": 0.0, "ungraded": 1.0}
    assert str(info["ungraded"]).startswith("ungraded: grader_crash: ")
    (folder / "broken").touch()
    with pytest.raises(EnvInfraError, match=r"the grader does not work"):
        played(grader, monkeypatch, rf"\boxed{{{RIGHT}}}")


@pytest.mark.slow(reason="workers are started, stopped and waited for several times in each case")
def test_event_loop_and_threads_while_workers_die(folder: Path) -> None:
    """Sixteen cases at a time, of which every fourth kills its worker: each gets its own verdict."""
    (folder / "break.py").write_text(BREAKS["SIGKILL"][0])

    async def many(one: Grader) -> list[bool | None]:
        preds = ["BREAK" if i % 4 == 3 else RIGHT if i % 2 else WRONG for i in range(16)]
        return [grade.correct for grade in await asyncio.gather(*(one.agrade(GOLD, p) for p in preds))]

    with Grader(workers=2) as one:
        assert asyncio.run(many(one)) == [False, True, False, None] * 4


def test_grade_file_stops_at_a_broken_grader_and_writes_nothing(folder: Path) -> None:
    (folder / "cases.jsonl").write_text(json.dumps({"gold": GOLD, "pred": RIGHT}) + "\n")
    (folder / "break.py").write_text(BREAKS["exit"][0])
    (folder / "broken").touch()
    with pytest.raises(EnvInfraError, match=r"the grader does not work"):
        grade_file(folder / "cases.jsonl", folder / "out.jsonl")
    assert not list(folder.glob("*out.jsonl*"))


@pytest.mark.slow(reason="workers are started, stopped and waited for several times in each case")
def test_a_run_with_a_broken_grader_scores_nothing_and_is_finished_when_it_works(
    grader: Grader, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(env_module, "default_grader", lambda: grader)
    (folder / "break.py").write_text(BREAKS["SIGKILL"][0])
    (folder / "broken").touch()
    out = folder / "run"
    command = (
        "run",
        "--env",
        "math500_hard",
        "--agent",
        "random",
        "--limit",
        "3",
        "--out",
        str(out),
        "--json",
    )
    monkeypatch.setattr(Math500HardEnv, "random_action", lambda *_: r"\boxed{x+5y}")
    done = call(*command)
    summary = json.loads(done.stdout)
    assert done.returncode == 3 and (summary["planned"], summary["scored"]) == (3, 0), done.stderr
    (folder / "broken").unlink()
    done = call("resume", str(out), "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["scored"] == 3, done.stderr
