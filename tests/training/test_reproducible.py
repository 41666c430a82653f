"""What must not change a run: the hash seed, the clock; and what must not grow: memory over many steps."""

import asyncio
import gc
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlac_bench.envs import registry
from tests.cli.command import call

PLAIN = "tests.envs.plain_env:nlac_bench_test/EchoUnreported-v0"
RUNS = (
    ("twenty_questions", "random", "4"),
    ('tau_retail@{"level": "easy"}', "random", "4"),
    ("tau_airline", "constant", "2"),
    ("math500_hard", "random", "4"),
    (PLAIN, "random", "3"),
)
SCRIPT = """
import json, sys
from nlac_bench.cli import main
folder, runs = sys.argv[1:]
for number, (env, agent, limit) in enumerate(json.loads(runs)):
    sys.argv[1:] = ["run", "--env", env, "--agent", agent, "--limit", limit, "--trials", "2",
                    "--out", f"{folder}/{number}", "--json"]
    try:
        main()
    except SystemExit as done:
        assert not done.code, done.code
"""


def content(folder: Path) -> dict[str, Any]:
    """Names and contents of a run's files, without times, hardware, packages, and the report of these."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            found[name] = sorted(json.dumps(timeless(row), sort_keys=True) for row in rows)
        elif path.name == "manifest.json":
            manifest = json.loads(path.read_text())
            del manifest["sessions"]
            found[name] = json.dumps(manifest)  # in the order of the file
        elif path.name not in (".lock", "report.html"):
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def timeless(value: Any) -> Any:
    """``value`` without the durations in it."""
    if isinstance(value, dict):
        return {key: timeless(part) for key, part in value.items() if key != "seconds"}
    return [timeless(part) for part in value] if isinstance(value, list) else value


@pytest.mark.slow  # three processes, each of which plays five environments
def test_the_hash_seed_changes_neither_episodes_nor_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for seed in range(3):
        monkeypatch.setenv("PYTHONHASHSEED", str(seed))
        folder = tmp_path / str(seed)
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(folder), json.dumps(RUNS)], check=True, capture_output=True
        )
        found.append(content(folder))
        assert {"0/manifest.json", "0/config.json", "0/episodes.jsonl", "4/episodes.jsonl"} <= set(found[0])
    for seed, other in enumerate(found):
        assert other.keys() == found[0].keys(), seed
        for name, expected in found[0].items():
            assert other[name] == expected, (seed, name)


def test_a_clock_that_goes_backwards_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the wall clock finds it an hour earlier than the one before."""
    command = ("run", "--env", "twenty_questions", "--agent", "random", "--limit", "3", "--json")
    assert call(*command, "--out", str(tmp_path / "before")).returncode == 0
    monkeypatch.chdir(tmp_path)
    ticks, formatted = itertools.count(), time.strftime
    monkeypatch.setattr(time, "time", lambda: 1_900_000_000.0 - 3_600 * next(ticks))
    monkeypatch.setattr(
        time,
        "strftime",
        lambda form, at=None: formatted(form, time.gmtime(time.time()) if at is None else at),
    )
    folders = []
    for _ in range(3):  # without --out: the name of the folder has the time in it
        done = call(*command)
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        folders.append(Path(summary["run_dir"]))
        assert summary["scored"] == 3 and summary["seconds"] >= 0
        assert content(folders[-1]) == content(tmp_path / "before")
    assert len(set(folders)) == 3
    lines = (folders[0] / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    (folders[0] / "episodes.jsonl").write_bytes(lines[0] + lines[1][:40])
    done = call("resume", str(folders[0]), "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["scored"] == 3, done.stderr
    assert content(folders[0]) == content(tmp_path / "before")


def long_run_action(name: str, env: Any, step: int, rng: np.random.Generator) -> str:
    if name == "math500_hard":  # integers are decided without a worker: the loop is the environment's
        return rf"\\boxed{{{step % 97}}}"
    if name == "twenty_questions" and step % 2:  # hardly any text recurs
        return f"Is it used to {step:x} a {'w' * 5_000 if step % 101 == 0 else ''}{step * 7:x}?"
    return str(env.random_action(rng))


@pytest.mark.slow  # 15,000 steps of each environment, 60,000 of the four built-in ones
@pytest.mark.parametrize("name", [*registry.BUILTIN, PLAIN])
def test_memory_does_not_grow_over_many_steps(name: str) -> None:
    """Memory in use after 15,000 steps of each environment is that after 5,000: caches are full by then, and
    bounded."""
    text = 'math500_hard@{"num_tasks": 50}' if name == "math500_hard" else name
    env: Any = registry.make_playable(text).unwrapped
    rng = np.random.default_rng(0)
    used = []

    async def play() -> None:
        """As the driver does. ``step`` would hand each step of some environments to another thread."""
        await env.areset(seed=0)
        for step in range(1, 15_001):
            _, _, terminated, truncated, _ = await env.astep(long_run_action(name, env, step, rng))
            if terminated or truncated:
                await env.areset(seed=step % 500)
            if step in (5_000, 15_000):
                await env.areset(seed=0)
                gc.collect()
                used.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))

    try:
        asyncio.run(play())
    finally:
        env.close()
    # 400 bytes a step would be 4 MB; the allocator's own fragments stay below that.
    assert used[1] - used[0] < 4_000_000, f"{used[0]:,} bytes after 5,000 steps, {used[1]:,} after 15,000"
