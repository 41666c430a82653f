"""Draws the procedures of each world.

Open worlds draw them independently. The held-out worlds are a balanced design: each procedure of a kind is
demanded by two of the eight worlds for measuring and by one of the four spare ones, so that an agent that
plays the same in every world succeeds in exactly one request out of four over them, whatever it guesses.

At the level ``conditional`` a world also has a condition, and two different procedures of each kind: one for
orders for which the condition holds, one for the others. Both are balanced in the same way, and so is the
condition.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from nlac_bench.envs.shop_worlds.conditions import CONDITIONS
from nlac_bench.envs.shop_worlds.procedures import KINDS, Procedure, name_of
from nlac_bench.envs.tau.embedded.draws import Draws
from nlac_bench.envs.tau.rows import Order, RetailUser

OPEN = range(1_000)
"""Worlds for pre-training, examples and development."""
MEASURED = range(1_000, 1_008)
"""Held-out worlds for reported figures."""
SPARE = range(1_008, 1_012)
"""Held-out worlds for tuning and for pilots."""
HELD_OUT = (*MEASURED, *SPARE)
"""A run with seed s plays ``HELD_OUT[s]``."""

_SEED = 20_261_123
_CONDITIONAL_SEED = 20_261_126_000


@dataclass(frozen=True, slots=True)
class ShopWorld:
    """The procedures that a world requires, by kind of request.

    With the name of a ``condition``, ``procedures`` are those for the orders for which it holds, and
    ``otherwise`` those for the others; without, ``procedures`` are those for all orders.
    """

    procedures: Mapping[str, Procedure]
    condition: str | None = None
    otherwise: Mapping[str, Procedure] | None = None

    def demanded(self, order: Order, user: RetailUser) -> Mapping[str, Procedure]:
        """Return the procedures for requests about ``order`` of ``user``, by kind."""
        if self.condition is None or self.otherwise is None:
            return self.procedures
        return self.procedures if CONDITIONS[self.condition].holds(order, user) else self.otherwise

    def names(self) -> dict[str, str]:
        """Return the names of the procedures by kind, such as ``mistake+confirmed``; with a condition, for
        instance ``mistake+confirmed if paypal, else not_needed+at_once``."""
        if self.otherwise is None:
            return {kind: name_of(procedure) for kind, procedure in self.procedures.items()}
        return {
            kind: f"{name_of(procedure)} if {self.condition}, else {name_of(self.otherwise[kind])}"
            for kind, procedure in self.procedures.items()
        }


def world_of(world: int, conditional: bool) -> ShopWorld:
    """Return what ``world`` requires at the level ``conditional``, or at the other levels.

    Raises:
        ValueError: there is no such world.
    """
    procedures = procedures_of(world)
    if not conditional:
        return ShopWorld(procedures)
    if world in HELD_OUT:
        return _held_out_conditional()[world]
    draws = Draws(_CONDITIONAL_SEED + 1 + world)
    while True:
        pairs = {name: draws.some(kind.procedures, 2) for name, kind in KINDS.items()}
        drawn = _conditional(draws.pick(list(CONDITIONS)), pairs)
        if drawn not in _held_out_conditional().values():
            return drawn


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


@cache
def _held_out_conditional() -> Mapping[int, ShopWorld]:
    draws = Draws(_CONDITIONAL_SEED)
    conditions: list[str] = []
    pairs: dict[str, list[list[Procedure]]] = {name: [] for name in KINDS}
    for count in (len(MEASURED), len(SPARE)):
        conditions += draws.some(list(CONDITIONS) * (count // 4), count)
        for name, kind in KINDS.items():
            balanced = kind.procedures * (count // 4)
            while True:
                drawn = [list(pair) for pair in zip(balanced, draws.some(balanced, count), strict=True)]
                if all(first != second for first, second in drawn):
                    break
            pairs[name] += draws.some(drawn, count)
    return {
        world: _conditional(conditions[place], {name: column[place] for name, column in pairs.items()})
        for place, world in enumerate(HELD_OUT)
    }


def _conditional(condition: str, pairs: Mapping[str, list[Procedure]]) -> ShopWorld:
    return ShopWorld(
        {name: pair[0] for name, pair in pairs.items()},
        condition,
        {name: pair[1] for name, pair in pairs.items()},
    )
