"""The file of critiques: written, cut back to a checkpoint, read, and printed by ``nlac-bench critiques``."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents.nlac.records import Continued, CritiqueRecord, ProbeRecord
from nlac_bench.harness.runs.critiques import CRITIQUES, PROBES, read_critiques, read_probes
from nlac_bench.harness.runs.iteration_log import IterationLog
from nlac_bench.harness.runs.lines import RunFolderError
from tests.cli.command import nlac_bench, one_json

READING: dict[str, Any] = {
    "iteration": 1, "weight_version": 1, "task": "a", "trial": 0, "seed": 7, "step": 2, "heard": "hello",
    "played": "do x", "answered": "done", "success": False, "future": "next: done; end: failure",
    "predicted": "failure", "critique": "optimal: no; instead: do y", "optimal": False, "refined": "do y",
    "success_probability": 0.25, "optimal_probability": 0.125,
}  # fmt: skip


def lesson(**changes: Any) -> CritiqueRecord:
    own = {"lesson": 0, "played_weight_version": 1, "target": "next: done; end: failure", "proposed": "do z"}
    return CritiqueRecord(**{**READING, **own, **changes})


def stored(folder: Path, *lessons: CritiqueRecord) -> Path:
    log = IterationLog(folder / CRITIQUES)
    log.append(map(asdict, lessons))
    log.close()
    return folder


def iterations(folder: Path) -> list[int]:
    return [x.iteration for x in read_critiques(folder)]


# --- the file -----------------------------------------------------------------------------------------


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Lone surrogates, which models emit, are kept; nothing is stored before the first record."""
    assert list(read_critiques(tmp_path)) == [] == list(read_probes(tmp_path))
    empty = dict.fromkeys(("future", "predicted", "critique", "optimal", "refined", "success"))
    lessons = [lesson(critique="no \ud800\u2028"), lesson(**empty, target=None, proposed=None, lesson=1)]
    assert list(read_critiques(stored(tmp_path, *lessons))) == lessons
    went_on = Continued(success=True, turns=3, answered="ok")
    probe = ProbeRecord(**READING, state=0, played_on=None, refined_on=went_on)
    log = IterationLog(tmp_path / PROBES)
    log.append([asdict(probe)])
    log.close()
    assert list(read_probes(tmp_path)) == [probe]
    before = {name: x for name, x in asdict(lessons[0]).items() if not name.endswith("_probability")}
    log = IterationLog(tmp_path / CRITIQUES)  # as version 0.1 wrote it
    log.append([before])
    log.close()
    assert [*read_critiques(tmp_path)][-1] == replace(
        lessons[0], success_probability=None, optimal_probability=None
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({**asdict(lesson()), "trial": "first"}, "line 2 is damaged .trial: "),
        ({**asdict(lesson()), "predicted": "maybe"}, "line 2 is damaged .predicted: "),
        ({"iteration": 1}, "line 2 is damaged .weight_version: Field required"),
    ],
)
def test_a_line_that_is_no_record_is_reported(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    stored(tmp_path, lesson())
    with (tmp_path / CRITIQUES).open("a") as file:
        file.write(json.dumps(row) + "\n")
    with pytest.raises(RunFolderError, match=said):
        list(read_critiques(tmp_path))


@pytest.mark.parametrize("torn", [b"", b'{"iteration": 3, "tas', b"\0" * 64])
@pytest.mark.parametrize(
    ("last", "left"), [(-1, []), (0, []), (1, [1, 1]), (2, [1, 1, 2]), (9, [1, 1, 2, 3])]
)
def test_a_resumed_run_repeats_no_iteration(tmp_path: Path, torn: bytes, last: int, left: list[int]) -> None:
    stored(tmp_path, *(lesson(iteration=i, lesson=n) for n, i in enumerate((1, 1, 2, 3))))
    whole = (tmp_path / CRITIQUES).read_bytes()
    with (tmp_path / CRITIQUES).open("ab") as file:
        file.write(torn)
    log = IterationLog(tmp_path / CRITIQUES)
    log.restart_after(last)
    assert iterations(tmp_path) == left and whole.startswith((tmp_path / CRITIQUES).read_bytes())
    log.append([asdict(lesson(iteration=4))])
    log.close()
    assert iterations(tmp_path) == [*left, 4]


def test_lines_are_appended_to_those_that_are_there(tmp_path: Path) -> None:
    stored(tmp_path, lesson())
    with (tmp_path / CRITIQUES).open("ab") as file:
        file.write(b"{torn")
    assert iterations(stored(tmp_path, lesson(iteration=2))) == [1, 2]


def test_a_file_without_iterations_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / CRITIQUES).write_text('{"iteration": true}\n')
    with pytest.raises(RunFolderError, match="a line whose iteration is True; expected a whole number"):
        IterationLog(tmp_path / CRITIQUES).restart_after(0)
    assert (tmp_path / CRITIQUES).read_text() == '{"iteration": true}\n'


def test_the_files_have_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_SECRET", 'kept-"77"-secret')
    stored(tmp_path, lesson(critique='no; use kept-"77"-secret', heard=json.dumps('kept-"77"-secret')))
    (found,) = read_critiques(tmp_path)
    assert found.critique == "no; use [redacted: $TEAM_SECRET]" and "secret" not in found.heard
    assert "secret" not in (tmp_path / CRITIQUES).read_text().replace("TEAM_SECRET", "")


# --- the command --------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return stored(
        tmp_path,
        lesson(lesson=0),
        lesson(lesson=1, task="b", trial=3, critique="optimal: yes", optimal=True, refined=None),
        lesson(lesson=2, critique=None, optimal=None, refined=None),
        lesson(iteration=2, task="b", trial=4, success=None, critique="[bold]<b>no</b>"),
    )


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((), [(1, 0), (2, 4)]),
        (("--all",), [(1, 0), (1, 3), (2, 4)]),
        (("--iteration", "1"), [(1, 0)]),
        (("--task", "b"), [(2, 4)]),
        (("--task", "b", "--all"), [(1, 3), (2, 4)]),
        (("--task", "b", "--iteration", "1"), []),
        (("--task", "b", "--iteration", "2"), [(2, 4)]),
    ],
)
def test_critiques_are_selected(run: Path, options: tuple[str, ...], found: list[tuple[int, int]]) -> None:
    said = one_json(nlac_bench("critiques", str(run), *options, "--json"))
    assert sorted((x["iteration"], x["trial"]) for x in said["shown"]) == found
    assert said["critiques"] == len(found)


def test_a_shown_critique_has_its_key_and_its_texts(run: Path) -> None:
    said = one_json(nlac_bench("critiques", str(run), "--iteration", "1", "--all", "--json"))
    first = next(x for x in said["shown"] if x["task"] == "a")
    assert first == asdict(lesson())
    assert not {"refined"} & set(next(x for x in said["shown"] if x["task"] == "b"))
    text = nlac_bench("critiques", str(run), "--count", "9").stdout
    assert "2 of 4 lessons have a critique that objects" in text and "[bold]<b>no</b>" in text
    assert "task a, trial 0, step 2, iteration 1 (the episode ended in failure)" in text
    assert "task b, trial 4, step 2, iteration 2 (no outcome)" in text


def test_the_choice_of_critiques_follows_the_seed(tmp_path: Path) -> None:
    stored(tmp_path, *(lesson(lesson=n) for n in range(50)))

    def chosen(seed: int) -> list[int]:
        said = one_json(nlac_bench("critiques", str(tmp_path), "--seed", str(seed), "--json"))
        assert said["critiques"] == 50 and len(said["shown"]) == 5
        return [x["lesson"] for x in said["shown"]]

    assert chosen(0) == chosen(0) and len({tuple(chosen(seed)) for seed in range(4)}) > 1


def test_nlrl_is_shown_where_its_values_changed_the_action(tmp_path: Path) -> None:
    without = {"critique": None, "optimal": None}
    stored(tmp_path, lesson(**without), lesson(**without, lesson=1, proposed="do y"))
    assert one_json(nlac_bench("critiques", str(tmp_path), "--json"))["critiques"] == 1
    assert one_json(nlac_bench("critiques", str(tmp_path), "--all", "--json"))["critiques"] == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--iteration", "3"), "no critiques of --iteration 3 in"),
        (("--iteration", "0"), "--iteration"),
        (("--task", "c"), "no critiques of --task 'c'"),
    ],
)
def test_what_the_file_lacks_is_refused(run: Path, options: tuple[str, ...], said: str) -> None:
    done = nlac_bench("critiques", str(run), *options, "--json", status=2)
    assert said in done.stderr and not done.stdout


def test_a_run_without_the_file_is_refused(tmp_path: Path) -> None:
    done = nlac_bench("critiques", str(tmp_path), status=2)
    assert "no critiques in" in done.stderr and "runs of earlier versions" in done.stderr
    (tmp_path / CRITIQUES).write_text('{"iteration": 1}\n')
    assert "line 1 is damaged" in nlac_bench("critiques", str(tmp_path), status=2).stderr
