"""Writes a run folder: creates it or continues it; only one process can write to it at a time."""

import json
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from nlac_bench.agents import methods
from nlac_bench.harness.runs import manifest as manifests
from nlac_bench.harness.runs.episode_json import dump_line, episode_line, usage_to_row
from nlac_bench.harness.runs.folder import FORMAT, RunFolder, row_key
from nlac_bench.harness.runs.lines import (
    Appender,
    FolderLock,
    RunFolderError,
    make_folder,
    read_lines,
    write_atomically,
)
from nlac_bench.harness.runs.links import refuse_links
from nlac_bench.harness.runs.secrets import refuse_secrets
from nlac_bench.harness.runs.seeds import Planned, first_duplicate
from nlac_bench.redaction import redact, redactor
from nlac_bench.rollout.driver import Failure
from nlac_bench.types import Episode

_MAX_TEXT = 8_000


class RunWriter:
    """Writes the results of a run to its folder; a context manager.

    ``append`` may be called from any thread. Every line has reached the kernel when the call returns;
    ``lines.FSYNC_SECONDS`` says what a crash of the machine can lose.
    """

    def __init__(self, folder: RunFolder, lock: FolderLock) -> None:
        """Initialise a writer. Do not call this directly; use ``create`` or ``resume``."""
        self.folder = folder
        self._lock = lock
        self._guard = threading.Lock()
        self._redactor = redactor()
        self._files: dict[str, Appender] = {}
        end = 0
        done: set[tuple[str, int]] = set()
        for row, end in folder.episode_lines():  # noqa: B007 - the last end is kept
            done.add(row_key(row))
        self._planned = {item.key: item for item in folder.plan}
        self._done = done
        self._session: dict[str, Any] | None = None
        ends = {"episodes.jsonl": end}
        for name in ("errors.jsonl", "metrics.jsonl"):
            ends[name] = max((end for _, end in read_lines(folder.path / name)), default=0)
        for name, end in ends.items():  # opening removes an incomplete line
            self._files[name] = Appender(folder.path / name, end)

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        config: Mapping[str, object],
        conditions: Mapping[str, object],
        subject: Mapping[str, object],
        plan: Sequence[Planned],
    ) -> "RunWriter":
        """Start a new run in ``path``, which must be empty or must not exist.

        ``conditions`` must contain ``env`` and ``subject`` must contain ``agent``; see ``folder.py``.

        Raises:
            RunFolderError: the folder is not empty, is locked, contains a link or cannot be written.
            ConfigError: the configuration, the conditions or the subject contain a secret.
        """
        folder = Path(path)
        refuse_secrets(config)
        refuse_secrets(conditions, "conditions")
        refuse_secrets(subject, "subject")
        if "env" not in conditions or "agent" not in subject:
            raise RunFolderError("conditions must contain 'env' and subject must contain 'agent'")
        if not plan:
            raise RunFolderError("the plan is empty; plan at least one episode")
        twice = first_duplicate(item.key for item in plan)
        if twice is not None:
            raise RunFolderError(f"{twice} is planned twice")
        ids = dump_line({"tasks": [item.task_id for item in plan]})
        if redactor().json(ids) != ids:  # rows with redacted task ids would not match the plan
            raise RunFolderError("a task's id contains the value of an environment variable with a secret")
        make_folder(folder)
        refuse_links(folder)
        with ExitStack() as undo:
            lock = FolderLock(folder)
            undo.callback(lock.release)
            taken = sorted(x.name for x in folder.iterdir() if not _is_scaffold(x.name))
            if "manifest.json" in taken:
                raise RunFolderError(
                    f"{folder} already contains a run; continue it with `nlac-bench resume {folder}`, or "
                    "choose another --out"
                )
            if taken:
                raise RunFolderError(
                    f"{folder} is not empty (it contains {taken[0]!r}); choose another --out"
                )
            manifest = {
                "format": FORMAT,
                "conditions": conditions,
                "subject": subject,
                "sessions": [manifests.environment()],
                "plan": [[item.task_id, item.trial, item.seed] for item in plan],
            }
            _write_object(folder / "config.json", config)
            make_folder(folder / "checkpoints")
            # written last: the run exists as soon as this file does
            _write_object(folder / "manifest.json", manifest)
            writer = cls(RunFolder.open(folder), lock)
            undo.pop_all()
            return writer

    @classmethod
    def resume(
        cls,
        path: str | Path,
        *,
        conditions: Mapping[str, object],
        subject: Mapping[str, object],
        plan: Sequence[Planned] | None = None,
    ) -> "RunWriter":
        """Continue the run in ``path``; an incomplete last line is removed and its episode played again.

        The session is added to the manifest when the first line is written.

        ``conditions``, ``subject`` and ``plan`` are those of the current process.

        Raises:
            RunFolderError: ``path`` contains no run or a link, another process is writing to it, or
                conditions, subject or plan differ from those that the run was started with; each difference
                is listed.
        """
        folder = Path(path)
        RunFolder.open(folder)  # raises a clear error before the lock file is created
        refuse_links(folder)
        with ExitStack() as undo:
            lock = FolderLock(folder)
            undo.callback(lock.release)
            run = RunFolder.open(folder)
            now = as_stored({"conditions": conditions, "subject": subject})
            then = {"conditions": run.conditions, "subject": methods.effective(run.subject)}
            changed = manifests.differences(then, now)
            if plan is not None and tuple(plan) != run.plan:
                changed.append(_plan_difference(run.plan, plan))
            refuse_changed(folder, changed)
            for _ in run.episodes():  # an episode that nothing can read would stop every later command
                pass
            writer = cls(run, lock)  # reads all files, so a damaged folder is refused before it is written to
            for appender in writer._files.values():
                undo.callback(appender.close)
            writer._session = manifests.environment()
            undo.pop_all()
            return writer

    def owed(self) -> tuple[Planned, ...]:
        """Return the planned episodes that are not recorded yet, in planned order."""
        with self._guard:
            return tuple(item for item in self.folder.plan if item.key not in self._done)

    def append(self, episode: Episode) -> None:
        """Record a finished episode.

        Raises:
            RunFolderError: the episode was not planned or is already recorded, or the disk is full.
            EpisodeFormatError: its ``info`` contains a value that JSON cannot store, or it is too long.
        """
        key = (episode.task_id, episode.trial)
        line = episode_line(episode, self._redactor)
        with self._guard:
            planned = self._planned.get(key)
            if planned is None or planned.seed != episode.seed:
                raise RunFolderError(
                    f"episode {key} with seed {episode.seed} was not planned in {self.folder.path}"
                )
            if key in self._done:
                raise RunFolderError(f"episode {key} is already recorded in {self.folder.path}")
            self._note_session()
            self._files["episodes.jsonl"].append(line)
            self._done.add(key)

    def record_failure(self, item: Planned, failure: Failure) -> None:
        """Record that an episode failed. It is not scored; a resumed run plays it again."""
        row = {
            "task_id": item.task_id,
            "trial": item.trial,
            "seed": item.seed,
            "kind": failure.kind,
            "error": failure.error,
            "message": redact(failure.message)[:_MAX_TEXT],
            "traceback": redact(failure.traceback)[-_MAX_TEXT:],
            "turns": failure.turns,
            "usage": usage_to_row(failure.usage),
            "seconds": failure.seconds,
            "time": time.time(),
        }
        with self._guard:
            self._write("errors.jsonl", dump_line(row))

    def note_adapted(self, adapted: Mapping[str, str]) -> None:
        """Record in the manifest how requests were changed because servers refused them, by field."""
        with self._guard:
            run = self.folder
            known = {**run.adapted, **adapted}
            if known != run.adapted:
                _write_object(run.path / "manifest.json", {**run.manifest, "adapted": known})
                self.folder = RunFolder.open(run.path)

    def log(self, metrics: Mapping[str, object]) -> None:
        """Record a measurement in ``metrics.jsonl``."""
        with self._guard:
            self._write("metrics.jsonl", dump_line(metrics))

    def close(self) -> None:
        """Call fsync on all files, close them and release the lock on the folder."""
        try:
            for appender in self._files.values():
                appender.close()
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _write(self, name: str, line: str) -> None:
        self._note_session()
        self._files[name].append(self._redactor.json(line))

    def _note_session(self) -> None:
        """Add a resumed run's session to the manifest, before its first line.

        A resume that is refused later, for example for a damaged checkpoint, therefore changes no file.
        """
        if self._session is None:
            return
        session, self._session = self._session, None
        run = self.folder
        first = run.manifest["sessions"][0]
        session["packages"] = manifests.differences(first["packages"], session["packages"])
        manifest = {**run.manifest, "sessions": [*run.manifest["sessions"], session]}
        _write_object(run.path / "manifest.json", manifest)
        self.folder = RunFolder.open(run.path)


def as_stored(content: Mapping[str, object]) -> dict[str, object]:
    """Return ``content`` in the form that a file of the run has: plain JSON without secrets."""
    stored: dict[str, object] = json.loads(redactor().json(dump_line(content)))
    return stored


def refuse_changed(folder: Path, changed: Sequence[str]) -> None:
    """Raise an error if anything differs from what the run in ``folder`` was started with.

    Raises:
        RunFolderError: lists ``changed``, which is not empty.
    """
    if changed:
        raise RunFolderError(
            f"{folder} was started with other conditions; its episodes cannot be combined with new ones: "
            + "; ".join(changed)
            + ". Restore what differs, or start a new run with another --out"
        )


def _is_scaffold(name: str) -> bool:
    """Return whether ``name`` may be left over from an interrupted ``create``."""
    return name in (".lock", "config.json", "checkpoints") or (
        name.startswith(".") and name.endswith(".draft")
    )


def _write_object(path: Path, content: Mapping[str, object]) -> None:
    compact = redactor().json(dump_line(content))
    if path.name == "manifest.json":  # one line per section, because thousands of episodes may be planned
        body = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in json.loads(compact).items())
        write_atomically(path, "{\n" + body + "\n}\n")
    else:
        write_atomically(path, json.dumps(json.loads(compact), indent=1) + "\n")


def _plan_difference(old: Sequence[Planned], new: Sequence[Planned]) -> str:
    lost, gained = set(old) - set(new), set(new) - set(old)
    if not lost and not gained:
        return "plan: the same episodes in another order"
    example = min(lost or gained, key=lambda item: (item.task_id, item.trial))
    return f"plan: {len(old)} episodes against {len(new)}; one that differs is {example}"
