"""Record the model calls of an environment's user, oracle and judge, and replay them without a model.

A call is known by its content (role, messages, sampling), the episode it belongs to and how often that
episode has made the same call before: under any concurrency each call gets the reply that it got when it
was recorded. The file is JSON lines, appended to as calls end: safe to interrupt, and to go on with.
"""

import contextlib
import contextvars
import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nlac_bench.errors import DataError, NlacBenchError
from nlac_bench.types import ChatFn, ChatReply, Messages, Role, Usage

_FORMAT = 1


class ReplayError(NlacBenchError):
    """A recording does not hold the call that was made; no reply is ever made up."""


@dataclass(slots=True)
class _Scope:
    label: str = ""
    seen: Counter[str] = field(default_factory=Counter)


_scope: contextvars.ContextVar[_Scope] = contextvars.ContextVar("nlac_bench_episode")
_outside = _Scope()


@contextlib.contextmanager
def episode_scope(label: str) -> Iterator[None]:
    """Calls made inside belong to the episode ``label``; each entry counts its calls from 0 again."""
    token = _scope.set(_Scope(label))
    try:
        yield
    finally:
        _scope.reset(token)


def recording(chat: ChatFn, path: str | Path, sampling: Mapping[str, Any]) -> ChatFn:
    """``chat``, with every call and its reply appended to the file ``path``.

    Args:
        chat: the model that answers.
        path: JSON lines; made if missing. What it already holds stays, a torn last line is cut off.
        sampling: how replies are drawn (model, temperature …): part of a call's identity.

    Raises:
        DataError: ``path`` exists and is not a recording; from the returned function, it cannot be written.
    """
    path = Path(path)
    if path.exists():
        _cut_torn_line(path)
        _read(path)
    lock = threading.Lock()

    async def record(messages: Messages, role: Role) -> ChatReply:
        scope, key, occurrence = _identify(role, messages, sampling)
        reply = await chat(messages, role)
        line = json.dumps({
            "format": _FORMAT, "episode": scope, "role": role, "key": key, "occurrence": occurrence,
            "sampling": dict(sampling), "text": reply.text, "usage": asdict(reply.usage),
        })  # fmt: skip
        try:
            with lock, path.open("ab", buffering=0) as file:  # one write: other processes' lines stay whole
                file.write(line.encode() + b"\n")
        except OSError as error:
            raise DataError(f"cannot write to the recording {path}: {error.strerror}") from None
        return reply

    return record


def replaying(path: str | Path, sampling: Mapping[str, Any]) -> ChatFn:
    """The recording in ``path`` as a model; needs no key and no network.

    Replies carry the usage they had when they were recorded.

    Raises:
        DataError: ``path`` is missing or is not a recording.
        ReplayError (from the returned function): the recording has no such call.
    """
    calls = _read(Path(path))

    async def replay(messages: Messages, role: Role) -> ChatReply:
        scope, key, occurrence = _identify(role, messages, sampling)
        reply = calls.get((scope, key, occurrence))
        if reply is None:
            last = str(messages[-1].get("content"))[:200] if messages else ""
            raise ReplayError(
                f"{path} holds {len(calls)} calls, but not this one: role {role!r}, episode {scope!r}, "
                f"time {occurrence + 1}, sampling {dict(sampling)}, {len(messages)} messages, the last "
                f"{last!r}. The agent, task, seed, prompt or sampling differs from the recorded run; record "
                "it again with --record."
            )
        return reply

    return replay


def _identify(role: str, messages: Messages, sampling: Mapping[str, Any]) -> tuple[str, str, int]:
    scope = _scope.get(_outside)
    content = json.dumps([role, [dict(m) for m in messages], dict(sampling)], sort_keys=True)
    key = hashlib.sha256(content.encode()).hexdigest()
    occurrence = scope.seen[key]
    scope.seen[key] += 1
    return scope.label, key, occurrence


def _read(path: Path) -> dict[tuple[str, str, int], ChatReply]:
    """All calls of a recording; of the same call recorded twice (a resumed run) the later one."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise DataError(f"cannot read the recording {path}: {error.strerror}") from None
    calls = {}
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            row = json.loads(line)
            if row["format"] != _FORMAT:
                raise ValueError(f"format {row['format']!r}, this version reads {_FORMAT}")
            reply = ChatReply(str(row["text"]), Usage(**row["usage"]))
            calls[str(row["episode"]), str(row["key"]), int(row["occurrence"])] = reply
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines):  # torn by an interruption: that call is simply not known
                break
            raise DataError(f"{path}, line {number} is not a recorded call ({error!r})") from None
    return calls


def _cut_torn_line(path: Path) -> None:
    with path.open("r+b") as file:
        data = file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            file.truncate(whole)
            file.flush()
            os.fsync(file.fileno())
