"""Makes environments for the agents of other packages."""

from typing import Any

from nlac_bench.envs import registry
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
