"""Command-line options that are generated from a settings class, and the help of `nlac-bench run`."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from rich.table import Table
from typer.core import TyperCommand

from nlac_bench.cli.output import console, escape
from nlac_bench.settings import Settings, bounds, kinds


def with_options(settings: type[Settings]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds an option to a command for each field of ``settings`` with a help panel.

    The command receives the options as one dict, in its argument ``options``. An option that was not given is
    None there, so that a default does not overwrite the value of a configuration file.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)
        wanted = {name: kinds(field.annotation) for name, field in settings.model_fields.items()}
        generated = {parameter.name: parameter for parameter in _parameters(settings)}

        @functools.wraps(command)
        def called(**values: Any) -> None:
            options = {name: _number(values.pop(name), wanted[name]) for name in generated}
            command(values.pop("context"), options=options, **values)

        rest = [p.replace(kind=p.KEYWORD_ONLY) for p in own.parameters.values() if p.name != "options"]
        parameters = [*generated.values(), *rest]
        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return decorate


def _parameters(settings: type[Settings]) -> Iterator[inspect.Parameter]:
    for name, field in settings.model_fields.items():
        extra = field.json_schema_extra
        if not isinstance(extra, dict) or "panel" not in extra:
            continue
        kind = next(k for k in kinds(field.annotation))
        shown = "" if field.is_required() or field.default is None else f" [default: {field.default}]"
        option = typer.Option(
            help=f"{field.description}{escape(shown)}",
            rich_help_panel=str(extra["panel"]),
            metavar={int: "INTEGER", float: "FLOAT"}.get(kind),
        )
        annotation: Any = Annotated[str | None, option]
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _number(text: str | None, wanted: tuple[Any, ...]) -> Any:
    """Convert ``text`` to a number if one is ``wanted``; other texts are validated later."""
    kind = next((kind for kind in (int, float) if kind in wanted), None)
    if text is None or kind is None:
        return text
    try:
        return kind(text)
    except ValueError:
        return text


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
    from nlac_bench.agents.registry import FLOORS, PROMPTED
    from nlac_bench.learner.config import TrainConfig

    kinds = {"trained": methods.names(), "prompted": PROMPTED, "without a model": FLOORS}
    yield "Agents", [(kind, ", ".join(names)) for kind, names in kinds.items()]
    yield "Settings of --train NAME=VALUE for every method", _settings(TrainConfig)
    listed = {listed.name: listed.method for listed in methods.all_methods() if listed.method is not None}
    owners: dict[type, str] = {}
    for name, method in listed.items():
        owners.setdefault(method.config_class, name)
    for name, method in listed.items():
        # The nearest class that a method has: the settings of a class between are listed with both methods.
        parent = next((c for c in method.config_class.__mro__[1:] if c in owners), TrainConfig)
        known = _settings(parent)
        if own := [row for row in _settings(method.config_class) if row not in known]:
            more = "" if parent is TrainConfig else f", in addition to those of {owners[parent]}"
            yield f"Settings of {name}{more}", own


def _settings(config: type[Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, field in config.model_fields.items():
        bound = f"; {found}" if (found := bounds(field)) else ""
        rows.append((name, str(field.default), f"{field.description}{bound}"))
    return rows
