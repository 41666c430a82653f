"""Which modules a call imports, and the options of ``run`` and ``resume`` that settings declare."""

import os
import subprocess
import sys
from typing import Any

import pytest

from nlac_bench.cli.commands import COMMANDS, help_of, imported
from nlac_bench.harness.runs.configuration import ADVANCED, RunConfig, declared
from nlac_bench.harness.runs.trust import to_repeat
from tests.cli.command import nlac_bench

MODULES = {f"nlac_bench.cli.{entry.module}" for entry in COMMANDS.values()}
FIRST = {"env", "agent", "model", "base_url", "limit", "trials", "seed", "budget", "out", "dry_run"}


def imported_by(*arguments: str) -> set[str]:
    """The modules that a process has imported when ``nlac-bench`` with these arguments has ended."""
    code = "import atexit, sys\natexit.register(lambda: print('imported:', *sys.modules))\n"
    code += "from nlac_bench.__main__ import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("imported:")[2].split())


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_calls_no_command_imports_no_module_of_one(option: str) -> None:
    loaded = imported_by(option)
    assert "nlac_bench.cli.commands" in loaded
    assert not loaded & (MODULES | {"pydantic", "torch", "openai", "nlac_bench.harness.runs.configuration"})


@pytest.mark.parametrize(("command", "module"), [("score", "compare"), ("grade", "grade"), ("data", "data")])
def test_a_command_imports_its_own_module_only(command: str, module: str) -> None:
    assert imported_by(command, "--help") & MODULES == {f"nlac_bench.cli.{module}"}


def test_the_list_of_commands_shows_their_own_help_texts() -> None:
    for name, entry in COMMANDS.items():
        command = imported(name)
        assert command.name == name and command.help and command.help == help_of(entry), name
    shown = nlac_bench("--help", COLUMNS="300").stdout
    for name in COMMANDS:
        first = " ".join(imported(name).help.partition("\n\n")[0].split())
        assert f" {name} " in shown and first in shown


def test_a_misspelt_command_gets_a_suggestion() -> None:
    assert "No such command 'rnu'. Did you mean 'run'?" in nlac_bench("rnu", status=2).stderr


def test_completion_knows_commands_and_their_options() -> None:
    def completed(words: str, index: int) -> list[str]:
        code = "import sys; sys.argv = ['nlac-bench']; from nlac_bench.__main__ import main; main()"
        asked = {"_NLAC_BENCH_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(index)}
        script, env = [sys.executable, "-c", code], os.environ | asked
        return subprocess.run(script, env=env, capture_output=True, text=True, check=False).stdout.split()

    assert completed("nlac-bench r", 1) == ["run", "resume", "report"]
    assert completed("nlac-bench resume --max-l", 2) == ["--max-logprob-gap"]


def options(name: str) -> dict[str, Any]:
    return {parameter.name: parameter for parameter in imported(name).params}


@pytest.mark.parametrize("name", ["run", "eval"])
def test_the_help_of_run_lists_ten_options_above_the_advanced_ones(name: str) -> None:
    panels = {option: parameter.rich_help_panel for option, parameter in options(name).items()}
    assert {option for option, panel in panels.items() if panel is None} == FIRST | {"as_json"}
    assert set(panels.values()) == {None, ADVANCED}
    assert panels.keys() >= {field for field in RunConfig.model_fields if field != "train"}
    above, below = nlac_bench(name, "--help").stdout.split(f"─ {ADVANCED} ─")
    for option in FIRST:
        assert f"--{option.replace('_', '-')} " in above
    for option in panels.keys() - FIRST - {"as_json"}:
        assert f"--{option.replace('_', '-')} " in below


def test_resume_has_the_options_that_settings_declare() -> None:
    wanted = {name for name, field in RunConfig.model_fields.items() if declared(field).get("resume")}
    assert options("resume").keys() - {"folder", "as_json"} == wanted and len(wanted) == 15
    shown = options("resume")
    for name in wanted:
        resume = declared(RunConfig.model_fields[name])["resume"]
        assert ("epeat" in shown[name].help) == ("repeat" in resume), name
        assert ("eplace" in shown[name].help) == ("replace" in resume), name


def test_what_must_be_repeated_is_what_has_an_effect_outside_of_the_run() -> None:
    for field in RunConfig.model_fields.values():
        option = declared(field)
        assert bool(option.get("effect")) == ("repeat" in (option.get("resume") or ""))
    stored = dict.fromkeys(RunConfig.model_fields, "x") | {"env": "some_package:Env-v0"}
    assert set(to_repeat(stored)) == {
        "env", "base_url", "user_base_url", "record", "servers", "weights_folder", "track",
    }  # fmt: skip
    assert "env" not in to_repeat(stored | {"env": "tau_retail"})


@pytest.mark.parametrize("path", [[], ["launch"], ["run"], ["envs", "check"], ["leaderboard", "build"]])
def test_flags_have_no_type_and_tables_keep_their_brackets(path: list[str]) -> None:
    done = nlac_bench(*path, "--help")
    assert "<bool>" not in done.stdout and "-h" in done.stdout
    if path == ["launch"]:
        assert "The table [launch] of the file" in done.stdout
