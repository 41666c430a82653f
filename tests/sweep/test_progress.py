"""A sweep says what its runs do, how well the finished ones did, and how long the others will take."""

import threading
import time
from pathlib import Path

import pytest

from nlac_bench.sweep import play, progress
from nlac_bench.sweep.play import SweepJob, play_jobs
from nlac_bench.sweep.progress import SweepProgress
from tests.sweep.test_sweep_failures import make_run


def test_finished_runs_have_their_success_and_running_ones_the_newest_line_of_their_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    said: list[str] = []
    sweep = SweepProgress(3, said.append)
    folders = [tmp_path / name for name in ("nlac-0", "ppo-0", "rft-0")]
    for folder in folders[:2]:
        make_run(folder, "tau_retail", 0.625)
        sweep.begin(folder, folder.with_name(f"{folder.name}.log"))
    (tmp_path / "ppo-0.log").write_bytes(
        b"x" * 9000 + b"\niteration 2: 8 of 40 steps\xff\x1b[2J, 60 s left\n\n"
    )
    assert sweep.left() == "0 of 3 have ended"
    now = 160.0
    sweep.end(folders[0], finished=True)
    assert said == [f"done: {folders[0]}, success 0.625; 1 of 3 have ended, about 2 min left"]
    running, left = sweep.lines()
    assert running.startswith(f"{folders[1]}: iteration 2: 8 of 40 steps") and "\x1b" not in running
    assert left == "1 of 3 have ended, about 2 min left"
    sweep.end(folders[1], finished=False)
    assert len(said) == 1, "the reason of a failure is said by play_jobs"
    sweep.begin(folders[2], tmp_path / "none.log")
    assert sweep.lines()[0] == f"{folders[2]}: has begun"


def test_runs_that_take_long_are_reported_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One job of a sweep, whose process is replaced by one that waits until something was said of it."""
    heard, said = threading.Event(), list[str]()

    def say(text: str) -> None:
        said.append(text)
        if "has begun" in text:
            heard.set()

    class Process:
        def __init__(self, *arguments: object, **settings: object) -> None:
            """Begin."""

        def wait(self) -> int:
            assert heard.wait(60)
            make_run(tmp_path / "random", "math500_hard", 0.25)
            return 0

    monkeypatch.setattr(play.subprocess, "Popen", Process)
    monkeypatch.setattr(progress, "EVERY_S", 0.01)
    play_jobs([SweepJob("eval", tmp_path / "random", {"env": "math500_hard"})], 1, say)
    assert said[0] == f"1 of 1: {tmp_path / 'random'}"
    assert said[-1] == f"done: {tmp_path / 'random'}, success 0.250; 1 of 1 have ended"
    after = len(said)
    time.sleep(0.05)
    assert len(said) == after, "nothing is said when all runs have ended"
