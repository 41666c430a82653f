"""``nlac-bench watch``: shows a run while it is going, in a terminal, and ends with it."""

import functools
import os
import re
import socket
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.api.session import resume_command
from nlac_bench.cli.exit_codes import incomplete
from nlac_bench.cli.output import console, escape
from nlac_bench.harness.runs.critiques import CRITIQUES, read_critiques
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.learner.config import Budget
from nlac_bench.stats.interim import Interim
from nlac_bench.training.curve import rows_of
from nlac_bench.training.progress import SPENT_FIELD
from nlac_bench.training.untrained import BASE
from nlac_bench.untrusted import read_untrusted
from nlac_bench.visible import one_line

_EVERY = 2.0
"""Seconds between two looks at the folder."""
_BARS = "▁▂▃▄▅▆▇█"
_POINTS = 60


def watch(folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]) -> None:
    """Show a run while it is going: the curve of a training run, its newest critique, rates, episodes.

    It only reads the run's folder, so it can be started and stopped at any time
    and over SSH. It ends when the run ends. Where the output is not a terminal,
    one line is printed whenever something has changed.

    Example:
      nlac-bench watch runs/nlac
    """
    seen = Seen.read(folder)
    if console.is_terminal:
        with Live(seen.panel(), console=console, auto_refresh=False) as live:
            while seen.going:
                time.sleep(_EVERY)
                seen = Seen.read(folder)
                live.update(seen.panel(), refresh=True)
    else:
        line = ""
        while True:
            if (now := seen.line()) != line:
                console.print(escape(now), soft_wrap=True)
                line = now
            if not seen.going:
                break
            time.sleep(_EVERY)
            seen = Seen.read(folder)
    if not seen.ended:
        raise incomplete(
            f"no process is writing to {folder}, and the run has not ended", resume_command(seen.run)
        )


@dataclass(frozen=True)
class Seen:
    """What a run's folder contains at one moment."""

    run: RunFolder
    base: Interim | None
    own: Interim
    iterations: list[dict[str, Any]]
    validations: list[dict[str, Any]]
    critique: CritiqueRecord | None
    written: bool
    """Whether a process is writing to the folder."""

    @classmethod
    def read(cls, folder: Path) -> "Seen":
        """Read the folder of a run.

        Raises:
            RunFolderError: ``folder`` contains no run, or is damaged.
        """
        written = is_written(folder)  # before the files, which are complete when the writer has ended
        run = RunFolder.open(folder)
        base = folder / BASE
        return cls(
            run,
            _interim(RunFolder.open(base)) if (base / "manifest.json").exists() else None,
            _interim(run),
            rows_of(run, "iteration"),
            rows_of(run, "validation"),
            _last_critique(folder, _size(folder / CRITIQUES)),
            written,
        )

    @property
    def ended(self) -> bool:
        """Whether all planned episodes are recorded."""
        return self.own.ended == self.own.planned

    @property
    def going(self) -> bool:
        """Whether more will be recorded."""
        return self.written and not self.ended

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield labels and texts: episodes, the budget's use, success, losses and rates."""
        if self.base is not None:
            yield "untrained", _episodes(self.base)
        train = self.run.config.get("train")
        if isinstance(train, dict) and self.iterations:
            row = self.iterations[-1]
            budget = Budget.parse(str(train.get("budget")))
            spent = row[SPENT_FIELD[budget.unit]]
            yield (
                "training",
                f"iteration {row.get('iteration')}, {spent:,} of {budget.amount:,} {budget.unit}",
            )
            rate = row["tokens"] / row["seconds"] if row["seconds"] else 0.0
            yield "rates", f"{rate:,.0f} tokens generated a second, {row['env_steps']:,} environment steps"
            shown = ("l1", "l2", "loss", "share_optimal", "successor_accuracy", "evaluator_auc")
            figures = [f"{name} {row[name]:.3f}" for name in shown if isinstance(row.get(name), float)]
            if figures:
                yield "learning", ", ".join(figures)
            unparseable = [
                f"{name.removeprefix('unparseable_')} {value:.0%}"
                for name, value in row.items()
                if name.startswith("unparseable_") and isinstance(value, float)
            ]
            if unparseable:
                yield "unparseable", ", ".join(unparseable)
            plays = [r["train_success"] for r in self.iterations if isinstance(r.get("train_success"), float)]
            if plays:
                yield "train success", f"{spark(plays)}  {plays[-1]:.3f}"
        if self.validations:
            row = self.validations[-1]
            low, high = row["ci"]
            curve = spark([each["success"] for each in self.validations])
            yield "validation", f"{curve}  {row['success']:.3f} ({low:.3f} to {high:.3f})"
        if self.own.ended or self.base is None:
            yield "test" if self.base is not None else "episodes", _episodes(self.own)

    def line(self) -> str:
        """Return what is shown where the output is not a terminal."""
        return "; ".join(f"{name}: {text}" for name, text in self.facts())

    def panel(self) -> Panel:
        """Return what is shown in a terminal."""
        table = Table.grid(padding=(0, 2))
        for name, text in self.facts():
            table.add_row(Text(name, style="bold"), Text(text))
        parts: list[Any] = [table]
        if self.iterations and not self.ended:
            budget = Budget.parse(str(self.run.config["train"].get("budget")))
            done = self.iterations[-1][SPENT_FIELD[budget.unit]]
            parts.insert(0, ProgressBar(total=budget.amount, completed=done))
        if self.critique is not None:
            parts.append(_critique(self.critique))
        state = "going" if self.going else "ended" if self.ended else "stopped"
        title = f"{self.run.subject['agent']} on {self.run.conditions['env']}: {state}"
        return Panel(Group(*parts), title=escape(title), title_align="left")


@functools.lru_cache(maxsize=1)
def _last_critique(folder: Path, size: int) -> CritiqueRecord | None:
    """Return the newest critique; a file of the same ``size`` is not read again."""
    newest = deque(read_critiques(folder), maxlen=1) if size else ()
    return newest[0] if newest else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _interim(run: RunFolder) -> Interim:
    return Interim(run.plan, run.rows())


def _episodes(interim: Interim) -> str:
    parts = (f"{interim.ended} of {interim.planned} episodes", interim.to_text())
    return ", ".join(part for part in parts if part)


def _critique(record: CritiqueRecord) -> Panel:
    table = Table.grid(padding=(0, 2))
    texts = (("action", record.proposed or record.played), ("predicted", record.future),
             ("critique", record.critique), ("refined", record.refined))  # fmt: skip
    for name, text in texts:
        if text:
            shown = one_line(text)
            table.add_row(
                Text(name, style="magenta"), Text(shown if len(shown) <= 300 else f"{shown[:300]}…")
            )
    title = f"the newest critique: {record.task}, step {record.step}, iteration {record.iteration}"
    return Panel(table, title=escape(title), title_align="left", border_style="dim")


def spark(rates: list[float]) -> str:
    """Return the last ``_POINTS`` of ``rates``, from 0 to 1, as a line of bars."""
    return "".join(_BARS[min(len(_BARS) - 1, int(rate * len(_BARS)))] for rate in rates[-_POINTS:])


def is_written(folder: Path) -> bool:
    """Return whether a process is writing to the run in ``folder``, by the label of its lock.

    A process on another machine is believed to be alive.
    """
    try:
        label = read_untrusted(folder / ".lock", 1_000).decode("utf-8", "replace")
    except OSError:
        return False
    match = re.fullmatch(r"pid (\d{1,9}) on (.+)\n", label)
    if match is None:
        return False
    if match[2] != socket.gethostname():
        return True
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
