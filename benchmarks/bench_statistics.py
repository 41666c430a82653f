"""Measures run folders and the statistics that are computed from them.

pytest benchmarks/bench_statistics.py --benchmark-only
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlac_bench.harness.runs.seeds import Planned, plan_episodes
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.stats.compare import compare
from nlac_bench.stats.outcomes import Counts, Outcomes
from nlac_bench.stats.pairing import MeasuredRun
from nlac_bench.stats.seed_errors import hierarchical_error
from nlac_bench.stats.significance import sign_flip_p
from nlac_bench.stats.summary import summarise, summary_of
from nlac_bench.types import Episode, Turn, Usage

CONDITIONS, SUBJECT = {"env": "toy"}, {"agent": "dice"}
PLAN = plan_episodes([f"task-{i}" for i in range(500)], trials=8, base_seed=0)


def played(item: Planned) -> Episode:
    """An episode of ten turns of 300 characters and 100 tokens with log-probabilities; a line has 25 kB."""
    turns = [
        Turn(
            text="x" * 300,
            observation="y" * 300,
            output_ids=list(range(item.seed % 1000, item.seed % 1000 + 100)),
            logprobs=[-i / 7 for i in range(100)],
            usage=Usage(1, 1000, 100, 0.01, 0.5),
        )
        for _ in range(10)
    ]
    return Episode("toy", item.task_id, item.trial, item.seed, "go", turns, True, success=item.seed % 3 == 0)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with 1,000 episodes."""
    path = tmp_path_factory.mktemp("runs") / "run"
    with RunWriter.create(
        path, config={}, conditions=CONDITIONS, subject=SUBJECT, plan=PLAN[:1000]
    ) as writer:
        for item in PLAN[:1000]:
            writer.append(played(item))
    return path


def test_append_an_episode(benchmark: Any, tmp_path: Path) -> None:
    """Append one episode of ten turns."""
    turn = itertools.cycle(PLAN)
    path = tmp_path / "run"
    with RunWriter.create(path, config={}, conditions=CONDITIONS, subject=SUBJECT, plan=PLAN) as writer:
        benchmark.pedantic(writer.append, setup=lambda: ((played(next(turn)),), {}), rounds=2000)


def test_resume_a_run_of_1000_episodes(benchmark: Any, finished: Path) -> None:
    """Check every line, describe the machine and open the files for writing."""

    def resume() -> None:
        RunWriter.resume(finished, conditions=CONDITIONS, subject=SUBJECT).close()

    benchmark.pedantic(resume, rounds=5)


def test_summarise_a_run_of_1000_episodes(benchmark: Any, finished: Path) -> None:
    """Read and check all episodes, and compute all estimates."""
    assert benchmark.pedantic(lambda: summarise(finished), rounds=5).outcomes.counts.scored == 1000


def table(tasks: int, trials: int, seed: int) -> Outcomes:
    """Random outcomes in memory."""
    success = (np.random.default_rng(seed).random((tasks, trials)) < 0.5).astype(float)
    counts = Counts(success.size, success.size, 0, 0, 0, 0)
    return Outcomes(tuple(map(str, range(tasks))), success, success, counts)


@pytest.mark.parametrize(("tasks", "trials"), [(134, 1), (115, 4), (500, 8)])
def test_summary_and_comparison(benchmark: Any, tasks: int, trials: int) -> None:
    """Compute all estimates of a run and compare it with another, including the exact test."""
    a, b = table(tasks, trials, 0), table(tasks, trials, 1)

    def estimate() -> None:
        summary_of(a, "", "toy", "a")
        compare(MeasuredRun("a", CONDITIONS, a), MeasuredRun("b", CONDITIONS, b))

    benchmark(estimate)


def test_random_sign_flips(benchmark: Any) -> None:
    """The sign-flip test of rewards without a common denominator: 100,000 flips of 134 tasks."""
    differences = np.random.default_rng(0).normal(size=134)
    benchmark.pedantic(lambda: sign_flip_p(differences), rounds=3)


def test_algorithms_over_seeds(benchmark: Any) -> None:
    """4,000 resamples of five seeds per algorithm and 134 tasks."""
    a, b = np.random.default_rng(0).random((2, 5, 134))
    benchmark.pedantic(lambda: hierarchical_error(a, b, np.random.default_rng(0)), rounds=3)
