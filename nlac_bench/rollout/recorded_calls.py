"""Records the model calls of an environment's user, oracle and judge, and replays them without a model.

A call is identified by its content (role, messages, sampling), its episode and the number of times the
episode has made the same call before. A training run plays the same tasks in several phases, which are part
of an episode's name; that of its test is empty, as in other runs. A replay therefore gives each call its
recorded reply, whatever the concurrency. The file has one JSON object per line, appended when a call ends; an
interrupted recording can be continued. Files are read line by line: a recording may have any length.
"""

import contextlib
import contextvars
import hashlib
import json
import os
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from nlac_bench.envs.foreign import described
from nlac_bench.errors import DataError, NlacBenchError
from nlac_bench.files import append_recording
from nlac_bench.redaction import redactor
from nlac_bench.rollout.usage import bounded
from nlac_bench.types import ChatFn, ChatReply, ContentFilterError, Messages, Role, Usage
from nlac_bench.untrusted import open_untrusted, parse_json

_FORMAT = 1
_MAX_LINE_BYTES = 64 * 2**20
_BEGIN = b'{"format": '
"""The beginning of every line; a file whose incomplete last line differs is not a recording."""


class ReplayError(NlacBenchError):
    """A recording does not contain the call that was made."""


@dataclass(slots=True)
class _Scope:
    label: str = ""
    phase: str = ""
    seen: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return f"{self.phase}/{self.label}" if self.phase else self.label


_phase: contextvars.ContextVar[str] = contextvars.ContextVar("nlac_bench_phase", default="")
_scope: contextvars.ContextVar[_Scope] = contextvars.ContextVar("nlac_bench_episode")
_outside = _Scope()


@contextlib.contextmanager
def phase_scope(phase: str) -> Iterator[None]:
    """Tell the episodes of this context from those of the same tasks in other phases of the run."""
    token = _phase.set(phase)
    try:
        yield
    finally:
        _phase.reset(token)


@contextlib.contextmanager
def episode_scope(label: str) -> Iterator[None]:
    """Assign the calls made within this context to the episode ``label``; their count starts at 0."""
    token = _scope.set(_Scope(label, _phase.get()))
    try:
        yield
    finally:
        _scope.reset(token)


def recording(chat: ChatFn, path: str | Path, sampling: Mapping[str, object]) -> ChatFn:
    """Return a function like ``chat`` that also appends every call and its reply to the file ``path``.

    Args:
        chat: the model that answers.
        path: a JSON lines file, created if missing. Existing lines are kept, except an incomplete last one.
        sampling: how replies are drawn (model, temperature …); part of a call's identity.

    Raises:
        DataError: ``path`` exists and is not a recording. Raised by the returned function: ``path`` cannot be
            written.
    """
    path = Path(path)
    if os.path.lexists(path):
        deque(_calls(path), maxlen=0)  # read before the end is cut off: the file may not be a recording
        append_recording(path, b"")

    async def record(messages: Messages, role: Role) -> ChatReply:
        scope, key, occurrence = _identify(role, messages, sampling)
        stopped: ContentFilterError | None = None
        try:
            reply = await chat(messages, role)
        except ContentFilterError as error:
            stopped, reply = error, ChatReply("", error.usage)
        row = {
            "format": _FORMAT, "episode": scope.name, "role": role, "key": key, "occurrence": occurrence,
            "sampling": dict(sampling), "text": reply.text, "usage": asdict(reply.usage),
        }  # fmt: skip
        line = json.dumps(row if stopped is None else {**row, "content_filter": True})
        append_recording(path, redactor().json(line).encode() + b"\n")
        if stopped is not None:
            raise stopped
        return reply

    record.__wrapped__ = chat  # type: ignore[attr-defined]  # the model behind it, for inspect.unwrap
    return record


def replaying(path: str | Path, sampling: Mapping[str, object]) -> ChatFn:
    """Return a function that answers calls from the recording in ``path``; needs no key and no network.

    Replies have the usage that was recorded.

    Raises:
        DataError: ``path`` is missing or is not a recording.
        ContentFilterError: raised by the returned function if a content filter stopped the recorded reply.
        ReplayError: raised by the returned function if the recording does not contain the call.
    """
    calls = dict(_calls(Path(path)))  # of a call recorded twice (by a resumed run) the later one counts

    async def replay(messages: Messages, role: Role) -> ChatReply:
        scope, key, occurrence = _identify(role, messages, sampling)
        reply = calls.get((scope.name, key, occurrence))
        if reply is None:  # recordings of older versions have no phases
            reply = calls.get((scope.label, key, occurrence))
        if reply is None:
            last = str(messages[-1].get("content"))[:200] if messages else ""
            raise ReplayError(
                f"the recording {path} has {len(calls)} calls, but not this one: role {role!r}, episode "
                f"{scope.name!r}, occurrence {occurrence + 1}, sampling {dict(sampling)}, {len(messages)} "
                f"messages, the last {last!r}. The agent, task, seed, prompt or sampling differs from the "
                "recorded run; record the run again with --record"
            )
        if isinstance(reply, Usage):
            raise ContentFilterError(role, reply)
        return reply

    return replay


def _identify(role: str, messages: Messages, sampling: Mapping[str, object]) -> tuple[_Scope, str, int]:
    scope = _scope.get(_outside)
    content = json.dumps([role, [dict(m) for m in messages], dict(sampling)], sort_keys=True)
    key = hashlib.sha256(content.encode()).hexdigest()
    occurrence = scope.seen[key]
    scope.seen[key] += 1
    return scope, key, occurrence


def _calls(path: Path) -> Iterator[tuple[tuple[str, str, int], ChatReply | Usage]]:
    """Yield all calls of a recording; one that a content filter stopped has a usage and no reply."""
    try:
        with open_untrusted(path) as stream:
            for number, line in enumerate(iter(partial(stream.readline, _MAX_LINE_BYTES), b""), 1):
                if line == b"\n":
                    continue
                try:
                    yield _call(path, line)
                except (ValueError, KeyError, TypeError, RecursionError) as error:
                    torn = line.strip(b"\0")  # zeros, after a crash of the machine
                    if torn.startswith(_BEGIN[: len(torn)]) and not (line.endswith(b"\n") or stream.read(1)):
                        return  # the recording was interrupted
                    raise DataError(
                        f"{path}, line {number} is not a recorded call ({described(error)})"
                    ) from None
    except OSError as error:
        raise DataError(f"cannot read the recording {path}: {error.strerror}") from None


def _call(path: Path, line: bytes) -> tuple[tuple[str, str, int], ChatReply | Usage]:
    row = parse_json(line)
    if row["format"] != _FORMAT:
        raise ValueError(f"format {row['format']!r}; this version reads format {_FORMAT}")
    usage = bounded(Usage(**row["usage"]), f"the recording {path}")
    reply = usage if row.get("content_filter") else ChatReply(str(row["text"]), usage)
    return (str(row["episode"]), str(row["key"]), int(row["occurrence"])), reply
