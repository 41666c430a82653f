"""Defines families of problems and their random choices.

A family is a function ``(draw, level) -> Draft``. It chooses its parameters with ``draw``, declares them
with ``draw.claim(...)`` and returns the statement, the answer and the verdict of a second method.

**Train and test are disjoint by construction.** ``claim`` takes the canonical parameters: the values that
distinguish the problems of a family, in a form that does not depend on phrasing, level or the order of
interchangeable parts. A hash of family and parameters assigns every problem to one side, that of training or
that of the test; a draw that belongs to the other side is discarded and repeated. Validation problems are on
the side of the test.

**Templates are held out.** A template is a wording of a family. All templates of ``NEW_FAMILIES``, and of
each other family the last of its wordings, at least a fifth, are only in the split ``test_new``.
"""

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal, TypeAlias, TypeVar

import sympy

from nlac_bench.envs.math500_hard.generator.latex import Value

Side: TypeAlias = Literal["train", "test"]
T = TypeVar("T")

TEST_SHARE = 64
"""Share of each family's problems that are reserved for the test, in units of 1/256."""


NEW_FAMILIES = frozenset((
    "alternating_work", "cross_product", "exponent_equation", "gcd_lcm", "missing_number", "power_tower",
    "stars_and_bars", "telescoping_sum", "triangle_radii",
))  # fmt: skip
"""Families that only ``test_new`` has; at least one of each subject, and some of each level."""


class RedrawError(Exception):
    """Raised if the parameters give no valid problem of the side and level; others are then drawn."""


class ClaimedError(Exception):
    """Raised by ``claim`` to stop the family if only the canonical parameters are needed."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A problem that a family returns.

    ``check`` is the verdict of a second method, which is independent of the one that computed ``value``:
    substituting the answer into the statement, counting the cases one by one, or another formula.
    """

    statement: str
    value: Value
    work: str
    check: bool


FamilyFn: TypeAlias = Callable[["Draw", int], Draft]


@dataclass(frozen=True, slots=True)
class Family:
    """A family: its function, its name, its subject (folder name in MATH) and its levels."""

    name: str
    subject: str
    levels: tuple[int, ...]
    make: FamilyFn


FAMILIES: dict[str, Family] = {}
"""All families by name, in the order of definition; importing the subject modules fills it."""


def family(subject: str, *levels: int) -> Callable[[FamilyFn], FamilyFn]:
    """Register the decorated function as a family of ``subject``."""

    def register(make: FamilyFn) -> FamilyFn:
        FAMILIES[make.__name__] = Family(make.__name__, subject, levels, make)
        return make

    return register


def side_of(family_name: str, key: tuple[object, ...]) -> Side:
    """Return the side of the problem of ``family_name`` with the canonical parameters ``key``."""
    digest = hashlib.sha256(f"{family_name}{key!r}".encode()).digest()
    return "test" if digest[0] < TEST_SHARE else "train"


def close(value: object, number: complex) -> bool:
    """Return whether the exact ``value`` equals ``number``, a float that was computed in another way."""
    exact = value if isinstance(value, int | Fraction) else complex(sympy.sympify(value).evalf(20))
    return bool(abs(exact - number) <= 1e-9 * max(1.0, abs(number)))


class Draw:
    """Random choices of one problem, the same on every Python version and machine.

    Only ``getrandbits`` of the Mersenne Twister is used: the other methods of ``random.Random`` may change
    between Python versions, and a task identifier must always denote the same problem.
    """

    def __init__(
        self, family_name: str, side: Side, seed: str, *, key_only: bool = False, new: bool = False
    ) -> None:
        self._family = family_name
        self._side = side
        self._key_only = key_only
        self._new = new
        self._bits = random.Random(int.from_bytes(hashlib.sha256(seed.encode()).digest())).getrandbits
        self.key: tuple[object, ...] | None = None

    def claim(self, *key: object) -> None:
        """Declare the canonical parameters; called once per draft, after every ``need``.

        Raises:
            RedrawError: the problem belongs to the other side.
        """
        assert self.key is None, f"{self._family} claims twice"
        if side_of(self._family, key) != self._side:
            raise RedrawError
        self.key = key
        if self._key_only:
            raise ClaimedError

    def need(self, condition: bool) -> None:
        """Reject the drawn parameters unless ``condition`` is true.

        Raises:
            RedrawError: ``condition`` is false.
        """
        assert self.key is None, f"{self._family} sets a condition after its claim"
        if not condition:
            raise RedrawError

    def integer(self, low: int, high: int) -> int:
        """Draw an integer from ``low`` to ``high``, both included."""
        return low + self._bits(64) % (high - low + 1)

    def nonzero(self, low: int, high: int) -> int:
        """Draw an integer other than 0 from ``low`` to ``high``, both included."""
        while (value := self.integer(low, high)) == 0:
            pass
        return value

    def choice(self, options: Sequence[T]) -> T:
        """Draw one of ``options``."""
        return options[self._bits(64) % len(options)]

    def several(self, options: Sequence[T], count: int) -> list[T]:
        """Draw ``count`` of ``options`` without replacement, in random order."""
        pool = list(options)
        return [pool.pop(self._bits(64) % len(pool)) for _ in range(count)]

    def phrase(self, *phrasings: str) -> str:
        """Draw one of several wordings of the same problem, and for a new one a wording that is held out."""
        if self._family in NEW_FAMILIES or len(phrasings) < 2:
            return self.choice(phrasings)
        first_new = len(phrasings) - ceil(len(phrasings) / 5)
        return self.choice(phrasings[first_new:] if self._new else phrasings[:first_new])
