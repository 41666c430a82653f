"""Warns of properties that the contract allows but that are probably mistakes."""

import contextlib

import gymnasium

from nlac_bench.envs.adapter import MAX_STEPS, PlainEnv, reports_success
from nlac_bench.envs.conformance.play import MakeEnv
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import SIGNALS


def advise(make_env: MakeEnv) -> list[str]:
    """Return warnings about an environment; empty if there are none.

    They cover an empty policy text, a constructor without ``split``, and a plain Gymnasium environment that
    does not report success, never ends or cannot be copied. An environment that cannot be made or reset gets
    no warning: it fails the checks.
    """
    try:
        with contextlib.closing(make_env()) as env:
            return [*_about_policy(env), *_about_splits(env, make_env), *_about_training(env)]
    except SIGNALS:
        raise
    except BaseException:  # any exception of the environment fails the checks
        return []


def _about_policy(env: gymnasium.Env[str, str]) -> list[str]:
    raw = env.unwrapped
    text_env = raw if isinstance(raw, TextEnv) else PlainEnv(env, "env")
    if text_env.reset(seed=0)[1]["policy"].strip():
        return []
    return [
        "the policy text is empty: agents are not told the rules. Describe them in the docstring of the "
        "environment's class"
        + (", or override policy()" if isinstance(raw, TextEnv) else ", or set info['policy'] in reset()")
    ]


def _about_splits(env: gymnasium.Env[str, str], make_env: MakeEnv) -> list[str]:
    if not isinstance(env.unwrapped, TextEnv):
        return []
    try:
        make_env(split="train").close()
    except TypeError:
        return ["the constructor does not accept split='train': agents cannot be trained on it"]
    return []


def _about_training(env: gymnasium.Env[str, str]) -> list[str]:
    if isinstance(env.unwrapped, TextEnv):
        return []
    plain, warnings = PlainEnv(env, "env"), []
    if reports_success(plain) is False:
        warnings.append(
            "episodes end without info['success']: runs show the mean reward and no success rate, and agents "
            "cannot be trained on it"
        )
    if plain.cut:
        warnings.append(
            f"no limit is stated, and an episode of random actions did not end within {MAX_STEPS:,} steps, "
            "so runs truncate it there. Pass max_episode_steps to gymnasium.register, or lower --max-turns"
        )
    try:
        plain.fork()
    except Exception as error:
        warnings.append(
            f"copy.deepcopy of the environment raises {type(error).__name__}: {error}; agents cannot be "
            "trained on it"
        )
    return warnings
