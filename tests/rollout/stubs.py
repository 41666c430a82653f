"""A small environment with a user simulator, and engines that answer by rule, for tests of the rollout."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nlac_bench.envs import Outcome, TextEnv
from nlac_bench.rollout.agent import Actor
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling, Slot
from nlac_bench.types import ChatFn, Turn, Usage


class State:
    def __init__(self, secret: int) -> None:
        self.secret = secret

    def copy(self) -> "State":
        return State(self.secret)


class Guess(TextEnv):
    """Guess the number; with ``chat`` a model in the role ``user`` words the hint."""

    name = "guess"
    max_steps = 8

    def __init__(self, split: str = "test", chat: ChatFn | None = None, tasks: int = 16) -> None:
        super().__init__(task_ids=tuple(str(i) for i in range(tasks)), split=split)
        self.chat = chat
        self.remote = chat is not None

    async def _begin(self, task_id: str) -> str:
        self._state = State(int(task_id))
        return "Guess."

    async def _respond(self, action: str) -> Outcome:
        right = action.strip() == self.oracle_action()
        text, usage = ("Yes." if right else "No."), {}
        if self.chat is not None:
            reply = await self.chat([{"role": "user", "content": f"{action} {text}"}], "user")
            text, usage = reply.text, {"user": reply.usage}
        return Outcome(
            text,
            reward=float(right),
            end_reason="success" if right else None,
            success=right,
            action_kind="message",
            usage=usage,
        )

    def oracle_action(self) -> str:
        return str(self._state.secret)

    def random_action(self, rng: np.random.Generator) -> str:
        return str(int(rng.integers(len(self.task_ids))))


class CallAgent:
    """Calls ``function(turn number, env, observation)`` for its text; counts a token a character."""

    name = "call"

    def __init__(self, function: Callable[[int, TextEnv, str], Any]) -> None:
        self.function = function

    def begin(self, env: TextEnv, seed: int) -> Actor:
        return _CallActor(self.function, env)


class _CallActor:
    def __init__(self, function: Callable[[int, TextEnv, str], Any], env: TextEnv) -> None:
        self.function, self.env, self.number = function, env, 0

    async def act(self, observation: str, info: dict[str, Any]) -> Turn:
        made = self.function(self.number, self.env, observation)
        text = await made if asyncio.iscoroutine(made) else made
        self.number += 1
        if isinstance(text, Turn):
            return text
        return Turn(text, usage=Usage(calls=1, completion_tokens=len(text), cost=0.01))


class RuleEngine:
    """An engine whose model is a function of the request; waits ``latency`` seconds a call."""

    tokenizer: None = None

    def __init__(self, rule: Callable[[SampleRequest], Sample | str], latency: float = 0.0) -> None:
        self.rule = rule
        self.latency = latency
        self.requests: list[SampleRequest] = []

    async def sample(self, request: SampleRequest) -> list[Sample]:
        self.requests.append(request)
        if self.latency:
            await asyncio.sleep(self.latency)
        made = self.rule(request)
        sample = Sample(made, "stop", usage=Usage(calls=1)) if isinstance(made, str) else made
        return [replace(sample) for _ in range(request.n)]

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        raise NotImplementedError


GREEDY = Sampling(temperature=0.0, max_tokens=16)
