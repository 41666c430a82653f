"""The example plug-in, installed in another folder: its parts are listed, measured, estimated, trained."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents import methods
from nlac_bench.errors import ConfigError
from nlac_bench.sweep.file import check_sweep, read_sweep
from tests.baselines import signal_env
from tests.baselines.test_learning import check
from tests.cli.command import nlac_bench, one_json

ROOT = Path(__file__).parents[2]
SMALL = (
    "train_batch_size=4", "mini_batch_size=2", "val_tasks=2", "max_response_length=24", "row_tokens=1024",
    "probes=1",
)  # fmt: skip


@pytest.fixture
def command(installed: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs nlac-bench in another folder with the plug-in installed; gives its JSON object."""

    def run(*arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "nlac_bench", *arguments, "--json"],
            capture_output=True, text=True, check=False, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(installed)))},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run


@pytest.fixture
def in_process(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    """The same in this process, which has imported torch."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(installed))
    return lambda *arguments: one_json(nlac_bench(*arguments, "--json"))


def train(*names: str) -> list[str]:
    return [part for name in names for part in ("--train", name)]


def test_the_environment_keeps_the_contract(command: Callable[..., dict[str, Any]]) -> None:
    assert command("envs", "check", "example_echo")


def test_the_agent_plays(command: Callable[..., dict[str, Any]]) -> None:
    found = command("run", "--env", "example_echo", "--agent", "example_repeat")
    assert found["success"] == 1.0 and found["scored"] == 5


def test_the_algorithm_is_estimated(in_process: Callable[..., dict[str, Any]]) -> None:
    arguments = (
        "run",
        "--env",
        "tau_retail",
        "--agent",
        "reward_weighted",
        "--budget",
        "steps=7",
        "--dry-run",
    )
    found = in_process(*arguments, "--train", "beta=0.25")
    assert found["training"]["gradient_steps"] == 7


@pytest.mark.slow(reason="plays and trains the embedded model, once in a process of its own")
@pytest.mark.parametrize(
    ("where", "env", "agent", "composed"),
    [
        ("command", "tau_retail", "reward_weighted", []),
        ("in_process", "example_echo", "reward_weighted", ["--best-of", "2"]),
        ("in_process", "example_echo", "nlac", []),
    ],
)
def test_the_embedded_model_is_trained(
    request: pytest.FixtureRequest, where: str, env: str, agent: str, composed: list[str]
) -> None:
    settings = train(*(s for s in SMALL if agent == "nlac" or not s.startswith("probes")))
    arguments = (
        "run",
        "--env",
        env,
        "--agent",
        agent,
        "--budget",
        "steps=2",
        "--limit",
        "3",
        *settings,
        *composed,
    )
    found = request.getfixturevalue(where)(*arguments, "--max-tokens", "24", "--concurrency", "4")
    assert found["gradient_steps"] == 2 and found["scored"] == 3
    assert found["agent"] == agent + " + best of 2" * bool(composed)


def test_a_sweep_takes_the_algorithm(
    installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(installed))
    path = tmp_path / "sweep.toml"
    text = 'methods = ["reward_weighted", "rft"]\n[seeds]\nexample_echo = [0]\n[run]\nmodel = "tiny"\n'
    path.write_text(f"{text}[methods_train.reward_weighted]\nbeta = 0.25\n")
    sweep = read_sweep(path)
    check_sweep(sweep)
    assert sweep.settings(next(sweep.cells()), None)["train"]["beta"] == 0.25
    path.write_text(f"{text}[methods_train.reward_weighted]\nbeta = -1\n")
    with pytest.raises(ConfigError, match=r"reward_weighted: .*beta must be above 0, got -1"):
        check_sweep(read_sweep(path))


@pytest.mark.slow(reason="up to 120 gradient steps")
@pytest.mark.parametrize("name", ["reward_weighted", "episode_pairs"])
def test_the_algorithm_learns_the_bandit(name: str, installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed))
    check(methods.find(name), signal_env.random_model())


def test_the_algorithm_is_listed_and_short(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed))
    (listed,) = [found for found in methods.all_methods() if found.name == "reward_weighted"]
    assert not listed.error and listed.origin.startswith("nlac-bench-example")
    source = installed / "nlac_bench_example" / "reward_weighted.py"
    assert len(source.read_text().splitlines()) <= 40
