"""``view`` and ``watch``: what they print, what they refuse, and when a browser may be opened."""

import os
import socket
from pathlib import Path

import pytest

from nlac_bench.cli.view import can_open
from nlac_bench.cli.watch import is_written, spark
from nlac_bench.harness.runs.lines import FolderLock
from tests.cli.command import nlac_bench, one_json
from tests.reports.report_runs import LOST, OWED, WON, make_run
from tests.reports.view_runs import make_critic_run


def test_view_writes_a_page_and_prints_one_object(tmp_path: Path) -> None:
    run, other = (make_run(tmp_path / name, [WON, LOST]) for name in ("a", "b"))
    out = tmp_path / "both.html"
    printed = one_json(
        nlac_bench("view", str(run), str(other), "--out", str(out), "--json", "--no-open", CI="1")
    )
    assert printed == {"path": str(out), "episodes": 4, "bytes": out.stat().st_size}
    assert str(run / "view.html") in nlac_bench("view", str(run), CI="1").stdout
    assert (run / "view.html").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--text", "--json"), "nb.load"),
        (("--text", "--out", "a.html"), "leave out --text"),
        (("--lost",), "for --text"),
        (("--out", "a.txt"), "ends with .html"),
        (("--text", "--task", "nothing"), "no episode is selected"),
        (("--text", "--critic"), "no episode is selected"),
    ],
)
def test_view_refuses(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [WON])
    refused = nlac_bench("view", str(run), *options, status=2, CI="1")
    assert message in refused.stderr and refused.stdout == ""


def test_view_shows_at_most_two_runs(tmp_path: Path) -> None:
    run = str(make_run(tmp_path / "run", [WON]))
    assert "one or two runs" in nlac_bench("view", run, run, run, status=2).stderr


@pytest.mark.parametrize(
    ("platform", "environment", "opens"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"DISPLAY": ":0", "CI": "true"}, False),
        ("darwin", {}, True),
        ("darwin", {"CI": "1"}, False),
        ("darwin", {"SSH_CONNECTION": "a"}, False),
    ],
)
def test_a_browser_is_opened_only_on_a_display_and_not_under_ci(
    platform: str, environment: dict[str, str], opens: bool
) -> None:
    assert can_open(platform, environment) is opens


def test_no_open_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    run = make_run(tmp_path / "run", [WON])
    nlac_bench("view", str(run), "--no-open", DISPLAY=":0", CI="")
    assert opened == []
    nlac_bench("view", str(run), DISPLAY=":0", CI="")
    assert opened == [(run / "view.html").as_uri()]


def test_text_selects_episodes_and_shows_the_critic(tmp_path: Path) -> None:
    run = make_critic_run(tmp_path / "nlac", ["a \x1b[31mred\x1b[0m [bold]text[/bold]"])
    every = nlac_bench("view", str(run), "--text").stdout
    assert every.count("task t00") == 2 and "won" in every and "\x1b[31mred" not in every
    assert r"\x1b[31mred" in every and "[bold]text[/bold]" in every
    lost = nlac_bench("view", str(run), "--text", "--lost", "--task", "t00").stdout
    assert lost.count("task t00") == 1 and "untrained" in lost and "critic" not in lost
    read = nlac_bench("view", str(run), "--text", "--critic").stdout
    assert "task t00" not in read and "critic, critique" in read and "predicted failure: right" in read


def test_watch_ends_with_the_run(tmp_path: Path) -> None:
    shown = nlac_bench("watch", str(make_critic_run(tmp_path / "nlac"))).stdout
    assert "test: 2 of 2 episodes" in shown and "validation: ▃▇▅  0.500" in shown and "8 of 8 steps" in shown


def test_watch_says_how_a_stopped_run_is_continued(tmp_path: Path) -> None:
    """This process made the run, and lives on."""
    run = make_run(tmp_path / "run", [WON, OWED], agent="my:METHOD")
    stopped = nlac_bench("watch", str(run), status=3)
    assert "1 of 2 episodes" in stopped.stdout
    assert f"nlac-bench resume {run} --agent my:METHOD" in stopped.stderr


def test_a_run_is_written_by_the_process_in_its_lock(tmp_path: Path) -> None:
    lock, here = tmp_path / ".lock", socket.gethostname()
    assert not is_written(tmp_path)
    held = FolderLock(tmp_path)
    assert is_written(tmp_path)
    held.release()
    assert not is_written(tmp_path)
    for label, written in (
        (f"pid {os.getpid()} on {here}\n", True),
        (f"pid 999999999 on {here}\n", False),
        ("pid 1 on another machine\n", True),
        ("anything\n", False),
    ):
        lock.write_text(label)
        assert is_written(tmp_path) is written, label


def test_a_curve_is_a_line_of_bars() -> None:
    assert spark([0.0, 0.5, 1.0]) == "▁▅█"
