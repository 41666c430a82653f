"""Entries are written in one way only, and files of unknown origin are refused with their fault."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.leaderboards.entry_file import EntryError, entry_text, parse_entry, read_entry
from tests.leaderboards.factory import entry

MODEL = entry("react", [True, False, True, None])
ALGORITHM = entry("nlac", [True, False, True], [True, True, True])


@pytest.mark.parametrize("made", [MODEL, ALGORITHM], ids=["model", "algorithm"])
def test_an_entry_is_read_as_it_was_written(made: Any) -> None:
    text = entry_text(made)
    again = parse_entry(text.encode())
    assert again == made and entry_text(again) == text
    keys = list(json.loads(text))
    assert keys == sorted(keys)


def test_missing_trials_count_as_failed_in_the_ranked_number() -> None:
    numbers = MODEL.numbers
    assert numbers.success == pytest.approx(2 / 3)
    assert numbers.success_if_missing_failed == 0.5
    assert numbers.counts is not None
    assert (numbers.counts.planned, numbers.counts.scored, numbers.counts.infra_errors) == (4, 3, 1)


def _set(*path: Any, to: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        *parents, last = path
        for part in parents:
            content = content[part]
        content[last] = to

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_set("surprise", to=1), "surprise"),
        (_set("board", "surprise", to=1), "surprise"),
        (_set("schema_version", to=2), "schema_version 2"),
        (_set("schema_version", to=True), "schema_version True"),
        (_set("schema_version", to="1"), "schema_version '1'"),
        (_set("schema_version", to=1.0), "schema_version 1.0"),
        (_set("subject", "agent", to="x" * 501), "at most 500"),
        (_set("subject", "agent", to="other"), "entry_id"),
        (_set("board", "reward", to="strict"), "board_id"),
        (_set("outcomes", 0, "tasks", "000", "success", to=[1]), "bool"),
        (_set("outcomes", 0, "tasks", "000", "success", to=[None]), "scored"),
        (_set("outcomes", 0, "tasks", "000", "success", to=[]), "same length"),
        (_set("entry_id", to="../../evil"), "entry_id"),
        (_set("numbers", "success", to=1.5), "numbers.success"),
        (_set("outcomes", 0, "tasks", "000", "reward", to=[1.7e308]), "reward"),
        (_set("outcomes", 0, "tasks", "000", "reward", to=[-1e16]), "reward"),
        (
            _set(
                "cost",
                "tokens_by_role",
                to={
                    "policy": dict.fromkeys(
                        ("calls", "prompt_tokens", "completion_tokens", "cost", "seconds"), 2**62
                    )
                },
            ),
            "tokens_by_role",
        ),
        (_set("level", to="certified"), "level"),
        (_set("kind", to="algorithms"), "two runs"),
        (_set("board", "arguments", to=json.loads("[" * 40 + "]" * 40)), "nested"),
    ],
)
def test_an_altered_entry_is_refused_with_its_fault(
    change: Callable[[Any], None], said: str, tmp_path: Path
) -> None:
    content = json.loads(entry_text(MODEL))
    change(content)
    path = tmp_path / "entry.json"
    path.write_text(json.dumps(content))
    with pytest.raises(EntryError, match=said):
        read_entry(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "JSON"),
        (b"[]", "object"),
        (b'{"schema_version": 1, "schema_version": 1}', "twice"),
        (b'{"schema_version": 1, "level": NaN}', "NaN"),
        (b'{"schema_version": 1, "level": 1e999}', "too large"),
        (b"[" * 100_000, "JSON"),
        (b'{"schema_version": 1, "level": "\xff"}', "JSON"),
    ],
)
def test_what_is_no_entry_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(EntryError, match=said):
        parse_entry(data)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    with pytest.raises(EntryError, match="folder"):
        read_entry(tmp_path)
    with pytest.raises(EntryError, match="cannot be read"):
        read_entry(tmp_path / "absent.json")
