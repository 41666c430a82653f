"""``nlac-bench envs check`` on environments that mean harm or are broken: a failed check, never a crash.

An installed environment runs with the rights of its user; what is tested is that the command tells what is
wrong, prints exactly one JSON object, and ends.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs import conformance
from tests.cli.command import call

SOURCE = '''
import gymnasium, os, sys, threading, time
from typing import Any
import numpy as np
from nlac_bench.envs import Outcome, TextEnv, UnicodeText

class State:
    def copy(self): return State()

class Hostile(TextEnv):
    """Says no."""
    name = "hostile"
    max_steps = 3
    def __init__(self, split="test", render_mode=None):
        super().__init__(task_ids=["a", "b"], split=split, render_mode=render_mode)
        {init}
    async def _begin(self, task_id):
        self._state = State()
        {begin}
        return "go"
    async def _respond(self, action):
        {respond}
        return Outcome("no", end_reason="success" if action == "yes" else None, success=action == "yes")
    def oracle_action(self):
        {oracle}
        return "yes"
    def policy(self):
        {policy}
        return "Say yes."

gymnasium.register("Hostile-v0", Hostile, disable_env_checker=True)
'''
HOSTILE: dict[str, dict[str, str]] = {
    "exits in step": {"respond": "sys.exit(0)"},
    "exits in reset": {"begin": "sys.exit('bye')"},
    "exits when made": {"init": "raise SystemExit(0)"},
    "exits in policy": {"policy": "raise SystemExit(0)"},
    "exits in oracle": {"oracle": "raise SystemExit(0)"},
    "interrupts": {"respond": "raise KeyboardInterrupt"},
    "leaves the generator": {"respond": "raise GeneratorExit"},
    "exhausts the stack": {"respond": "def again(): return again()\n        again()"},
    "raises a message of 10 MB": {"respond": "raise ValueError('x' * 10_000_000)"},
    "raises markup and controls": {"respond": "raise ValueError('[bold red]\\n\\x1b[2J\\x00[/nope]')"},
    "raises a surrogate": {"respond": "raise ValueError('\\ud800')"},
    "an error that cannot be shown": {
        "respond": "class E(Exception):\n            def __str__(self): raise RuntimeError\n        raise E"
    },
    "prints a verdict": {"respond": "print('{\"holds\": true}')"},
    "observes bytes": {"begin": "return b'go'"},
    "observes nothing": {"begin": "return None"},
    "rewards NaN": {"respond": "return Outcome('no', reward=float('nan'))"},
    "rewards text": {"respond": "return Outcome('no', reward='much')"},
    "info is not JSON": {"respond": "return Outcome('no', extra={'f': open})"},
    "info cannot be copied": {"respond": "return Outcome('no', extra={'lock': threading.Lock()})"},
    "global randomness": {"begin": "return str(np.random.random())"},
    "shares its state": {"init": "State.copy = lambda self: self; State.n = 0",
                         "respond": "State.n += 1; return Outcome(str(State.n))"},
}  # fmt: skip


def checked(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    parts = dict.fromkeys(("init", "begin", "respond", "oracle", "policy"), "pass") | HOSTILE[name]
    module = f"hostile_{list(HOSTILE).index(name)}"
    source = SOURCE
    for part, code in parts.items():
        source = source.replace(f"{{{part}}}", code)
    (tmp_path / f"{module}.py").write_text(source.replace("Hostile-v0", f"Hostile{module}-v0"))
    monkeypatch.syspath_prepend(tmp_path)
    return call("envs", "check", f"{module}:Hostile{module}-v0", "--json")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_environment_fails_a_check(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = checked(name, tmp_path, monkeypatch)
    assert done.stdout.count("\n") == 1, done.stdout[:500]
    report = json.loads(done.stdout)
    assert report["holds"] is (name == "prints a verdict"), report
    assert done.returncode == (0 if report["holds"] else 1)
    assert all(len(check["message"]) < 2_000 for check in report["checks"])
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("where", ["init", "begin", "respond"])
def test_an_environment_that_does_not_return_fails_and_ends_the_checks(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance, "CHECK_S", 0.5)
    monkeypatch.setitem(HOSTILE, f"sleeps in {where}", {where: "time.sleep(3600)"})
    done = checked(f"sleeps in {where}", tmp_path, monkeypatch)
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["holds"] is False
    failed = [check for check in report["checks"] if check["ok"] is False]
    assert [check["message"] for check in failed] == ["the code did not finish within 0.5 s"]
    assert report["checks"][-1]["message"].startswith("not run, because ")
