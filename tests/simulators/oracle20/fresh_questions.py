"""Reads the lists of questions by fresh eyes and counts how they are answered."""

import json
from pathlib import Path

from nlac_bench.simulators.oracle20.answer.world import World
from nlac_bench.simulators.oracle20.find.sentence import find_question


def answered(path: Path, world: World) -> dict[str, float]:
    """Return the number of questions about objects of ``world``, and the shares right and wrong.

    A fair guess counts as answered with yes, as the knowledge oracle does. Of a homograph one sense must
    agree.
    """
    right = wrong = total = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        senses = [i for i, name in enumerate(world.names) if name == row["object"]]
        if not senses:
            continue
        found = find_question(row["question"])
        values = [0]
        if found.words:
            formula = world.read(found.words)
            truth = world.truth_of(formula)
            values = [1 if world.fairly_guessed(formula, i) else int(truth[i]) for i in senses]
        expected = 1 if row["answer"] else -1
        right += expected in values
        wrong += all(value == -expected for value in values)
        total += 1
    return {"questions": total, "right": right / total, "wrong": wrong / total}


def check(path: Path, world: World, questions: int, right: float, wrong: float) -> None:
    """Of the ``questions`` of a list at least ``right`` are answered right and at most ``wrong`` wrong."""
    rates = answered(path, world)
    assert rates["questions"] == questions
    assert rates["right"] >= right
    assert rates["wrong"] <= wrong
