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
    """Yield the agents, then the settings of ``--train``: those of all methods, then each method's own.

    Yields:
        A title, and rows of name and description, or of name, default and description.
    """
    from nlac_bench.agents import methods
    from nlac_bench.agents.names import FLOORS, PROMPTED
    from nlac_bench.learner.config import TrainConfig

    kinds = {"trained": methods.names(), "prompted": PROMPTED, "without a model": FLOORS}
    yield "Agents", [(kind, ", ".join(names)) for kind, names in kinds.items()]
    yield "Settings of --train NAME=VALUE for every method", _settings(TrainConfig)
    listed = {listed.name: listed.method for listed in methods.all_methods() if listed.method is not None}
    owners: dict[type, str] = {}
    for name, method in listed.items():
        owners.setdefault(method.config_class, name)
    for name, method in listed.items():
        # The nearest parent class that is another method's; settings of classes between are listed with both.
        parent = next((c for c in method.config_class.__mro__[1:] if c in owners), TrainConfig)
        known = _settings(parent)
        if own := [row for row in _settings(method.config_class) if row not in known]:
            more = "" if parent is TrainConfig else f", in addition to those of {owners[parent]}"
            yield f"Settings of {name}{more}", own


def _settings(config: type[Any]) -> list[tuple[str, ...]]:
    from nlac_bench.settings import bounds

    rows: list[tuple[str, ...]] = []
    for name, field in config.model_fields.items():
        rows.append((name, str(field.default), "; ".join(filter(None, (field.description, bounds(field))))))
    return rows
