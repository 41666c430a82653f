"""Draws random calls: arguments come from a tool's schema and from the values that a conversation has shown.

With random strings alone every call would return "not found"; observed values reach the tools' later checks.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from nlac_bench.types import ToolSchema

Pool: TypeAlias = dict[str, list[object]]
"""Field name → values seen under it; ``""`` has the values that were seen outside of a field."""

T = TypeVar("T")

_QUOTED = re.compile(r"'([^']{1,60})'")
_IDENTIFIER = re.compile(r"#?\w*[\d_]\w*(?:@[\w.]+)?")
_ALIASES = {"payment_method_id": "payment_method", "payment_id": "payment_method"}
_MAX_PER_FIELD = 200


def gather(observations: Iterable[str]) -> Pool:
    """Collect the values in tools' JSON results by field, and identifiers in other text."""
    pool: Pool = {}
    for text in observations:
        if text[:1] in ("{", "["):
            try:
                gather_value(json.loads(text), "", pool)
                continue
            except ValueError:
                pass
        for word in _IDENTIFIER.findall(text[:10_000]):
            _add(pool, "", word)
    return pool


def gather_value(value: object, field: str, pool: Pool) -> None:
    """Add the scalars of a JSON value to ``pool``; an object's keys that are ids go under its field."""
    if isinstance(value, dict):
        for key, item in value.items():
            if any(char.isdigit() for char in key):
                _add(pool, _field(field), key)
            gather_value(item, key, pool)
    elif isinstance(value, list):
        for item in value:
            gather_value(item, field, pool)
    elif value is not None:
        _add(pool, _field(field), value)


def random_call(
    rng: np.random.Generator, tools: Sequence[ToolSchema], pool: Pool
) -> tuple[str, dict[str, object]]:
    """Return a random call of one of ``tools`` that is valid by its schema."""
    function = _pick(rng, tools)["function"]
    return function["name"], _object(rng, function["parameters"], pool)


def spoiled_call(
    rng: np.random.Generator, tools: Sequence[ToolSchema], pool: Pool
) -> tuple[str, dict[str, object]]:
    """Return a random call with one mistake: the name, a missing or an extra argument, or a value's type."""
    name, arguments = random_call(rng, tools, pool)
    kind = rng.integers(4)
    if kind == 0:
        return f"{name}_now", arguments
    if kind == 1 or not arguments:
        return name, {**arguments, "extra": 1}
    spoiled = _pick(rng, list(arguments))
    if kind == 2:
        return name, {key: value for key, value in arguments.items() if key != spoiled}
    return name, {
        **arguments,
        spoiled: _pick(rng, (None, 7, 2.5, True, "", "x", [], ["x"], {}, {"x": 1}, [[1]])),
    }


def _value(rng: np.random.Generator, name: str, schema: ToolSchema, pool: Pool) -> object:
    if "enum" in schema:
        return _pick(rng, schema["enum"])
    match schema.get("type"):
        case "object":
            return _object(rng, schema, pool)
        case "array":
            return [_value(rng, name, schema.get("items", {}), pool) for _ in range(rng.integers(1, 4))]
        case "integer":
            return int(rng.integers(0, 5))
        case "number":
            amounts = [
                x for x in pool.get("amount", []) + pool.get("price", []) if isinstance(x, int | float)
            ]
            return _pick(rng, amounts) if amounts and rng.random() < 0.7 else int(rng.integers(0, 500))
        case "boolean":
            return bool(rng.integers(2))
    if name == "expression":
        left, sign, right = rng.integers(1, 500), _pick(rng, "+-*/"), rng.integers(1, 500)
        return f"{left}.{right} {sign} {right}"
    seen = [x for x in pool.get(_field(name), []) if isinstance(x, str)]
    if seen and rng.random() < 0.8:
        return _pick(rng, seen)
    named = _QUOTED.findall(schema.get("description", ""))
    elsewhere = [x for x in pool.get("", []) if isinstance(x, str)]
    return _pick(rng, (seen + named + elsewhere) or ("yes",))


def _object(rng: np.random.Generator, schema: ToolSchema, pool: Pool) -> dict[str, object]:
    required = schema.get("required", ())
    return {
        key: _value(rng, key, inner, pool)
        for key, inner in schema.get("properties", {}).items()
        if key in required or rng.random() < 0.5
    }


def _field(name: str) -> str:
    """Return the name of the field whose values an argument takes: ``item_id`` for ``new_item_ids``."""
    name = name.removeprefix("new_")
    name = name[:-1] if name.endswith("s") and name != "address" else name
    return _ALIASES.get(name, name)


def _add(pool: Pool, field: str, value: object) -> None:
    values = pool.setdefault(field, [])
    if len(values) < _MAX_PER_FIELD and value not in values:
        values.append(value)


def _pick(rng: np.random.Generator, values: Sequence[T]) -> T:
    return values[int(rng.integers(len(values)))]
