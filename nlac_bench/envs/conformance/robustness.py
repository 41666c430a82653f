"""Checks robustness: malformed actions, random text, forks, pickles."""

import math
import pickle
import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

from nlac_bench.envs.conformance.play import CheckedEnv, named, next_action, play, require, same
from nlac_bench.envs.text_env import TextEnv

MALFORMED: Mapping[str, Any] = {
    "10 MB of text": "a" * 10_000_000,
    "a lone surrogate": "hello \ud800",
    "NUL characters": "\x00 \x00",
    "the empty string": "",
    "None": None,
    "a number": 7,
    "bytes": b"text",
    "a list": ["text"],
    "3,000 open brackets": "[" * 3_000,
    "right-to-left marks": "\u202e\u2066{}",
}


UNREADABLE = {"10 MB of text", "a lone surrogate", "None", "a number", "bytes", "a list"}
"""Actions for which ``action_kind`` must be ``invalid`` in every environment."""


PIECES = (
    '{"name": ', '"arguments"', "{", "}", "[", "]", "\\boxed{", "null", "NaN", "1e999", "\\u0000",
    ": ", ",", '"', "\n", "```json", "Action:", "</think>", "\x00", "\u202e", "9" * 50, "é", "🙂",
)  # fmt: skip
"""Pieces of random text: syntax that environments parse."""

FUZZ_ACTIONS = 1_000
FUZZ_S = 30.0
"""Seconds after which no further actions are tried: a browser, whose steps are slow, gets fewer."""


SECONDS_AN_ACTION = 10.0


@named("malformed actions")
def _malformed(subject: CheckedEnv) -> str:
    with subject.text_env() as env:
        for name, action in MALFORMED.items():
            env.reset(seed=3)
            for _ in range(env.max_steps):
                begun = time.monotonic()
                observation, _, terminated, _, info = env.step(action)
                require(
                    time.monotonic() - begun < SECONDS_AN_ACTION,
                    f"{name}: step() took more than {SECONDS_AN_ACTION:g} s",
                )
                require(isinstance(observation, str) and observation, f"{name}: step() returns no message")
                kind = info["action_kind"]
                require(
                    name not in UNREADABLE or kind == "invalid",
                    f"{name}: action_kind is {kind!r}, expected 'invalid'",
                )
                if terminated:
                    break
            require(
                terminated,
                f"{name}: {env.max_steps} such actions do not end the episode, so they are not "
                "counted as steps",
            )
    return ", ".join(MALFORMED)


def _futures(subject: CheckedEnv, copy_of: Callable[[TextEnv], TextEnv], seeds: int) -> str:
    """Check that a copy made during an episode behaves like the original and neither changes the other."""
    compared = 0
    with subject.text_env() as env:
        for seed in range(seeds):
            for played in range(4):
                env.reset(seed=seed)
                steps = play(env, np.random.default_rng(seed), most=played)
                if steps and steps[-1][3]:
                    break
                rendered, twin, other = env._conversation[:], copy_of(env), copy_of(env)
                expected = play(twin, np.random.default_rng(7))
                play(other, np.random.default_rng(8))
                require(env._conversation == rendered, "playing a copy changes its original's conversation")
                same(expected, play(env, np.random.default_rng(7)), "the copy and its original")
                compared += 1
    return f"{compared} pairs"


@named("fork")
def _fork(subject: CheckedEnv) -> str:
    return _futures(subject, lambda env: env.fork(), seeds=4)


@named("pickle")
def _pickle(subject: CheckedEnv) -> str:
    # One seed only: a pickle includes the read-only data that forks share, so it is slow.
    return _futures(subject, lambda env: pickle.loads(pickle.dumps(env)), seeds=1)


def _hostile_action(env: gymnasium.Env[str, str], rng: np.random.Generator) -> str:
    """Return random text; in about half of the cases it is similar to a valid action."""
    kind = int(rng.integers(5))
    if kind == 0:
        env.action_space.seed(int(rng.integers(2**31)))
        return env.action_space.sample()
    if kind == 1:
        return "".join(PIECES[int(i)] for i in rng.integers(len(PIECES), size=int(rng.integers(1, 40))))
    text = next_action(env, rng)
    if kind == 2 or not text:
        return text
    start, stop = sorted(int(i) for i in rng.integers(len(text) + 1, size=2))
    return text[:start] + (text[stop:] if kind == 3 else text[start:stop] * 3 + text[stop:])


@named("fuzz")
def _fuzz(subject: CheckedEnv) -> str:
    rng = np.random.default_rng(2_024)
    with subject.env() as made:
        env = made.unwrapped if isinstance(made.unwrapped, TextEnv) else made
        env.reset(seed=0)
        begun, tried = time.monotonic(), 0
        while tried < FUZZ_ACTIONS and time.monotonic() - begun < FUZZ_S:
            tried += 1
            action = _hostile_action(env, rng)
            if not isinstance(env, TextEnv) and not env.action_space.contains(action):
                action = next_action(env, rng)
            try:
                _, reward, terminated, truncated, _ = env.step(action)
            except Exception as error:
                raise AssertionError(
                    f"action {action!r:.120} raises {type(error).__name__}: {error}"
                ) from error
            require(
                math.isfinite(reward), f"action {action!r:.120}: the reward {reward!r} is not a finite number"
            )
            if terminated or truncated:
                env.reset()
    return f"{tried:,} actions"
