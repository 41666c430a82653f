"""Finds objects of the knowledge base that violate a rule of ``kb/implications.txt``."""

from collections.abc import Mapping

import numpy as np

from nlac_bench.simulators.oracle20.know.implications import Literal, holds, rules


def contradictions(cells: np.ndarray, row: Mapping[str, int], names: tuple[str, ...]) -> list[str]:
    """Return every object for which a rule is violated, as "object: rule"."""
    return [
        f"{names[i]}: {' '.join(map(_spelled, rule.given))} => {_spelled(rule.then)}"
        for rule in rules()
        for i in np.flatnonzero(holds(cells, row, rule.given) & (cells[row[rule.then[0]]] == -rule.then[1]))
    ]


def _spelled(literal: Literal) -> str:
    return ("!" if literal[1] < 0 else "") + literal[0]
