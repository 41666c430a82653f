"""Checks vectorisation, wrappers and rendering."""

from collections.abc import Iterable

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics

from nlac_bench.envs.conformance.play import (
    MAX_EPISODE_STEPS,
    CheckedEnv,
    NotApplicableError,
    named,
    next_action,
    require,
)
from nlac_bench.envs.text_env import TextEnv

TIMEOUT_S = 120.0
"""Seconds after which a worker that does not answer fails the check."""


@named("make_vec")
def _make_vec(subject: CheckedEnv) -> str:
    if subject.env_id is None:
        raise NotApplicableError("not registered with Gymnasium")
    mode = "vector_entry_point" if gymnasium.spec(subject.env_id).vector_entry_point else "sync"
    vector = gymnasium.make_vec(subject.env_id, num_envs=3, vectorization_mode=mode, **subject.kwargs)
    try:
        observations, _ = vector.reset(seed=4)
        _compare_rows(subject, observations, (4, 5, 6))
        rng = np.random.default_rng(0)
        with subject.env() as env:
            env.reset(seed=0)
            for _ in range(5):
                observations, rewards, _, _, _ = vector.step([next_action(env, rng) for _ in range(3)])
                require(
                    len(observations) == 3 and rewards.shape == (3,),
                    "step() does not return one entry per row",
                )
    finally:
        vector.close()
    return f"vectorization_mode={mode!r}"


@named("AsyncVectorEnv")
def _async_vector(subject: CheckedEnv) -> str:
    vector = AsyncVectorEnv([subject.make, subject.make], shared_memory=False)
    try:
        vector.reset_async(seed=4)
        observations, _ = vector.reset_wait(timeout=TIMEOUT_S)
        _compare_rows(subject, observations, (4, 5))
        with subject.env() as env:
            env.reset(seed=0)
            rng = np.random.default_rng(0)
            for _ in range(3):
                vector.step_async((next_action(env, rng), next_action(env, rng)))
                observations, _, _, _, _ = vector.step_wait(timeout=TIMEOUT_S)
                require(
                    all(isinstance(o, str) for o in observations),
                    f"observations are not strings: {observations!r:.100}",
                )
    except BaseException:
        vector.close(terminate=True)  # without it, close() waits for a worker that has no answer left
        raise
    vector.close()
    return "shared_memory=False"


def _compare_rows(subject: CheckedEnv, observations: Iterable[object], seeds: tuple[int, ...]) -> None:
    for observation, seed in zip(observations, seeds, strict=True):
        with subject.env() as env:
            alone = env.reset(seed=seed)[0]
        require(
            observation == alone,
            f"the row with seed {seed} begins with {observation!r:.80}, a single environment "
            f"with {alone!r:.80}",
        )


@named("RecordEpisodeStatistics")
def _record_statistics(subject: CheckedEnv) -> str:
    with subject.env() as inner:
        env = RecordEpisodeStatistics(inner)
        env.reset(seed=0)
        total, steps, rng = 0.0, 0, np.random.default_rng(0)
        while steps < MAX_EPISODE_STEPS:
            steps += 1
            _, reward, terminated, truncated, info = env.step(next_action(env, rng))
            total += float(reward)
            if terminated or truncated:
                break
        else:
            raise NotApplicableError(f"no episode of random actions ends within {MAX_EPISODE_STEPS} steps")
        counted = info["episode"]
        require(counted["l"] == steps, f"{counted['l']} steps were counted, {steps} were taken")
        require(
            abs(float(counted["r"]) - total) < 1e-4,
            f"the counted return is {counted['r']}, the sum of rewards {total}",
        )
    return f"{steps} steps"


@named("render")
def _render(subject: CheckedEnv) -> str:
    with subject.env() as env:
        if "ansi" not in (env.metadata.get("render_modes") or []):
            raise NotApplicableError("the environment has no render mode 'ansi'")
    with subject.env(render_mode="ansi") as env:
        observation, _ = env.reset(seed=0)
        text = env.render()
        require(isinstance(text, str) and text, f"render() returns {text!r:.80}")
        if not isinstance(env.unwrapped, TextEnv):
            return ""
        require(observation in text, "render() does not show the observation")  # type: ignore[operator]
        action = next_action(env, np.random.default_rng(0))
        env.step(action)
        require(action in env.render(), "render() does not show the action")  # type: ignore[operator]
    return ""
