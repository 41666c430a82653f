"""Environments of users that raise, exit or return unusable values: exit codes, and what the user reads."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import call, nlac_bench, one_json

SOURCE = '''
import gymnasium, sys
from nlac_bench.envs import Outcome, TextEnv

class Broken(TextEnv):
    """Say yes."""
    name, max_steps = "broken", 3
    def __init__(self, split="test", render_mode=None):
        super().__init__(task_ids=["a", "b", "c", "d"], split=split, render_mode=render_mode)
    async def _begin(self, task_id):
        self._state = [task_id]
        BEGIN
        return "go"
    def oracle_action(self):
        return "yes"
    async def _respond(self, action):
        reward = 1.0
        RESPOND
        return Outcome("done", reward, end_reason="success", success=True)

gymnasium.register("ID", Broken, disable_env_checker=True)
'''


@pytest.fixture
def broken(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An environment in whose ``_begin`` or ``_respond`` a line of code is inserted."""
    where, code = request.param
    module = f"broken_{abs(hash((where, code)))}"
    source = SOURCE.replace("ID", f"{module}-v0")
    for part in ("BEGIN", "RESPOND"):
        source = source.replace(part, code if part == where else "pass")
    (tmp_path / f"{module}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return f"{module}:{module}-v0"


RAISES = ("BEGIN", "raise RuntimeError('no licence')")
EXITS = ("BEGIN", "sys.exit(5)")
CLOSES = ("BEGIN", "raise GeneratorExit")
CANCELS = ("BEGIN", "import asyncio; raise asyncio.CancelledError")
TRAINING = ("--agent", "grpo", "--budget", "steps=1", "--dry-run", "--json")


@pytest.mark.parametrize(
    "broken", [RAISES, EXITS, CLOSES, CANCELS], indirect=True, ids=["raises", "exits", "closes", "cancels"]
)
@pytest.mark.parametrize(
    "command", [("run", *TRAINING, "--env"), ("envs", "show"), ("play", "--agent", "random")], ids=" ".join
)
def test_an_environment_that_fails_before_anything_is_written_exits_with_2(
    command: tuple[str, ...], broken: str, tmp_path: Path
) -> None:
    done = call(*command, broken)
    assert done.returncode == 2 and not done.stdout, done
    module = broken.split(":", maxsplit=1)[0]
    if "--dry-run" in command:
        assert done.stderr.startswith(f"error: {broken}: ") and done.stderr.count("\n") == 1
        assert f"({module}.py, line " in done.stderr
    else:
        assert "error: unexpected" in done.stderr and "the traceback shows where" in done.stderr
    assert f"{module}.py" in done.stderr and "╭" not in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "broken", [RAISES, ("BEGIN", "raise ValueError('no licence')")], indirect=True, ids=["runtime", "value"]
)
def test_a_dry_run_of_a_floor_names_the_environment_that_fails(broken: str) -> None:
    done = call("run", "--env", broken, "--agent", "random", "--dry-run")
    assert done.returncode == 2 and done.stderr.startswith(f"error: {broken}: ")
    assert "no licence" in done.stderr and done.stderr.count("\n") == 1


UNUSABLE = {
    "exits": (("RESPOND", "sys.exit(5)"), "sys.exit(5) was called"),
    "closes": (("RESPOND", "raise GeneratorExit"), "GeneratorExit was raised"),
    "cancels": (("RESPOND", "import asyncio; raise asyncio.CancelledError"), "CancelledError was raised"),
    "rewards NaN": (("RESPOND", "reward = float('nan')"), "reward nan"),
    "rewards infinity": (("RESPOND", "reward = float('inf')"), "reward inf"),
    "ends with text": (
        ("RESPOND", "return Outcome('', 1.0, 'success', 'yes')"),
        "info['success'] must be True",
    ),
}


@pytest.mark.parametrize(("broken", "reason"), UNUSABLE.values(), indirect=["broken"], ids=list(UNUSABLE))
def test_a_dry_run_refuses_what_the_run_could_not_score(broken: str, reason: str) -> None:
    done = call("run", "--env", broken, "--agent", "silent", "--limit", "2", "--dry-run")
    said = {"sys.exit(5) was called": "SystemExit: 5"}.get(reason, reason.removesuffix(" was raised"))
    assert done.returncode == 2 and done.stderr.startswith(f"error: {broken}: "), done
    assert said in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("broken", [("RESPOND", "pass")], indirect=True, ids=["usable"])
def test_a_dry_run_accepts_what_the_run_can_score(broken: str) -> None:
    assert call("run", "--env", broken, "--agent", "silent", "--limit", "2", "--dry-run").returncode == 0


@pytest.mark.parametrize(("broken", "reason"), UNUSABLE.values(), indirect=["broken"], ids=list(UNUSABLE))
def test_an_episode_without_a_usable_result_is_played_again(broken: str, reason: str, tmp_path: Path) -> None:
    command = ("run", "--env", broken, "--agent", "silent", "--limit", "2", "--out", "run", "--json")
    summary = one_json(nlac_bench(*command, status=3))
    assert summary["infra_errors"] == 2 and reason in summary["commonest_error"]
    errors: list[dict[str, Any]] = [
        json.loads(line) for line in (tmp_path / "run" / "errors.jsonl").read_text().splitlines()
    ]
    assert errors and all(error["kind"] == "crash" for error in errors)
