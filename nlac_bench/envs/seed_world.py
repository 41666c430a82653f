"""Determines which world a run plays: each seed has its own world."""

from nlac_bench.envs import registry
from nlac_bench.envs.env_string import parse
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import ConfigError


def world_of_seed(text: str, seed: int) -> dict[str, int]:
    """Return the constructor argument ``world`` for a run of the environment ``text`` with ``seed``.

    Args:
        text: as for ``registry.make``.
        seed: the base seed of the run.

    Returns:
        ``{"world": W}`` if the environment has worlds for the argument ``worlds`` in ``text``, else an empty
        dict; the constructor refuses other values of ``worlds``.

    Raises:
        ConfigError: there is no world for ``seed``, or ``text`` also has the argument ``world``.
        UnknownIdError: no environment has that name.
    """
    _, arguments = parse(text)
    if not isinstance(named := arguments.get("worlds"), str):
        return {}
    env = registry.class_of(text)
    worlds = env.worlds.get(named) if isinstance(env, type) and issubclass(env, TextEnv) else None
    if not worlds:
        return {}
    if "world" in arguments:
        raise ConfigError(
            f"{text}: the seed determines the world of a run with 'worlds'; leave out 'world' or 'worlds'"
        )
    if not 0 <= seed < len(worlds):
        raise ConfigError(
            f"seed {seed} has no world: {text} has {len(worlds)} worlds, one for each seed from 0 to "
            f"{len(worlds) - 1}"
        )
    return {"world": worlds[seed]}
