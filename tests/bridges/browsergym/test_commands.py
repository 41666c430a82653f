"""Training, floors and the checks of the contract play in the browser, from the command line."""

import json
import os
import shutil
from pathlib import Path

import gymnasium
import pytest

pytest.importorskip("browsergym.core", reason="BrowserGym is not installed", exc_type=ImportError)

from nlac_bench.bridges.browsergym.chromium import SYSTEM_NAMES
from nlac_bench.envs import registry
from nlac_bench.envs.conformance import CHECKS
from nlac_bench.envs.conformance.play import CheckedEnv, NotApplicableError
from nlac_bench.envs.env_string import parse
from nlac_bench.harness.measure.stored_episode import stored_episode
from tests.cli.command import call

pytestmark = [
    pytest.mark.bridge,
    pytest.mark.skipif(
        not any(map(shutil.which, SYSTEM_NAMES)) and "CI" not in os.environ, reason="there is no Chromium"
    ),
]
ENV = 'browsergym@{"task": "miniwob.click-test-2"}'


def test_two_gradient_steps_of_nlac(tmp_path: Path) -> None:
    done = call(
        "run", "--env", ENV, "--agent", "nlac", "--model", "tiny", "--budget", "steps=2", "--limit", "2",
        "--max-tokens", "24", "--train=train_batch_size=2", "--train=mini_batch_size=4",
        "--train=val_tasks=1",
        "--out", str(tmp_path / "run"), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout)
    assert result["gradient_steps"] == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", CHECKS)
def test_the_environment_passes_the_contract(name: str) -> None:
    """Each check is a test of its own, since all of them together take minutes."""
    entry_name, arguments = parse(ENV)
    entry = registry.find(entry_name)

    def make(**kwargs: object) -> gymnasium.Env[str, str]:
        return registry.construct(entry, {**arguments, **kwargs})

    try:
        CHECKS[name](CheckedEnv(make, entry.env_id, arguments))
    except NotApplicableError:
        assert name == "make_vec"


def test_a_run_stores_an_episode() -> None:
    result = stored_episode(ENV)
    assert result.passed, result.detail


def test_floors() -> None:
    done = call("floors", "--env", ENV, "--agent", "random", "--agent", "oracle", "--episodes", "4", "--json")
    assert done.returncode == 0, done.stderr[-3000:]
    rows = {row["agent"]: row for row in json.loads(done.stdout)["rows"]}
    assert all(row["scored"] == row["planned"] == 4 for row in rows.values())
    assert rows["oracle"]["success"] == 1
