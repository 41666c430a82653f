"""Converts requests, samples and errors to messages between an engine process and its parent.

A request of the parent is ``{"id": N, "call": NAME, ...}``, the reply to it
``{"id": N, "result": ...}`` or ``{"id": N, "error": [CLASS, MESSAGE, KIND]}``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.engine import (
    EngineError,
    Sample,
    SampleRequest,
    Sampling,
    SyncError,
    ToolCall,
)
from nlac_bench.rollout.engines.forms import Choice, Filled, Fixed, Form, Free
from nlac_bench.types import Usage


def request_of(row: Mapping[str, Any]) -> SampleRequest:
    """Return the request whose fields ``row`` contains."""
    sampling = row["sampling"]
    stop = tuple(sampling["stop"])
    form = None if row["form"] is None else _form_of(row["form"])
    return SampleRequest(**{**row, "sampling": Sampling(**{**sampling, "stop": stop}), "form": form})


def _form_of(rows: Sequence[Mapping[str, Any]]) -> Form:
    kinds = {"text": Fixed, "options": Choice, "limit": Free}  # a field that only this segment has
    return tuple(
        next(kind for name, kind in kinds.items() if name in row)(
            **{name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
        )
        for row in rows
    )


def sample_of(row: Mapping[str, Any]) -> Sample:
    """Return the sample whose fields ``row`` contains."""
    calls = tuple(ToolCall(**call) for call in row["tool_calls"])
    filled = row["filled"]
    if filled is not None:  # JSON has texts as keys, and no tuples
        restricted = {int(at): ids for at, ids in filled["restricted"].items()}
        chosen = [(option, logprob) for option, logprob in filled["chosen"]]
        filled = Filled(filled["sampled"], restricted, chosen)
    return Sample(**{**row, "usage": Usage(**row["usage"]), "tool_calls": calls, "filled": filled})


def error_row(error: Exception) -> list[str]:
    """Return the data from which the parent raises the same error."""
    for kind in (EngineError, SyncError, NlacBenchError, ValueError):
        if isinstance(error, kind):
            return [kind.__name__, str(error), getattr(error, "kind", "")]
    return [RuntimeError.__name__, f"{type(error).__name__}: {error}"[:1000], ""]  # a bug


def error_of(row: list[str]) -> Exception:
    """Return the error that ``error_row`` described."""
    name, message, kind = row
    if name == EngineError.__name__:
        return EngineError(message, kind)
    known: tuple[type[Exception], ...] = (SyncError, NlacBenchError, ValueError, RuntimeError)
    return {kind.__name__: kind for kind in known}[name](message)
