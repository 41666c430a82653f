"""``nlac-bench view``: the episodes of runs and the critic's texts, as a page or in the terminal."""

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.cli.output import JsonFlag, console, escape, print_json
from nlac_bench.errors import ConfigError


def view(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN [RUN]", help="One or two run folders.")],
    out: Annotated[
        Path | None,
        typer.Option(help="The file (.html) to write; default: view.html in the (first) run's folder."),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the file in a browser.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Print transcripts in the terminal.")] = False,
    task: Annotated[str | None, typer.Option(help="With --text: this task only.")] = None,
    lost: Annotated[bool, typer.Option("--lost", help="With --text: lost episodes only.")] = False,
    critic: Annotated[
        bool, typer.Option("--critic", help="With --text: episodes that the critic read, with its texts.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show episodes, and what a language critic said about them, as one HTML file without network.

    The page has filters, a search through all messages, transcripts with changes
    of the database, two runs side by side, and the critic's texts about each turn
    and about a fixed state over the training. Recorded actions are played again
    for it; no file of the runs is imported or executed. More than 2,000 episodes
    become a file and a folder of parts.

    Examples:
      nlac-bench view runs/nlac
      nlac-bench view runs/nlac runs/react --out both.html --no-open
      nlac-bench view runs/nlac --text --lost --critic
    """
    if len(folders) > 2:
        raise ConfigError(f"view shows one or two runs, got {len(folders)}; leave out some")
    if not text:
        if given := [
            name for name, value in (("--task", task), ("--lost", lost), ("--critic", critic)) if value
        ]:
            raise ConfigError(f"{given[0]} selects episodes for --text; the page has filters for it")
        _write(folders, out, no_open, as_json)
        return
    if as_json:
        raise ConfigError(
            "--text --json: transcripts are not printed as JSON; use nb.load(…) (import nlac_bench as nb), "
            "or read episodes.jsonl"
        )
    if out is not None:
        raise ConfigError(f"--out {out}: --text prints to the terminal; leave out --text to write a page")
    from nlac_bench.cli.view_text import print_transcripts

    print_transcripts(folders, task=task, lost=lost, critic=critic)


def _write(folders: list[Path], out: Path | None, no_open: bool, as_json: bool) -> None:
    from nlac_bench.reports.report.page import VIEW
    from nlac_bench.reports.view.page import write_view

    made = write_view(folders, folders[0] / VIEW if out is None else out)
    if as_json:
        print_json(made.to_json())
    else:
        console.print(f"{made.episodes:,} episodes: {escape(str(made.path))}", soft_wrap=True)
    if not no_open and can_open(sys.platform, os.environ):
        webbrowser.open(made.path.resolve().as_uri())


def can_open(platform: str, environment: "os._Environ[str] | dict[str, str]") -> bool:
    """Return whether a browser can be opened: there is a display, and the command does not run under CI."""
    if environment.get("CI"):
        return False
    if platform in ("darwin", "win32"):
        return not environment.get("SSH_CONNECTION")
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))
