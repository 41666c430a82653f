"""Command-line options made from a declaration of settings, and the help of `nlac-bench run`."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from nlac_bench.cli.output import escape
from nlac_bench.settings import Settings, bounds, kinds


def with_options(settings: type[Settings]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command, so that it takes an option for each field of ``settings`` that names a help panel.

    The command gets them as one dict, its argument ``options``; an option that was not given is None there,
    so that a configuration file's value is not overwritten by a default.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)
        generated = {parameter.name: parameter for parameter in _parameters(settings)}

        @functools.wraps(command)
        def called(**values: Any) -> None:
            options = {name: values.pop(name) for name in generated}
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
        option = typer.Option(help=f"{field.description}{escape(shown)}", rich_help_panel=str(extra["panel"]))
        annotation: Any = Annotated[(kind if kind in (int, float) else str) | None, option]
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


class RunCommand(TyperCommand):
    """``run`` and ``eval``; their help lists agents and training settings, made only when it is asked for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, ending in ``settings_help``."""
        self.epilog = settings_help()
        super().format_help(ctx, formatter)


def settings_help() -> str:
    """The agents, and the settings that ``--train`` takes: those of every method, then each method's own."""
    from nlac_bench.agents import methods
    from nlac_bench.agents.registry import FLOORS, PROMPTED
    from nlac_bench.train.config import TrainConfig

    lines = [
        "[bold]Agents[/bold]",
        f"  trained: {', '.join(methods.names())}",
        f"  prompted: {', '.join(PROMPTED)}",
        f"  without a model: {', '.join(FLOORS)}",
        "",
        "[bold]Settings of --train NAME=VALUE, for every method[/bold]",
        *_settings(TrainConfig),
    ]
    listed = {listed.name: listed.method for listed in methods.all_methods() if listed.method is not None}
    for name, method in listed.items():
        parent = method.config_class.__base__ or TrainConfig
        known = set(_settings(parent))
        own = [line for line in _settings(method.config_class) if line not in known]
        if own:
            beside = "" if parent is TrainConfig else f", beside those of {_owner(parent, listed)}"
            lines += ["", f"[bold]Settings of {name}{beside}[/bold]", *own]
    return "\n".join(lines)


def _settings(config: type[Any]) -> Iterator[str]:
    for name, field in config.model_fields.items():
        bound = f"; {found}" if (found := bounds(field)) else ""
        yield escape(f"  {name} = {field.default}: {field.description}{bound}")


def _owner(config: type, methods: Mapping[str, Any]) -> str:
    return next((name for name, method in methods.items() if method.config_class is config), config.__name__)
