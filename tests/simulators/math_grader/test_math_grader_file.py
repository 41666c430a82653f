"""Grading a file: rows kept and in order, broken lines named, nothing half-written."""

import json
from pathlib import Path

import pytest

from nlac_bench.errors import DataError
from nlac_bench.simulators.math_grader.grade_file import grade_file


def _write(path: Path, *lines: str | dict) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
    return path


def _read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rows_are_kept_in_order_with_their_verdicts(tmp_path: Path) -> None:
    rows = [
        {"id": n, "gold": f"x+{n}", "pred": f"{n}+x" if n % 3 else "y", "note": {"a": [n]}}
        for n in range(1, 200)
    ]
    out = tmp_path / "out.jsonl"
    summary = grade_file(_write(tmp_path / "in.jsonl", *rows), out, workers=2)
    graded = _read(out)
    assert [{key: row[key] for key in ("id", "gold", "pred", "note")} for row in graded] == rows
    assert [row["correct"] for row in graded] == [bool(n % 3) for n in range(1, 200)]
    assert all(row["ms"] >= 0 and row["reason"] for row in graded)
    assert summary["n"] == 199 and summary["correct"] == 133 and "accuracy" not in summary


def test_summary_measures_the_grader(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "in.jsonl",
        {"gold": "5", "pred": "5", "expected": True},
        {"gold": "5", "pred": "6", "expected": True},
        {"gold": "5", "pred": r"\boxed{5}", "expected": False},
        {"gold": "5", "pred": "6", "expected": False},
        {"gold": "", "pred": "6", "expected": False},
        {"gold": "42", "pred": "9^{9^{9^{9}}}", "expected": True},
        {"gold": 5, "pred": 5.0},
    )
    summary = grade_file(path, tmp_path / "out.jsonl")
    expected = {
        "n": 7,
        "correct": 3,
        "ungraded": 2,
        "false_positives": 1,
        "false_negatives": 2,
        "broken_lines": [],
    }
    assert {key: summary[key] for key in expected} == expected
    assert summary["accuracy"] == pytest.approx(3 / 6)
    assert 0 <= summary["ms_median"] <= summary["ms_p99"]
    reasons = [row["reason"] for row in _read(tmp_path / "out.jsonl") if row["correct"] is None]
    assert all(reason.startswith("ungraded: ") for reason in reasons)


def test_broken_lines_are_named_and_not_fatal(tmp_path: Path) -> None:
    good = {"gold": "5", "pred": "5"}
    path = _write(
        tmp_path / "in.jsonl",
        good,
        '{"gold": "5", "pre',
        "",
        "[1]",
        {"gold": "5"},
        {"gold": True, "pred": "5"},
        good,
    )
    with path.open("ab") as file:
        file.write(b'{"gold": "\xff", "pred": "5"}\n' + b"[" * 100_000 + b"\n")
    summary = grade_file(path, tmp_path / "out.jsonl")
    assert summary["n"] == 8 and summary["correct"] == 2 and summary["ungraded"] == 6
    assert summary["broken_lines"] == [2, 4, 5, 6, 8, 9]
    graded = _read(tmp_path / "out.jsonl")
    assert [row["line"] for row in graded if "line" in row] == [2, 4, 5, 6, 8, 9]
    assert all(f"line {row['line']}" in row["reason"] for row in graded if "line" in row)
    assert graded[3]["gold"] == "5"  # what could be read of the row is kept


def test_hostile_rows_are_named_and_lose_no_other(tmp_path: Path) -> None:
    good = '{"gold": "5", "pred": "5"}'
    hostile = {
        '{"gold": "5", "pred": "5", "note": NaN}': "not JSON",
        '{"gold": "5", "pred": 1e999}': "not JSON",
        '{"gold": "5", "pred": ' + "9" * 6_000 + "}": "not JSON",
        '{"gold": null, "pred": "5"}': "gold must be",
        '{"gold": "5", "pred": ["5"]}': "pred must be",
        "null": "not an object",
        "\0": "not JSON",
        '{"gold": "5", "pred": "5", "x": ' + "[" * 200_000 + "]" * 200_000 + "}": "not JSON",
    }
    lines = [line for one in hostile for line in (one, good)]
    summary = grade_file(_write(tmp_path / "in.jsonl", *lines), tmp_path / "out.jsonl")
    assert summary["broken_lines"] == list(range(1, 2 * len(hostile), 2))
    graded = _read(tmp_path / "out.jsonl")
    assert [row["correct"] for row in graded] == [None, True] * len(hostile)
    for number, (row, reason) in enumerate(zip(graded[::2], hostile.values(), strict=True)):
        assert row["line"] == 2 * number + 1 and f"line {row['line']}" in row["reason"]
        assert reason in row["reason"]


def test_what_json_allows_comes_back_as_it_was(tmp_path: Path) -> None:
    rows = [
        '{"gold": "5", "pred": "5", "\\ud800": "\\udc00 \\u0000"}',
        '{"gold": "\\ud800", "pred": "\\ud800 \\udfff"}',
        '{"gold": "5", "pred": "' + "x" * 10_000_000 + '"}',
        *(
            '{"gold": "5", "pred": "5", "x": ' + "[" * depth + "]" * depth + "}"
            for depth in range(940, 990, 3)
        ),
    ]
    grade_file(_write(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl")
    graded = _read(tmp_path / "out.jsonl")
    assert len(graded) == len(rows)
    for row, line in zip(graded, rows, strict=True):
        if "line" not in row:  # a row that is too deep for this stack is named instead
            assert row.items() >= json.loads(line).items()
    assert [row["correct"] for row in graded[:2]] == [True, False]
    assert graded[2]["correct"] is not True and len(graded[2]["pred"]) == 10_000_000


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((), "it is empty"),
        (("", " "), "it is empty"),
        (("[1]", '{"gold": "5"}'), "line 1 is list, not an object"),
    ],
)
def test_a_file_without_a_row_that_can_be_graded_is_refused(
    lines: tuple[str, ...], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "out.jsonl").write_text("earlier\n")
    path = _write(tmp_path / "in.jsonl", *lines)
    with pytest.raises(DataError, match=rf"in\.jsonl has no row that can be graded: {reason}; name a file"):
        grade_file(path, tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == "earlier\n"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.jsonl cannot be read .*name a file"):
        grade_file(tmp_path / "absent.jsonl", tmp_path / "nowhere" / "out.jsonl")
    with pytest.raises(DataError, match="cannot be read"):
        grade_file(tmp_path, tmp_path / "out.jsonl")
    path = _write(tmp_path / "in.jsonl", {"gold": "5", "pred": "5"})
    with pytest.raises(DataError, match="overwrite itself"):
        grade_file(path, tmp_path / "." / "in.jsonl")
    with pytest.raises(DataError, match=r"nowhere/out\.jsonl cannot be written .*--out"):
        grade_file(path, tmp_path / "nowhere" / "out.jsonl")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.jsonl"]
