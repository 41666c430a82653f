"""Files of somebody else in place of those that commands read and write: refused in one line."""

import json
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nlac_bench.leaderboards.entry_file import entry_text
from tests.cli.command import call, nlac_bench
from tests.cli.test_bad_input import refused
from tests.leaderboards.factory import entry

RUN = ("run", "--env", "math500_hard", "--agent", "random", "--limit", "1")


def _link(path: Path) -> None:
    path.with_name("target").write_text("{}")
    path.symlink_to("target")


KINDS: dict[str, Callable[[Path], object]] = {
    "link": _link,
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
}
READERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "TOML settings": ("a.toml", (*RUN, "--config", "a.toml")),
    "JSON settings": ("a.json", (*RUN, "--config", "a.json")),
    "a sweep": ("a.toml", ("sweep", "a.toml", "--out", "out")),
    "a cluster": ("a.toml", ("launch", "--config", "a.toml")),
    "a prompt": ("prompts/nlac_refiner.txt", (*RUN, "--prompts", "prompts")),
    "answers": ("a.jsonl", ("grade", "a.jsonl")),
    "a sweep's comparison": ("sweep/comparison.json", ("report", "sweep", "--out", "r.html")),
    "a listing of boards": (
        "out/boards.json",
        ("leaderboard", "build", "--results", "entries", "--out", "out"),
    ),
    "a recording": ("a.jsonl", (*RUN, "--user-model", "x", "--replay", "a.jsonl")),
    "answers of an oracle": (
        "a.jsonl",
        (
            "run", "--env", 'twenty_questions@{"oracle": "replay", "recording": "a.jsonl"}', "--agent",
            "random", "--limit", "1",
        ),
    ),
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "entries").mkdir()
    (tmp_path / "entries" / "a.json").write_text(entry_text(entry("act", [True, False])))
    return tmp_path


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", READERS)
def test_what_is_no_regular_file_is_not_read(what: str, kind: str, here: Path) -> None:
    name, command = READERS[what]
    path = here / name
    path.parent.mkdir(exist_ok=True)
    KINDS[kind](path)
    before = everything(here)
    refused(call(*command), path.name)
    assert everything(here) == before


@pytest.mark.parametrize("name", ["config.json", "manifest.json", "episodes.jsonl", "errors.jsonl"])
def test_a_run_with_a_key_twice_is_refused(name: str, here: Path) -> None:
    """Two programs could read two runs from the same bytes."""
    nlac_bench(*RUN, "--out", "run")
    text = (here / "run" / name).read_text() or '{"task_id": "0", "trial": 0}\n'
    # A second line keeps the first from being taken for one that a crash left incomplete.
    (here / "run" / name).write_text(
        text.replace("{", '{"seed": 1, "seed": 2, ', 1) + text * (name[-1] == "l")
    )
    for command in (
        ("score", "run"),
        ("submit", "run", "--out", "out"),
        ("report", "run", "--out", "r.html"),
    ):
        refused(call(*command), "the key 'seed' occurs twice")


def build(status: int = 0) -> str:
    done = nlac_bench("leaderboard", "build", "--results", "entries", "--out", "out", status=status)
    return done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_boards_are_not_written_through_links(kind: str, here: Path) -> None:
    build()
    name = next(path.name for path in (here / "out").glob("tau_retail-*.md"))
    shutil.copytree(here / "out", here / "before")
    (here / "out" / name).unlink()
    KINDS[kind](here / "out" / name)
    (here / "out" / "index.md").write_text("older")
    assert name in build(status=2)
    assert (here / "out" / "index.md").read_text() == "older"
    if kind == "link":
        assert (here / "out" / "target").read_text() == "{}"


def test_an_entry_is_not_written_through_a_link(here: Path) -> None:
    nlac_bench("run", "--env", "twenty_questions", "--agent", "silent", "--out", "run")
    nlac_bench("submit", "run", "--out", "out")
    (path,) = (here / "out").iterdir()
    text = path.read_text()
    path.rename(here / "kept")
    path.symlink_to(here / "kept")
    refused(call("submit", "run", "--out", "out"), "is a link")
    assert (here / "kept").read_text() == text


def test_a_full_disk_leaves_the_boards_as_they_were(here: Path) -> None:
    build()
    before = {path.name: path.read_bytes() for path in (here / "out").iterdir()}
    (here / "entries" / "b.json").write_text(entry_text(entry("react", [True, True])))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # Python ignores SIGXFSZ
    try:
        said = build(status=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "nothing there was changed" in said
    assert {path.name: path.read_bytes() for path in (here / "out").iterdir()} == before
    build()
    assert json.loads((here / "out" / "boards.json").read_text()) != json.loads(before["boards.json"])
