"""Starts a run and plays it: the part that the command line and the Python API share."""

import re
import shlex
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlac_bench.agents.registry import AgentFactory
from nlac_bench.api.console import errors, escape
from nlac_bench.api.progress import RunProgress, TrainProgress, counters_of
from nlac_bench.api.tracking import Tracking
from nlac_bench.harness.measure.missing import refuse_missing
from nlac_bench.harness.measure.model_defaults import default_tasks
from nlac_bench.harness.measure.new_templates import play_new
from nlac_bench.harness.measure.play import play
from nlac_bench.harness.measure.prepare import Prepared, prepare
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder, label_of
from nlac_bench.harness.runs.trust import as_options, to_repeat
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.stats.summary import Summary, summarise
from nlac_bench.training.untrained import BASE, check_base

if TYPE_CHECKING:
    from nlac_bench.training.run import TrainingResult


_naming = threading.Lock()
"""Held while a folder gets a name, because runs of several threads may start in the same second."""


@dataclass(frozen=True)
class SessionResult:
    """What a session of a run has played.

    Args:
        incomplete: why episodes are still to be played; None for a complete run.
        interrupted: whether a signal is the reason.
        commonest_error: the most frequent reason of failures outside the agent.
        reportable: whether the report is written now. It is not after an interruption.
        training: the result of a complete training run.
    """

    incomplete: str | None
    interrupted: bool
    commonest_error: str | None
    reportable: bool
    training: "TrainingResult | None" = None


def start(
    config: RunConfig, out: Path | None, make_agent: AgentFactory | None = None
) -> tuple[Prepared, RunWriter]:
    """Check everything that a new run needs, make its agent, and create its folder.

    Args:
        out: the folder; None for a new one in ``runs/``.
        make_agent: makes the agent, which then is only called ``config.agent``.

    Returns:
        What the run needs, and the writer of its folder, which the caller closes.

    Raises:
        NlacBenchError: something is missing or does not fit; no folder was created.
    """
    refuse_missing(config)
    prepared = prepare(config, make_agent)
    check_base(prepared)
    with _naming:
        return prepared, prepared.new_run(out or _default_folder(prepared.config))


async def play_run(prepared: Prepared, writer: RunWriter) -> SessionResult:
    """Play the missing episodes of a run, or train and test; progress goes to standard error.

    Raises:
        NlacBenchError: the run cannot go on; what was played is in its folder.
    """
    if note := default_tasks(writer.folder.config):
        errors.print(escape(note), soft_wrap=True)
    with Tracking.of(prepared.config.track, writer.folder) as tracking:
        if prepared.config.train is None:
            result = await _measure(prepared, writer)
        else:
            result = await _train(prepared, writer, tracking)
        if prepared.config.track is not None and result.incomplete is None:
            training = {} if result.training is None else result.training.to_json()
            tracking.summary(summarise(writer.folder.path).to_json() | training)
    return result


async def _measure(prepared: Prepared, writer: RunWriter) -> SessionResult:
    folder, planned = writer.folder.path, len(writer.folder.plan)
    owed = len(writer.owed())
    errors.print(f"{owed} of {planned} episodes to play; folder {escape(str(folder))}", soft_wrap=True)
    with RunProgress(writer.folder, counters_of(prepared.agent), prepared.agent) as progress:
        driver = await play(prepared, writer, progress)
    if driver.stopped is None:
        # An interruption leaves it incomplete, and ``resume`` plays the rest.
        await play_new(prepared, folder)
    summary, reportable = summarise(folder), driver.stopped is None
    if summary.outcomes.counts.complete:
        return SessionResult(None, False, None, reportable)
    return _incomplete(summary, driver.stopped, "episodes", reportable=reportable)


async def _train(prepared: Prepared, writer: RunWriter, tracking: Tracking) -> SessionResult:
    from nlac_bench.training.run import train_and_test, trained  # torch takes seconds to import

    folder = writer.folder.path
    errors.print(f"training run; folder {escape(str(folder))}", soft_wrap=True)
    with TrainProgress(prepared.config, counters_of(prepared.agent)) as progress:

        def on_metrics(row: dict[str, Any]) -> None:
            progress.metrics(row)
            tracking.row(row)

        done = await train_and_test(
            prepared, writer, progress.phase, on_metrics, progress.training, progress.learner
        )
    if done and (result := trained(folder)) is not None:
        return SessionResult(None, False, None, reportable=True, training=result)
    failed, what = summarise(folder), "test episodes"
    if (folder / BASE / "manifest.json").exists() and RunFolder.open(folder / BASE).owed():
        failed, what = summarise(folder / BASE), "base episodes"  # played before everything else
    return _incomplete(failed, None, what, reportable=bool(failed.outcomes.counts.infra_errors))


def _incomplete(summary: Summary, stopped: str | None, what: str, *, reportable: bool) -> SessionResult:
    interrupted = stopped == "interrupted" or (stopped is None and not summary.outcomes.counts.infra_errors)
    why = why_incomplete(summary, stopped, what)
    return SessionResult(why, interrupted, summary.outcomes.commonest_error, reportable)


def why_incomplete(summary: Summary, stopped: str | None, what: str = "episodes") -> str:
    """Return why episodes are still to be played: what stopped the run, and the most frequent error.

    Args:
        what: names the episodes of ``summary``.
    """
    counts = summary.outcomes.counts
    parts = []
    if stopped or not counts.infra_errors:
        recorded = counts.planned - counts.owed - counts.infra_errors
        parts.append(f"{stopped or 'interrupted'}; {recorded} of {counts.planned} {what} are recorded")
    if counts.infra_errors:
        parts.append(
            f"{counts.infra_errors} of {counts.planned} {what} failed for a reason outside the agent (see "
            f"errors.jsonl); the most frequent reason: {summary.outcomes.commonest_error}"
        )
    return "; ".join(parts)


def resume_command(run: RunFolder) -> str:
    """Return the command that continues ``run``."""
    return shlex.join(["nlac-bench", "resume", str(run.path), *as_options(to_repeat(run.config))])


def _default_folder(config: RunConfig) -> Path:
    agent = label_of({"agent": config.agent, **config.composition})
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{config.env.split('@')[0]}-{agent}").strip("-")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = Path("runs") / f"{name}-{stamp}"
    counter = 2
    while folder.exists():
        folder = Path("runs") / f"{name}-{stamp}-{counter}"
        counter += 1
    return folder
