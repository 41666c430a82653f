"""Checks episodes: spaces, seeding, ``info``, ends, tasks."""

import functools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Text
from gymnasium.utils.env_checker import check_env

from nlac_bench.envs.conformance.play import (
    MAX_EPISODE_STEPS,
    SAMPLED_TASKS,
    CheckedEnv,
    NotApplicableError,
    episode,
    named,
    next_action,
    oracle_action,
    play,
    require,
    same,
    sampled_tasks,
)
from nlac_bench.envs.returned import check_info, check_observation, check_step
from nlac_bench.envs.spaces import UnicodeText
from nlac_bench.envs.text_env import END_REASONS, ActionKind, TextEnv
from nlac_bench.errors import UnknownIdError
from nlac_bench.json_values import json_value
from nlac_bench.types import Info

RESET_KEYS = {
    "task_id": str,
    "split": str,
    "messages": list,
    "tools": list,
    "policy": str,
    "env_version": str,
    "data_source": str,
    "data_sha256": str,
}


STEP_KEYS = {"action_kind", "tool_name", "tool_error", "usage"}


END_KEYS = {"success", "reward_parts", "end_reason"}


GOLD_KEYS = {
    "gold", "golds", "gold_answer", "gold_actions", "answer", "answers", "actions", "solution", "expected",
    "target", "oracle_action", "secret",
}  # fmt: skip
"""Names under which answers have leaked into ``info`` of other suites; matched as whole keys."""


@named("spaces")
def _spaces(subject: CheckedEnv) -> str:
    with subject.env() as env:
        wanted = UnicodeText if isinstance(env.unwrapped, TextEnv) else (UnicodeText, Text)
        for space in (env.observation_space, env.action_space):
            require(isinstance(space, wanted), f"{space!r} is not a text space")
        observation, _ = env.reset(seed=0)
        require(
            env.observation_space.contains(observation),
            f"{observation!r:.100} is not in {env.observation_space!r}",
        )
        return repr(env.action_space)


@named("gymnasium check_env")
def _check_env(subject: CheckedEnv) -> str:
    with subject.env() as env:
        check_env(_PythonBools(env.unwrapped), skip_render_check=True)
    return ""


class _PythonBools(gymnasium.Wrapper[str, str, str, str]):
    """Gives Gymnasium's checker, which compares with ``is False``, Python's bools for those of numpy."""

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # that of a wrapper must be able to make it
        return self.env.spec

    def step(self, action: str) -> Any:
        return tuple(bool(each) if isinstance(each, np.bool_) else each for each in self.env.step(action))


@named("seeding")
def _seeding(subject: CheckedEnv) -> str:
    for seed in range(4):
        with subject.env() as first, subject.env() as second:
            expected = episode(first, seed)
            second.reset(seed=99)
            play(second, np.random.default_rng(1), most=2)
            same(expected, episode(second, seed), f"seed {seed} in two environments")
            same(expected, episode(first, seed), f"seed {seed} twice in one environment")
    return "4 seeds"


@named("global random state")
def _global_random_state(subject: CheckedEnv) -> str:
    episodes = []
    kept = random.getstate(), np.random.get_state()
    try:
        for seed in (1, 2):
            random.seed(seed)
            np.random.seed(seed)
            before = random.getstate(), repr(np.random.get_state())
            with subject.env() as env:
                episodes.append(episode(env, 5))
            require(
                before == (random.getstate(), repr(np.random.get_state())),
                "an episode changes global random state",
            )
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
    same(episodes[0], episodes[1], "one seed under two global random states")
    return ""


@named("info")
def _info(subject: CheckedEnv) -> str:
    with subject.env() as made:
        if not isinstance(made.unwrapped, TextEnv):
            return _check_types(made)
        env = made.unwrapped
        for task_id in sampled_tasks(env):
            rng = np.random.default_rng(0)
            acts = (functools.partial(next_action, env, rng), functools.partial(oracle_action, env))
            for act in acts[: 1 + env.has_oracle]:
                _, info = env.reset(seed=0, options={"task_id": task_id})
                for key, kind in RESET_KEYS.items():
                    require(
                        isinstance(info.get(key), kind),
                        f"info[{key!r}] at reset is {info.get(key)!r:.80}, not {kind}",
                    )
                check_info(info)
                json_value(info, "info")
                _check_steps(env, act)
    return ""


def _check_types(env: gymnasium.Env[str, str]) -> str:
    """Check the types of what a plain environment returns; nothing has to be in its ``info``."""
    for seed in range(SAMPLED_TASKS):
        observation, info = env.reset(seed=seed)
        check_observation(observation)
        check_info(info)
        json_value(info, "info")
        rng = np.random.default_rng(seed)
        for _ in range(MAX_EPISODE_STEPS):
            observation, reward, terminated, truncated, info = env.step(next_action(env, rng))
            check_step(observation, reward, terminated, truncated, info)
            json_value(info, "info")
            if terminated or truncated:
                break
    return "types of a plain environment"


def _needs_oracle(env: TextEnv) -> None:
    if not env.has_oracle:
        raise NotApplicableError("the environment has no oracle")


def _check_steps(env: TextEnv, act: Callable[[], str]) -> None:
    """Check ``info`` of each step until the end."""
    for _ in range(MAX_EPISODE_STEPS):
        observation, reward, terminated, truncated, info = env.step(act())
        check_step(observation, reward, terminated, truncated, info)
        require(set(info) >= STEP_KEYS, f"info lacks {sorted(STEP_KEYS - set(info))} at a step")
        _one_of(info, "action_kind", get_args(ActionKind))
        json_value(info, "info")
        if terminated:
            require(set(info) >= END_KEYS, f"info lacks {sorted(END_KEYS - set(info))} at the end")
            _one_of(info, "end_reason", END_REASONS)
            require(info["success"] is not None, "success is None at the end; it must be True or False")
            return
        require(not END_KEYS & set(info), f"info contains {sorted(END_KEYS & set(info))} before the end")


def _one_of(info: Info, key: str, known: Sequence[str]) -> None:
    require(info[key] in known, f"{key} is {info[key]!r:.80}; it must be one of {', '.join(known)}")


def _keys_and_texts(value: object) -> Iterator[tuple[str, str]]:
    """Yield every key and every text in a JSON value, as ("key", …) or ("text", …)."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield "key", str(key)
            yield from _keys_and_texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _keys_and_texts(inner)
    elif isinstance(value, str):
        yield "text", value


@named("gold answers stay hidden")
def _hidden_gold(subject: CheckedEnv) -> str:
    with subject.text_env() as env:
        _needs_oracle(env)
        for task_id in sampled_tasks(env):
            _, info = env.reset(seed=0, options={"task_id": task_id})
            for _ in range(MAX_EPISODE_STEPS):
                action = oracle_action(env).strip()
                for kind, text in _keys_and_texts({k: v for k, v in info.items() if k != "tools"}):
                    if kind == "key":
                        require(
                            text.lower() not in GOLD_KEYS, f"info of task {task_id!r} has the key {text!r}"
                        )
                    else:  # a short action, such as "yes", may occur in any text
                        leaked = len(action) >= 16 and action in text
                        require(
                            not leaked,
                            f"info of task {task_id!r} contains the oracle's action {action!r:.80}",
                        )
                _, _, terminated, truncated, info = env.step(action)
                if terminated or truncated:
                    break
    return ""


@named("ends")
def _ends(subject: CheckedEnv) -> str:
    with subject.text_env() as env:
        for seed in range(SAMPLED_TASKS):
            env.reset(seed=seed)
            rng = np.random.default_rng(seed)
            for _ in range(env.max_steps):
                _, _, terminated, truncated, _ = env.step(next_action(env, rng))
                require(
                    truncated is False,
                    "truncated is reserved for cuts by the harness; end an episode with terminated",
                )
                if terminated:
                    break
            require(terminated, f"the episode does not end at its limit of {env.max_steps} steps")
    return f"at most {env.max_steps} steps"


@named("reset needed")
def _reset_needed(subject: CheckedEnv) -> str:
    with subject.text_env() as env:
        for moment in ("before reset", "after the end"):
            try:
                env.step("hello")
            except ResetNeeded:
                pass
            else:
                raise AssertionError(
                    f"step() is accepted {moment}; it must raise gymnasium.error.ResetNeeded"
                )
            env.reset(seed=0)
            play(env, np.random.default_rng(0), most=MAX_EPISODE_STEPS)
    return ""


@named("tasks")
def _tasks(subject: CheckedEnv) -> str:
    with subject.text_env() as env:
        require(len(set(env.task_ids)) == len(env.task_ids), "task_ids contains an id twice")
        for task_id in sampled_tasks(env):
            first = env.reset(seed=0, options={"task_id": task_id})
            again = env.reset(seed=0, options={"task_id": task_id})
            require(
                first[1]["task_id"] == task_id, f"asked for task {task_id!r}, got {first[1]['task_id']!r}"
            )
            require(first[0] == again[0], f"task {task_id!r} begins differently with the same seed")
        try:
            env.reset(options={"task_id": "no such task"})
        except UnknownIdError as error:
            require("no such task" in str(error), f"the error does not name the id: {error}")
        else:
            raise AssertionError("reset() accepts an unknown task id; it must raise UnknownIdError")
        try:
            env.reset(options={"no such option": 1})
        except ValueError:
            pass
        else:
            raise AssertionError("reset() accepts an unknown option; it must raise ValueError")
        env.reset(seed=0)
    return f"{len(env.task_ids):,} tasks"


@named("oracle")
def _oracle(subject: CheckedEnv) -> str:
    with subject.text_env() as env:
        _needs_oracle(env)
        tasks = sampled_tasks(env)
        for task_id in tasks:
            env.reset(seed=0, options={"task_id": task_id})
            info: Info = {}
            for _ in range(env.max_steps):
                info = env.step(oracle_action(env))[4]
                if "success" in info:
                    break
            require(info.get("success"), f"the oracle fails task {task_id!r}: {info.get('end_reason')}")
    return f"{len(tasks)} tasks"
