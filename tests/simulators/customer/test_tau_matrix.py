"""What scripted users understand, over phrases times situations, within bounds."""

from pathlib import Path

import pytest

from tests.simulators.customer.tau_matrix import PHRASES, Matrix, load, measure
from tests.simulators.customer.tau_situations import situations

pytestmark = pytest.mark.lists

MOST = {
    "proposal: false no": 0.02, "proposal: false yes": 0.0, "identity: not given": 0.02,
    "confirmation: not recognised": 0.02, "note: goal lost": 0.0, "note: false no or yes": 0.02,
    "offer: not answered": 0.02, "report: not noticed": 0.02,
}  # fmt: skip
"""Largest share of messages that may be misunderstood."""
LOST = 0.005
"""Largest share of phrases that no user understands."""
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
    assert len(lost) <= LOST * len(matrix.phrases), f"messages that no user understands: {lost}"


@pytest.mark.parametrize("name", ["retail", "airline"])
def test_users_understand_the_phrases(name: str) -> None:
    check(name, "embedded", stride=60, every=32)


# Faults depend on the phrase far more than on the user. Each phrase meets one or two users of each kind of
# goal, its neighbours other ones, at half the cost of four users.
@pytest.mark.slow  # sends every phrase to one or two embedded users of each kind of goal that it fits
@pytest.mark.parametrize("name", ["retail", "airline"])
def test_more_users_understand_the_phrases(name: str) -> None:
    check(name, "embedded", stride=10, every=40)


@pytest.mark.slow  # sends every phrase to one or two official training users of each kind of goal
@pytest.mark.official
def test_official_users_understand_the_phrases() -> None:
    check("retail", "official", stride=5, every=24)


def test_there_are_enough_phrases() -> None:
    phrases = [phrase for path in FILES for phrase in load(path)]
    counts = {category: sum(p["category"] == category for p in phrases) for category in
              ("proposal", "identity", "confirmation", "offer", "report", "note")}  # fmt: skip
    least = {"proposal": 30, "identity": 15, "confirmation": 15, "offer": 10, "report": 10, "note": 10}
    assert all(counts[category] >= least[category] for category in least)
