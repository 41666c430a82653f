"""The commands of ``nlac-bench``. The module of a command is imported when the command is called."""

import ast
import functools
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from nlac_bench.cli.exit_codes import ExitCodes
from nlac_bench.cli.help_lists import LaunchCommand, RunCommand

HELP = ["-h", "--help"]
"""The names of the option that shows the help of a command."""


@dataclass(frozen=True)
class Definition:
    """The place where a command is defined.

    Args:
        module: the module in ``nlac_bench/cli``.
        name: its function, or ``app`` for a group of commands.
        help: the help text; None for the docstring of the function.
        cls: the class of the command that a function becomes.
    """

    module: str
    name: str
    help: str | None = None
    cls: type[TyperCommand] = TyperCommand


COMMANDS: Mapping[str, Definition] = {
    "run": Definition("run", "run", cls=RunCommand),
    "eval": Definition(
        "run",
        "run",
        help="Measure an agent, or a trained checkpoint. Takes the options of run, and does not train.",
        cls=RunCommand,
    ),
    "resume": Definition("run", "resume"),
    "score": Definition("compare", "score"),
    "compare": Definition("compare", "compare"),
    "report": Definition("report", "report"),
    "export": Definition("export", "export"),
    "view": Definition("view", "view"),
    "watch": Definition("watch", "watch"),
    "sweep": Definition("sweep", "sweep"),
    "submit": Definition("entries", "submit"),
    "verify": Definition("entries", "verify"),
    "launch": Definition("launch", "launch", cls=LaunchCommand),
    "critiques": Definition("critiques", "critiques"),
    "bench-gpu": Definition("bench_gpu", "bench_gpu"),
    "doctor": Definition("doctor", "doctor"),
    "play": Definition("envs", "play"),
    "serve": Definition("serve", "serve"),
    "floors": Definition("floors", "floors"),
    "grade": Definition("grade", "grade"),
    "theory": Definition("theory", "theory"),
    "envs": Definition("envs", "app", "Environments: list them, show one, check one against the contract."),
    "data": Definition("data", "app", "Public data sets: list them, fetch them, verify them."),
    "tiny": Definition("tiny", "app", "The embedded model: build it, measure it."),
    "leaderboard": Definition("leaderboard", "app", "Leaderboards: render boards from entries."),
}
"""In the order of ``nlac-bench --help``."""


class Commands(ExitCodes):
    """The root command. It lists commands without their modules, and imports the module of a called one."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name) for name in COMMANDS}

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options; flags are shown without a type."""
        return _without_types(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the name and the help text of a command, which help and completion show."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            command.help = help_of(COMMANDS[cmd_name])
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that ``args`` begin with."""
        if args[0] in COMMANDS:
            return args[0], imported(args[0]), args[1:]
        return super().resolve_command(ctx, args)  # typer raises the usage error


@functools.cache
def imported(name: str) -> Any:
    """Import the module of the command ``name``, and return the command with its options."""
    entry = COMMANDS[name]
    defined = getattr(importlib.import_module(f"nlac_bench.cli.{entry.module}"), entry.name)
    app = typer.Typer(rich_markup_mode="rich")
    if isinstance(defined, typer.Typer):
        app.add_typer(defined, name=name, help=entry.help)
    else:
        app.command(name, cls=entry.cls, help=entry.help)(defined)
    command = typer.main.get_group(app).commands[name]
    _without_types_of_flags(command)
    return command


def _without_types_of_flags(command: Any) -> None:
    """Show the flags of a command, or of the commands of a group, without a type."""
    _without_types(command.get_params(typer.Context(command, help_option_names=HELP)))  # --help is kept
    for each in getattr(command, "commands", {}).values():
        _without_types_of_flags(each)


def _without_types(options: list[Any]) -> list[Any]:
    """Return ``options``; the help of flags, which take no value, does not show the type ``<bool>``."""
    for option in options:
        if getattr(option, "is_flag", False):
            option.metavar = ""
    return options


def help_of(entry: Definition) -> str | None:
    """Return the help text of a command; a docstring is read from the source file, without importing it."""
    if entry.help is not None:
        return entry.help
    source = Path(__file__).with_name(f"{entry.module}.py").read_text(encoding="utf-8")
    functions = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    return next(ast.get_docstring(function) for function in functions if function.name == entry.name)
