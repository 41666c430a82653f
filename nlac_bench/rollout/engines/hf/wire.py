"""The messages between an engine process and its parent: JSON with a length before it, on a socket.

Nothing is pickled. A request of the parent is ``{"id": N, "call": NAME, ...}``, the reply to it
``{"id": N, "result": ...}`` or ``{"id": N, "error": [CLASS, MESSAGE, KIND]}``.
"""

import json
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
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
from nlac_bench.types import Usage

_LENGTH = struct.Struct(">I")


class ClosedError(Exception):
    """The other end of the socket is closed."""


def encode(message: Mapping[str, Any]) -> bytes:
    """Return the bytes of ``message``, which may contain requests and samples."""
    body = json.dumps(message, default=_plain).encode()
    return _LENGTH.pack(len(body)) + body


def receive(connection: socket.socket, silent: int = 1) -> dict[str, Any]:
    """Return the next message.

    Args:
        silent: number of the socket's timeouts in which nothing arrives before this is an error.

    Raises:
        ClosedError: the other end is closed.
        TimeoutError: nothing arrived for too long.
    """
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size, silent))
    message: dict[str, Any] = json.loads(_exactly(connection, length, silent))
    return message


def _exactly(connection: socket.socket, size: int, silent: int) -> bytearray:
    data, waited = bytearray(size), 0
    view = memoryview(data)
    while view:
        try:
            count = connection.recv_into(view)
        except TimeoutError:
            waited += 1
            if waited >= silent:
                raise
            continue
        except OSError as error:
            raise ClosedError from error
        if not count:
            raise ClosedError
        view, waited = view[count:], 0
    return data


def _plain(value: Any) -> Any:
    """Convert what JSON does not know; ``json.dumps`` calls this again for what the result contains."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"a request to an engine process cannot contain a {type(value).__name__}")


def request_of(row: Mapping[str, Any]) -> SampleRequest:
    """Return the request whose fields ``row`` contains."""
    sampling = row["sampling"]
    stop = tuple(sampling["stop"])
    return SampleRequest(**{**row, "sampling": Sampling(**{**sampling, "stop": stop})})


def sample_of(row: Mapping[str, Any]) -> Sample:
    """Return the sample whose fields ``row`` contains."""
    calls = tuple(ToolCall(**call) for call in row["tool_calls"])
    return Sample(**{**row, "usage": Usage(**row["usage"]), "tool_calls": calls})


def error_row(error: Exception) -> list[str]:
    """Return what the parent needs to raise the same error."""
    for kind in (EngineError, SyncError, NlacBenchError, ValueError):
        if isinstance(error, kind):
            return [kind.__name__, str(error), getattr(error, "kind", "")]
    return [RuntimeError.__name__, f"{type(error).__name__}: {error}"[:1000], ""]  # a bug, as in the parent


def error_of(row: list[str]) -> Exception:
    """Return the error that ``error_row`` described."""
    name, message, kind = row
    if name == EngineError.__name__:
        return EngineError(message, kind)
    known: tuple[type[Exception], ...] = (SyncError, NlacBenchError, ValueError, RuntimeError)
    return {kind.__name__: kind for kind in known}[name](message)
