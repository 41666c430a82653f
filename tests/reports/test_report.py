"""Reports: what they say equals the runs' own numbers; unfinished, failed, foreign and hostile runs."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from nlac_bench.envs.text_env import EndReason
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.reports.figures.figure import Table
from nlac_bench.reports.report.build import report_of
from nlac_bench.reports.report.ends import end_in_words
from nlac_bench.reports.report.page import ReportPage, Section, write_files, write_page
from nlac_bench.reports.report.references import REFERENCES, missing_references
from nlac_bench.reports.report.subjects import ReportSubject, forest_row
from nlac_bench.reports.report.training import DRAWN, draw_critiques
from nlac_bench.reports.report.typed import as_typed
from nlac_bench.reports.report.verdicts import setting
from nlac_bench.stats.compare import compare, compare_all
from nlac_bench.stats.pairing import MeasuredRun, NotComparableError
from nlac_bench.stats.pooled import algorithm_interval
from nlac_bench.stats.summary import summarise
from nlac_bench.sweep.report import write as write_sweep
from nlac_bench.types import CONTENT_FILTER
from tests.reports.report_runs import (
    CUT,
    FILTERED,
    INFRA,
    LOST,
    OWED,
    SILENT,
    WON,
    critique,
    make_run,
    make_training,
    probe,
    task,
)
from tests.sweep.test_sweep_failures import PLAN, Cell, fail, fill

LIMITS = ("turn_limit", "token_limit", "cost_limit", "time_limit")
RETAIL = Path(__file__).parents[2] / "leaderboards" / "retail"
SHOP = 'tau_retail@{"level": "easy"}'


def section(report: ReportPage, name: str) -> Section:
    (found,) = [each for each in report.sections if each.id == name]
    return found


def by_first(table: Table) -> dict[str, dict[str, object]]:
    """The rows of a table by their first cell."""
    return {str(row[0]): dict(zip(table.header, row, strict=True)) for row in table.rows}


def trained(tmp_path: Path) -> Path:
    """A finished training run with floors: 3 of 12 tasks before, 10 of 12 after; one of them was lost."""
    folder = make_training(
        tmp_path / "nlac", [WON] * 3 + [LOST] * 9, [LOST] + [WON] * 10 + [LOST],
        critiques=[critique(i) for i in range(40)],
    )  # fmt: skip
    make_run(folder / REFERENCES / "oracle", [WON] * 12, agent="oracle")
    make_run(folder / REFERENCES / "random", [WON] + [LOST] * 11, agent="random")
    return folder


def test_a_training_run_is_reported_with_its_own_numbers(tmp_path: Path) -> None:
    folder = trained(tmp_path)
    report = report_of([str(folder)])
    ids = [each.id for each in report.sections]
    assert ids == ["success", "curves", "tasks", "failures", "cost", "critiques", "reproduce", "denominators"]
    counts = section(report, "denominators")
    assert counts.folded and counts.notes[0] == "12 of 12 episodes are scored for each of 4 agents."
    (answer,) = report.answers
    assert [(f.label, f.value, f.tone) for f in answer.facts] == [
        ("Success before training", "0.250", ""), ("After training", "0.833", ""),
        ("Difference", "+0.583", "better"), ("Cost of training", "200", ""),
    ]  # fmt: skip
    gain = compare(MeasuredRun.read(folder, "a"), MeasuredRun.read(folder / "base", "b"))
    assert gain.verdict == "A better" and report.progress == ()
    assert (
        "raised success from 0.250 to 0.833" in report.verdict and f"{gain.difference:+.3f}" in report.verdict
    )
    assert "exact McNemar test)" in report.verdict
    assert "gradient step 4 had the best of 3 validations" in section(report, "curves").notes[1]
    (figure,) = section(report, "success").figures
    estimates = by_first(figure.table)
    assert list(estimates) == ["random", "untrained model", "trained with nlac", "oracle"]
    for name, run in (("trained with nlac", folder), ("untrained model", folder / "base")):
        summary = summarise(run)
        assert summary.interval is not None
        found = estimates[name]
        assert (found["success"], found["95 % low"], found["95 % high"]) == pytest.approx(
            (summary.success, summary.interval.low, summary.interval.high)
        )
    tasks = section(report, "tasks")
    assert "of 12 tasks that have both scores: won 8, lost 1, the same 3" in tasks.notes[0]
    change = by_first(tasks.figures[0].table)
    assert (change[task(0)]["change"], change[task(1)]["change"], change[task(3)]["change"]) == (
        "lost", "same", "won",
    )  # fmt: skip
    (curves,) = section(report, "curves").figures
    test = [row for row in curves.table.rows if row[0] == "test"]
    (best,) = (row[1:6] for row in test)
    assert best == pytest.approx((4.0, 60.0, 50_000.0, 20.0, 10 / 12)), "the best one"
    assert {row[0] for row in curves.table.rows} >= {"oracle", "random", "untrained (test)", "validation"}
    costs = {row[:2]: row[4] for row in section(report, "cost").figures[0].table.rows}
    assert costs["training", "policy"] == 140 and costs["probes of the critic", "evaluator"] == 4
    assert costs["untrained", "policy"] == costs["test", "policy"] == 120
    failures = section(report, "failures").tables[0].table.rows
    limit = "the task's limit of steps was reached"
    assert [row[:3] for row in failures] == [
        ("untrained model", limit, 9), ("trained with nlac", limit, 2),
    ]  # fmt: skip
    commands = section(report, "reproduce").commands
    assert commands == (
        "nlac-bench run --config nlac/config.json", "nlac-bench report nlac --out report.html",
    )  # fmt: skip
    page = report.to_html()
    assert str(tmp_path) not in page and "folder that contains nlac" in page
    assert "50,000<" in page and "4.000<" not in page, "steps and tokens are integers"


def test_the_critics_auc_on_the_fixed_states_at_each_validation(tmp_path: Path) -> None:
    """Before training all verdicts are the same; afterwards P(yes) orders the outcomes, with one tie."""
    states = range(20)
    won = [number % 2 == 0 for number in states]
    before = [
        probe(n, iteration=0, success=won[n], optimal=True, predicted=["success", "failure"][won[n]])
        for n in states
    ]
    after = [
        probe(n, iteration=2, success=won[n], optimal=False, critique=None if n == 4 else "so",
              optimal_probability=None if n == 4 else 0.9 - 0.4 * (n in (0, 1)) if won[n] or n == 1 else 0.2,
              predicted=None if n in (6, 7) else ["failure", "success"][won[n]])
        for n in states
    ]  # fmt: skip
    after[4] = replace(after[4], optimal=None)
    folder = make_training(tmp_path / "run", [WON, LOST], [WON, LOST], probes=[*before, *after])
    found = section(report_of([str(folder)]), "critic")
    first, last = found.tables[0].table.rows
    assert first[:6] == ("trained with nlac", 0, 20, 0.5, "0.50 to 0.50", 0.0)
    assert last[1:3] == (8, 20) and last[5] == 1.0 and len(found.notes) == 1
    assert last[3] == pytest.approx((9 * 10 - 0.5) / 90)  # one of 90 pairs is a tie
    low, high = map(float, str(last[4]).split(" to "))
    assert low < 1.0 == high

    other = make_training(tmp_path / "b", [WON, LOST], [WON, LOST], probes=after)
    both = section(report_of([str(folder), str(other)]), "critic").tables[0].table
    assert [row[:2] for row in both.rows] == [("run", 0), ("run", 8), ("b", 8)]
    (folder / "probes.jsonl").write_text('{"iteration": 0}\n')
    with pytest.raises(RunFolderError, match=r"probes\.jsonl line 1"):
        report_of([str(folder)])


def test_five_critiques_are_drawn_by_the_seed_with_what_happened_beside_them(tmp_path: Path) -> None:
    folder = trained(tmp_path)
    found = section(report_of([str(folder)]), "critiques")
    assert len(found.texts) == DRAWN == 5 and "5 of 40 critiques" in found.notes[0]
    assert found == section(report_of([str(folder)]), "critiques")
    first = found.texts[0]
    number = re.findall(r"\d+", first.title)[0].lstrip("0") or "0"
    assert dict(first.predicted)["predicted future"] == f"future {number}"
    assert dict(first.happened)["answer of the environment"] == f"answered {number}"
    assert dict(first.happened)["outcome of the episode"] == "failure"
    draws = {tuple(r.lesson for r in draw_critiques(folder, seed)[0]) for seed in range(20)}
    assert len(draws) > 10, "the seed decides"
    everything = {r.lesson for seed in range(300) for r in draw_critiques(folder, seed)[0]}
    assert everything == set(range(40)), "each critique can be drawn"


def test_an_unfinished_run_says_n_of_m_and_concludes_nothing(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", [WON, LOST, OWED, OWED, INFRA])
    report = report_of([str(folder)])
    assert "not finished" in report.verdict and "2 of 5 episodes are recorded" in report.verdict
    assert report.progress == ("react: 2 of 5 episodes are recorded",) and report.answers == ()
    assert [each.id for each in report.sections][:3] == ["success", "denominators", "unscored"]
    assert not section(report, "denominators").folded
    (figure,) = section(report, "success").figures
    assert by_first(figure.table)["react"]["note"] == "(2 of 5)"
    counts = by_first(section(report, "denominators").tables[0].table)["react"]
    assert (counts["planned"], counts["scored"], counts["infra errors"], counts["not played"]) == (5, 2, 1, 2)
    replies = by_first(section(report, "denominators").tables[1].table)["react"]
    assert (replies["replies"], replies["cut"], replies["invalid actions"]) == (2, 0.0, 0.5)
    assert "2 of 5" in report.to_html()


def test_what_could_not_be_scored_is_listed_with_its_reason(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", [WON, INFRA, FILTERED, SILENT], message="<b>no route</b>\u202e")
    found = section(report_of([str(folder)]), "unscored")
    rows = {row[1]: row[2:] for row in found.tables[0].table.rows}
    assert rows == {
        task(1): (0, "EnvInfraError", "<b>no route</b>⟨U+202E⟩"),
        task(2): (0, "stopped by a content filter", ""),
    }  # fmt: skip
    assert any("1 episodes ended without info['success']" in note for note in found.notes)
    page = report_of([str(folder)]).to_html()
    assert "&lt;b&gt;no route&lt;/b&gt;⟨U+202E⟩" in page and "<b>no route" not in page


def test_an_environment_without_success_is_reported_by_reward(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", [SILENT] * 4, rewards=[1.0, 2.0, 3.0, 6.0], env="my_pkg:MyEnv-v0")
    report = report_of([str(folder)])
    assert "a reward of 3.000" in report.verdict
    (figure,) = section(report, "success").figures
    assert by_first(figure.table)["react"]["reward"] == pytest.approx(3.0)
    assert [row[1] for row in section(report, "tasks").tables[0].table.rows] == [1.0, 2.0, 3.0, 6.0]
    assert "--env my_pkg:MyEnv-v0" in section(report, "reproduce").commands[0]
    assert section(report, "failures").title == "Ends of episodes"
    counts = section(report, "denominators")
    assert counts.folded and "its results are rewards" in counts.notes[1]
    assert report.to_html()


def test_an_episode_that_is_cut_does_not_make_a_reward_a_success(tmp_path: Path) -> None:
    """The driver sets the success of a cut episode to False in every environment."""
    folder = make_run(tmp_path / "run", [SILENT, SILENT, CUT], rewards=[2.0, 5.0, 2.0])
    assert "a reward of 3.000" in report_of([str(folder)]).verdict
    cut = make_run(tmp_path / "cut", [LOST, CUT], rewards=[0.0, 0.0])
    assert "a success of 0.000" in report_of([str(cut)]).verdict


def test_ends_of_episodes_are_words() -> None:
    known = {*get_args(EndReason), *LIMITS, "length", "terminated", "truncated", CONTENT_FILTER}
    words = {reason: end_in_words(reason) for reason in known}
    assert not any("_" in text or text == reason for reason, text in words.items())
    assert len(set(words.values())) == len(words)
    assert end_in_words("my_own <end>") == "my_own <end>"


def test_folders_are_named_as_they_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(as_typed([Path("runs/nlac")]).values()) == ["nlac"]
    assert list(as_typed([tmp_path / "a" / "x", Path("a/../b/x/")]).values()) == ["a/x", "b/x"]
    assert list(as_typed([Path("-x"), Path("y z")]).values()) == ["./-x", "y z"]
    assert list(as_typed([Path()]).values()) == [tmp_path.name]
    assert list(as_typed([Path("a"), Path("a/b")]).values()) == ["a", "a/b"]
    make_run(tmp_path / "a" / "x", [WON, LOST])
    make_run(tmp_path / "b" / "x", [WON, WON])
    report = report_of([str(tmp_path / "a" / "x"), "b/x"])
    assert report.verdict.startswith("a/x and b/x cannot be told apart")
    assert section(report, "reproduce").commands == (
        "nlac-bench eval --config a/x/config.json", "nlac-bench eval --config b/x/config.json",
        "nlac-bench report a/x b/x --out report.html",
    )  # fmt: skip
    assert "folder that contains a and b." in section(report, "reproduce").notes[0]
    assert str(tmp_path) not in report.to_html()
    assert report_of(["b/x", "b/x"]).to_html()


@pytest.mark.parametrize(
    ("agent", "commands"),
    [
        ("my:METHOD", ["nlac-bench eval --config run/config.json --agent my:METHOD"]),
        ("nlac", ["nlac-bench eval --config run/config.json"]),
        ("policy()", []),
    ],
)
def test_a_measurement_is_repeated_without_training(agent: str, commands: list[str], tmp_path: Path) -> None:
    found = section(report_of([str(make_run(tmp_path / "run", [WON, LOST], agent=agent))]), "reproduce")
    assert list(found.commands) == [*commands, "nlac-bench report run --out report.html"]
    assert any("nlac_bench.evaluate(…, config='run/config.json')" in n for n in found.notes) is (not commands)


def test_costs_of_two_trainings_are_beside_each_other(tmp_path: Path) -> None:
    for name in "ab":
        make_training(tmp_path / name, [WON, LOST], [LOST, LOST])
    report = report_of([str(tmp_path / "a"), str(tmp_path / "b")])
    names = [name for name, _ in report.numbers()]
    assert len(set(names)) == len(names), "no table takes the file name of another one"
    (costs,) = section(report, "equal_cost").tables
    assert costs.name == "equal_cost" and "environment steps" in [row[0] for row in costs.table.rows]


def test_a_training_without_a_gradient_step_is_said_to_be_untrained(tmp_path: Path) -> None:
    idle = ((0, 0, 0, 0.0, 0.25), (0, 60, 50_000, 20.0, 0.25))
    folder = make_training(tmp_path / "run", [WON, LOST], [WON, LOST], steps=idle)
    report = report_of([str(folder)])
    assert report.verdict.startswith("No gradient step was taken, so the tested model is the untrained one")
    assert "critiques" not in [each.id for each in report.sections]
    assert report.to_html()


@pytest.mark.parametrize("ends", [[OWED] * 4, [WON, LOST, OWED, OWED]])
def test_a_training_that_is_not_tested_yet(tmp_path: Path, ends: list[str]) -> None:
    folder = make_training(tmp_path / "run", [WON, LOST, WON, LOST], ends)
    report = report_of([str(folder)])
    assert report.verdict.startswith("This run is not finished") and "of 4 episodes" in report.verdict
    assert not [row for row in section(report, "curves").figures[0].table.rows if row[0] == "test"]
    assert report.to_html()


def test_a_training_whose_untrained_model_is_being_measured(tmp_path: Path) -> None:
    folder = make_training(tmp_path / "run", [WON, OWED], [OWED, OWED], steps=())
    assert "of the untrained model, 1 of 2 episodes are recorded" in report_of([str(folder)]).verdict


def test_a_run_is_compared_with_its_highest_floor(tmp_path: Path) -> None:
    low = make_run(tmp_path / "low", [WON] + [LOST] * 11)
    make_run(low / REFERENCES / "random", [WON] * 2 + [LOST] * 10, agent="random")
    make_run(low / REFERENCES / "silent", [LOST] * 12, agent="silent")
    report = report_of([str(low)])
    assert "It is not above the highest floor (random, 0.167)" in report.verdict
    assert [(f.label, f.value, f.tone) for f in report.answers[0].facts] == [
        ("Success", "0.083", ""), ("Highest floor, random", "0.167", ""), ("Difference", "−0.083", ""),
        ("Cost of the episodes", "120", ""),
    ]  # fmt: skip
    high = make_run(tmp_path / "high", [WON] * 12)
    make_run(high / REFERENCES / "random", [LOST] * 12, agent="random")
    assert "It is better than the highest floor (random, 0.000)" in report_of([str(high)]).verdict


def test_parts_of_the_reward_are_reported_where_they_were_recorded(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", [WON, LOST, WON, OWED])
    make_run(folder / REFERENCES / "random", [LOST] * 4, agent="random")
    assert "parts" not in [each.id for each in report_of([str(folder)]).sections]
    rows = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    for row, broken in zip(rows, (0.0, 3.0, 0.0), strict=True):
        row["info"]["reward_parts"] = {"original": float(row["success"]), "violations": broken}
    (folder / "episodes.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (found,) = section(report_of([str(folder)]), "parts").tables
    assert by_first(found.table) == {
        "random": {"": "random", "original": None, "violations": None},
        "react": {"": "react", "original": pytest.approx(2 / 3), "violations": 1.0},
    }
    assert "violations" in report_of([str(folder)]).to_html()


def test_a_report_says_what_was_measured() -> None:
    folder = Path("run")
    conditions = {
        "env": "tau_retail", "data_source": "embedded", "split": "test", "env_args": {"level": "easy"},
        "user": "scripted",
    }  # fmt: skip
    tiny, other, none = (
        RunFolder(folder, {}, {"conditions": conditions, "subject": {"model": model}}, ())
        for model in ("tiny", "a/b", None)
    )
    where = "on tau_retail (embedded data, test tasks, level easy, scripted user)"
    assert setting([tiny, tiny]) == (
        f"Measured: the miniature model tiny, which nlac-bench contains, {where}."
    )
    assert setting([other, none]) == f"Measured: the model a/b {where}; an agent without a model {where}."


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "They are played when the command that makes a run ends"),
        ({"agent": "random"}, "its agent uses no model"),
        ({"env": "mine:Env"}, "its environment belongs to another package"),
        ({"user_model": "gpt"}, "a model plays the user"),
        ({"replay": "file"}, "a model plays the user"),
    ],
)
def test_a_report_says_why_it_has_no_floors(changed: dict[str, str], said: str, tmp_path: Path) -> None:
    """The folder of a finished run may lack them although they could be played."""
    config = {"env": "tau_retail", "agent": "nlac", **changed}
    assert said in missing_references(config)
    bare = make_training(tmp_path / "run", [WON] * 3, [WON] * 3)
    assert (
        missing_references({"env": "tau_retail", "agent": "nlac"})
        in section(report_of([str(bare)]), "success").notes
    )


def test_two_runs_and_three_runs_are_compared_as_the_command_compares_them(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", [WON] * 12)
    b = make_run(tmp_path / "b", [LOST] * 11 + [WON])
    c = make_run(tmp_path / "c", [WON] * 11 + [LOST])
    two = report_of([str(a), str(b)])
    assert two.verdict.startswith("a is better than b: success 1.000 against 0.083 on 12 tasks")
    assert [each.id for each in two.sections][:2] == ["success", "pairs"]
    assert "won 0, lost 11" in section(two, "tasks").notes[0]
    three = report_of(list(map(str, (a, b, c))))
    found = compare_all([MeasuredRun.read(run, run.name) for run in (a, b, c)])
    rows = section(three, "pairs").tables[0].table.rows
    assert [row[:2] for row in rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [row[7] for row in rows] == [each.verdict for each in found]
    assert "The other pair cannot be told apart." in three.verdict
    assert [f.value for f in two.answers[0].facts] == ["1.000", "0.083", "+0.917", "1 ×"]
    assert [f.label for f in three.answers[0].facts][:2] == ["Success, a", "Success, c"], "the two highest"
    same = report_of([str(a), str(c)])
    assert same.verdict.startswith("a and c cannot be told apart") and "80 %" in same.verdict
    assert three.to_html() and same.to_html()


def test_an_unfinished_run_in_a_comparison(tmp_path: Path) -> None:
    a, b = make_run(tmp_path / "a", [WON] * 6), make_run(tmp_path / "b", [LOST] * 3 + [OWED] * 3)
    report = report_of([str(a), str(b)])
    assert "b: 3 of 6 episodes are recorded" in report.verdict
    assert section(report, "pairs").tables[0].table.rows[0][-2:] == (3, 3)
    nothing = make_run(tmp_path / "c", [OWED] * 6)
    assert "No difference can be computed yet" in report_of([str(a), str(nothing)]).verdict


def test_runs_under_other_conditions_are_not_compared(tmp_path: Path) -> None:
    a, b = make_run(tmp_path / "a", [WON]), make_run(tmp_path / "b", [WON], env="tau_airline")
    with pytest.raises(NotComparableError, match="conditions differ"):
        report_of([str(a), str(b)])


def test_a_stale_floor_is_not_shown(tmp_path: Path) -> None:
    """A floor that was played with another version of the environment is no reference of this run."""
    run = make_run(tmp_path / "run", [WON] * 6 + [LOST] * 4)
    floor = make_run(run / REFERENCES / "silent", [LOST] * 10, agent="silent")
    assert "better than the highest floor (silent, 0.000)" in report_of([str(run)]).verdict
    manifest = json.loads((floor / "manifest.json").read_text())
    manifest["conditions"]["env_version"] = "older"
    (floor / "manifest.json").write_text(json.dumps(manifest))
    stale = report_of([str(run)])
    assert "floor" not in stale.verdict
    (figure,) = section(stale, "success").figures
    assert [row[0] for row in figure.table.rows] == ["react"]


def test_seeds_of_two_algorithms_and_training_runs_side_by_side(tmp_path: Path) -> None:
    runs = [
        make_training(
            tmp_path / f"{agent}-{seed}", [LOST] * 10, [WON] * wins + [LOST] * (10 - wins), agent=agent
        )
        for agent, wins in (("nlac", 9), ("ppo", 1))
        for seed in (0, 1)
    ]
    report = report_of([f"{runs[0]},{runs[1]}", f"{runs[2]},{runs[3]}"])
    assert report.verdict.startswith("nlac-0,nlac-1 is better than ppo-0,ppo-1: ")
    assert "2 and 2 seeds" in report.verdict and str(tmp_path) not in report.to_html()
    assert len(section(report, "curves").figures) == 4
    assert section(report, "pairs").notes
    (figure,) = section(report, "success").figures
    assert [row[6] for row in figure.table.rows][-2:] == ["0.900 0.900", "0.100 0.100"]
    with pytest.raises(NlacBenchError, match="expected two sides, got 1"):
        report_of([f"{runs[0]},{runs[1]}"])


def test_intervals_of_trained_methods_cover_seeds_as_on_a_board(tmp_path: Path) -> None:
    wins = (26, 21, 17)
    runs = {
        agent: [
            make_training(
                tmp_path / f"{agent}-{seed}", [LOST] * 30, [WON] * n + [LOST] * (30 - n), agent=agent
            )
            for seed, n in enumerate(wins)
        ]
        for agent in ("nlac", "ppo")
    }
    report = report_of([",".join(map(str, folders)) for folders in runs.values()])
    (figure,) = section(report, "success").figures
    expected = algorithm_interval(np.array([[1.0] * n + [0.0] * (30 - n) for n in wins]))
    assert expected.method == "t over seeds and tasks" and expected.low > 0 and expected.high < 1
    bars = [(row[4], row[5]) for row in figure.table.rows if row[1] == "trained" and row[6]]
    assert bars == [pytest.approx((expected.low, expected.high))] * 2
    assert "further training runs" in figure.title


@pytest.mark.parametrize("changed", ["order", "fewer"])
def test_seeds_are_joined_by_task(changed: str, tmp_path: Path) -> None:
    """Each of 10 tasks is won or lost in every seed that has it, so the seeds do not differ."""
    ends = {task(place): WON if place < 5 else LOST for place in range(10)}
    names = {"order": sorted(ends, reverse=True), "fewer": list(ends)[:8]}[changed]
    first = make_training(tmp_path / "nlac-0", [LOST] * 10, list(ends.values()))
    second = make_training(
        tmp_path / "nlac-1", [LOST] * len(names), [ends[name] for name in names], tasks=names
    )
    seeds = [ReportSubject.read("nlac", "trained", RunFolder.open(run)).outcomes for run in (first, second)]
    for metric in ("success", "reward"):
        assert forest_row("nlac", "trained", seeds, metric).estimate.value == 0.5
    both = [ends[name] == WON for name in ends if name in names]
    expected = algorithm_interval(np.array([both, both], dtype=float))
    found = forest_row("nlac", "trained", seeds, "success").estimate
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_a_sweep_is_reported_with_failed_seeds(tmp_path: Path) -> None:
    def failed(cell: Cell) -> bool:
        return cell.env == "tau_retail" and (cell.method, cell.seed) == ("ppo", 1)

    fill(tmp_path, PLAN, but=failed)
    for run in filter(failed, PLAN.cells()):
        fail(run.folder(tmp_path))
    write_sweep(PLAN, tmp_path, "nlac")
    report = report_of([str(tmp_path)])
    assert "ppo on tau_retail: 1 of 2 seeds are finished" in report.progress
    rows = {row["method"]: row for row in json.loads((tmp_path / "comparison.json").read_text())["rows"]
            if row["env"] == "tau_retail"}  # fmt: skip
    estimates = by_first(section(report, "success").figures[0].table)
    for method in ("nlac", "ppo", "rft"):
        assert estimates[method]["success"] == pytest.approx(rows[method]["success"])
    assert estimates["ppo"]["note"] == "(1 of 2 seeds)" and estimates["random"]["kind"] == "floor"
    assert any("CUDA out of memory" in note for note in section(report, "unscored").notes)
    assert section(report, "failures").tables
    name = tmp_path.name
    commands = section(report, "reproduce").commands
    assert f"nlac-bench eval --config {name}/tau_retail/nlac-0/config.json" in commands
    assert commands[-1] == f"nlac-bench report {name} --out report.html"
    assert any("CUDA out of memory" in note for note in section(report, "unscored").notes)
    assert section(report, "failures").tables
    name = tmp_path.name
    commands = section(report, "reproduce").commands
    assert f"nlac-bench eval --config {name}/tau_retail/nlac-0/config.json" in commands
    assert commands[-1] == f"nlac-bench report {name} --out report.html"
    costs = by_first(section(report, "curves").figures[0].table)
    assert costs and not re.search(r">\d+\.000</td><td>[^<]*gradient", report.to_html())
    assert report.verdict.startswith("Not all runs are finished, so what follows is preliminary. On tau_")
    assert "On tau_retail, nlac has a success of 0.500" in report.verdict
    assert "so there is no verdict on ppo (0.500)" in report.verdict


def test_the_verdict_of_a_sweep_names_every_method(tmp_path: Path) -> None:
    data = json.loads((RETAIL / "comparison.json").read_text())
    compared = [row for row in data["rows"] if row["versus"]]
    for row, verdict in zip(compared, ("nothing was learned", "a verdict of a later version"), strict=False):
        row["versus"]["verdict"] = verdict
    (tmp_path / "comparison.json").write_text(json.dumps(data))
    verdict = report_of([str(tmp_path)]).verdict
    assert f"which learned nothing: {compared[0]['method']} (" in verdict
    assert f"could not be compared with {compared[1]['method']} (" in verdict
    assert all(f"{row['method']} (" in verdict for row in compared)


def test_the_committed_sweep_is_reported_without_its_runs() -> None:
    report = report_of([str(RETAIL)])
    data = json.loads((RETAIL / "comparison.json").read_text())
    assert len(report.sections) == 8 and report.progress == ()
    assert section(report, "denominators").notes == ("2,880 of 2,880 test episodes are scored.",)
    assert [fact.value for fact in report.answers[0].facts] == ["0.375", "0.731", "+0.356", "143k"]
    told = {row["method"] for row in data["rows"] if row["env"] == SHOP and row["versus"]
            and row["versus"]["verdict"] == "A better"}  # fmt: skip
    better = report.verdict.split("It is better than ")[1].split(".  ")[0].split(" It cannot")[0]
    assert {re.sub(r" \(.*", "", name) for name in re.split(r", | and ", better)} == told
    stored = [r["success"] for name, r in data["runs"][SHOP].items() if name.rpartition("-")[0] == "nlac"]
    expected = algorithm_interval(np.array([[run[task] for task in stored[0]] for run in stored]))
    drawn_bar = by_first(section(report, "success").figures[0].table)["nlac"]
    assert (drawn_bar["95 % low"], drawn_bar["95 % high"]) == pytest.approx((expected.low, expected.high))
    tested = [row for row in section(report, "curves").figures[0].table.rows if row[2] == "test"]
    nlac = next(r for r in data["rows"] if (r["env"], r["method"]) == (SHOP, "nlac"))
    drawn = {str(row[1]): (row[3], row[4]) for row in tested if row[0] == "nlac"}
    assert drawn.keys() == nlac["chosen_steps"].keys()
    for seed, step in nlac["chosen_steps"].items():
        assert drawn[seed] == pytest.approx((step, nlac["seeds"][seed]))


def test_the_answers_of_a_sweep_name_its_environments(tmp_path: Path) -> None:
    data = json.loads((RETAIL / "comparison.json").read_text())
    data["rows"] += [row | {"env": "twenty_questions"} for row in data["rows"]]
    data["runs"]["twenty_questions"] = data["runs"][SHOP]
    (tmp_path / "comparison.json").write_text(json.dumps(data))
    assert [each.name for each in report_of([str(tmp_path)]).answers][:2] == [SHOP, "twenty_questions"]


def test_a_damaged_comparison_and_a_folder_without_a_run_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"manifest\.json is missing"):
        report_of([str(tmp_path)])
    (tmp_path / "comparison.json").write_text('{"against": 3}')
    with pytest.raises(RunFolderError, match=r"comparison\.json is damaged"):
        report_of([str(tmp_path)])


@pytest.mark.parametrize("field", ["success", "ci", "tokens", "best"])
@pytest.mark.parametrize("value", [None, "text", -1, 10**400, [0.1]])
def test_damaged_metrics_are_refused(tmp_path: Path, field: str, value: object) -> None:
    folder = trained(tmp_path)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    rows[-1][field] = value
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl is damaged"):
        report_of([str(folder)])


@pytest.mark.parametrize(
    "usage",
    [[1], "text", {"policy": 1}, {"policy": {"x": 1}}, {"policy": {"calls": "1"}}, {"odd:policy": {}}],
)
def test_damaged_costs_are_refused(tmp_path: Path, usage: object) -> None:
    folder = trained(tmp_path)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        row["usage"] = usage
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises((RunFolderError, ValueError), match=r"is damaged|purpose must be one of"):
        report_of([str(folder)])


@pytest.mark.parametrize("field", ["success", "tokens", "gradient_steps_total"])
def test_damaged_validations_of_a_sweep_are_refused(tmp_path: Path, field: str) -> None:
    data = json.loads((RETAIL / "comparison.json").read_text())
    del data["runs"][SHOP]["nlac-0"]["validations"][1][field]
    (tmp_path / "comparison.json").write_text(json.dumps(data))
    with pytest.raises(RunFolderError, match=rf"nlac-0.*{field}"):
        report_of([str(tmp_path)])


def test_a_sweep_without_any_result_is_reported(tmp_path: Path) -> None:
    data = json.loads((RETAIL / "comparison.json").read_text())
    data["runs"] = {}
    for row in data["rows"]:
        row |= {"success": None, "seeds": dict.fromkeys(row["seeds"]), "env": f"../{row['env']}"}
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "comparison.json").write_text(json.dumps(data))
    make_run(tmp_path / "tau_retail" / "nlac-0", [WON])
    report = report_of([str(tmp_path / "sweep")])
    assert "0 of 3 seeds are finished" in report.progress[0] and not section(report, "tasks").figures
    assert "The folders of the sweep's runs are not here" in report.setting, "folders outside are not read"
    assert report.to_html()


def test_files_for_a_paper(tmp_path: Path) -> None:
    report = report_of([str(trained(tmp_path))])
    files = write_files(report, tmp_path / "csv", "csv")
    names = {"forest.csv", "denominators.csv", "learning_curve.csv", "tasks.csv", "failures.csv", "costs.csv",
             "provenance.csv", "replies.csv"}  # fmt: skip
    assert {path.name for path in files} == names == {path.name for path in (tmp_path / "csv").iterdir()}
    drawn = {path.name for path in write_files(report, tmp_path / "svg", "svg")}
    assert drawn == names | {"forest.svg", "learning_curve.svg", "tasks.svg", "costs.svg"}
    again = write_files(report, tmp_path / "again", "svg")
    assert all(path.read_bytes() == (tmp_path / "svg" / path.name).read_bytes() for path in again)


def test_a_report_replaces_itself_and_nothing_else(tmp_path: Path) -> None:
    report = report_of([str(make_run(tmp_path / "run", [WON, LOST]))])
    path = tmp_path / "new" / "report.html"
    write_page(report, path)
    first = path.read_bytes()
    write_page(report, path)
    assert path.read_bytes() == first and [each.name for each in path.parent.iterdir()] == ["report.html"]
    for wrong in (tmp_path / "run" / "config.json", tmp_path / "run"):
        with pytest.raises(NlacBenchError, match=r"ends with \.html"):
            write_page(report, wrong)


def test_secrets_are_not_in_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(tmp_path / "run", [WON, INFRA], message="the key is hidden-value-123456")
    monkeypatch.setenv("MY_API_KEY", "hidden-value-123456")
    assert "hidden-value-123456" not in report_of([str(folder)]).to_html()


def test_the_report_of_a_run_leads_to_its_episodes(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a run", [WON])
    write_page(report_of([str(run)]), run / "report.html")
    text = (run / "report.html").read_text()
    assert "nlac-bench view &#39;a run&#39;" in text and 'href="view.html"' not in text
    (run / "view.html").write_text("the viewer")
    for out, linked in ((run / "report.html", True), (tmp_path / "report.html", False)):
        write_page(report_of([str(run)]), out)
        assert ('href="view.html"' in out.read_text()) is linked
