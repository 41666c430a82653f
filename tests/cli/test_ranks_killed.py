"""Training on two ranks: equal to one process; killed and resumed; stopped by a signal or an error."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nlac_bench.cli import app
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.training.curve import latest
from tests.cli.command import nlac_bench, one_json
from tests.cli.ranks_job import PHASES, RUN
from tests.once import made_once

HERE = Path(__file__).parents[2]
ENGINE_MEASURED = ("push_slope", "logprob_gap")
"""Metrics that depend on how the engine rounds, which is to bf16 on a CPU with AMX: after so few steps a push
changes log-probabilities little more than that. The run itself stops where they exceed their limits."""


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of ranks_job.py, which starts 16 jobs; one process, so that torch is imported once."""

    def start(out: Path) -> None:
        command = [sys.executable, "-m", "tests.cli.ranks_job", str(out)]
        done = subprocess.run(command, cwd=HERE, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-20_000:]

    return made_once(tmp_path_factory, "jobs of ranks", start)


def result(jobs: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((jobs / "result.json").read_text())
    return found


def iterations(run: Path) -> list[dict[str, Any]]:
    """The metrics of each iteration without times."""
    rows = latest(list(RunFolder.open(run).metrics()), "iteration")
    return [{k: v for k, v in row.items() if "seconds" not in k and k != "usage"} for row in rows]


def episodes(path: Path) -> dict[tuple[Any, ...], Any]:
    """What was played, by task, trial and seed; an episode that is recorded twice must be the same."""
    found: dict[tuple[Any, ...], Any] = {}
    for row in map(json.loads, path.read_text().splitlines()):
        key = row["task_id"], row["trial"], row["seed"]
        turns = [(turn["text"], turn["observation"], turn["reward"]) for turn in row["turns"]]
        assert found.setdefault(key, turns) == turns, key
    return found


def files(run: Path) -> set[str]:
    return {p.relative_to(run).as_posix() for p in run.rglob("*") if p.is_file()}


@pytest.mark.slow  # starts 16 jobs
def test_two_ranks_train_as_one_process(jobs: Path) -> None:
    assert result(jobs)["one"] == [0] and result(jobs)["two"] == [0, 0]
    one, two = jobs / "one", jobs / "two"
    assert RunFolder.open(one).plan == RunFolder.open(two).plan
    assert files(two) == files(one) | {"checkpoints/last/rank-1.safetensors"}
    for name in ("rollouts.jsonl", "base/episodes.jsonl", "episodes.jsonl"):
        assert episodes(one / name) == episodes(two / name)
    assert len(iterations(one)) == len(iterations(two)) == 2
    for row, expected in zip(iterations(two), iterations(one), strict=True):
        assert row.keys() == expected.keys()
        for name, value in expected.items():
            if name in ENGINE_MEASURED:
                assert (row[name] is None) == (value is None), name
                continue
            close = pytest.approx(value, rel=1e-4, abs=1e-6) if isinstance(value, float) else value
            assert row[name] == close, name


@pytest.mark.slow  # starts 16 jobs
def test_a_job_that_lost_a_rank_ends_with_its_reason_and_resumes(jobs: Path) -> None:
    kills = result(jobs)["kills"]
    assert len(kills) == 10 and {k["phase"] for k in kills} == set(PHASES)
    # The ranks are forked from a process that has used torch: in one of 40 kills the fork of rank 1 crashed
    # before rank 0 was killed. Such a job ends as one that lost rank 1.
    crashed = [kill for kill in kills if kill["codes"] == [3, -signal.SIGSEGV]]
    assert len(crashed) <= 1, crashed
    for kill in kills:
        assert kill["after"] == kill["before"] == 1, kill
        match kill["who"] if kill not in crashed else None:
            case "job":
                assert kill["codes"] == [-9, -9], kill
            case 0:
                assert kill["codes"] == [-9, 1], kill
            case 1:
                assert kill["codes"] == [3, -9], kill
                # The signal with which the other rank is stopped may come before its own error is printed.
                assert re.search("a rank has ended|interrupted", kill["errors"]), kill
                assert "continue with: " in kill["errors"], kill
    assert result(jobs)["end"]["codes"] == [0, 0], result(jobs)["end"]["errors"]


@pytest.mark.slow  # starts 16 jobs
def test_after_all_kills_the_run_is_the_one_without_any(jobs: Path) -> None:
    killed, whole = jobs / "killed", jobs / "two"
    assert RunFolder.open(killed).plan == RunFolder.open(whole).plan and not RunFolder.open(killed).owed()
    for name in ("rollouts.jsonl", "base/episodes.jsonl", "episodes.jsonl"):
        assert episodes(killed / name) == episodes(whole / name)
    assert iterations(killed) == iterations(whole)


@pytest.mark.slow  # starts 16 jobs
def test_a_signal_to_any_rank_saves_the_iteration_and_an_error_ends_all(jobs: Path) -> None:
    found = result(jobs)
    assert found["stopped"]["codes"] == [3, 0] and found["stopped"]["iteration"] == 1
    assert found["asked"]["codes"] == [3, 0] and found["asked"]["iteration"] == 2, found["asked"]
    error = found["error"]
    assert error["codes"] == [3, 1] and error["iteration"] == 1, error
    assert "planted" in error["errors"]


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.mark.slow  # starts torchrun
def test_torchrun_stops_when_a_rank_is_killed_and_one_process_resumes(tmp_path: Path) -> None:
    run = tmp_path / "run"
    job = subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone",
         "-m", "nlac_bench", *RUN, "--out", str(run)],
        cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (run / "checkpoints" / "last").exists():
        assert job.poll() is None, job.communicate()
        time.sleep(0.05)
    ranks = [int(p) for p in Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()]
    (other,) = (p for p in ranks if b"RANK=1\0" in Path(f"/proc/{p}/environ").read_bytes())
    os.kill(other, signal.SIGKILL)
    _, err = job.communicate()
    assert job.returncode == 1 and "Signal 9 (SIGKILL)" in err and "rank      : 1" in err
    assert not any(map(alive, ranks))
    assert one_json(nlac_bench("resume", str(run), "--json"))["gradient_steps"] == 4


def test_only_run_and_resume_use_several_ranks() -> None:
    done = CliRunner().invoke(app, ["floors"], env={"RANK": "0", "WORLD_SIZE": "2"})
    assert done.exit_code == 2 and "without torchrun" in done.output
