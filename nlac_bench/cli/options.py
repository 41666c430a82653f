"""Command-line options that are generated from a settings class."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from nlac_bench.cli.output import escape
from nlac_bench.settings import Settings, kinds


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
