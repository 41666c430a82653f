"""Parses environment strings ``Name@{json}``, and joins them from a name and constructor arguments."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

MAX_ARGUMENTS_CHARS = 100_000
MAX_ARGUMENTS_DEPTH = 20
"""Maximal nesting of the arguments in an environment string."""


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Split an environment string ``Name@{json}`` into name and constructor arguments.

    Raises:
        ValueError: what follows ``@`` is not a JSON object, has a name twice, is too long or is nested too
            deep.
    """
    name, at, config = text.partition("@")
    if not at:
        return name, {}
    what = f"environment string {text!r:.200}: what follows '@'"
    if len(config) > MAX_ARGUMENTS_CHARS:
        raise ValueError(f"{what} has {len(config):,} characters; at most {MAX_ARGUMENTS_CHARS:,} are read")
    try:
        kwargs = json.loads(config, parse_constant=_no_constant, object_pairs_hook=_each_once)
    except RecursionError:
        raise ValueError(f"{what} is nested more than {MAX_ARGUMENTS_DEPTH} deep") from None
    except ValueError as error:
        raise ValueError(f"{what} is not JSON ({error})") from None
    if not isinstance(kwargs, dict):
        raise ValueError(f'{what} must be an object, such as {{"split": "train"}}')
    level: list[object] = [kwargs]
    for _ in range(MAX_ARGUMENTS_DEPTH):
        level = [part for value in level for part in _parts(value)]
    if level:
        raise ValueError(f"{what} is nested more than {MAX_ARGUMENTS_DEPTH} deep")
    return name, kwargs


def _parts(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    arguments = dict(pairs)
    if len(arguments) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{max(names, key=names.count)!r:.80} occurs twice")
    return arguments


def join(name: str, arguments: Mapping[str, object]) -> str:
    """Return the environment string of ``name`` with ``arguments``; the inverse of ``parse``."""
    return f"{name}@{json.dumps(dict(arguments))}" if arguments else name
