"""What scripted users understand, over phrases times situations, within bounds."""

from pathlib import Path

import pytest

from tests.simulators.customer.tau_matrix import PHRASES, Matrix, load, measure
from tests.simulators.customer.tau_situations import situations

MOST = {
    "proposal: false no": 0.02, "proposal: false yes": 0.0, "identity: not given": 0.02,
    "confirmation: not recognised": 0.02, "note: goal lost": 0.0, "note: false no or yes": 0.02,
    "offer: not answered": 0.02, "report: not noticed": 0.02,
}  # fmt: skip
"""Largest share of messages that may be misunderstood."""
FILES = sorted(Path(__file__).parent.glob(f"{PHRASES.stem}*.jsonl"))


def check(name: str, data: str, stride: int, every: int) -> None:
    """No row of the table exceeds its bound."""
    matrix = Matrix()
    for path in FILES:
        measure(load(path), situations(name, data, stride), name, matrix, every)
    print(matrix.table())
    assert matrix.counts.keys() == {f"{name} {row}" for row in MOST}
    exceeded = {
        row: matrix.rate(row) for row in matrix.counts if matrix.rate(row) > MOST[row.partition(" ")[2]]
    }
    assert exceeded == {}
    lost = [text for text, count in matrix.phrases.items() if count["faults"] == count["tried"] > 1]
    assert lost == [], "messages that no user understands; among many lists their share is small"


@pytest.mark.parametrize("name", ["retail", "airline"])
def test_users_understand_the_phrases(name: str) -> None:
    check(name, "embedded", stride=60, every=32)


@pytest.mark.slow  # sends every phrase to every hundredth embedded user that it fits
@pytest.mark.parametrize("name", ["retail", "airline"])
def test_more_users_understand_the_phrases(name: str) -> None:
    check(name, "embedded", stride=10, every=10)


@pytest.mark.slow  # sends every phrase to every sixtieth official training user that it fits
@pytest.mark.official
def test_official_users_understand_the_phrases() -> None:
    check("retail", "official", stride=5, every=12)


def test_there_are_enough_phrases() -> None:
    phrases = [phrase for path in FILES for phrase in load(path)]
    counts = {category: sum(p["category"] == category for p in phrases) for category in
              ("proposal", "identity", "confirmation", "offer", "report", "note")}  # fmt: skip
    least = {"proposal": 30, "identity": 15, "confirmation": 15, "offer": 10, "report": 10, "note": 10}
    assert all(counts[category] >= least[category] for category in least)
