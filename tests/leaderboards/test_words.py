"""What a page says of its board is true of this board: published figures, and small boards."""

import csv
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from nlac_bench.leaderboards.boards import make_boards
from nlac_bench.leaderboards.entry import Entry, RunOutcomes, TaskOutcome
from nlac_bench.leaderboards.entry_file import sealed
from nlac_bench.leaderboards.numbers import numbers_of
from nlac_bench.leaderboards.reported import reported
from nlac_bench.leaderboards.subject import Subject, Training, TrainingCost
from nlac_bench.reports.boards.build import render_boards
from nlac_bench.reports.boards.figures import board_charts
from nlac_bench.reports.boards.formats import duration
from nlac_bench.reports.boards.names import entry_names
from nlac_bench.reports.boards.strip import MAX_TASKS, strip_of, summary_of
from nlac_bench.reports.boards.view import BoardView
from nlac_bench.reports.boards.words import NO_SUCCESS
from nlac_bench.stats.significance import holm
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
        "19 of the 50 tasks here are solved by the agent silent, which uses no model (success 0.380). "
        "Of the 8 published figures, 0 are significantly above it and 0 below it (Fisher's exact test as if "
        "each were measured on 50 tasks, Holm's correction)."
    )
    assert not any(board.below_best_floor(row) for row in board.reported), "0.365 is less than one task below"
    higher = entry("silent", [True] * 40 + [False] * 10, key=key)
    tested = view(floors[0], higher, *cited)
    below = [row.success or 0.0 for row in tested.reported if tested.below_best_floor(row)]
    assert below == [0.46, 0.43, 0.42, 0.365, 0.36, 0.325, 0.32, 0.225]
    p = [stats.fisher_exact([[round(rate * 50), 50 - round(rate * 50)], [40, 10]]).pvalue for rate in below]
    assert [tested.board.published_p[row.id] for row in tested.reported] == pytest.approx(holm(p))


def test_published_figures_alone() -> None:
    board = view(*(each for each in published() if each.board.env == "tau_retail"))
    assert board.summary == "no entry yet, 8 published figures" and board.floor_against_reported == ""
    assert {value for label, value in board.facts if label.startswith("Limit")} == {"–"}
    assert not any("not trained" in warning for each in published() for warning in each.warnings)


def test_a_title_has_what_tells_boards_apart() -> None:
    assert view(entry("a", [True])).title == (
        "tau_retail, models (embedded data, test tasks, level easy, user scripted, version 1)"
    )


def test_the_tests_of_seeds_have_their_intervals() -> None:
    """In the tables of the learning curves; the interval is that of the seed's own tasks."""
    board = view(algorithm("nlac", 0.6), algorithm("ppo", 0.5))
    curves = board_charts(board.rows, [])[1]
    tests = [row for row in curves.table.rows if row[2] == "test"]
    assert len(tests) == 6
    for _, _, _, _, success, low, high in tests:
        assert isinstance(low, float) and isinstance(success, float) and isinstance(high, float)
        assert low < success < high


def test_a_page_says_only_what_is_on_it() -> None:
    floors = [entry("oracle", [True] * 12), entry("constant", [False] * 12)]
    alone = "".join(render_boards([view(*floors).board]).values())
    assert "A place is an interval" not in alone and 'role="search"' not in alone
    both = "".join(
        render_boards([view(*floors, entry("a", [True] * 12), entry("b", [False] * 12)).board]).values()
    )
    assert "A place is an interval" in both and 'role="search"' in both
    assert "replayed</b>" not in both and "reported</b>" not in both


def rewarded(agent: str, rewards: list[float], cut: int = 0) -> Entry:
    """An entry of an environment without a success; the first ``cut`` episodes were cut by a limit."""
    tasks = {
        f"{i:03d}": TaskOutcome(
            state=["scored" if i < cut else "unscored"], success=[False if i < cut else None],
            reward=[reward], end_reason=["turn_limit" if i < cut else "terminated"], truncated=[i < cut],
        )
        for i, reward in enumerate(rewards)
    }  # fmt: skip
    outcomes = [RunOutcomes(seed=0, tasks=tasks)]
    changes = {"outcomes": outcomes, "numbers": numbers_of(outcomes)}
    return sealed(
        {"kind": "models", "board": KEY, "subject": Subject(agent=agent), "level": "recomputed", **changes}
    )


@pytest.mark.parametrize("cut", [0, 1])
def test_without_a_success_a_board_shows_rewards_and_compares_nothing(cut: int) -> None:
    board = view(rewarded("a", [1.0, 3.0, 5.0], cut), rewarded("b", [2.0, 2.0, 2.0], cut))
    assert board.verdict == NO_SUCCESS and board.caption == "2 unranked entries; 3 tasks × 1 trial."
    rows = {row.agent: row for row in board.rows}
    assert (rows["a"].reward, rows["a"].success, rows["a"].low, rows["a"].place) == (3.0, None, None, "–")
    assert dict(rows["a"].facts)["Success, missing episodes counted as failed"] == "–"
    assert board.data["entries"][0]["success"] is None and board.data["entries"][0]["ci"] is None
    text = render_boards([board.board])
    assert r"| unranked\: no success | a | none | – | – | 3.000 |" in text[f"{board.stem}.md"]
    page = text[f"{board.stem}.html"]
    assert ">Mean reward<" in page and "ordered by" not in page and "All pairs" not in page
    assert "A place is" not in page and "Tasks needed" not in page + text[f"{board.stem}.md"]
    line = dict(zip(*csv.reader(text[f"{board.stem}.csv"].splitlines()[:2]), strict=True))
    assert (line["standing"], line["place_best"], line["mean_reward"]) == ("unranked: no success", "", "3.0")


def test_rewards_are_shown_where_they_differ_from_success() -> None:
    assert not view(entry("a", [True, False])).has_reward
    tasks = {"0": TaskOutcome(state=["scored"], success=[True], reward=[-7.0], end_reason=["success"],
                              truncated=[False])}  # fmt: skip
    outcomes = [RunOutcomes(seed=0, tasks=tasks)]
    other = entry("a", [True], outcomes=outcomes, numbers=numbers_of(outcomes))
    assert view(other).has_reward and view(other).verdict.startswith("The only ranked entry is a")
    assert dict(view(other).rows[0].facts)["How episodes ended"] == "the task was solved: 1"


def test_the_verdict_names_pairs_floors_and_oracle() -> None:
    tied = view(entry("a", [True] * 6 + [False]), entry("b", [True] * 7))
    assert tied.verdict == (
        "b has the highest success rate, 1.000; its place is between 1 and 2. "
        "The two entries are not told apart."
    )
    equal = view(entry("a", [True] * 6 + [False]), entry("b", [False] + [True] * 6), entry("c", [False] * 7))
    assert equal.verdict == (
        "a and b have the same success rate, 0.857; none is higher. Of 3 pairs, none is told apart."
    )
    pinned = view(entry("oracle", [True] * 4), entry("silent", [False] * 3 + [True]))
    assert pinned.verdict == (
        "No entry of this board is ranked. The best floor, silent, has a success rate of 0.250. "
        "The oracle has a success rate of 1.000."
    )


@pytest.mark.parametrize(
    ("hours", "said"),
    [(None, "–"), (0.3 / 3600, "0.3 s"), (0.1, "6 min"), (0.5, "30 min"), (1.25, "1.2 h"), (100.0, "100 h")],
)
def test_times_have_a_unit_that_fits(hours: float | None, said: str) -> None:
    assert duration(hours) == said


def test_a_task_that_was_played_once_succeeds_or_not() -> None:
    single = summary_of(entry("a", [True, False]).outcomes)
    assert single == "Of 2 tasks: 1 succeeded, 1 did not succeed, 0 without a score"
    seeds = summary_of(algorithm("a", 0.5).outcomes)
    assert "in every seed" in seeds and "trial" not in seeds


def test_a_row_has_the_strip_of_its_tasks_unless_there_are_too_many() -> None:
    figure = strip_of("a", entry("a", [True, False]).outcomes)
    assert figure is not None and [row[1] for row in figure.table.rows] == [1.0, 0.0]
    assert strip_of("a", entry("a", [True] * (MAX_TASKS + 1)).outcomes) is None


def trained(
    won: list[bool], worlds: list[int] | None = None, budget: str = "steps=9", **settings: Any
) -> Entry:
    cost = TrainingCost(
        seed=0, gradient_steps=9, environment_steps=9, generated_tokens=9, seconds=1.0, tokens_by_role={},
        chosen_step=9, base_success=0.0,
    )  # fmt: skip
    training = Training(method="nlac", budget=budget, settings={"lr": 1e-4, **settings}, runs=[cost])
    return entry("nlac", won, subject=Subject(agent="nlac", model="tiny", worlds=worlds, training=training))


def test_entries_of_one_agent_are_named_by_the_settings_in_which_they_differ() -> None:
    won = [[True] * n + [False] * (9 - n) for n in range(9)]
    made = [
        trained(won[1]), trained(won[2], kl_coef=0.3), trained(won[3], budget="steps=10", lr=3e-5),
        trained(won[4], [1010]), trained(won[5], text="a" * 90), entry("react", won[6]),
    ]  # fmt: skip
    names = list(entry_names(made).values())
    assert names[:4] == ["nlac", "nlac (kl_coef=0.3)", "nlac (steps=10, lr=3e-05)", "nlac (world 1010)"]
    assert re.fullmatch(r"nlac \([0-9a-f]{6}\)", names[4]) and names[5] == "react"
    alike = view(trained(won[1] * 9), trained(won[1] * 9, kl_coef=0.3))
    assert [row.notes.rpartition("trial as ")[2] for row in alike.rows] == [r.name for r in alike.rows[::-1]]
    twice = entry_names([trained(won[1]), trained(won[2])]).values()  # nothing differs but the result
    assert len(set(twice)) == 2 and all(re.fullmatch(r"nlac \([0-9a-f]{6}\)", name) for name in twice)


def test_models_that_played_different_worlds_have_no_verdict() -> None:
    best, worst = trained([True] * 20, [1008], kl_coef=0.3), trained([False] * 20, [1010])
    apart = view(best, worst)
    played = "The entries played different worlds, so no pair is tested."
    assert apart.verdict.endswith(f"its place is between 1 and 2. {played}")
    assert [(p.words, p.p, p.p_holm) for p in apart.pairs] == [("not tested: different worlds", "–", "–")]
    assert not apart.rows[0].tied and [each.name for each in apart.rows[0].untested] == [apart.rows[1].name]
    assert [fact.value for fact in apart.answer][1] == "No other entry"
    assert "the only ranked entry of its world" in apart.answer[1].note
    assert apart.needed == [] and apart.cost_notes == []
    same = view(best, trained([False] * 20, [1008]))
    assert "is better" in same.pairs[0].words and "told apart" in same.verdict
    three = view(best, worst, trained([False] * 20, [1008]))  # only one pair is tested: no correction
    assert {pair.p_holm for pair in three.pairs} == {same.pairs[0].p_holm, "–"}
    assert "Of 1 pair of entries that played the same world, 1 is told apart." in three.verdict
    pairs = view(*(trained([True] * n + [False] * (20 - n), [1008 + n % 2]) for n in (8, 9, 10, 11)))
    assert [(len(row.tied), len(row.untested)) for row in pairs.rows] == [(1, 2)] * 4
    assert three.answer[1].value == "Yes" and three.answer[1].note.endswith(
        "; the other entry played other worlds"
    )
