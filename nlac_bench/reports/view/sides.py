"""What a viewer shows of run folders: sides, each with the episodes of one agent on one set of tasks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nlac_bench.agents.nlac.records import CritiqueRecord, ProbeRecord
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import EpisodeFormatError
from nlac_bench.harness.measure.environment import Environments
from nlac_bench.harness.measure.offline import ROLLOUTS
from nlac_bench.harness.runs.critiques import PROBE_SET, read_critiques, read_probes
from nlac_bench.harness.runs.episode_json import episode_from_row
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import DamagedFolderError, read_lines
from nlac_bench.reports.report.typed import as_typed
from nlac_bench.training.curve import rows_of
from nlac_bench.training.untrained import BASE
from nlac_bench.types import Episode

Reading = CritiqueRecord | ProbeRecord
Key = tuple[str, int, int]
"""Task, trial and seed of an episode."""


@dataclass(frozen=True)
class ViewSide:
    """Episodes of one agent.

    Args:
        name: unique in a page.
        run: the run folder that they belong to.
        planned: the number of planned episodes; None if no plan lists them.
        episodes: reads them, one at a time.
        environment: makes the environment that they were played in.
        readings: the critic's texts, by episode and step, oldest first.
    """

    name: str
    run: RunFolder
    planned: int | None
    episodes: Callable[[], Iterator[Episode]]
    environment: Callable[[Environments], TextEnv]
    readings: Mapping[Key, Mapping[int, Sequence[Reading]]]


@dataclass(frozen=True)
class ViewRun:
    """A run folder with its sides, validations (rows of ``metrics.jsonl``) and readings of the probe set."""

    name: str
    run: RunFolder
    sides: tuple[ViewSide, ...]
    validations: tuple[Mapping[str, object], ...]
    probes: tuple[ProbeRecord, ...]


def shown_runs(folders: Sequence[Path]) -> list[ViewRun]:
    """Read what a viewer shows of one or two run folders.

    Raises:
        RunFolderError: a folder contains no run, or is damaged.
    """
    typed = as_typed(folders)
    names = [Path(typed[folder]).name for folder in folders]
    if len(set(names)) < len(names):
        names = [typed[folder] for folder in folders]
    return [
        _shown(folder, name if len(folders) > 1 else "") for folder, name in zip(folders, names, strict=True)
    ]


def _shown(folder: Path, name: str) -> ViewRun:
    run = RunFolder.open(folder)
    trains = run.subject.get("train") is not None
    prefix = f"{name}: " if name else ""
    sides = []
    if trains and (folder / BASE / "manifest.json").exists():
        base = RunFolder.open(folder / BASE)
        sides.append(_measured(f"{prefix}untrained", base))
    sides.append(_measured(f"{prefix}trained" if trains else name or run.subject["agent"], run))
    validations: tuple[Mapping[str, object], ...] = ()
    probes = tuple(read_probes(folder))
    if trains:
        validations = tuple(rows_of(run, "validation"))
        sides += _training(run, prefix, probes)
    return ViewRun(name or str(run.subject["agent"]), run, tuple(sides), validations, probes)


def _measured(name: str, run: RunFolder) -> ViewSide:
    return ViewSide(name, run, len(run.plan), run.episodes, lambda made: made.measured, {})


def _training(run: RunFolder, prefix: str, probes: Sequence[ProbeRecord]) -> Iterator[ViewSide]:
    """Yield the training episodes and the validation episodes about which the critic's texts are stored."""
    lessons = _by_step(list(read_critiques(run.path)))
    if lessons:
        yield ViewSide(
            f"{prefix}training", run, None, lambda: _stored(run.path / ROLLOUTS, lessons),
            lambda made: made.training, lessons,
        )  # fmt: skip
    states = _by_step(probes)
    if states:
        yield ViewSide(
            f"{prefix}validation", run, None, lambda: _stored(run.path / PROBE_SET, states),
            lambda made: made.validation, states,
        )  # fmt: skip


def _by_step(readings: Sequence[Reading]) -> dict[Key, dict[int, list[Reading]]]:
    results: dict[Key, dict[int, list[Reading]]] = {}
    for each in readings:
        episode = results.setdefault((each.task, each.trial, each.seed), {})
        episode.setdefault(each.step, []).append(each)
    return results


def _stored(path: Path, wanted: Mapping[Key, object]) -> Iterator[Episode]:
    """Yield the episodes of ``wanted`` in a file of training episodes or of the probe set, each once."""
    seen = set()
    for number, (row, _) in enumerate(read_lines(path), start=1):
        try:
            episode = episode_from_row(row.get("episode", row))
        except EpisodeFormatError as error:
            raise DamagedFolderError(f"{path} line {number}: {error}; restore the file") from error
        key = episode.task_id, episode.trial, episode.seed
        if key in wanted and key not in seen:
            seen.add(key)
            yield episode
