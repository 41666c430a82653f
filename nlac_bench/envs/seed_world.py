"""Determines which world a run plays: each seed has its own world."""

from typing import Any

from nlac_bench.envs import registry
from nlac_bench.envs.env_string import parse
from nlac_bench.errors import ConfigError


def world_of_seed(text: str, seed: int, **kwargs: Any) -> dict[str, int]:
    """Return the constructor argument ``world`` for a run of the environment ``text`` with ``seed``.

    Args:
        text: as for ``registry.make``.
        seed: the base seed of the run.
        kwargs: further constructor arguments.

    Returns:
        ``{"world": W}`` if ``text`` has the argument ``worlds`` and its environment has worlds, else an empty
        dict.

    Raises:
        ConfigError: there is no world for ``seed``, or ``text`` also has the argument ``world``.
        NlacBenchError: the environment cannot be made.
    """
    _, arguments = parse(text)
    if "worlds" not in arguments:
        return {}
    worlds = getattr(registry.make_playable(text, **kwargs).unwrapped, "worlds", ())
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
