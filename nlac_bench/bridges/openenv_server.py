"""Serves an environment to OpenEnv clients: one episode at a time in each WebSocket session.

The package is openenv 0.10. Its plain HTTP routes ``/reset`` and ``/step`` have no session, so they play
nothing; tasks, schemas and metadata are read by HTTP.
"""

import asyncio
import contextlib
import functools
import math
import re
import socket
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from fastapi import HTTPException
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import (
    Action,
    ConcurrencyConfig,
    EnvironmentMetadata,
    Observation,
    ServerMode,
    State,
)

from nlac_bench.bridges.playable import another, playable
from nlac_bench.envs import registry
from nlac_bench.envs.env_string import parse
from nlac_bench.envs.foreign import described
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import NlacBenchError
from nlac_bench.redaction import redact
from nlac_bench.types import Info, Message, ToolSchema

MAX_SESSIONS = 256
"""Largest number of sessions at the same time; a further one gets the error ``CAPACITY_REACHED``."""
MAX_REQUEST_BYTES = 2**21
"""Largest message and largest body of a request: an action of ``MAX_ACTION_CHARS``, escaped as JSON."""
IDLE_S = 600.0
"""Seconds without a message after which a session is closed."""
MAX_LISTED_TASKS = 10_000
_GRACE_S = 2
"""Seconds that open connections have to close when the server ends."""


class NlacAction(Action):
    """The agent's raw text, as ``TextEnv.step`` takes it."""

    message: str


class NlacObservation(Observation):
    """The newest message; ``reward`` is that of the step, ``metadata`` has the environment's ``info``."""

    prompt: str
    truncated: bool = False
    messages: list[Message] | None = None
    """At reset: the rules, the examples and the first observation, as chat messages."""
    tools: list[ToolSchema] | None = None
    end_reason: str | None = None


class NlacState(State):
    """The running task; ``step_count`` counts the actions of the episode."""

    task_id: str | None = None
    split: str | None = None


class Served:
    """The environments of a name: one for each split, made when it is first asked for; sessions play others.

    Raises:
        NlacBenchError: the environment cannot be made, or needs a model that plays its user.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.name = re.sub(r"\W+", "_", registry.find(parse(text)[0]).name)
        self.default = playable(text)
        self.env = functools.lru_cache(self._env)

    def _env(self, split: str | None) -> TextEnv:
        """Return the environment of ``split``; None is the split that the environment string has."""
        if split is None or split == self.default.split:
            return self.default
        if split not in self.default.splits:
            raise ValueError(f"split must be one of {', '.join(self.default.splits)}, got {split!r:.80}")
        return playable(self._text, split=split)

    def new(self, split: str | None) -> TextEnv:
        """Return an environment of ``split`` for one session."""
        return another(self.env(split), self._text)


class ServedError(HTTPException):
    """An exception of the environment; an error frame, or a response with status 500, has its text."""

    def __str__(self) -> str:
        return str(self.detail)


class NlacEnvironment(Environment):
    """A session. An exception ends its episode: the client gets an error frame, and no reward afterwards."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, served: Served) -> None:
        super().__init__()
        self._served = served
        self._env: TextEnv | None = None
        self._playing = False
        self._state = NlacState()

    async def reset_async(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str | None = None,
        index: int | None = None,
        task_id: str | None = None,
    ) -> NlacObservation:
        """Start an episode of a task: that of ``task_id``, the one at ``index`` of ``split``, or any."""
        self.close()
        with _redacted():
            self._env = env = await asyncio.to_thread(self._served.new, split)
            if index is not None:
                task_id = _tasks(env, index, index + 1)[0]["id"]
            options = None if task_id is None else {"task_id": task_id}
            prompt, info = await env.areset(seed=seed, options=options)
            self._state = NlacState(
                episode_id=str(uuid.uuid4()) if episode_id is None else episode_id,
                task_id=info["task_id"],
                split=env.split,
            )
        self._playing = True
        about = {
            key: value
            for key, value in info.items()
            if key not in ("messages", "tools", "policy", "examples")
        }
        return NlacObservation(
            prompt=prompt,
            messages=info["messages"],
            tools=info["tools"],
            metadata=about | {"system_prompt": info["policy"], "max_steps": env.max_steps},
        )

    async def step_async(self, action: NlacAction, timeout_s: float | None = None) -> NlacObservation:
        """Take the action in the running episode.

        Raises:
            ServedError: no episode is running, or the environment raised an exception.
        """
        env, playing = self._env, self._playing
        self._playing = False  # after an exception, no episode is running
        with _redacted():
            if env is None or not playing:
                raise NlacBenchError("no episode is running in this session: reset before a step")
            prompt, reward, terminated, truncated, info = await env.astep(action.message)
            if not math.isfinite(reward):
                raise ValueError(f"the environment returned the reward {reward}")
        self._state.step_count += 1
        self._playing = not (terminated or truncated)
        return NlacObservation(
            prompt=prompt,
            reward=reward,
            done=terminated or truncated,
            truncated=truncated,
            end_reason=info.get("end_reason"),
            metadata={"task_id": self._state.task_id, "split": env.split, "env_version": env.env_version}
            | info,
        )

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Observation:
        """Is not called: the server awaits ``reset_async``."""
        raise NotImplementedError

    def step(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        """Is not called: the server awaits ``step_async``."""
        raise NotImplementedError

    @property
    def state(self) -> NlacState:
        """The state of the running episode, or of the last one."""
        return self._state

    def close(self) -> None:
        """Close the environment of the session."""
        env, self._env, self._playing = self._env, None, False
        if env is not None:
            env.close()

    def get_metadata(self) -> EnvironmentMetadata:
        """Describe the environment; its version has the first digits of the hash of its data."""
        env = self._served.default
        return EnvironmentMetadata(
            name=self._served.name,
            description=(type(env).__doc__ or self._served.name).strip().partition("\n")[0],
            version=f"{env.env_version}+{env.source.sha256[:12]}",
        )

    def list_splits(self) -> list[str]:
        """Return the names of the splits."""
        return list(self._served.default.splits)

    def num_tasks(self, split: str) -> int:
        """Return the number of tasks of a split."""
        return len(self._tasks_of(split).task_ids)

    def list_tasks(self, split: str) -> list[Info]:
        """Return the first ``MAX_LISTED_TASKS`` tasks of a split, as ``{"id", "index"}``."""
        return _tasks(self._tasks_of(split), 0, MAX_LISTED_TASKS)

    def get_task(self, split: str, index: int) -> Info:
        """Return a task; raises ``IndexError`` if there is none at ``index``."""
        return _tasks(self._tasks_of(split), index, index + 1)[0]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Info]:
        """Return at most ``MAX_LISTED_TASKS`` tasks, from ``start`` to before ``stop``."""
        env = self._tasks_of(split)
        first, end, _ = slice(start, stop).indices(len(env.task_ids))
        return _tasks(env, first, min(end, first + MAX_LISTED_TASKS))

    def _tasks_of(self, split: str) -> TextEnv:
        try:
            return self._served.env(split)
        except (ValueError, NlacBenchError) as error:  # it does not exist, or cannot be played
            raise HTTPException(404, redact(str(error))) from error


def _tasks(env: TextEnv, start: int, stop: int) -> list[Info]:
    if start < 0:
        raise IndexError(f"a task's index is not negative, got {start}")
    return [{"id": env.task_ids[i], "index": i} for i in range(start, min(stop, len(env.task_ids)))]


@contextlib.contextmanager
def _redacted() -> Iterator[None]:
    """Raise an exception's type and message without secrets: the server sends its text to the client."""
    try:
        yield
    except Exception as error:
        raise ServedError(500, redact(described(error))) from error


class _Bounded:
    """Limits the size of a request's body, and the time in which a client sends nothing."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        size = 0

        async def bounded() -> Any:
            nonlocal size
            try:
                message = await asyncio.wait_for(receive(), IDLE_S)
            except TimeoutError:
                return {"type": f"{scope['type']}.disconnect", "code": 1001}
            size += len(message.get("body", b""))
            if size > MAX_REQUEST_BYTES:
                raise HTTPException(413, f"a request has at most {MAX_REQUEST_BYTES:,} bytes")
            return message

        await self._app(scope, receive if scope["type"] == "lifespan" else bounded, send)


def make_server(served: Served) -> uvicorn.Server:
    """Return the server of ``served``, which ``run(sockets=…)`` starts."""
    app = create_fastapi_app(
        functools.partial(NlacEnvironment, served),
        NlacAction,
        NlacObservation,
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=MAX_SESSIONS, session_timeout=IDLE_S),
        env_name=served.name,
        state_cls=NlacState,
        mode=ServerMode.SIMULATION,
    )
    app.add_middleware(_Bounded)
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            ws_max_size=MAX_REQUEST_BYTES,
            limit_concurrency=4 * MAX_SESSIONS,
            timeout_graceful_shutdown=_GRACE_S,
        )
    )


def serve(text: str, host: str, port: int, started: Callable[[str, str], None]) -> None:
    """Serve the environment named ``text`` until a signal arrives.

    Args:
        text: as for ``registry.make``.
        port: 0 for any free one.
        started: called with the server's URL and the environment's name when clients can connect.

    Raises:
        NlacBenchError: the environment cannot be made.
        OSError: the address cannot be used.
    """
    served = Served(text)
    server = make_server(served)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=MAX_SESSIONS) as listening:
        shown = f"[{host}]" if ":" in host else host
        started(f"http://{shown}:{listening.getsockname()[1]}", served.name)
        server.run(sockets=[listening])
