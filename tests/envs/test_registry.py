"""Environments by name: built in, registered, plugged in, and as a string with arguments."""

import importlib.metadata
import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from nlac_bench import installed
from nlac_bench.envs import registry
from nlac_bench.envs.env_string import parse
from nlac_bench.errors import NlacBenchError, UnknownIdError
from tests.envs.count_down import CountDown

ROOT = Path(__file__).parents[2]
_numbers = itertools.count()


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
    assert parse('Name@{"split": "train", "level": 3}') == ("Name", {"split": "train", "level": 3})
    assert parse("Name") == ("Name", {})
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
    monkeypatch.setattr(installed, "entry_points", lambda group: entry_points.select(group=group))


def test_a_broken_plug_in_warns_and_blocks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(
        monkeypatch,
        good="tests.envs.count_down:CountDown",
        broken="no_such_module:Env",
        odd="tests.envs.count_down:__doc__",
    )
    with pytest.warns(UserWarning, match="is skipped") as warned:
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


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import json\n\njson.dumps(set())\n", "cannot be imported: TypeError: .* \\({module}.py, line 3\\)"),
        (
            "import no_such_thing",
            "cannot be imported: ModuleNotFoundError: .*'no_such_thing' \\({module}.py, line 1",
        ),
        ("raise SystemExit(2)", "cannot be imported: SystemExit: 2 \\({module}.py, line 1\\)"),
        ("x = (\n", "cannot be imported: SyntaxError: .*{module}.py, line 1"),
        ("x = 1", "'{module}:Plain-v0' \\(module '{module}' registers no such id: .*Plain"),
        (None, "'{module}:Plain-v0' \\(there is no module '{module}'"),
    ],
)
def test_a_users_module_that_fails_is_told_from_one_that_does_not_exist(
    source: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"users_module_{next(_numbers)}"
    monkeypatch.syspath_prepend(tmp_path)
    if source is not None:
        (tmp_path / f"{module}.py").write_text(source)
    with pytest.raises(UnknownIdError, match=said.replace("{module}", module)) as caught:
        registry.find(f"{module}:Plain-v0")
    assert ("no environment is named" in str(caught.value)) == ("cannot be imported" not in said)


@pytest.mark.parametrize(
    ("limit", "holds"),
    [(1, True), (8, True), (0, False), ("8", False), (8.0, False), (True, False), (None, False)],
)
def test_max_steps_is_a_positive_int(limit: Any, holds: bool) -> None:
    kind = type("Limited", (CountDown,), {"max_steps": limit})
    gymnasium.register("nlac_bench_test/Limited-v0", kind)  # type: ignore[arg-type]
    try:
        if holds:
            assert registry.make_text_env("nlac_bench_test/Limited-v0").max_steps == limit
        else:
            with pytest.raises(
                NlacBenchError, match=f"Limited-v0 has max_steps = {limit!r}; set it to an int"
            ):
                registry.make_text_env("nlac_bench_test/Limited-v0")
    finally:
        del gymnasium.registry["nlac_bench_test/Limited-v0"]
