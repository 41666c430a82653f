"""The boards in ``leaderboards/boards`` are those that the entries in ``leaderboards/results`` give.

Slow: matplotlib draws the figures of all boards. Other versions than those of constraints.txt give other
bytes.
"""

import re
from pathlib import Path

import pytest

from nlac_bench.leaderboards.boards import collect
from nlac_bench.reports.boards.build import differing, render_boards

BOARDS = Path(__file__).parents[2] / "leaderboards"


@pytest.mark.slow
def test_committed_boards_are_rendered_from_the_committed_entries() -> None:
    collected = collect(BOARDS / "results")
    assert collected.boards and not collected.rejected
    changed = differing(render_boards(collected.boards), BOARDS / "boards")
    assert not changed, f"{changed} differ: run make boards"


def test_every_board_has_a_title_of_its_own() -> None:
    titles = re.findall(r"^\| \[(.*?)\]\(", (BOARDS / "boards" / "index.md").read_text(), re.M)
    assert len(titles) > 10 and sorted(titles) == sorted(set(titles))
