"""Reads a run folder. A run can be killed at any moment and continued from its folder.

::

    config.json      the resolved configuration; ``--config`` takes it again
    manifest.json    code, packages, hardware, conditions, subject, every planned (task, trial, seed)
    episodes.jsonl   one line per episode, append-only
    errors.jsonl     one line per infrastructure error, append-only; such an episode is played again
    metrics.jsonl    one line per measurement (training)
    critiques.jsonl  one line per lesson (training with a language critic; see ``critiques.py``)
    answers.jsonl    a sample of the raw answers of each role, readable or not (likewise)
    probes.jsonl     one line per state of the probe set and validation (likewise)
    checkpoints/     weights (training)
    test_new/        run folder of the episodes on templates that training does not have, where there are such
    references/      run folders of the floors and the oracle on the same tasks, played for the report
    report.html      the report, written when the run ends

``conditions`` describe what was measured (environment and version, split, data source and hash, reward, user,
oracle, limits); runs can be compared only if their conditions are equal. ``subject`` describes the agent
(agent, what plays beside its policy, model, prompt hashes, sampling) and names the world that it played, if
the environment has several: one seed of an algorithm is trained and measured in one world. A run can be
resumed only if conditions, subject and plan are unchanged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from nlac_bench.errors import EpisodeFormatError
from nlac_bench.harness.runs.episode_json import MAX_LINE_BYTES, episode_from_row
from nlac_bench.harness.runs.lines import DamagedFolderError, RunFolderError, read_lines
from nlac_bench.harness.runs.seeds import Planned, first_duplicate
from nlac_bench.harness.runs.stored_settings import wrong_setting
from nlac_bench.types import Episode
from nlac_bench.untrusted import read_json

FORMAT = 1


def folders_of(argument: str) -> list[Path]:
    """Return the folders of ``A1,A2``, the seeds of one algorithm.

    A comma is a part of a name where that gives an existing folder: a sweep names folders after environments,
    whose arguments are separated by commas.
    """
    folders, parts = [], argument.split(",")
    while parts:
        counts = range(len(parts), 0, -1)
        count = next((n for n in counts if Path(",".join(parts[:n])).is_dir()), 1)
        if name := ",".join(parts[:count]):
            folders.append(Path(name))
        parts = parts[count:]
    return folders


@dataclass(frozen=True)
class RunFolder:
    """A run on disk, opened for reading. Opening checks the manifest; episodes are read on request."""

    path: Path
    config: Mapping[str, Any]
    manifest: Mapping[str, Any]
    plan: tuple[Planned, ...]

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open the run in ``path``.

        Raises:
            RunFolderError: ``path`` contains no run, or its manifest is damaged or has another format.
        """
        folder = Path(path)
        if not folder.is_dir():
            result = "is a file, not the folder of a run" if folder.exists() else "does not exist"
            raise RunFolderError(f"{folder} {result}; pass the folder of a run, such as runs/NAME")
        manifest = _read_object(folder / "manifest.json")
        if manifest.get("format") is True or manifest.get("format") != FORMAT:
            raise RunFolderError(
                f"{folder} has format {manifest.get('format')!r}, but this version of nlac-bench reads "
                f"format {FORMAT}; open it with the version that wrote it"
            )
        if problem := _problem_of(manifest):
            raise DamagedFolderError(f"{folder / 'manifest.json'} is damaged: {problem}; restore the file")
        config = _read_object(folder / "config.json")
        if problem := wrong_setting(config):
            raise DamagedFolderError(f"{folder / 'config.json'} is damaged: {problem}; restore the file")
        plan = tuple(Planned(task, trial, seed) for task, trial, seed in manifest["plan"])
        return cls(folder, config, manifest, plan)

    @property
    def conditions(self) -> Mapping[str, Any]:
        """The properties that determine a score; runs can be compared only if their conditions are equal."""
        return self.manifest["conditions"]

    @property
    def subject(self) -> Mapping[str, Any]:
        """The agent that was measured, and the world in which it was measured."""
        return self.manifest["subject"]

    @property
    def label(self) -> str:
        """The agent with what plays beside its policy, such as ``nlac + refine 2``."""
        return label_of(self.subject)

    @property
    def adapted(self) -> dict[str, str]:
        """How requests were changed because a server refused them, by field (``user.`` for simulators)."""
        return {str(name): str(what) for name, what in self.manifest.get("adapted", {}).items()}

    @property
    def world(self) -> int | None:
        """The world that was played; None if the environment has no worlds."""
        result = self.subject.get("world")
        return result if type(result) is int else None

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the recorded episodes as plain dicts, in the order in which they ended, read one at a time.

        Raises:
            DamagedFolderError: a line is damaged, or an episode was not planned or is recorded twice.
        """
        for row, _ in self.episode_lines():
            yield row

    def episodes(self) -> Iterator[Episode]:
        """Yield the recorded episodes, read one at a time.

        Raises:
            DamagedFolderError: as ``rows``, or a line contains JSON that is not an episode.
        """
        for row in self.rows():
            try:
                yield episode_from_row(row)
            except EpisodeFormatError as error:
                raise DamagedFolderError(
                    f"{self.path / 'episodes.jsonl'}, {row_key(row)}: {error}"
                ) from error

    def errors(self) -> Iterator[dict[str, Any]]:
        """Yield the recorded infrastructure errors, oldest first.

        Raises:
            DamagedFolderError: a line is damaged, or names no episode.
        """
        path = self.path / "errors.jsonl"
        for row, _ in read_lines(path):
            if not isinstance(row.get("task_id"), str) or not isinstance(row.get("trial"), int):
                raise DamagedFolderError(
                    f"{path} contains the episode {row.get('task_id')!r:.80}, trial "
                    f"{row.get('trial')!r:.80}; expected text and a number: restore the file, or remove it"
                )
            yield row

    def metrics(self) -> Iterator[dict[str, Any]]:
        """Return the recorded measurements, oldest first."""
        return (row for row, _ in read_lines(self.path / "metrics.jsonl"))

    def owed(self) -> tuple[Planned, ...]:
        """Return the planned episodes that are not recorded yet, in planned order."""
        done = {row_key(row) for row in self.rows()}
        return tuple(item for item in self.plan if item.key not in done)

    def episode_lines(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield ``rows``, each with the byte offset of the end of its line."""
        path = self.path / "episodes.jsonl"
        planned = {item.key: item.seed for item in self.plan}
        env = self.config.get("env")
        seen: set[tuple[str, int]] = set()
        for row, end in read_lines(path):
            key = row_key(row)
            if key not in planned or row.get("seed") != planned[key]:
                raise DamagedFolderError(
                    f"{path} contains {key} with seed {row.get('seed')!r}, which was not planned; the file "
                    "or manifest.json was altered: restore it"
                )
            if isinstance(env, str) and row.get("env") != env:
                raise DamagedFolderError(
                    f"{path} contains {key} of environment {row.get('env')!r:.200}, but the run plays "
                    f"{env!r:.200}; the file or config.json was altered: restore it"
                )
            if key in seen:
                raise DamagedFolderError(
                    f"{path} contains {key} twice; the file was altered: delete one of the lines"
                )
            seen.add(key)
            yield row, end


def label_of(subject: Mapping[str, Any]) -> str:
    """Return the agent of a run's subject with what plays beside its policy."""
    composed = {"refine": subject.get("refine"), "best of": subject.get("best_of")}
    return " + ".join([subject["agent"], *(f"{name} {n}" for name, n in composed.items() if n is not None)])


def row_key(row: Mapping[str, Any]) -> tuple[str, int]:
    """Return the key that identifies an episode's row within its run: (task, trial)."""
    return str(row.get("task_id")), row["trial"] if isinstance(row.get("trial"), int) else -1


def _problem_of(manifest: Mapping[str, Any]) -> str | None:
    """Return which field of a manifest has a wrong type, or None."""
    for name, kind in (("conditions", dict), ("subject", dict), ("sessions", list), ("plan", list)):
        if not isinstance(manifest.get(name), kind):
            return f"{name} must be {_JSON[kind]}, got {manifest.get(name)!r:.80}"
    for section, name in (("conditions", "env"), ("subject", "agent")):
        if not isinstance(manifest[section].get(name), str):
            return f"{section}.{name} must be text, got {manifest[section].get(name)!r:.80}"
    for section, name in (("conditions", "env_args"), ("subject", "prompts"), ("subject", "train")):
        value = manifest[section].get(name)
        if value is not None and not isinstance(value, dict):
            return f"{section}.{name} must be an object, got {value!r:.80}"
    if not isinstance(manifest.get("adapted", {}), dict):
        return f"adapted must be an object, got {manifest['adapted']!r:.80}"
    for session in manifest["sessions"] or [None]:
        if not isinstance(session, dict) or not isinstance(session.get("packages"), dict | list):
            return f"sessions must be a non-empty list of objects with packages, got {session!r:.80}"
    if not isinstance(manifest["sessions"][0]["packages"], dict):
        return "sessions[0].packages must be an object"
    for item in manifest["plan"] or [None]:
        if not isinstance(item, list) or tuple(map(type, item)) != (str, int, int):
            return f"plan must be a non-empty list of [task, trial, seed], got {item!r:.80}"
    twice = first_duplicate((task, trial) for task, trial, _ in manifest["plan"])
    return None if twice is None else f"plan lists {twice!r:.80} twice"


_JSON = {dict: "an object", list: "a list"}


def _read_object(path: Path) -> dict[str, Any]:
    try:
        content = read_json(path, MAX_LINE_BYTES)
    except FileNotFoundError:
        raise RunFolderError(f"{path.parent} is not a run folder: {path.name} is missing") from None
    except OSError as error:
        raise DamagedFolderError(f"{path} cannot be read ({error.strerror}); restore the file") from None
    except ValueError as error:
        raise DamagedFolderError(f"{path} cannot be read ({error}); restore the file") from None
    if not isinstance(content, dict):
        raise DamagedFolderError(f"{path} must contain a JSON object, not a {type(content).__name__}")
    return content
