"""Compares reset and reward of the τ-bench environments with the methods of the original, in the same run.

The original loads its JSON files at each reset; its reward loads them again, replays the gold calls and
hashes both databases completely. ``loading`` does the same with functions of this project;
``test_against_the_original`` runs the original if ``tau_bench`` is installed. Needs NLAC_BENCH_DATA.
"""

import itertools
import json
import os
import statistics
import sys
import time
import tracemalloc
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conftest import Row
from nlac_bench.envs.tau import TauAirlineEnv, TauRetailEnv
from nlac_bench.envs.tau.database import Database
from nlac_bench.envs.tau.domain import TABLES, Domain, load_official
from nlac_bench.envs.tau.invoke import invoke
from nlac_bench.envs.tau.reward import TauGrader

pytestmark = pytest.mark.skipif(
    not os.environ.get("NLAC_BENCH_DATA"), reason="NLAC_BENCH_DATA is not set to the folder with the data"
)
ENVIRONMENTS = {"retail": TauRetailEnv, "airline": TauAirlineEnv}
DOMAINS = pytest.mark.parametrize("name", ["retail", "airline"])


def folder() -> Path:
    return Path(os.environ["NLAC_BENCH_DATA"]) / "tau_bench"


def median_s(function: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def load_tables(name: str) -> dict[str, Any]:
    return {table: json.loads((folder() / name / f"{table}.json").read_bytes()) for table in TABLES[name]}


def played(grader: TauGrader, domain: Domain) -> list[tuple[Any, Database]]:
    """Play the gold calls of the test tasks; returns tasks and databases for grading."""
    ends = []
    for task in domain.tasks["test"]:
        db = grader.database()
        for call in task.actions:
            invoke(grader.tools, db, call.name, call.kwargs)
        ends.append((task, db))
        grader.gold(task)
    return ends


@DOMAINS
def test_reset(benchmark: Any, name: str, row: Row, short: bool) -> None:
    """Reset the whole environment; the database is a small part of it."""
    env = ENVIRONMENTS[name](data=folder())
    env.reset(seed=0)
    domain = load_official(name, folder())
    loading = median_s(lambda: load_tables(name), 2 if short else 10)
    ours = median_s(env.reset, 100 if short else 2000)
    database = median_s(lambda: [domain.new_database() for _ in range(1000)], 2 if short else 20) / 1000
    benchmark(env.reset)
    benchmark.extra_info |= {"loading_s": loading, "ratio_of_the_database_alone": loading / database}
    row(
        f"τ reset, {name}",
        "loading the tables, as the original does",
        f"{loading / ours:,.0f} × faster",
        "≥ 500 ×",
    )


@DOMAINS
def test_reward(benchmark: Any, name: str, row: Row, short: bool) -> None:
    domain = load_official(name, folder())
    grader = TauGrader(domain)
    ends = played(grader, domain)

    def whole(task: Any, db: Database) -> bool:
        """Load, replay and hash both in new databases, so that no hash of a row is cached."""
        gold = Database(load_tables(name))
        for call in task.actions:
            invoke(grader.tools, gold, call.name, call.kwargs)
        live = Database(domain.tables)
        live._rows = dict(db._rows)
        return live.hash() == gold.hash()

    def grade_all() -> None:
        for task, db in ends:
            grader.grade(task, db, [])

    task, db = ends[len(ends) // 2]
    loading = median_s(lambda: whole(task, db), 1 if short else 5)
    ours = median_s(grade_all, 2 if short else 20) / len(ends)
    benchmark(grade_all)
    benchmark.extra_info |= {"loading_s": loading, "seconds_a_reward": ours}
    row(
        f"τ reward, {name}", "loading, replaying and hashing, as the original does",
        f"{loading / ours:,.0f} × faster", "≥ 200 ×",
    )  # fmt: skip


@DOMAINS
def test_step(benchmark: Any, name: str) -> None:
    domain = load_official(name, folder())
    grader = TauGrader(domain)
    calls = [call for task in domain.tasks["test"] for call in task.actions]

    def run() -> None:
        db = grader.database()
        for call in calls:
            invoke(grader.tools, db, call.name, call.kwargs)

    benchmark(run)
    benchmark.extra_info |= {"calls": len(calls)}


@DOMAINS
def test_hash(benchmark: Any, name: str) -> None:
    domain = load_official(name, folder())
    domain.new_database().hash()
    db = domain.new_database()
    benchmark(db.hash)


@DOMAINS
def test_memory_of_many_episodes(benchmark: Any, name: str, row: Row, short: bool) -> None:
    domain = load_official(name, folder())
    grader = TauGrader(domain)
    tasks = domain.tasks["test"]

    def play() -> list[Database]:
        episodes = []
        for index in range(100 if short else 1000):
            db = grader.database()
            for call in tasks[index % len(tasks)].actions:
                invoke(grader.tools, db, call.name, call.kwargs)
            episodes.append(db)
        return episodes

    grader.database()
    tracemalloc.start()
    episodes = play()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    benchmark.pedantic(play, rounds=3)
    row(
        f"τ memory, {name}, {len(episodes):,} episodes",
        "–",
        f"{held / len(episodes) / 1000:.1f} KB an episode",
        "≤ 200 KB",
    )


@DOMAINS
def test_against_the_original(benchmark: Any, name: str, row: Row) -> None:
    sys.modules.setdefault("litellm", types.ModuleType("litellm"))
    sys.modules["litellm"].completion = None  # type: ignore[attr-defined]
    pytest.importorskip("tau_bench", reason="τ-bench's own package is not installed")
    from tau_bench.envs import get_env

    original = get_env(name, "human", "", "test", task_index=0)
    original.user = types.SimpleNamespace(reset=lambda instruction: "", get_total_cost=lambda: 0.0)
    domain = load_official(name, folder())
    grader = TauGrader(domain)
    ends = played(grader, domain)
    reset = median_s(lambda: original.reset(0), 5)
    reward = median_s(original.calculate_reward, 5)
    env = ENVIRONMENTS[name](data=folder())
    env.reset(seed=0)
    our_reset = median_s(env.reset, 2000)
    our_reward = median_s(lambda: [grader.grade(task, db, []) for task, db in ends], 20) / len(ends)
    benchmark(env.reset)
    benchmark.extra_info |= {
        "upstream_reset_s": reset, "reset_ratio": reset / our_reset,
        "upstream_reward_s": reward, "reward_ratio": reward / our_reward,
    }  # fmt: skip
    row(f"τ reset, {name}", "the original's, run beside it", f"{reset / our_reset:,.0f} × faster", "≥ 500 ×")
    row(
        f"τ reward, {name}",
        "the original's, run beside it",
        f"{reward / our_reward:,.0f} × faster",
        "≥ 200 ×",
    )


@DOMAINS
def test_oracle_episode(benchmark: Any, name: str) -> None:
    """Reset, play the gold actions and compute the reward, on the embedded data."""
    env = ENVIRONMENTS[name]()
    turn = itertools.cycle(env.task_ids)

    def episode() -> None:
        env.reset(options={"task_id": next(turn)})
        ended, reward = False, 0.0
        while not ended:
            _, reward, ended, _, _ = env.step(env.oracle_action())
        assert reward == 1.0

    benchmark.pedantic(episode, rounds=200, warmup_rounds=20)
