"""Parses environment strings ``Name@{json}``, and joins them from a name and constructor arguments."""

import json
from collections.abc import Mapping
from typing import Any

from nlac_bench.untrusted import parse_json

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
        kwargs = parse_json(config.encode(), depth=MAX_ARGUMENTS_DEPTH, finite=True)
    except ValueError as error:
        raise ValueError(f"{what} is not JSON that can be read ({error})") from None
    if not isinstance(kwargs, dict):
        raise ValueError(f'{what} must be an object, such as {{"split": "train"}}')
    return name, kwargs


def join(name: str, arguments: Mapping[str, object]) -> str:
    """Return the environment string of ``name`` with ``arguments``; the inverse of ``parse``."""
    return f"{name}@{json.dumps(dict(arguments))}" if arguments else name
