"""Which modules a call imports."""

import os
import subprocess
import sys

import pytest

from nlac_bench.cli.commands import COMMANDS, help_of, imported
from tests.cli.command import nlac_bench

MODULES = {f"nlac_bench.cli.{entry.module}" for entry in COMMANDS.values()}


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
    assert completed("nlac-bench resume --max", 2) == ["--max-logprob-gap"]
