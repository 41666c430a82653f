"""Two questions in one message are both answered; a right report without an earlier yes ends the request."""

import pytest

from tests.simulators.customer.tau_matrix import Matrix
from tests.simulators.customer.tau_pairs import measure
from tests.simulators.customer.tau_situations import situations

pytestmark = pytest.mark.lists

MOST = {
    "two questions: one not answered": 0.02, "report without a yes: not accepted": 0.02,
    "wrong report accepted": 0.0, "same text three times": 0.0,
}  # fmt: skip
"""Largest share of messages that may be misunderstood."""


@pytest.mark.parametrize(
    ("name", "data", "stride"),
    [
        ("retail", "embedded", 150), ("airline", "embedded", 150),
        pytest.param("retail", "official", 100, marks=pytest.mark.official),
    ],
)  # fmt: skip
def test_users_understand_messages_of_two_parts(name: str, data: str, stride: int) -> None:
    matrix = Matrix()
    measure(situations(name, data, stride), name, matrix)
    print(matrix.table())
    assert matrix.counts.keys() == {f"{name} {row}" for row in MOST}
    assert all(count["tried"] >= 20 for count in matrix.counts.values())
    exceeded = {
        row: matrix.rate(row) for row in matrix.counts if matrix.rate(row) > MOST[row.partition(" ")[2]]
    }
    assert exceeded == {}
