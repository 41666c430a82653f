"""What the bridge to OpenEnv refuses where its package is missing, or where a file names a server."""

import json
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs.prompts import PromptsEnv
from nlac_bench.errors import DataError
from nlac_bench.harness.runs.trust import to_repeat
from tests.cli.command import nlac_bench

EXTRA = "pip install 'nlac-bench[openenv]'"


_PACKAGES = ("openenv", "websockets")


class _NotInstalled(MetaPathFinder):
    """Finds nothing of the bridge's packages, as if they were not installed."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if (package := fullname.partition(".")[0]) in _PACKAGES:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] in _PACKAGES]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_NotInstalled(), *sys.meta_path])


@pytest.mark.usefixtures("missing")
def test_serve_names_the_extra() -> None:
    done = nlac_bench("serve", "--env", "first_steps", "--port", "0", "--json", status=2)
    assert EXTRA in done.stderr and done.stdout == ""


@pytest.mark.usefixtures("missing")
@pytest.mark.parametrize("command", [("run", "--agent", "random", "--env"), ("envs", "check")])
def test_an_environment_of_a_server_names_the_extra(command: tuple[str, ...]) -> None:
    done = nlac_bench(*command, 'openenv@{"url": "http://127.0.0.1:9"}', status=2)
    assert EXTRA in done.stderr


def test_the_folder_of_a_run_does_not_decide_which_server_is_asked() -> None:
    env = 'openenv@{"url": "http://127.0.0.1:9"}'
    assert to_repeat({"env": env}) == {"env": env}
    assert to_repeat({"env": "tau_retail"}) == {}


def test_a_file_of_prompts_does_not_decide_which_server_is_asked(tmp_path: Path) -> None:
    row = {
        "prompt": "?",
        "reward_model": {"style": "agent_env", "ground_truth": 'openenv@{"url": "http://127.0.0.1:9"}'},
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    with pytest.raises(DataError, match="'openenv' is not"):
        PromptsEnv(data=tmp_path / "rows.jsonl")
