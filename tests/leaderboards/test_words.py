"""What a page says of its board is true of this board: kept and published figures, and small boards."""

import json
import tomllib
from pathlib import Path

import pytest

from nlac_bench.leaderboards.boards import make_boards
from nlac_bench.leaderboards.build import render_boards
from nlac_bench.leaderboards.entry import Entry
from nlac_bench.leaderboards.figures import board_charts
from nlac_bench.leaderboards.formats import duration
from nlac_bench.leaderboards.kept import imported, reported
from nlac_bench.leaderboards.strip import strip
from nlac_bench.leaderboards.view import BoardView
from tests.leaderboards.boards_of import algorithm
from tests.leaderboards.factory import KEY, entry

LEADERBOARDS = Path(__file__).parents[2] / "leaderboards"


def view(*entries: Entry) -> BoardView:
    """The only board of ``entries``."""
    [board] = make_boards(entries)
    return BoardView(board)


def published() -> list[Entry]:
    """The figures of publications in the repository."""
    return list(reported(tomllib.loads((LEADERBOARDS / "reported.toml").read_text(encoding="utf-8"))))


def test_a_board_of_floors_and_published_figures_counts_them_and_compares_them() -> None:
    key = KEY.model_copy(update={"data_source": "official", "env": "tau_airline"})
    floors = [
        entry("oracle", [True] * 50, key=key),
        entry("constant", [False] * 50, key=key),
        entry("silent", [True] * 19 + [False] * 31, key=key),
    ]
    cited = [each for each in published() if each.board.env == "tau_airline"]
    board = view(*floors, *cited)
    assert board.summary == "no entry yet, 1 oracle, 2 floors, 8 published figures; 50 tasks × 1 trial"
    assert "ordered" not in board.caption and "Oracle and floors come first" not in board.caption
    assert board.floor_against_reported == (
        "19 of the 50 tasks here are solved by the agent silent, which uses no model (success 0.380); "
        "5 of the 8 published figures are below it."
    )
    below = [row.success for row in board.reported if board.below_best_floor(row)]
    assert below == [0.365, 0.36, 0.325, 0.32, 0.225]


def test_published_figures_alone() -> None:
    board = view(*(each for each in published() if each.board.env == "tau_retail"))
    assert board.summary == "no entry yet, 8 published figures" and board.floor_against_reported == ""
    assert {value for label, value in board.facts if label.startswith("Limit")} == {"–"}
    assert not any("not trained" in warning for each in published() for warning in each.warnings)


def test_a_title_has_what_tells_boards_apart() -> None:
    assert view(entry("a", [True])).title == (
        "tau_retail, models (embedded data, test tasks, level easy, user scripted, version 1)"
    )


def test_what_was_not_kept_is_a_dash_and_is_not_drawn_as_free() -> None:
    comparison = json.loads((LEADERBOARDS / "miniature" / "comparison.json").read_bytes())
    board = next(each for each in map(BoardView, make_boards(imported(comparison))) if "retail" in each.title)
    rows = {row.agent: row for row in board.rows}
    base, nlac = rows["base"], rows["nlac"]
    assert (base.tokens, base.hours, base.exceptions) == (None, None, "–, –, –")
    assert dict(base.facts)["Time of the test episodes"] == "–"
    assert nlac.tokens and nlac.hours and nlac.exceptions == "0, 0, 0", "the sweep's file has these"
    assert dict(nlac.facts)["Replies cut at their length"] == "–", "the ends of episodes were not kept"
    cost = board_charts(board.rows, [])[0]
    assert "base" not in {row[0] for row in cost.table.rows} and "left out" in cost.caption
    assert "Dashed" not in board.note and "command" not in board.note and "comparisons" not in board.note


def test_the_tests_of_seeds_have_their_intervals() -> None:
    """In the tables of the learning curves; the interval is that of the seed's own tasks."""
    board = view(algorithm("nlac", 0.6), algorithm("ppo", 0.5))
    curves = board_charts(board.rows, [])[1]
    tests = [row for row in curves.table.rows if row[2] == "test"]
    assert len(tests) == 4
    for _, _, _, _, success, low, high in tests:
        assert isinstance(low, float) and isinstance(success, float) and isinstance(high, float)
        assert low < success < high


def test_a_page_says_only_what_is_on_it() -> None:
    floors = [entry("oracle", [True] * 12), entry("constant", [False] * 12)]
    alone = "".join(render_boards([view(*floors).board]).values())
    assert "A place is an interval" not in alone and "data-controls" not in alone.split("<script")[0]
    both = "".join(
        render_boards([view(*floors, entry("a", [True] * 12), entry("b", [False] * 12)).board]).values()
    )
    assert "A place is an interval" in both and 'role="search"' in both
    assert "replayed</b>" not in both and "imported</b>" not in both


@pytest.mark.parametrize(
    ("hours", "said"),
    [(None, "–"), (0.3 / 3600, "0.3 s"), (0.1, "6 min"), (0.5, "30 min"), (1.25, "1.2 h"), (100.0, "100 h")],
)
def test_times_have_a_unit_that_fits(hours: float | None, said: str) -> None:
    assert duration(hours) == said


def test_a_task_that_was_played_once_succeeds_or_not() -> None:
    single = strip(entry("a", [True, False]).outcomes)
    assert single.summary == "Of 2 tasks: 1 succeeded, 1 did not succeed, 0 without a score"
    seeds = strip(algorithm("a", 0.5).outcomes)
    assert "in every seed" in seeds.summary and "trial" not in seeds.summary
