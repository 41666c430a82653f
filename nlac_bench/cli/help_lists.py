"""The help of ``nlac-bench run`` and ``eval``; the modules that it lists are imported when it is printed."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from typer.core import TyperCommand

from nlac_bench.cli.output import console, escape


class RunCommand(TyperCommand):
    """The commands ``run`` and ``eval``. Their help ends with the agents and the training settings."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; the lists at its end are made here, because that imports all methods."""
        super().format_help(ctx, formatter)
        for title, rows in settings_help():
            lines = Table.grid(padding=(0, 2, 0, 0))
            for row in rows:
                lines.add_row("", *map(escape, row))
            console.print(f"\n [bold]{escape(title)}[/bold]")
            console.print(lines)


def settings_help() -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield the agents, then the settings of ``--train``: those of all methods, then those of some methods.

    Yields:
        A title, and rows of name and description, or of name, default and description.
    """
    from nlac_bench.agents import methods
    from nlac_bench.agents.names import FLOORS, PROMPTED
    from nlac_bench.learner.config import TrainConfig

    kinds = {"trained": methods.names(), "prompted": PROMPTED, "without a model": FLOORS}
    yield "Agents", [(kind, ", ".join(names)) for kind, names in kinds.items()]
    shared = _settings(TrainConfig)
    yield "Settings of --train NAME=VALUE for every method", shared
    listed = {listed.name: listed.method for listed in methods.all_methods() if listed.method is not None}
    having: dict[tuple[str, ...], list[str]] = {}
    for name, method in listed.items():
        for row in _settings(method.config_class):
            if row not in shared:
                having.setdefault(row, []).append(name)
    groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for row, owners in having.items():
        groups.setdefault(tuple(owners), []).append(row)
    for group, rows in groups.items():
        yield f"Settings of {', '.join(group)}", rows


def _settings(config: type[Any]) -> list[tuple[str, ...]]:
    from nlac_bench.settings import bounds

    rows: list[tuple[str, ...]] = []
    for name, field in config.model_fields.items():
        rows.append((name, str(field.default), "; ".join(filter(None, (field.description, bounds(field))))))
    return rows
