"""Servers for tests of the bridge to OpenEnv: each runs in a thread of the test's process."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

from nlac_bench.bridges.openenv_server import Served, make_server
from nlac_bench.bridges.openenv_session import described_server


@contextlib.contextmanager
def running(server: uvicorn.Server) -> Iterator[str]:
    """Run a server; yields its URL."""
    described_server.cache_clear()  # the port may be that of an earlier server of this process
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def served(text: str) -> contextlib.AbstractContextManager[str]:
    """Serve an environment of this package."""
    return running(make_server(Served(text)))


def of_app(app: Any) -> contextlib.AbstractContextManager[str]:
    """Serve any ASGI application."""
    return running(uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)))


class FreeAction(Action):
    """An action of two fields."""

    move: str
    count: int


class FreeObservation(Observation):
    """An observation without a text."""

    board: list[int] = []  # noqa: RUF012


class Talk(Action):
    """An action that is a text."""

    utterance: str


class Talked(Observation):
    """An observation with a text."""

    text: str


class Free(Environment):
    """An environment without tasks; its reply to an action is what ``reply`` returns."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    reply: Callable[[Any], Observation]
    first: Callable[[int | None], Observation]

    def __init__(self) -> None:
        super().__init__()
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Observation:
        self._state = State()
        return type(self).first(seed)

    def step(self, action: Any, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        self._state.step_count += 1
        return type(self).reply(action)

    @property
    def state(self) -> State:
        return self._state


def free(
    first: Callable[[int | None], Observation],
    reply: Callable[[Any], Observation],
    *,
    action: type[Action] = Talk,
    sessions: int = 4,
) -> contextlib.AbstractContextManager[str]:
    """Serve an environment of OpenEnv's own classes, as its users write them."""
    cls = type("Made", (Free,), {"first": staticmethod(first), "reply": staticmethod(reply)})
    app = create_fastapi_app(cls, action, Observation, max_concurrent_envs=sessions, env_name="free")
    return of_app(app)
