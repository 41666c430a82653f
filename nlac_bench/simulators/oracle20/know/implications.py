"""Applies rules that are true of every object, to fill cells from categories."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nlac_bench.errors import DataError
from nlac_bench.simulators.oracle20.know.knowledge import KB

Literal = tuple[str, int]
"""An attribute's id and +1, or -1 for its opposite."""


@dataclass(frozen=True, slots=True)
class ImplicationRule:
    """A rule: ``given``, all together, imply ``then``."""

    given: tuple[Literal, ...]
    then: Literal


@lru_cache(maxsize=1)
def rules() -> tuple[ImplicationRule, ...]:
    """Return the rules of ``kb/implications.txt``."""
    result = []
    for line in (KB / "implications.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        left, arrow, right = line.partition("=>")
        if not arrow:
            raise DataError(f"implications.txt: {line!r} has no '=>'")
        given = tuple(_literal(word) for word in left.split())
        result += [ImplicationRule(given, _literal(word)) for word in right.split()]
    return tuple(result)


def close(cells: np.ndarray, row: Mapping[str, int]) -> None:
    """Fill unknown cells (0) by the rules, forwards and, for rules with one condition, backwards; in place.

    Known cells are not changed.
    """
    changed = True
    while changed:
        changed = False
        for rule in rules():
            changed |= _set(cells, row, holds(cells, row, rule.given), rule.then)
            if len(rule.given) == 1:
                attribute, sign = rule.then
                fails = cells[row[attribute]] == -sign
                changed |= _set(cells, row, fails, (rule.given[0][0], -rule.given[0][1]))


def _set(cells: np.ndarray, row: Mapping[str, int], where: np.ndarray, literal: Literal) -> bool:
    target = cells[row[literal[0]]]
    new = where & (target == 0)
    target[new] = literal[1]
    return bool(new.any())


def holds(cells: np.ndarray, row: Mapping[str, int], given: tuple[Literal, ...]) -> np.ndarray:
    """Return for which objects all literals of ``given`` are known to hold, ``bool [objects]``."""
    return np.logical_and.reduce([cells[row[attribute]] == sign for attribute, sign in given])


def _literal(word: str) -> Literal:
    return (word[1:], -1) if word.startswith("!") else (word, 1)
