"""Makes the functions of the API: blocking and awaitable ones, with the signature of all settings."""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeAlias

from nlac_bench.api.runs import Run
from nlac_bench.api.threads import StoppableLoop, acall, call
from nlac_bench.harness.runs.configuration import RunConfig, declared

P = ParamSpec("P")
Work: TypeAlias = Callable[[StoppableLoop], Run]


def blocking(planned: Callable[P, Work]) -> Callable[P, Run]:
    """Return the function that does what ``planned`` returns, and returns the run."""

    def called(*args: P.args, **kwargs: P.kwargs) -> Run:
        return call(planned(*args, **kwargs))

    return _described(called, planned, "")


def awaitable(planned: Callable[P, Work]) -> Callable[P, Coroutine[Any, Any, Run]]:
    """Return the coroutine function that does what ``planned`` returns, in another thread."""

    async def called(*args: P.args, **kwargs: P.kwargs) -> Run:
        return await acall(planned(*args, **kwargs))

    return _described(called, planned, "a")


def _described(called: Any, planned: Callable[..., Work], prefix: str) -> Any:
    """Give ``called`` the name and the documentation of ``planned``, and the options of ``nlac-bench run``.

    They are shown in place of ``**settings``. A function gets only the settings that were given, so that a
    default does not overwrite the value of a configuration file.
    """
    called.__name__ = called.__qualname__ = f"{prefix}{planned.__name__.strip('_')}"
    called.__module__ = planned.__module__
    fields = {
        name: field
        for name, field in RunConfig.model_fields.items()
        if declared(field) and name not in ("env", "agent")
    }
    own = inspect.signature(planned)
    shown = [
        *(each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD),
        *(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.annotation
            )
            for name, field in fields.items()
        ),
    ]
    called.__signature__ = own.replace(parameters=shown, return_annotation=Run)
    listed = "".join(f"\n    {name}: {field.description}" for name, field in fields.items())
    called.__doc__ = f"{inspect.cleandoc(planned.__doc__ or '')}\n\nSettings:{listed}\n"
    return called
