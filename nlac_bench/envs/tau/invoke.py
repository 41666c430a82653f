"""Runs a tool; argument binding and error messages are those of CPython 3.11 on every Python version.

The observations of τ-bench contain Python's error messages about wrong arguments, so these messages are part
of the benchmark. Arguments are bound here from the tool's signature; messages that differ between Python
versions are replaced by those of 3.11.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from nlac_bench.envs.tau.database import Database, copied

MAX_DEPTH = 200
"""Arguments nested deeper are rejected, so that recursion over the database cannot exhaust the stack."""

TRANSFER = "transfer_to_human_agents"
"""The tool that ends an episode."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call. ``error`` is True if the tool failed or does not exist.

    ``raises`` names the exception that leaves the original's step and ends its episode; here the episode
    continues and ``observation`` is a readable message.
    """

    observation: str
    done: bool = False
    error: bool = False
    raises: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool and its names in Python's messages."""

    run: Callable[..., str | None]
    label: str
    module: str
    parameters: tuple[str, ...]


Tools: TypeAlias = Mapping[str, Tool]


def toolset(domain: str, functions: Sequence[Callable[..., str | None]]) -> Tools:
    """Return the tools of a domain, made from functions whose first parameter is the database."""
    return {
        function.__name__: Tool(
            run=function,
            label="".join(word.capitalize() for word in function.__name__.split("_")) + ".invoke()",
            module=f"tau_bench.envs.{domain}.tools.{function.__name__}",
            parameters=tuple(inspect.signature(function).parameters)[1:],
        )
        for function in functions
    }


def invoke(tools: Tools, db: Database, name: str, kwargs: Mapping[str, object]) -> Result:
    """Call the tool ``name`` on ``db``. Does not raise for any ``name`` and ``kwargs``.

    Changes that a failing tool made before it failed are kept. ``transfer_to_human_agents`` ends the episode
    whatever its arguments are.
    """
    tool = tools.get(name)
    if tool is None:
        return Result(f"Unknown action {name}", error=True)
    done = name == TRANSFER
    try:
        _bind(tool, kwargs)
        observation = tool.run(db, **copied(dict(kwargs)))  # tools modify and store their arguments
    except Exception as error:
        return Result(f"Error: {python_311_words(error)}", done=done, error=True)
    if observation is None:
        return Result(f"Error: {name} gave no result", done=done, error=True, raises="ValidationError")
    return Result(observation, done=done, error=observation.startswith("Error: "))


def python_311_words(error: BaseException) -> str:
    """Return ``str(error)`` as CPython 3.11 writes it."""
    text = str(error)
    if isinstance(error, TypeError):
        for pattern, words in _REWORDED:
            text = pattern.sub(words, text)
    return text


# The message of 3.14 is longer than that of 3.11.
_REWORDED = (
    (re.compile(r"^cannot use '.*' as a (?:dict key|set element) \((unhashable type: '.*')\)$", re.S), r"\1"),
    (re.compile(r"^(argument of type '.*' is not) a container or iterable$", re.S), r"\1 iterable"),
)


def _bind(tool: Tool, kwargs: Mapping[str, object]) -> None:
    """Raise the exception that CPython 3.11 raises for ``invoke(data=…, **kwargs)``."""
    if "data" in kwargs:
        name = f"{tool.module}.{tool.label}"
        raise TypeError(f"{name} got multiple values for keyword argument 'data'")
    for name in kwargs:
        if name not in tool.parameters:
            raise TypeError(f"{tool.label} got an unexpected keyword argument '{name}'")
    missing = [repr(name) for name in tool.parameters if name not in kwargs]
    if missing:
        listed = missing[0] if len(missing) == 1 else " and ".join((", ".join(missing[:-1]), missing[-1]))
        if len(missing) > 2:
            listed = f"{', '.join(missing[:-1])}, and {missing[-1]}"
        s = "s" if len(missing) > 1 else ""
        raise TypeError(f"{tool.label} missing {len(missing)} required positional argument{s}: {listed}")
    if _deeper_than(list(kwargs.values()), MAX_DEPTH):
        raise RecursionError("maximum recursion depth exceeded")


def _deeper_than(value: list[object], limit: int) -> bool:
    level: list[dict[str, object] | list[object]] = [value]
    for _ in range(limit + 1):
        level = [
            item
            for parent in level
            for item in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True
