"""Lists at the end of a command's help; the modules that they describe are imported when it is printed."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from typer.core import TyperCommand

from nlac_bench.cli.output import console, escape

List = tuple[str, list[tuple[str, ...]]]
"""A title, and rows of name and description, or of name, default and description."""


class ListingCommand(TyperCommand):
    """A command whose help ends with lists."""

    def lists(self) -> Iterator[List]:
        """Yield the lists."""
        raise NotImplementedError

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; the lists are made here, because that imports what they describe."""
        super().format_help(ctx, formatter)
        for title, rows in self.lists():
            lines = Table.grid(padding=(0, 2, 0, 0))
            for row in rows:
                lines.add_row("", *map(escape, row))
            console.print(f"\n [bold]{escape(title)}[/bold]")
            console.print(lines)


class RunCommand(ListingCommand):
    """The commands ``run`` and ``eval``."""

    def lists(self) -> Iterator[List]:
        """Yield the agents, then the settings of ``--train``: those of all methods, then those of some."""
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


class LaunchCommand(ListingCommand):
    """The command ``launch``."""

    def lists(self) -> Iterator[List]:
        """Yield the settings of the table ``[launch]``."""
        from nlac_bench.cluster.launch.settings import LaunchSettings

        yield "Settings of the table [launch]", _settings(LaunchSettings)


def _settings(config: type[Any]) -> list[tuple[str, ...]]:
    from nlac_bench.settings import bounds

    rows: list[tuple[str, ...]] = []
    for name, field in config.model_fields.items():
        rows.append((name, str(field.default), "; ".join(filter(None, (field.description, bounds(field))))))
    return rows
