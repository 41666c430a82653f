"""``nlac-bench leaderboard build`` and ``schema``: what is written, refused and compared."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from nlac_bench.leaderboards.entry import Entry
from nlac_bench.leaderboards.entry_file import entry_text, parse_entry
from tests.browser import HOSTILE
from tests.cli.command import nlac_bench, one_json
from tests.leaderboards.boards_of import hostile
from tests.leaderboards.factory import KEY, entry

# Models are not trained here, so their boards have one small figure, and building them is fast.
MODELS = [
    entry("oracle", [True] * 12),
    entry("random", [False] * 11 + [True]),
    entry("react", [True] * 9 + [False] * 3),
    entry("act", [False] * 11 + [True]),
]


def submitted(folder: Path, entries: list[Entry]) -> Path:
    folder.mkdir()
    for each in entries:
        (folder / f"{each.entry_id}.json").write_text(entry_text(each))
    return folder


def build(results: Path, out: Path, *options: str, status: int = 0) -> dict[str, Any]:
    arguments = ("leaderboard", "build", "--results", str(results), "--out", str(out), *options)
    return one_json(nlac_bench(*arguments, "--json", status=status))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_board_is_built_and_the_same_entries_give_the_same_bytes(tmp_path: Path) -> None:
    results, out = submitted(tmp_path / "results", MODELS), tmp_path / "boards"
    (results / "README.md").write_text("not an entry")
    found = build(results, out)
    assert found["rejected"] == []
    [board] = found["boards"]
    assert set(board) == {"board_id", "kind", "entries", "pairs", "files"}
    assert (board["board_id"], board["kind"]) == (MODELS[0].board_id, "models")
    by_id = {each["entry_id"]: each for each in board["entries"]}
    react, act = (by_id[each.entry_id] for each in MODELS[2:])
    assert react["success"] == 0.75 and act["success"] == pytest.approx(1 / 12)
    assert react["ci"] == list(MODELS[2].numbers.ci or ())
    assert react["place"] == [1, 1] and act["place"] == [2, 2]
    assert all(by_id[each.entry_id]["place"] is None for each in MODELS[:2])
    [pair] = board["pairs"]
    assert set(pair) == {"a", "b", "difference", "p", "p_holm"}
    assert pair["difference"] == pytest.approx(2 / 3) and 0 < pair["p"] == pair["p_holm"] < 0.05
    assert [Path(name).suffix for name in board["files"]] == [".html", ".md", ".csv"]
    assert all(Path(name).is_file() for name in board["files"])
    written = contents(out)
    assert json.loads(written["boards.json"])["boards"][0]["pairs"] == board["pairs"]
    again = tmp_path / "again"
    build(submitted(tmp_path / "reordered", MODELS[::-1]), again)
    assert contents(again) == written


def test_check_compares_and_writes_nothing(tmp_path: Path) -> None:
    results, out = submitted(tmp_path / "results", MODELS), tmp_path / "boards"
    build(results, out, "--check", status=1)
    assert not out.exists()
    build(results, out)
    build(results, out, "--check")
    page = next(out.glob("*-models.html"))
    page.write_bytes(page.read_bytes() + b" ")
    before = contents(out)
    done = nlac_bench(
        "leaderboard", "build", "--results", str(results), "--out", str(out), "--check", status=1
    )
    assert page.name in done.stderr and contents(out) == before


def test_files_of_a_board_that_is_gone_are_removed_and_others_are_kept(tmp_path: Path) -> None:
    results, out = submitted(tmp_path / "results", MODELS), tmp_path / "boards"
    other = entry("react", [True, False], key=KEY.model_copy(update={"env": "twenty_questions"}))
    extra = results / "extra.json"
    extra.write_text(entry_text(other))
    build(results, out)
    (out / "notes.txt").write_text("mine")
    assert list(out.glob("twenty_questions-*"))
    extra.unlink()
    build(results, out, "--check", status=1)
    build(results, out)
    assert not list(out.glob("twenty_questions-*")) and (out / "notes.txt").read_text() == "mine"
    build(results, out, "--check")


@pytest.mark.parametrize("old", ["{", "[]", '{"boards": [{"files": ["../notes.txt", "notes.txt", 3]}]}'])
def test_a_listing_of_somebody_else_removes_nothing(tmp_path: Path, old: str) -> None:
    results, out = submitted(tmp_path / "results", MODELS), tmp_path / "boards"
    out.mkdir()
    (out / "boards.json").write_text(old)
    kept = [tmp_path / "notes.txt", out / "notes.txt"]
    for path in kept:
        path.write_text("mine")
    status = 0 if old.startswith('{"') else 2
    nlac_bench("leaderboard", "build", "--results", str(results), "--out", str(out), status=status)
    assert all(path.read_text() == "mine" for path in kept)
    assert len(list(out.iterdir())) == (2 if status else 7)


def test_one_bad_entry_stops_everything(tmp_path: Path) -> None:
    results, out = submitted(tmp_path / "results", MODELS), tmp_path / "boards"
    altered = json.loads(entry_text(MODELS[2]))
    altered["numbers"]["success"] = 1.0
    (results / "altered.json").write_text(json.dumps(altered))
    (results / "broken.json").write_text("{")
    found = build(results, out, status=2)
    assert [Path(each["path"]).name for each in found["rejected"]] == ["altered.json", "broken.json"]
    assert all(each["reason"] for each in found["rejected"])
    assert not out.exists() and all(board["files"] == [] for board in found["boards"])


def test_a_check_with_a_bad_entry_names_that_entry_only(tmp_path: Path) -> None:
    results, out = submitted(tmp_path / "results", MODELS), tmp_path / "boards"
    build(results, out)
    (results / "broken.json").write_text("{")
    done = nlac_bench(
        "leaderboard", "build", "--results", str(results), "--out", str(out), "--check", status=2
    )
    assert "rejected" in done.stderr and "differs" not in done.stderr


@pytest.mark.parametrize("missing", ["absent", "empty"])
def test_without_entries_nothing_is_written(tmp_path: Path, missing: str) -> None:
    (tmp_path / "empty").mkdir()
    done = nlac_bench(
        "leaderboard", "build", "--results", str(tmp_path / missing), "--out", str(tmp_path / "out"), status=2
    )
    assert missing in done.stderr and not (tmp_path / "out").exists()


def test_warnings_are_on_the_row_in_every_format(tmp_path: Path) -> None:
    said = "the code had changes that are not in its commit"
    plain, warned = MODELS[2], entry("act", [False] * 12, warnings=[said])
    out = tmp_path / "boards"
    build(submitted(tmp_path / "results", [plain, warned]), out)
    html, text, table = (next(out.glob(f"*-models.{end}")).read_text() for end in ("html", "md", "csv"))
    assert all(written.count(said) == 1 for written in (html, text, table))
    rows = {name: next(x for x in text.splitlines() if x.startswith("|") and f"| {name}" in x)
            for name in ("react", "act")}  # fmt: skip
    assert "⚠ 1 warning |" in rows["act"] and "⚠" not in rows["react"]
    assert f"- act: {said}" in text.splitlines() and "⚠ 1 warning<" in html


def test_a_file_is_no_folder_for_boards(tmp_path: Path) -> None:
    results, out = submitted(tmp_path / "results", MODELS), tmp_path / "file"
    out.write_text("mine")
    done = nlac_bench("leaderboard", "build", "--results", str(results), "--out", str(out), status=2)
    assert f"{out}" in done.stderr and "--out" in done.stderr and out.read_text() == "mine"


def test_schema_describes_an_entry() -> None:
    schema = one_json(nlac_bench("leaderboard", "schema"))
    content = json.loads(entry_text(MODELS[2]))
    assert set(content) == set(schema["properties"]) and schema["additionalProperties"] is False
    assert parse_entry(entry_text(MODELS[2]).encode()) == MODELS[2]


def test_hostile_entries_break_neither_csv_nor_markdown(tmp_path: Path) -> None:
    results, out = submitted(tmp_path / "results", hostile(list(HOSTILE.values()))), tmp_path / "boards"
    build(results, out)
    with next(out.glob("*.csv")).open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    assert len(rows) == 4 and all(len(row) == len(header) for row in rows)
    assert not any(re.match(r"[=@\t\r]|[+-](?![\d.]+$)", cell) for row in rows for cell in row)
    text = next(out.glob("*-algorithms.md")).read_text(encoding="utf-8")
    table = [line for line in text.splitlines() if line.startswith("|")][:5]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    for folder_file in out.glob("*.md"):
        tokens = [
            token
            for block in MarkdownIt("gfm-like", {"linkify": False}).parse(
                folder_file.read_text(encoding="utf-8")
            )
            for token in [block, *(block.children or [])]
        ]
        assert {t.content for t in tokens if t.type.startswith("html")} <= {"<br>"}
        links = {str(t.attrs["href"]) for t in tokens if t.type == "link_open"}
        assert links <= {f"{path.name}" for path in out.iterdir()}
        assert not {t.type for t in tokens} & {
            "image",
            "fence",
            "code_block",
            "code_inline",
            "s_open",
            "em_open",
        }
        assert not any("\u202e" in t.content for t in tokens)
