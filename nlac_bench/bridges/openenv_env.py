"""Defines the environment openenv: that of an OpenEnv server, with the interface of a ``TextEnv``."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from nlac_bench.bridges.openenv_session import (
    RefusedActionError,
    ServerDescription,
    Session,
    described_server,
)
from nlac_bench.bridges.require import require
from nlac_bench.envs.adapter import EPISODES, MAX_INVALID, MAX_STEPS
from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.prompts.services import checked_url
from nlac_bench.envs.text_env import ActionKind, EndReason, Outcome, TextEnv
from nlac_bench.errors import ConfigError, EnvInfraError, NlacBenchError
from nlac_bench.types import Info, Message, StepResult, ToolSchema
from nlac_bench.untrusted import parse_json

_TEXTS = ("prompt", "text", "message", "content")
"""Fields of an observation that may be its text; the first that is one is taken."""
_FENCED = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)
_MAX_TEXT = 1_000_000
_MAX_LISTED = 1_000


@dataclass(slots=True)
class _RemoteEpisode:
    """An episode on the server. A copy has no session; it is played again in one when it is continued."""

    arguments: Mapping[str, Any]
    policy: str = ""
    examples: Sequence[Message] = ()
    tools: Sequence[ToolSchema] = ()
    first: str = ""
    played: list[tuple[Mapping[str, Any], str, float]] = field(default_factory=list)
    """Each action that the server has taken, and the observation and reward that it returned."""
    invalid: int = 0
    truncated: bool = False
    session: Session | None = None

    def copy(self) -> "_RemoteEpisode":
        return replace(self, played=list(self.played), session=None)

    def __reduce__(self) -> tuple[Any, ...]:
        names = [name for name in self.__slots__ if name != "session"]
        return _RemoteEpisode, tuple(getattr(self, name) for name in names)


class OpenEnvEnv(TextEnv):
    """The environment of an OpenEnv server, which holds each episode in a WebSocket session.

    A failure of the server is an ``EnvInfraError``: an error frame, a closed socket, no reply in time. Only
    an action that does not fit the server's schema is an invalid action.

    ## Action Space
    Any text, if the server's action has one required field and that is a string; else a JSON object of its
    fields, alone or in a code block.

    ## Observation Space
    Text: the first of the fields ``prompt``, ``text``, ``message``, ``content`` that is one, else the
    observation as JSON.

    ## Starting State
    Task ``split/index`` of the server. A server that lists no tasks is reset with the seed that the task
    names.

    ## Reward
    The server's; 0 where it sends none.

    ## Episode End
    When the server says ``done``, or after 10 invalid actions if it names no limit. ``success`` is what the
    server says (in ``metadata`` or the observation), else whether the last reward is above 0; ``success_by``
    in ``info`` is ``server`` or ``reward``.

    ## Information
    As of every ``TextEnv``.

    ## Arguments
    * ``url``: of the server, such as ``"http://localhost:8000"``.
    * ``split``: one that the server lists; by default ``"test"``.
    * ``render_mode``: None or ``"ansi"``.

    ## Version History
    * v0: first version; its ``env_version`` is "1".
    """

    name = "openenv"
    env_version = "1"
    remote = True
    has_oracle = False

    def __init__(
        self, *, url: str | None = None, split: str = "test", render_mode: str | None = None
    ) -> None:
        address = checked_url("url", url)
        if address is None:
            raise ConfigError(
                'openenv plays the environment of a server: openenv@{"url": "http://localhost:8000"}'
            )
        require("websockets.asyncio.client", "openenv")
        self._server: ServerDescription = described_server(address.rstrip("/"))
        counts = self._server.tasks
        self.splits = tuple(counts) or tuple(EPISODES)
        if split not in self.splits:
            raise ValueError(f"split must be {' or '.join(map(repr, self.splits))}, got {split!r:.80}")
        if counts:
            task_ids = [f"{split}/{index}" for index in range(counts[split])]
        else:
            first = sum(EPISODES[each] for each in self.splits[: self.splits.index(split)])
            task_ids = [f"seed-{seed}" for seed in range(first, first + EPISODES[split])]
        self.max_steps, self._states_limit = MAX_STEPS, False
        self._field = _text_field(self._server.schema)
        self._seed: int | None = None
        source = DataSource("custom", self._server.sha256)
        super().__init__(task_ids=task_ids, split=split, source=source, render_mode=render_mode)

    def policy(self) -> str:
        """Return the server's rules, and the form of an action if it is not any text."""
        rules = self._state.policy if self._state is not None else self._server.about
        if self._field is not None:
            return str(rules)
        schema = json.dumps(self._server.schema, ensure_ascii=False)
        return f"{rules}\n\nAct with one JSON object of this schema:\n{schema}".strip()

    def examples(self) -> Sequence[Message]:
        """Return the messages that the server puts before the first observation."""
        return () if self._state is None else self._state.examples

    def tools(self) -> Sequence[ToolSchema]:
        """Return the tools that the server lists at reset, in OpenAI's format."""
        return () if self._state is None else self._state.tools

    def conditions(self) -> dict[str, Any]:
        """Return the name and version of the server's environment."""
        return {"server": {"name": self._server.name, "version": self._server.version}}

    def oracle_action(self) -> str:
        """Raise an error: a server tells nobody the right action.

        Raises:
            NlacBenchError: always.
        """
        raise NlacBenchError("openenv: a server does not tell the right action, so there is no oracle")

    async def areset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        """Start an episode on the server, with ``seed``; the seed of a server without tasks is the task's."""
        self._seed = seed
        return await super().areset(seed=seed, options=options)

    def close(self) -> None:
        """Free the session of a running episode."""
        if self._state is not None and self._state.session is not None:
            self._state.session.abort()

    async def _begin(self, task_id: str) -> str:
        if self._state is not None and self._state.session is not None:
            await self._state.session.close()
        if self._server.tasks:
            seed = int(self.np_random.integers(2**31)) if self._seed is None else self._seed
            split, _, index = task_id.rpartition("/")
            arguments: dict[str, Any] = {"split": split, "index": int(index), "seed": seed}
        else:
            arguments = {"seed": int(task_id.removeprefix("seed-"))}
        session, data = await Session.reset(self._server.url, arguments)
        observation, metadata = data["observation"], _metadata(data)
        if data.get("done"):
            await session.close()
            raise EnvInfraError(f"{self._server.url}: task {task_id} is done before the first action")
        limit = metadata.get("max_steps")
        stated = limit if type(limit) is int and limit > 0 else None
        self.max_steps, self._states_limit = stated or MAX_STEPS, stated is not None
        messages = _messages(observation.get("messages"))
        rules = [each["content"] for each in messages if each["role"] == "system"]
        prompt = metadata.get("system_prompt")
        self._state = _RemoteEpisode(
            arguments,
            policy=_bounded(prompt) if isinstance(prompt, str) else "\n\n".join(rules) or self._server.about,
            examples=[each for each in messages if each["role"] != "system"][:-1],
            tools=_tools(observation.get("tools")),
            first=_text(observation),
            session=session,
        )
        return self._state.first

    async def astep(self, action: str) -> StepResult:
        """Take a step; ``truncated`` is what the server says. The end of an episode frees its session."""
        observation, reward, ended, _, info = await super().astep(action)
        if ended and self._state.session is not None:
            await self._state.session.close()
        cut = ended and self._state.truncated
        return observation, reward, ended and not cut, cut, info

    async def _respond(self, action: str) -> Outcome:
        try:
            payload = self._payload(action)
        except ValueError as error:
            return self._invalid(f"Invalid action: expected one JSON object of the schema ({error}).")
        session = await self._session()
        try:
            outcome = await self._taken(session, payload)
        except RefusedActionError as error:
            return self._invalid(f"Invalid action: the server does not accept it: {error}")
        self._state.played.append((payload, outcome.observation, outcome.reward))
        return outcome

    async def _taken(self, session: Session, payload: Mapping[str, Any]) -> Outcome:
        """Take an action in ``session``, which is closed after any failure."""
        data = await session.ask("step", payload)
        try:
            return self._outcome(data)
        except EnvInfraError:
            await session.close()
            raise

    async def _session(self) -> Session:
        """Return the episode's session. A copy of an episode is first played again in a session of its own.

        Raises:
            EnvInfraError: the server did not answer as before.
        """
        state: _RemoteEpisode = self._state
        url = self._server.url
        if state.session is not None and state.session.loop is asyncio.get_running_loop():
            return state.session
        session, data = await Session.reset(url, state.arguments)
        same = _text(data["observation"]) == state.first
        for payload, observation, reward in state.played:
            again = await self._taken(session, payload)
            same = same and (again.observation, again.reward) == (observation, reward)
        if not same:
            await session.close()
            raise EnvInfraError(
                f"{url}: the same actions had another result, so an episode cannot be continued"
            )
        state.session = session
        return session

    def _payload(self, action: str) -> Mapping[str, Any]:
        """Return the fields of an action; raises ``ValueError`` if it is no JSON object."""
        if self._field is not None:
            return {self._field: action}
        fenced = _FENCED.findall(action)
        value = parse_json((fenced[-1] if fenced else action).strip().encode(), depth=50, finite=True)
        if not isinstance(value, dict):
            raise ValueError("it is no object")
        return value

    def _outcome(self, data: Mapping[str, Any]) -> Outcome:
        """Read a reply to an action.

        Raises:
            EnvInfraError: the reward is not a finite number.
        """
        observation, sent = data["observation"], data.get("reward")
        reward = 0.0 if sent is None else _number(sent)
        if reward is None:
            raise EnvInfraError(f"{self._server.url}: the reward is {sent!r:.80}, not a finite number")
        given: dict[str, Any] = {**observation, **_metadata(data)}
        tool, fault = given.get("tool_name"), given.get("tool_error")
        kind: Any = given.get("action_kind")
        outcome = Outcome(
            _text(observation),
            reward,
            action_kind=kind if kind in get_args(ActionKind) else "message",
            tool_name=_bounded(tool)[:200] if isinstance(tool, str) else None,
            tool_error=_bounded(fault) if isinstance(fault, str) else None,
        )
        if data.get("done"):
            stated = given.get("success")
            outcome.success = stated if isinstance(stated, bool) else outcome.reward > 0
            outcome.extra = {"success_by": "server" if isinstance(stated, bool) else "reward"}
            if sent is None:
                outcome.extra["reward_missing"] = True
            reason = given.get("end_reason")
            if reason not in get_args(EndReason):
                reason = "success" if outcome.success else "failure"
            outcome.end_reason = reason
            outcome.reward_parts = _numbers(given.get("reward_parts"))
            self._state.truncated = given.get("truncated") is True
        return outcome

    def _invalid(self, problem: str) -> Outcome:
        """Count an invalid action, which the server has not seen; too many end an episode without a limit."""
        outcome = super()._invalid(problem)
        self._state.invalid += 1
        if not self._states_limit and self._state.invalid >= MAX_INVALID:
            outcome.end_reason = "failure"
        return outcome


def _text_field(schema: Mapping[str, Any]) -> str | None:
    """Return the only required field of an action if it is a string; else None."""
    required, fields = schema.get("required"), schema.get("properties")
    if isinstance(required, list) and len(required) == 1 and isinstance(fields, dict):
        form = fields.get(required[0]) if isinstance(required[0], str) else None
        if isinstance(form, dict) and form.get("type") == "string":
            return str(required[0])
    return None


def _metadata(data: Mapping[str, Any]) -> Mapping[str, Any]:
    for place in (data, data["observation"]):
        if isinstance(found := place.get("metadata"), dict) and found:
            return found
    return {}


def _text(observation: Mapping[str, Any]) -> str:
    for key in _TEXTS:
        if isinstance(text := observation.get(key), str):
            return _bounded(text)
    rest = {key: value for key, value in observation.items() if key not in ("metadata", "reward", "done")}
    return _bounded(json.dumps(rest, ensure_ascii=False, separators=(",", ":")))


def _bounded(text: str) -> str:
    """Return ``text``; raises ``EnvInfraError`` if it is too long."""
    if len(text) > _MAX_TEXT:
        raise EnvInfraError(
            f"the OpenEnv server sent {len(text):,} characters; at most {_MAX_TEXT:,} are read"
        )
    return text


def _messages(value: object) -> list[Message]:
    """Return chat messages of text; none if a message is anything else."""
    listed = value if isinstance(value, list) and len(value) <= _MAX_LISTED else ()
    messages = [
        {"role": each["role"], "content": _bounded(each["content"])}
        for each in listed
        if isinstance(each, dict)
        and each.get("role") in ("system", "user", "assistant")
        and isinstance(each.get("content"), str)
    ]
    return messages if len(messages) == len(listed) else []


def _tools(value: object) -> list[ToolSchema]:
    """Return the tools that are in OpenAI's function format."""
    listed = value if isinstance(value, list) and len(value) <= _MAX_LISTED else ()
    functions = [each.get("function") if isinstance(each, dict) else None for each in listed]
    return [
        {"type": "function", "function": function}
        for function in functions
        if isinstance(function, dict) and isinstance(function.get("name"), str)
    ]


def _numbers(value: object) -> dict[str, float]:
    listed = value if isinstance(value, dict) and len(value) <= _MAX_LISTED else {}
    numbers = {key: _number(each) for key, each in listed.items()}
    return {key: number for key, number in numbers.items() if number is not None}


def _number(value: object) -> float | None:
    """Return a JSON number or truth value as a float; None if it is none, or too large."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None
