"""Prints transcripts in the terminal, in colour and page by page; ``view --text``."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nlac_bench.cli.output import console, escape, escape_lines
from nlac_bench.errors import DataError
from nlac_bench.reports.report.ends import end_in_words
from nlac_bench.reports.view.sides import Reading, ViewSide, shown_runs
from nlac_bench.types import Episode

_LONGEST = 4_000
_RESULTS = {True: "[green]won[/green]", False: "[red]lost[/red]", None: "no result"}


def print_transcripts(folders: Sequence[Path], *, task: str | None, lost: bool, critic: bool) -> None:
    """Print the selected episodes; in a terminal, page by page.

    Args:
        task: only episodes of this task.
        lost: only lost episodes.
        critic: only episodes that the critic read, with its texts.

    Raises:
        DataError: no episode is selected.
        RunFolderError: a folder contains no run, or is damaged.
    """
    lines = _lines(folders, task, lost, critic)
    first = next(lines, None)
    if first is None:
        raise DataError("no episode is selected; leave out --task, --lost or --critic")
    if sys.stdout.isatty():
        with console.pager(styles=True):
            _print(first, lines)
    else:
        _print(first, lines)


def _print(first: str, lines: Iterator[str]) -> None:
    console.print(first, soft_wrap=True)
    for line in lines:
        console.print(line, soft_wrap=True)


def _lines(folders: Sequence[Path], task: str | None, lost: bool, critic: bool) -> Iterator[str]:
    for run in shown_runs(folders):
        for side in run.sides:
            if critic and not side.readings:
                continue
            for episode in side.episodes():
                readings = side.readings.get((episode.task_id, episode.trial, episode.seed), {})
                if task not in (None, episode.task_id) or (lost and episode.success is not False):
                    continue
                if readings or not critic:
                    yield from _episode(side, episode, readings if critic else {})


def _episode(side: ViewSide, episode: Episode, readings: Mapping[int, Sequence[Reading]]) -> Iterator[str]:
    yield (
        f"\n[bold]{escape(side.name)}: task {escape(episode.task_id)}, trial {episode.trial}[/bold]  "
        f"{_RESULTS[episode.success]}, {escape(end_in_words(episode.end_reason))}, "
        f"reward {episode.total_reward:g}"
    )
    yield f"  [dim]environment[/dim] {_text(episode.first_observation)}"
    for number, turn in enumerate(episode.turns):
        spent = turn.usage
        cost = f", {spent.completion_tokens} tokens, {spent.seconds:.1f} s" if spent.calls else ""
        yield f"[cyan]{number + 1:3}[/cyan] [dim]agent{cost}[/dim] {_text(turn.text)}"
        colour = "red" if turn.info.get("tool_error") or turn.info.get("action_kind") == "invalid" else "dim"
        yield f"    [{colour}]environment[/{colour}] {_text(turn.observation)}"
        for reading in readings.get(number, ())[-1:]:
            yield from _reading(reading)


def _reading(reading: Reading) -> Iterator[str]:
    """Yield the lines of the newest text of the critic about a turn."""
    names = ("future", "critique", "refined")
    for name in names:
        if text := getattr(reading, name):
            yield f"    [magenta]critic, {name}[/magenta] {_text(text)}"
    if reading.predicted and reading.success is not None:
        right = (reading.predicted == "success") == reading.success
        word = "[green]right[/green]" if right else "[red]wrong[/red]"
        yield f"    [magenta]critic[/magenta] predicted {reading.predicted}: {word}"


def _text(text: str) -> str:
    shown = (
        text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST:,} more characters)"
    )
    return escape_lines(shown).replace("\n", "\n      ")
