"""Draws the procedures of each world.

Open worlds draw them independently. The held-out worlds are a balanced design: each procedure of a kind is
demanded by two of the eight worlds for measuring and by one of the four spare ones, so that an agent that
plays the same in every world succeeds in exactly one request out of four over them, whatever it guesses.
"""

from collections.abc import Mapping
from functools import cache

from nlac_bench.envs.shop_worlds.procedures import KINDS, Procedure
from nlac_bench.envs.tau.embedded.draws import Draws

OPEN = range(1_000)
"""Worlds for pre-training, examples and development."""
MEASURED = range(1_000, 1_008)
"""Held-out worlds for reported figures."""
SPARE = range(1_008, 1_012)
"""Held-out worlds for tuning and for pilots."""
HELD_OUT = (*MEASURED, *SPARE)
"""A run with seed s plays ``HELD_OUT[s]``."""

_SEED = 20_261_123


def procedures_of(world: int) -> Mapping[str, Procedure]:
    """Return the procedure that ``world`` requires for each kind of request.

    Raises:
        ValueError: there is no such world.
    """
    if type(world) is not int or not 0 <= world <= HELD_OUT[-1]:
        raise ValueError(f"world must be an integer from 0 to {HELD_OUT[-1]}, got {world!r}")
    if world in HELD_OUT:
        return _held_out()[world]
    # Held-out combinations do not occur among the open worlds.
    draws = Draws(_SEED + 1 + world)
    while True:
        drawn = {name: draws.pick(kind.procedures) for name, kind in KINDS.items()}
        if drawn not in _held_out().values():
            return drawn


@cache
def _held_out() -> Mapping[int, Mapping[str, Procedure]]:
    draws = Draws(_SEED)
    columns = {}
    for name, kind in KINDS.items():
        measured = draws.some(kind.procedures * (len(MEASURED) // 4), len(MEASURED))
        columns[name] = [*measured, *draws.some(kind.procedures, len(SPARE))]
    return {
        world: {name: column[place] for name, column in columns.items()}
        for place, world in enumerate(HELD_OUT)
    }
