"""Speaks OpenEnv's protocol to a server: the description by HTTP, an episode in a WebSocket session.

OpenEnv's own client connects again when its socket was closed, in the middle of an episode too, and then acts
in a session without that episode. Here a closed socket is an ``EnvInfraError``.
"""

import asyncio
import json
import urllib.error
import urllib.parse
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from nlac_bench.bridges.require import require
from nlac_bench.envs.adapter import MAX_EPISODES
from nlac_bench.envs.prompts.services import replied
from nlac_bench.errors import EnvInfraError
from nlac_bench.redaction import redact
from nlac_bench.untrusted import parse_json

CONNECT_S = 20.0
REPLY_S = 300.0
"""Seconds that a server has for a reply; a model may play a part in it."""
FREE_S = 300.0
"""Seconds that an episode waits for one of the server's sessions; by default, a server has one."""
MAX_FRAME_BYTES = 2**24
_MAX_VALUES = 200_000
_PAUSE_S = 0.5
_CLOSE_S = 5.0
_MAX_SPLITS = 20


class RefusedActionError(Exception):
    """The server's schema does not accept an action."""


class NoSessionError(EnvInfraError):
    """All sessions of the server are taken."""


@dataclass(frozen=True)
class ServerDescription:
    """What a server says about its environment.

    ``schema`` is the JSON schema of an action. ``tasks`` has the number of tasks of each split; it is empty
    if the server lists no tasks. ``sha256`` is the hash of all of this.
    """

    url: str
    name: str
    version: str
    about: str
    schema: Mapping[str, Any]
    tasks: Mapping[str, int]
    sha256: str


@lru_cache(maxsize=32)
def described_server(url: str) -> ServerDescription:
    """Return the description of the server at ``url``; a process reads it once.

    Raises:
        EnvInfraError: the server cannot be reached, or speaks another protocol.
    """
    schema = _read(f"{url}/schema").get("action")
    if not isinstance(schema, dict):
        raise EnvInfraError(f"{url}/schema has no schema of an action, so this is no OpenEnv server")
    metadata = _read(f"{url}/metadata")
    name, version, about = (
        str(metadata.get(key) or "")[:1_000] for key in ("name", "version", "description")
    )
    tasks = _tasks(url)
    content = json.dumps([name, version, about, schema, tasks], sort_keys=True)
    return ServerDescription(url, name, version, about, schema, tasks, sha256(content.encode()).hexdigest())


def _tasks(url: str) -> dict[str, int]:
    """Return the number of tasks of each split; empty if the server does not list them."""
    names = _read(f"{url}/list_environments", optional=True)
    if not isinstance(names, list) or len(names) != 1 or not isinstance(names[0], str):
        return {}
    path = f"{url}/{urllib.parse.quote(names[0], safe='')}"
    splits = _read(f"{path}/splits", optional=True)
    counts = {}
    for split in splits[:_MAX_SPLITS] if isinstance(splits, list) else ():
        named = split.get("name") if isinstance(split, dict) else None
        if isinstance(named, str) and named.isprintable() and len(named) <= 100:
            reply = _read(f"{path}/num_tasks", {"split": named}, optional=True)
            count = reply.get("num_tasks") if isinstance(reply, dict) else None
            if type(count) is int and 0 < count <= MAX_EPISODES:
                counts[named] = count
    return counts


def _read(url: str, body: Mapping[str, Any] | None = None, *, optional: bool = False) -> Any:
    """Return the JSON of an HTTP route; None if it is ``optional`` and the server does not have it."""
    try:
        data = replied(url, None if body is None else json.dumps(body).encode())
        value = _decoded(data)
        if not optional and not isinstance(value, dict):
            raise ValueError("expected an object")
        return value
    except urllib.error.HTTPError as error:
        with error:
            if optional and error.code in (404, 405, 501):
                return None
        raise EnvInfraError(f"the OpenEnv server answers {url} with status {error.code}") from error
    except (OSError, ValueError) as error:
        raise EnvInfraError(f"the OpenEnv server does not answer {url}: {redact(str(error)):.300}") from error


def _decoded(data: bytes) -> Any:
    """Return the value of a JSON text of a server, without lone surrogates; raises ``ValueError``."""
    value = parse_json(data, values=_MAX_VALUES, finite=True)
    if b"\\ud" not in data.lower():
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


class Session:
    """The session of one episode. It belongs to the event loop that opened it."""

    def __init__(self, url: str, socket: Any) -> None:
        self.loop = asyncio.get_running_loop()
        self._url, self._socket = url, socket
        # A copy of an environment may be dropped in the middle of its episode; this frees its session.
        self.abort = weakref.finalize(self, _abort, socket, self.loop)
        self.abort.atexit = False

    @classmethod
    async def reset(cls, url: str, arguments: Mapping[str, Any]) -> tuple["Session", dict[str, Any]]:
        """Open a session and start an episode in it; waits until the server has a free one.

        Returns:
            The session, and the data of the observation.

        Raises:
            EnvInfraError: the server cannot be reached or reports an error, or no session was free in time.
        """
        try:
            async with asyncio.timeout(FREE_S):
                while True:
                    session = await cls._open(url)
                    try:
                        return session, await session.ask("reset", arguments)
                    except NoSessionError:
                        await asyncio.sleep(_PAUSE_S)
        except TimeoutError as error:
            raise EnvInfraError(
                f"{url}: no session was free for {FREE_S:g} s; use a smaller --concurrency, or more sessions "
                "on the server"
            ) from error

    @classmethod
    async def _open(cls, url: str) -> "Session":
        client = require("websockets.asyncio.client", "openenv")
        # Follow no redirection: the user named the server.
        direct: Any = type("Direct", (client.connect,), {"process_redirect": lambda _, error: error})
        address = f"ws{url.removeprefix('http')}/ws"
        options = {"max_size": MAX_FRAME_BYTES, "open_timeout": CONNECT_S, "close_timeout": _CLOSE_S}
        try:
            # Pings would end a session whose server computes a long step on its event loop.
            opened = await direct(address, proxy=None, ping_interval=None, **options)
        except (OSError, TimeoutError, _websocket_error()) as error:
            raise EnvInfraError(f"{url}: no WebSocket session ({_text(error)})") from error
        return cls(url, opened)

    async def ask(self, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return the data of the observation; after any exception, the session is closed.

        Raises:
            RefusedActionError: the action does not fit the server's schema; the session remains open.
            NoSessionError: all sessions of the server are taken.
            EnvInfraError: another error frame, a closed socket, no reply in time, or no observation.
        """
        try:
            async with asyncio.timeout(REPLY_S):
                try:
                    await self._socket.send(json.dumps({"type": kind, "data": data}))
                except _websocket_error():
                    pass  # a server that refuses the session says why before it closes it
                reply = await self._socket.recv()
            value = _decoded(reply.encode() if isinstance(reply, str) else reply)
            frame = value if isinstance(value, dict) else {}
            content = frame.get("data")
            content = content if isinstance(content, dict) else {}
            if frame.get("type") == "error" and kind == "step" and content.get("code") == "VALIDATION_ERROR":
                raise RefusedActionError(str(content.get("errors") or content.get("message"))[:1_000])
            if frame.get("type") == "error":
                fault = NoSessionError if content.get("code") == "CAPACITY_REACHED" else EnvInfraError
                raise fault(
                    f"{self._url} reports an error: {redact(str(content.get('message')))[:500]} "
                    f"({str(content.get('code'))[:40]})"
                )
            if frame.get("type") != "observation" or not isinstance(content.get("observation"), dict):
                raise ValueError("expected a frame with an observation")
            return content
        except RefusedActionError:
            raise
        except (
            BaseException
        ) as error:  # also a cancellation: its reply would be read as that of the next request
            self.abort()
            if isinstance(error, TimeoutError):
                raise EnvInfraError(f"{self._url} gave no reply within {REPLY_S:g} s") from error
            if isinstance(error, (OSError, ValueError, _websocket_error())):
                raise EnvInfraError(f"{self._url}: the session failed ({_text(error)})") from error
            raise

    async def close(self) -> None:
        """Close the session, and wait until the server has freed it; only abort it in another event loop."""
        if self.abort.alive and self.loop is asyncio.get_running_loop():
            try:
                async with asyncio.timeout(_CLOSE_S):
                    await self._socket.send('{"type": "close"}')
                    await self._socket.wait_closed()
            except (OSError, TimeoutError, _websocket_error()):
                pass
        self.abort()


def _abort(socket: Any, loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(socket.transport.abort)


def _websocket_error() -> type[Exception]:
    error: type[Exception] = require("websockets.exceptions", "openenv").WebSocketException
    return error


def _text(error: BaseException) -> str:
    return redact(f"{type(error).__name__}: {error}")[:300]
