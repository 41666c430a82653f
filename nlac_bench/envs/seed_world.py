"""Determines which world a run plays: each seed has its own world."""

from nlac_bench.envs.env_string import parse
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import ConfigError


def world_of_seed(text: str, seed: int, env: TextEnv) -> dict[str, int]:
    """Return the constructor argument ``world`` for a run of the environment ``text`` with ``seed``.

    Args:
        text: as for ``registry.make``.
        seed: the base seed of the run.
        env: the environment ``text``, in any world.

    Returns:
        ``{"world": W}`` if ``text`` has the argument ``worlds`` and ``env`` has worlds, else an empty dict.

    Raises:
        ConfigError: there is no world for ``seed``, or ``text`` also has the argument ``world``.
    """
    _, arguments = parse(text)
    worlds = env.worlds
    if "worlds" not in arguments or not worlds:
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
