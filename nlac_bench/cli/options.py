"""Command-line options that are generated from a settings class."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer

from nlac_bench.cli.output import escape
from nlac_bench.harness.runs.configuration import Resume, declared
from nlac_bench.settings import Settings, kinds


def with_options(
    settings: type[Settings], resume_help: Mapping[Resume, str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds an option to a command for each field of ``settings`` that is an option.

    The command receives the options as one dict, in its argument ``options``. An option that was not given is
    None there, so that a default does not overwrite the value of a configuration file.

    Args:
        resume_help: for ``nlac-bench resume``, which has the options of the fields that declare ``resume``;
            maps each declaration to the help text.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)
        wanted = {name: kinds(field.annotation) for name, field in settings.model_fields.items()}
        generated = {parameter.name: parameter for parameter in _parameters(settings, resume_help)}

        @functools.wraps(command)
        def called(**values: Any) -> None:
            options = {name: _number(values.pop(name), wanted[name]) for name in generated}
            command(options=options, **values)

        rest = [p.replace(kind=p.KEYWORD_ONLY) for p in own.parameters.values() if p.name != "options"]
        parameters = [*generated.values(), *rest]
        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return decorate


def _parameters(
    settings: type[Settings], resume_help: Mapping[Resume, str] | None
) -> Iterator[inspect.Parameter]:
    for name, field in settings.model_fields.items():
        option = declared(field)
        if not option or (resume_help is not None and option["resume"] is None):
            continue
        if resume_help is None:
            plain = field.is_required() or field.default is None or field.default is False
            default = "" if plain else f" [default: {field.default}]"
            text, panel = escape(f"{field.description}{default}"), option["panel"]
        else:
            text, panel = resume_help[option["resume"]], None
        kind = kinds(field.annotation)[0]
        annotation: object
        if kind is bool:
            flag = typer.Option("--" + name.replace("_", "-"), help=text, rich_help_panel=panel)
            annotation = Annotated[bool | None, flag]
        else:
            metavar = {int: "INTEGER", float: "FLOAT"}.get(kind)
            shown = typer.Option(help=text, rich_help_panel=panel, metavar=metavar)
            annotation = Annotated[str | None, shown]
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _number(text: str | bool | None, wanted: tuple[object, ...]) -> object:
    """Convert ``text`` to a number if one is ``wanted``; other texts, and flags, are validated later."""
    kind = next((kind for kind in (int, float) if kind in wanted), None)
    if text is None or kind is None:
        return text
    try:
        return kind(text)
    except ValueError:
        return text
