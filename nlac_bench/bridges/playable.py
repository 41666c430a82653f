"""Makes environments for the agents of other packages."""

from typing import Any

from nlac_bench.envs import registry
from nlac_bench.envs.adapter import PlainEnv
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import NlacBenchError


def playable(text: str, **arguments: Any) -> TextEnv:
    """Make the environment named ``text`` (see ``registry.make``), whose simulators need no model.

    Raises:
        NlacBenchError: the environment cannot be made, or a model has to play its user.
    """
    env = registry.make_text_env(text, **arguments)
    if getattr(env, "floors_only", False):
        raise NlacBenchError(
            f"{text} with these tasks needs a model that plays the user, which only `nlac-bench run` has"
        )
    return env


def another(env: TextEnv, text: str) -> TextEnv:
    """Return an environment like ``env``, made from ``text``, for another episode at the same time.

    It is a fork, which shares the data; plain Gymnasium environments, which may not be copied, are made anew.
    """
    return playable(text, split=env.split) if isinstance(env, PlainEnv) else env.fork()
