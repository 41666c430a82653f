"""`nlac-bench run`, killed with SIGKILL at 20 random moments and resumed each time."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.cli import main

NLAC_BENCH = str(Path(sys.executable).with_name("nlac-bench"))
RUN = [NLAC_BENCH, "run", "--env", 'tau_retail@{"level": "easy"}', "--agent", "random",
       "--limit", "50", "--trials", "4", "--seed", "7", "--concurrency", "4"]  # fmt: skip


def lines(folder: Path) -> int:
    path = folder / "episodes.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


PROCESSES = multiprocessing.get_context("forkserver")
"""Starts processes as forks of one that has imported the command, which takes a second."""
PROCESSES.set_forkserver_preload(["nlac_bench.cli.run", "nlac_bench.envs.tau", "tests.cli.test_kill"])


def become(arguments: list[str]) -> None:
    """Be the command, without its outputs."""
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    sys.argv = arguments
    main()


def killed(command: list[str], folder: Path, after: int) -> bool:
    """Start ``command`` and kill it once ``after`` more episodes are on disk; False if it ended before."""
    target = lines(folder) + after
    process = PROCESSES.Process(target=become, args=(command,))
    process.start()
    while process.is_alive() and lines(folder) < target:
        time.sleep(0.002)
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def outcome(folder: Path) -> dict[tuple[str, int], Any]:
    """What each episode was, less the times it took."""
    rows = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    found = {}
    for row in rows:
        key = (row["task_id"], row["trial"])
        assert key not in found, f"{key} is there twice"
        texts = [(turn["text"], turn["observation"], turn["reward"]) for turn in row["turns"]]
        found[key] = (row["seed"], row["success"], row["end_reason"], texts)
    return found


@pytest.mark.slow  # plays with 22 processes
def test_killed_twenty_times_nothing_is_lost_and_nothing_is_twice(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run([*RUN, "--out", str(whole)], check=True, capture_output=True)
    rng = random.Random(0)
    kills = int(killed([*RUN, "--out", str(broken)], broken, rng.randint(1, 9)))
    while kills < 20:
        assert killed([NLAC_BENCH, "resume", str(broken)], broken, rng.randint(0, 9)) or lines(broken) == 200
        kills += 1
    subprocess.run([NLAC_BENCH, "resume", str(broken)], check=True, capture_output=True)
    planned = {(t, n) for t, n, _ in json.loads((broken / "manifest.json").read_text())["plan"]}
    assert len(planned) == 200 and set(outcome(broken)) == planned
    assert outcome(broken) == outcome(whole)


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first = subprocess.Popen(
        [*RUN, "--trials", "40", "--out", str(folder)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        while lines(folder) < 1:
            assert first.poll() is None
            time.sleep(0.01)
        first.send_signal(signal.SIGSTOP)  # it holds the folder and takes no time from the second one
        second = subprocess.run(
            [NLAC_BENCH, "resume", str(folder)], capture_output=True, text=True, check=False
        )
        assert second.returncode == 2 and str(first.pid) in second.stderr
    finally:
        first.kill()
        first.wait()


def test_ctrl_c_keeps_what_was_played_and_owes_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [*RUN, "--trials", "40", "--out", str(folder), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while lines(folder) < 3:
        time.sleep(0.01)
    process.send_signal(2)
    out, err = process.communicate()
    assert process.returncode == 3 and "resume" in err
    summary = json.loads(out)
    assert summary["owed"] > 0 and summary["scored"] + summary["owed"] == summary["planned"] == 2000
