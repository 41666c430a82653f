"""Boards: places as intervals, pairs with Holm's correction, entries without a place, rejected files."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from nlac_bench.leaderboards.against_floors import algorithm_p, floor_note
from nlac_bench.leaderboards.boards import OUTSIDE, collect, make_boards
from nlac_bench.leaderboards.entry import Entry, Source
from nlac_bench.leaderboards.entry_file import entry_text
from nlac_bench.leaderboards.numbers import stated_numbers
from nlac_bench.leaderboards.pairs import all_pairs, measured_run
from nlac_bench.leaderboards.subject import Subject
from nlac_bench.reports.boards.rows import RowView
from nlac_bench.stats.compare import compare_all
from nlac_bench.stats.pairing import MeasuredRun
from nlac_bench.stats.places import Place, places
from nlac_bench.stats.significance import holm, sign_flip_p
from tests.leaderboards.factory import KEY, entry


def wins(n: int, of: int = 60) -> list[bool]:
    return [i < n for i in range(of)]


GOOD, LEVEL, POOR = entry("good", wins(50)), entry("level", wins(47)), entry("poor", wins(20))
FLOOR, ORACLE = entry("constant", wins(18)), entry("oracle", wins(60))


def write(folder: Path, *entries: Entry) -> None:
    for each in entries:
        (folder / f"{each.entry_id}.json").write_text(entry_text(each))


def test_places_are_counted_from_the_significant_pairs() -> None:
    # A > C only: B may be first or last.
    assert places(3, [(0, 2)]) == [Place(1, 2), Place(1, 3), Place(2, 3)]
    assert places(3, []) == [Place(1, 3)] * 3
    assert [str(p) for p in places(2, [(1, 0)])] == ["2", "1"]
    assert str(Place(1, 3)) == "1–3"


def test_a_board_of_models() -> None:
    (board,) = make_boards([POOR, ORACLE, GOOD, FLOOR, LEVEL])
    assert [row.entry.subject.agent for row in board.ranked] == ["good", "level", "poor"]
    assert [str(row.place) for row in board.ranked] == ["1–2", "1–2", "3"]
    assert [row.entry.subject.agent for row in board.pinned] == ["oracle", "constant"]
    good, level, poor = board.ranked
    assert good.better_than == level.better_than == (POOR.entry_id,)
    assert good.not_told_apart == (LEVEL.entry_id,) and good.worse_than == ()
    assert poor.worse_than == (GOOD.entry_id, LEVEL.entry_id)
    assert good.floor_note is None
    assert poor.floor_note is not None and "not above its floor" in poor.floor_note
    assert "'constant'" in poor.floor_note and "0.300" in poor.floor_note


def test_pairs_have_the_exact_p_values_and_holms_correction() -> None:
    entries = [GOOD, LEVEL, POOR]
    pairs = all_pairs(entries)
    rates = [np.array(wins(n), dtype=float) for n in (50, 47, 20)]
    expected = [sign_flip_p(a - b) for a, b in itertools.combinations(rates, 2)]
    assert [pair.p for pair in pairs] == pytest.approx(expected)
    assert [pair.p_holm for pair in pairs] == pytest.approx(holm(expected))
    assert pairs[0].winner is None and pairs[0].difference == pytest.approx(0.05)
    assert pairs[0].tasks_needed is not None and pairs[0].tasks_needed > 60
    assert pairs[0].detectable is not None and pairs[0].detectable > 9 / 60, "at 5 % / 3, nine must differ"
    assert pairs[0].winner_alone is None and pairs[1].winner_alone == GOOD.entry_id
    assert pairs[1].winner == GOOD.entry_id and pairs[1].tasks_needed is None


def test_more_tasks_of_the_needed_number_tell_the_two_apart() -> None:
    (pair,) = all_pairs([GOOD, LEVEL])
    assert pair.tasks_needed is not None
    times = -(-pair.tasks_needed // 60)
    (more,) = all_pairs([entry("good", wins(50) * times), entry("level", wins(47) * times)])
    assert more.difference == pytest.approx(pair.difference) and more.winner is not None


def test_missing_episodes_count_as_failures_in_the_pairs() -> None:
    lost = entry("lost", [True if i < 40 else None for i in range(60)])
    (pair,) = all_pairs([GOOD, lost])
    assert pair.difference == pytest.approx(10 / 60)
    assert lost.numbers.success == 1.0


def test_partial_and_reported_entries_have_no_place() -> None:
    partial = entry("half", wins(55), partial=True)
    source = Source(title="A paper", url="https://arxiv.org/abs/2512.04601", where="table 1")
    reported = entry("paper", level="reported", source=source, kind="models", numbers=stated_numbers(0.59))
    (board,) = make_boards([GOOD, LEVEL, partial, reported])
    assert {row.entry.subject.agent for row in board.unranked} == {"half"}
    assert all(row.place is None for row in board.unranked)
    assert [e.subject.agent for e in board.reported] == ["paper"]
    assert len(board.pairs) == 1  # the family is the two ranked entries


def test_algorithms_and_models_have_boards_of_their_own_with_the_same_floors() -> None:
    nlac = entry("nlac", wins(50), wins(52), wins(51))
    ppo = entry("ppo", wins(20), wins(18), wins(19))
    models, algorithms = sorted(make_boards([GOOD, nlac, ppo, FLOOR]), key=lambda b: b.kind, reverse=True)
    assert (models.kind, algorithms.kind) == ("models", "algorithms")
    assert [row.entry.subject.agent for row in algorithms.ranked] == ["nlac", "ppo"]
    assert [str(row.place) for row in algorithms.ranked] == ["1", "2"]
    assert models.pinned == algorithms.pinned
    assert models.board_id == algorithms.board_id


def test_floors_with_several_seeds_have_no_place_either() -> None:
    nlac = entry("nlac", wins(50), wins(52), wins(51))
    low = entry("nlac", wins(19), wins(20), wins(21))
    floor, oracle = entry("random", wins(30), wins(10)), entry("oracle", wins(60), wins(60))
    [board] = make_boards([nlac, low, floor, oracle, FLOOR])
    assert board.kind == "algorithms" and [row.entry for row in board.ranked] == [nlac, low]
    assert [row.entry for row in board.pinned] == [oracle, floor, FLOOR]
    # The best floor is that with the highest mean over its seeds.
    above, not_above = (row.floor_note for row in board.ranked)
    assert above is None and "'random'" in str(not_above) and "0.333" in str(not_above)
    [alone] = make_boards([floor])
    assert not alone.ranked and [row.entry for row in alone.pinned] == [floor]


def test_a_floor_with_missing_episodes_is_an_unranked_entry() -> None:
    played = entry("random", [True] * 40 + [None] * 20, partial=True)
    [board] = make_boards([played, GOOD, FLOOR])
    assert [row.entry for row in board.pinned] == [FLOOR]
    assert [row.entry for row in board.unranked] == [played]


def test_seeds_that_differ_much_are_not_told_apart_by_more_tasks() -> None:
    (pair,) = all_pairs([entry("a", wins(50), wins(20), wins(35)), entry("b", wins(25), wins(35), wins(30))])
    assert pair.winner is None and pair.tasks_needed is None


def test_other_conditions_make_another_board() -> None:
    other = entry("good", wins(50), key=KEY.model_copy(update={"env_version": "2"}))
    assert len(make_boards([GOOD, other])) == 2


def test_the_order_of_files_does_not_matter(tmp_path: Path) -> None:
    for name, order in (("a", [GOOD, LEVEL, POOR, FLOOR]), ("b", [FLOOR, POOR, LEVEL, GOOD])):
        (tmp_path / name).mkdir()
        write(tmp_path / name, *order)
    assert collect(tmp_path / "a").boards == collect(tmp_path / "b").boards


def test_bad_files_are_rejected_with_path_and_reason(tmp_path: Path) -> None:
    write(tmp_path, GOOD, POOR)
    text = entry_text(LEVEL)
    altered = json.loads(text)
    altered["numbers"]["success_if_missing_failed"] = 0.99
    other_tasks = entry("fewer", wins(30, of=40))
    (tmp_path / "altered.json").write_text(json.dumps(altered))
    (tmp_path / "broken.json").write_text(text[:-20])
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "copy.json").write_text(entry_text(GOOD))
    (tmp_path / "link.json").symlink_to(tmp_path / "broken.json")
    (tmp_path / "tasks.json").write_text(entry_text(other_tasks))
    found = collect(tmp_path)
    reasons = {each.path.name: each.reason for each in found.rejected}
    assert "success_if_missing_failed: 0.99 is stated" in reasons["altered.json"]
    assert "JSON" in reasons["broken.json"]
    assert "link" in reasons["link.json"]
    assert "other tasks" in reasons["tasks.json"]
    # Of two files with one run, the later path is rejected.
    assert len(reasons) == 5 and any("same run" in reason for reason in reasons.values())


@pytest.mark.parametrize("level", ["recomputed", "replayed"])
def test_missing_episodes_are_rejected_unless_the_entry_is_partial(level: str, tmp_path: Path) -> None:
    lost = [*wins(30)[:-1], None]
    write(tmp_path, entry("lost", lost, level=level))
    [rejected] = collect(tmp_path).rejected
    assert "1 of its episodes" in rejected.reason and "--partial" in rejected.reason
    write(tmp_path, entry("lost", lost, level=level, partial=True))  # the same file
    found = collect(tmp_path)
    assert not found.rejected and [row.place for row in found.boards[0].unranked] == [None]


def test_compare_all_and_a_board_agree() -> None:
    entries = [GOOD, LEVEL, POOR]
    runs: list[MeasuredRun] = [measured_run(each.outcomes[0]) for each in entries]
    for pair, comparison in zip(all_pairs(entries), compare_all(runs), strict=True):
        assert pair.p_holm == pytest.approx(comparison.p_adjusted)
        assert (pair.winner is None) == (comparison.verdict == "not distinguishable")


def test_two_seeds_have_a_note_and_no_place() -> None:
    """Their interval is only approximate; the third seed makes the entry a ranked one."""
    two, three = entry("two", wins(50), wins(52)), entry("three", wins(50), wins(52), wins(51))
    (board,) = make_boards([two, three, FLOOR])
    assert [row.entry for row in board.ranked] == [three] and board.ranked[0].notes == ()
    (row,) = board.unranked
    assert (row.entry, row.place, row.notes) == (two, None, ("2 seeds: interval is approximate",))
    assert RowView(row, "two").standing == "unranked: 2 seeds"


def test_above_the_floor_takes_the_seeds_into_account() -> None:
    """Each seed solves all tasks of the floor and more, but their number varies: the next seed may not."""
    steady = entry("steady", wins(30), wins(31), wins(29))
    varied = entry("varied", wins(19), wins(53), wins(18))
    floor = entry("constant", wins(18))
    steady_rates, varied_rates = (
        np.array([[float(w) for w in wins(n)] for n in row]) for row in ((30, 31, 29), (19, 53, 18))
    )
    floor_rates = np.array(wins(18), dtype=float)
    assert steady_rates.mean() == varied_rates.mean()
    assert floor_note(steady, [floor]) is None and algorithm_p(steady_rates, floor_rates) < 0.01
    assert sign_flip_p(varied_rates.mean(axis=0) - floor_rates) < 1e-9, "the mean of these seeds is above it"
    assert "not above its floor" in str(floor_note(varied, [floor]))
    assert algorithm_p(varied_rates, floor_rates) > 0.2


def test_a_floor_of_another_world_says_nothing() -> None:
    here, there = (Subject(agent="constant", worlds=[world]) for world in (1000, 1003))
    floors = [entry("constant", wins(18), subject=here)]
    poor = entry("poor", wins(18), subject=Subject(agent="poor", model="tiny", worlds=[1000]))
    assert "not above its floor" in str(floor_note(poor, floors))
    for worlds in ([1003], [1000, 1003], None):
        elsewhere = entry("poor", wins(18), subject=Subject(agent="poor", model="tiny", worlds=worlds))
        assert floor_note(elsewhere, floors) is None
    both = [*floors, entry("constant", wins(30), subject=there)]
    assert "0.300" in str(floor_note(poor, both)), "not the better one of the other world"


def test_bystanders_change_the_place_but_not_the_verdict_of_neighbours() -> None:
    better, worse = entry("better", wins(40)), entry("worse", wins(31))
    junk = [entry(f"junk{i}", [i == j for j in range(60)]) for i in range(20)]
    (alone,), (crowd,) = make_boards([better, worse]), make_boards([better, worse, *junk])
    assert str(alone.ranked[0].place) == "1" and str(crowd.ranked[0].place) == "1–2"
    for board in (alone, crowd):
        first = board.neighbours[0]
        assert (first.a, first.b) == (better.entry_id, worse.entry_id)
        assert first.winner_alone == better.entry_id
    assert [(p.a, p.b) for p in crowd.neighbours] == list(
        itertools.pairwise(row.entry.entry_id for row in crowd.ranked)
    )


def test_identical_outcomes_have_a_note() -> None:
    copies = [entry("a", wins(30)), entry("b", wins(30)), entry("c", wins(31))]
    (board,) = make_boards(copies)
    notes = {row.entry.subject.agent: row.notes for row in board.ranked}
    assert notes["a"] == (f"the same outcome in every trial as {copies[1].entry_id}",)
    assert notes["b"] == (f"the same outcome in every trial as {copies[0].entry_id}",) and notes["c"] == ()


def family(folder: Path, text: str) -> None:
    (folder / "families.toml").write_text(text)


def test_a_board_ranks_the_family_that_it_named_beforehand(tmp_path: Path) -> None:
    better, worse = entry("better", wins(40)), entry("worse", wins(31))
    junk = [entry(f"junk{i}", [i == j for j in range(60)]) for i in range(20)]
    write(tmp_path, better, worse, *junk)
    named = f'[[family]]\nboard = "{better.board_id}"\nkind = "models"\n'
    family(
        tmp_path, named + 'entries = [{agent = "better"}, {agent = "worse", model = "tiny"}, {agent = "x"}]'
    )
    found = collect(tmp_path)
    (board,) = found.boards
    assert not found.rejected and [str(row.place) for row in board.ranked] == ["1", "2"]
    assert len(board.pairs) == 1 and len(board.unranked) == 20
    assert all(row.notes[-1] == OUTSIDE for row in board.unranked)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[family]\n", "not valid TOML"),
        ("[[family]]\n" + ".".join("a" * 21) + " = 1", "key of more than 20 parts"),
        ("a = " + "[" * 101 + "]" * 101, "nested more than 100 deep"),
        ("#" * 2**20 + "\n", "larger than 1,048,576 bytes"),
        ('[[family]]\nboard = "x"\nkind = "models"\nentries = []\n', "at least 1 item"),
        ('[[family]]\nboard = "x"\nkind = "all"\nentries = [{agent = "a"}]\n', "kind"),
        ('[[family]]\nboard = "BOARD"\nkind = "models"\nentries = [{agent = "good"}]\n', "2 entries have"),
        ('[[family]]\nboard = "x"\nkind = "models"\nentries = [{agent = "a"}]\n' * 2, "two families"),
    ],
)
def test_a_family_that_names_no_entries_is_rejected(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path, GOOD, entry("good", wins(49)))
    family(tmp_path, text.replace("BOARD", GOOD.board_id))
    (rejected,) = collect(tmp_path).rejected
    assert rejected.path.name == "families.toml" and said in rejected.reason


def test_a_stale_floor_is_rejected(tmp_path: Path) -> None:
    """Until the floors have the version of the newest entries; older floors may stay beside newer ones."""
    newer = KEY.model_copy(update={"env_version": "2"})
    write(tmp_path, GOOD, FLOOR, ORACLE)
    assert not collect(tmp_path).rejected
    write(tmp_path, entry("level", wins(47), key=newer))
    (rejected,) = collect(tmp_path).rejected
    assert FLOOR.entry_id in rejected.path.name and "measure the floors again" in rejected.reason
    write(tmp_path, entry("constant", wins(18), key=newer))
    found = collect(tmp_path)
    assert not found.rejected and len(found.boards) == 2


def test_published_figures_stand_beside_the_newest_floors() -> None:
    source = Source(title="A paper", url="https://arxiv.org/abs/2512.04601", where="table 1")
    keys = [KEY.model_copy(update={"env_version": version, "data_source": "official"}) for version in "23"]
    cited = entry(
        "paper", level="reported", source=source, kind="models", numbers=stated_numbers(0.59),
        key=KEY.model_copy(update={"env_version": None, "data_source": "official"}),
    )  # fmt: skip
    boards = make_boards([cited, *(entry("constant", wins(18), key=key) for key in keys)])
    shown = {board.key.env_version: [e.subject.agent for e in board.reported] for board in boards}
    assert shown == {"2": [], "3": ["paper"]}
