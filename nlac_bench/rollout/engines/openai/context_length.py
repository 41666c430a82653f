"""Reads the length of a model's context from a server's list of models."""

from collections.abc import Mapping
from typing import Any

_NAMES = (
    "max_model_len", "loaded_context_length", "n_ctx", "context_length", "context_window",
    "max_context_length",
    "max_context_window", "max_input_tokens", "input_token_limit", "inputTokenLimit", "max_prompt_tokens",
)  # fmt: skip


def find_model(listed: Any, model: str) -> tuple[list[str], int | None]:
    """Return the names of the models that ``/models`` lists, and the context of ``model`` if it is stated."""
    rows = listed.get("data", listed.get("models")) if isinstance(listed, dict) else listed
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    names = [str(row.get("id") or row.get("name") or "") for row in rows[:5000]]
    own = next(
        (row for row, name in zip(rows, names, strict=False) if name in (model, f"models/{model}")), None
    )
    if own is None and len(rows) == 1:
        own = rows[0]
    return names, None if own is None else _length(own)


def _length(row: Mapping[str, Any]) -> int | None:
    nested = [value for value in row.values() if isinstance(value, dict)]
    for place in (row, *nested):
        for name in _NAMES:
            value = place.get(name)
            if type(value) is int and 0 < value < 10**9:
                return value
    return None
