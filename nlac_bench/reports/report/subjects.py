"""Subjects of a report: the rows of its forest plot, read from run folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nlac_bench.agents.names import FLOORS
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.reports.figures.forest import ForestRow, Kind
from nlac_bench.reports.report.references import ORACLE, stored_references
from nlac_bench.stats.estimates import Estimate
from nlac_bench.stats.intervals import Floats, mean_interval, rate_interval
from nlac_bench.stats.outcomes import Outcomes, outcomes_of, task_means
from nlac_bench.stats.pairing import MeasuredRun, Metric
from nlac_bench.stats.pooled import interval_over_seeds
from nlac_bench.stats.seed_errors import approximate_note, is_approximate
from nlac_bench.training.untrained import BASE


@dataclass(frozen=True)
class ReportSubject:
    """An agent that was measured: a floor, the untrained model, a trained one, any other, or the oracle."""

    name: str
    kind: Kind
    run: RunFolder
    outcomes: Outcomes

    @classmethod
    def read(cls, name: str, kind: Kind, run: RunFolder) -> "ReportSubject":
        """Read the outcomes of ``run``.

        Raises:
            RunFolderError: the folder is damaged.
        """
        return cls(name, kind, run, outcomes_of(run))

    @property
    def measured(self) -> MeasuredRun:
        """The subject as the comparisons need it."""
        return MeasuredRun(
            self.name, self.run.conditions, self.outcomes, self.run.world, self.run.path, self.run.label
        )

    @property
    def progress(self) -> str | None:
        """How many planned episodes of an unfinished run are recorded, as text; None for a finished run."""
        counts = self.outcomes.counts
        if counts.complete:
            return None
        recorded = counts.planned - counts.owed - counts.infra_errors
        return f"{recorded} of {counts.planned} episodes are recorded"

    def estimate(self, metric: Metric) -> Estimate:
        """Return the mean over tasks with its 95 % interval."""
        return self.forest_row(metric).estimate

    def forest_row(self, metric: Metric) -> ForestRow:
        """Return the estimate as a row of a forest plot, with ``n of m`` where the run is unfinished."""
        note = f"({self.progress.partition(' episodes')[0]})" if self.progress else ""
        return forest_row(self.name, self.kind, [self.outcomes], metric, note)


def forest_row(name: str, kind: Kind, seeds: Sequence[Outcomes], metric: Metric, note: str = "") -> ForestRow:
    """Return the mean over tasks and ``seeds`` with its 95 % interval, clustered by task.

    The interval of a trained method's success covers further training seeds too if there are at least two,
    as on a leaderboard (``interval_over_seeds``). Otherwise the seeds of a task count as further trials.
    """
    tasks = list(dict.fromkeys(task for each in seeds for task in each.tasks))
    tables = [_by_task(each, tasks, metric) for each in seeds]
    means = task_means(np.concatenate(tables, axis=1))
    means = means[~np.isnan(means)]
    trials = sum(each.trials for each in seeds)
    interval = rate_interval(means, trials) if metric == "success" else mean_interval(means)
    each_seed = [task_means(table) for table in tables] if len(tables) > 1 else []
    if metric == "success" and kind == "trained" and each_seed:
        interval = interval_over_seeds(np.array(each_seed))
    return ForestRow(
        name,
        kind,
        Estimate.with_interval(float(means.mean()) if len(means) else None, interval),
        tuple(float(np.nanmean(m)) for m in each_seed if not np.isnan(m).all()),
        note,
    )


def _by_task(outcomes: Outcomes, tasks: Sequence[str], metric: Metric) -> Floats:
    """Return the results ``[tasks, trials]`` of ``tasks``, NaN for a task that the run does not have."""
    table = outcomes.success if metric == "success" else outcomes.reward
    rows = dict(zip(outcomes.tasks, table, strict=True))
    absent = np.full(outcomes.trials, np.nan)
    return np.array([rows.get(task, absent) for task in tasks]).reshape(len(tasks), outcomes.trials)


def kind_of(run: RunFolder) -> Kind:
    """Return which mark the agent of ``run`` has in a forest plot."""
    agent = run.subject["agent"]
    if run.subject.get("train") is not None:
        return "trained"
    return "oracle" if agent == ORACLE else "floor" if agent in FLOORS else "run"


def seeds_note(seeds: int) -> str:
    """Return the note of a row of several seeds: how many, and whether its interval is approximate."""
    return f"({approximate_note(seeds) if is_approximate(seeds) else f'{seeds} seeds'})"


@dataclass(frozen=True)
class Measurement:
    """A run folder with what belongs to it: its floors and oracle, and for training the untrained model."""

    name: str
    own: ReportSubject
    base: ReportSubject | None
    references: tuple[ReportSubject, ...]

    @classmethod
    def read(cls, path: Path, name: str | None = None) -> "Measurement":
        """Read the run in ``path``.

        Args:
            name: its name in a report of several runs.

        Raises:
            RunFolderError: ``path`` contains no run, or one that is damaged.
        """
        run = RunFolder.open(path)
        base = path / BASE
        kind = kind_of(run)
        called = f"trained with {run.label}" if kind == "trained" else run.label
        untrained = "untrained model" if name is None else f"{name}: untrained"
        return cls(
            name or called,
            ReportSubject.read(name or called, kind, run),
            ReportSubject.read(untrained, "base", RunFolder.open(base))
            if (base / "manifest.json").exists()
            else None,
            tuple(
                ReportSubject.read(agent, "oracle" if agent == ORACLE else "floor", each)
                for agent, each in stored_references(run).items()
            ),
        )

    @property
    def trains(self) -> bool:
        """Whether it is a training run."""
        return self.own.run.subject.get("train") is not None

    def subjects(self) -> list[ReportSubject]:
        """Return the floors, the untrained model, the run and the oracle, in the order of the forest plot."""
        floors = [each for each in self.references if each.kind == "floor"]
        oracle = [each for each in self.references if each.kind == "oracle"]
        return [*floors, *([self.base] if self.base else []), self.own, *oracle]


def metric_of(subjects: Sequence[ReportSubject]) -> Metric:
    """Return ``reward`` if episodes were recorded and no environment reported a success; else ``success``."""
    reported = any(_reports_success(each.outcomes) for each in subjects)
    rewarded = any(not np.isnan(each.outcomes.reward).all() for each in subjects)
    return "reward" if rewarded and not reported else "success"


def _reports_success(outcomes: Outcomes) -> bool:
    """Return whether a success value comes from the environment.

    The driver reports success False for an episode that a limit cut, even if the environment reports none.
    """
    counts = outcomes.counts
    silent = counts.unscored - counts.content_filter
    only_cut = silent > 0 and counts.scored <= counts.truncated and not np.nansum(outcomes.success)
    return counts.scored > 0 and not only_cut


def means_of(outcomes: Sequence[Outcomes], metric: Metric, tasks: Sequence[str]) -> Floats:
    """Return the mean over trials and seeds for each of ``tasks``, NaN without a score."""
    results: dict[str, list[float]] = {task: [] for task in tasks}
    for each in outcomes:
        for task, mean in zip(each.tasks, each.task_means(metric), strict=True):
            if task in results and not np.isnan(mean):
                results[task].append(float(mean))
    return np.array([np.mean(values) if values else np.nan for values in results.values()])
