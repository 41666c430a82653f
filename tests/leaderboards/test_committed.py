"""The boards in ``leaderboards/boards`` are those that the entries in ``leaderboards/results`` give.

Slow: matplotlib draws the figures of all boards. Other versions than those of constraints.txt give other
bytes. HTML pages are not committed; `make boards` writes them beside the other files.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from pkgutil import resolve_name

import pytest

from nlac_bench.envs import registry
from nlac_bench.envs.env_string import parse
from nlac_bench.leaderboards.boards import collect
from nlac_bench.leaderboards.floors import agents_of, environments
from nlac_bench.reports.boards.build import board_files, differing, render_boards

BOARDS = Path(__file__).parents[2] / "leaderboards"
_VOID = {"br", "hr", "img", "input", "link", "meta"}


class _OpenElements(HTMLParser):
    """Checks that each end tag closes the element that was opened last; ``open`` are those without one."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> at {self.getpos()}, open: {self.open[-3:]}"
        self.open.pop()


@pytest.mark.slow
def test_committed_boards_are_rendered_from_the_committed_entries() -> None:
    collected = collect(BOARDS / "results")
    assert collected.boards and not collected.rejected
    files = render_boards(collected.boards)
    changed = [name for name in differing(files, BOARDS / "boards") if not name.endswith(".html")]
    assert not changed, f"{changed} differ: run make boards"
    names = {name for board in collected.boards for name in board_files(f"{board.board_id}-{board.kind}")}
    assert set(files) == {*names, "index.html", "index.md", "boards.json"}
    for name in sorted(files):
        if name.endswith(".html"):
            page = _OpenElements()
            page.feed(files[name])
            page.close()
            assert files[name].lower().startswith("<!doctype html>") and page.open == [], name


def test_the_floors_are_of_the_present_environments() -> None:
    """Play them again after ``env_version`` rises: ``python -m nlac_bench.leaderboards.floors``."""
    found = {
        (e["board"]["env"], e["board"]["env_version"], e["board"]["data_source"], e["subject"]["agent"])
        for path in (BOARDS / "results" / "floors").glob("*.json")
        for e in [json.loads(path.read_bytes())]
    }
    versions = {name: resolve_name(where).env_version for name, (_, where) in registry.BUILTIN.items()}
    for env in environments():
        name, arguments = parse(env)
        for agent in agents_of(env):
            played = (name, versions[name], arguments.get("data", "embedded"), agent)
            assert played in found, f"{env}, {agent}"


def test_every_board_has_a_title_of_its_own() -> None:
    titles = re.findall(r"^\| \[(.*?)\]\(", (BOARDS / "boards" / "index.md").read_text(), re.M)
    assert len(titles) > 10 and sorted(titles) == sorted(set(titles))
    assert not any(re.search(r"version|[0-9a-f]{12}", title) for title in titles)
