"""The index of boards: what is first, what is folded, how boards are called, what it says of the leader."""

from collections.abc import Sequence

import pytest

from nlac_bench.leaderboards.boards import make_boards
from nlac_bench.leaderboards.entry import BoardKey, Entry, Source
from nlac_bench.leaderboards.numbers import stated_numbers
from nlac_bench.reports.boards.build import render_boards
from nlac_bench.reports.boards.index import BoardIndex, index_of
from nlac_bench.reports.boards.view import BoardView
from tests.leaderboards.boards_of import algorithm
from tests.leaderboards.factory import KEY, entry


def key(version: str, **changes: object) -> BoardKey:
    return KEY.model_copy(update={"env_version": version, **changes})


def index(*entries: Entry) -> BoardIndex:
    return index_of([BoardView(board) for board in make_boards(entries)])


def floor(at: BoardKey, won: int = 0) -> Entry:
    return entry("constant", [True] * won + [False] * (9 - won), key=at)


def names(index: BoardIndex) -> dict[str, list[str]]:
    """The boards of each part, with their versions."""
    parts = {part: getattr(index, part) for part in ("leading", "cited", "waiting")}
    parts["earlier"] = [each for boards in index.earlier.values() for each in boards]
    return {part: [f"{each.name}, {each.version}" for each in boards] for part, boards in parts.items()}


def test_boards_with_entries_are_first_and_those_with_floors_only_and_old_ones_apart() -> None:
    hard, airline = {"level": "hard"}, {"env": "tau_airline"}
    paper = Source(title="A paper", url=None, where="table 1")
    found = index(
        entry("react", [True] * 9, key=key("1")),
        entry("react", [True] * 9, key=key("2")),
        floor(key("2")),
        floor(key("3")),
        floor(key("1", arguments=hard)),
        floor(key("2", arguments=hard)),
        floor(key("4", **airline)),
        entry(
            "GPT",
            key=key("4", **airline),
            kind="models",
            level="reported",
            source=paper,
            numbers=stated_numbers(0.5),
        ),
    )
    assert names(found) == {
        "leading": ["tau_retail, models: level easy, version 2"],
        "cited": ["tau_airline, models, version 4"],
        "waiting": ["tau_retail, models: level easy, version 3", "tau_retail, models: level hard, version 2"],
        "earlier": ["tau_retail, models: level easy, version 1", "tau_retail, models: level hard, version 1"],
    }  # a newer board of floors does not hide the newest entries
    assert "version 2 (the newest is 3)" in found.leading[0].note and "newest" not in found.cited[0].note
    assert found.leading[0].newer == "(the newest is 3)" and not found.cited[0].newer


def test_a_newer_board_may_state_a_rule_that_old_versions_did_not_have() -> None:
    old = key("1", rules={})
    assert names(index(floor(old), floor(key("2"))))["earlier"] == ["tau_retail, models, version 1"]
    other = key("2", rules={"user": "none"})
    assert names(index(floor(key("1")), floor(other)))["earlier"] == []
    text = key("one")
    assert names(index(floor(text), floor(key("2"))))["earlier"] == [], "no number, so not known to be older"


def test_names_have_the_fewest_conditions_that_tell_boards_apart() -> None:
    official = {"data_source": "official", "rules": {"user": "none"}}
    found = index(floor(key("1")), floor(key("1", **official)))
    assert [each.name for each in found.waiting] == [
        "tau_retail, models: embedded data", "tau_retail, models: official data",
    ]  # fmt: skip
    assert [each.name for each in index(floor(key("1"))).waiting] == ["tau_retail, models"]


@pytest.mark.parametrize(
    ("wins", "lead", "said"),
    [
        ([30, 3], "Yes", "better than the other entry, place 1"),
        ([30, 3, 2], "Yes", "better than 2 other entries, place 1"),
        ([30, 29, 3], "In part", "better than 1 of 2 other entries; not told apart from b, place 1–2"),
        ([15, 14], "Not shown", "not told apart from b, place 1–2"),
        ([15, 15, 15, 15, 15], "Not shown", "not told apart from b, c, d and 1 more, place 1–5"),
        ([15], "No other entry", "the only ranked entry"),
    ],
)
def test_whether_the_lead_is_real(wins: Sequence[int], lead: str, said: str) -> None:
    entries = [entry(agent, [i < won for i in range(30)]) for agent, won in zip("abcdef", wins, strict=False)]
    leader, real, cost = index(*entries).leading[0].view.answer
    equal = wins.count(wins[0]) if len(wins) > 1 else 1
    assert leader.value == ("a" if equal == 1 else "a, b, c, d and e")
    assert leader.note.startswith(f"success {wins[0] / 30:.3f}, ")
    assert (real.value, real.note) == (lead, said) and real.tone == ("better" if lead == "Yes" else "")
    assert cost.note.startswith("generated tokens of the test episodes")


def test_a_leader_below_the_floor_is_said_to_be() -> None:
    rivals = [entry("react", [True, False] * 6), entry("constant", [True, False, True] * 4)]
    _, real, _ = index(*rivals).leading[0].view.answer
    assert real.note == f"the only ranked entry; {index(*rivals).leading[0].view.rows[0].below_floor}"
    assert "floor" in real.note


def test_the_highest_of_unranked_entries_leads_and_is_not_tested() -> None:
    half = [algorithm(name, rate, partial=True) for name, rate in (("x", 0.2), ("y", 0.9))]
    leader, real, cost = index(*half).leading[0].view.answer
    assert leader.value == "y" and (real.value, real.note) == (
        "Not tested", "no entry is ranked (not all tasks were played)",
    )  # fmt: skip
    assert cost.value == "140k" and cost.note == (
        "generated tokens of training, 40 gradient steps, 6 min; x, the next: 140k"
    )


def test_the_index_answers_first_and_folds_the_rest() -> None:
    files = render_boards(make_boards([
        entry("a", [True] * 9), entry("b", [False] * 9), floor(key("2", env="x")), floor(key("1", env="x")),
    ]))  # fmt: skip
    page, text = files["index.html"], files["index.md"]
    first, rest = page.split("Boards without entries", 1)
    assert ">Is the lead real?</dt>" in first and 'class="forest"' in first and 'class="forest"' not in rest
    assert "1 board has only floors" in rest and rest.count("<details>") == 2
    assert text.index("| **a** success 1.000") < text.index("## Boards without entries")
    assert "- x, models: [version 1]" in text.split("## Earlier versions")[1]
