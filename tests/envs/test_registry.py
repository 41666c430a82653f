"""Environments by name: built in, registered, plugged in, and as a string with arguments."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

from nlac_bench.envs import registry
from nlac_bench.errors import UnknownIdError
from tests.envs.count_down import CountDown

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["tau_retail", "nlac_bench/TauRetail-v0", "TauRetail"])
def test_a_built_in_has_three_names(name: str) -> None:
    assert registry.find(name).name == "tau_retail"


def test_gymnasium_id_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    env = registry.make("examples.register_env:CountDown-v0")
    assert env.reset(seed=0, options={"task_id": "2"})[0] == "2"
    assert env.step("1")[4]["success"]
    assert gymnasium.make_vec("CountDown-v0", num_envs=2).reset(seed=0)[0]


def test_example_is_short() -> None:
    assert len((ROOT / "examples" / "register_env.py").read_text().splitlines()) <= 40


def test_environment_string_carries_arguments() -> None:
    assert registry.parse('Name@{"split": "train", "level": 3}') == ("Name", {"split": "train", "level": 3})
    assert registry.parse("Name") == ("Name", {})
    env = registry.make('twenty_questions@{"split": "train"}')
    assert env.unwrapped.split == "train"  # type: ignore[attr-defined]
    env = registry.make('twenty_questions@{"split": "train"}', split="test")
    assert env.unwrapped.split == "test"  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["tau_retail@", "tau_retail@[1]", "tau_retail@{split: train}", "x@{"])
def test_bad_arguments_are_named(text: str) -> None:
    with pytest.raises(ValueError, match="environment string"):
        registry.make(text)


@pytest.mark.parametrize("name", ["tau_detail", "no_such_pkg:Env-v0", "", "nlac_bench/TauRetail-v9", "a/b/c"])
def test_unknown_names_list_what_there_is(name: str) -> None:
    with pytest.raises(UnknownIdError, match="tau_retail"):
        registry.make(name)


def plug_in(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    entry_points = importlib.metadata.EntryPoints(
        importlib.metadata.EntryPoint(name, value, registry.PLUGIN_GROUP) for name, value in points.items()
    )
    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points.select)


def test_a_broken_plug_in_warns_and_blocks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(
        monkeypatch,
        good="tests.envs.count_down:CountDown",
        broken="no_such_module:Env",
        odd="tests.envs.count_down:__doc__",
    )
    with pytest.warns(UserWarning, match="left out") as warned:
        names = [entry.name for entry in registry.iter_plugins()]
    assert names == ["good"] and len(warned) == 2
    assert isinstance(registry.make("good"), CountDown)
    with pytest.raises(UnknownIdError, match="no_such_module"):
        registry.find("broken")


@pytest.mark.slow  # installs two small distributions into a folder of their own
def test_an_installed_plug_in_is_found_by_the_command_line(tmp_path: Path) -> None:
    for name, value in {"count_down": "my_plugin:CountDown", "broken": "my_plugin:missing"}.items():
        info = tmp_path / f"plugin_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: plugin-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[nlac_bench.envs]\n{name} = {value}\n")
    (tmp_path / "my_plugin.py").write_text((ROOT / "tests" / "envs" / "count_down.py").read_text())
    code = "from nlac_bench.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "envs", "list", "--json"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": "/usr/bin"},
        check=True,
    )
    assert '"count_down"' in done.stdout and '"tau_retail"' in done.stdout
    assert "broken" in done.stderr and "broken" not in done.stdout
