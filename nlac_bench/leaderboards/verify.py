"""Verifies an entry: derives it again from its run folders and compares everything that it states."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nlac_bench.leaderboards.checks import Check, equal, none_of
from nlac_bench.leaderboards.entry import Entry
from nlac_bench.leaderboards.entry_file import EntryError, file_content, parse_entry, wrong_ids
from nlac_bench.leaderboards.numbers import json_differences
from nlac_bench.leaderboards.submit import INTACT, OTHER_VERSION, DamagedRunError, derive
from nlac_bench.visible import one_line

NOT_COMPARED = (
    "the submitter and the relation to the model",
    "warnings that depend on the version that checks",
)
"""What an entry states and no run folder contains."""


@dataclass(frozen=True)
class Verified:
    """The result of ``verify``; ``level`` is what was checked."""

    level: str
    checks: list[Check]

    @property
    def holds(self) -> bool:
        """Whether all checks hold."""
        return all(check.ok for check in self.checks)

    def to_json(self) -> dict[str, object]:
        """Return the object that ``--json`` prints."""
        checks = [check.to_json() for check in self.checks]
        return {
            "holds": self.holds,
            "level": self.level,
            "checks": checks,
            "not_compared": list(NOT_COMPARED),
        }

    def to_text(self) -> str:
        """Return one line for each check, and the verdict."""
        lines = [f"holds  {check.name}" if check.ok else f"FAILS  {check}" for check in self.checks]
        lines.append(f"not compared, since no run states it: {'; '.join(NOT_COMPARED)}")
        return "\n".join(
            [*map(one_line, lines), f"the entry {'holds' if self.holds else 'does not hold'} ({self.level})"]
        )


def verify(path: Path, paths: Sequence[Path], *, replayed: bool = False, env: str | None = None) -> Verified:
    """Derive the entry in ``path`` again from its run folders, and compare everything that it states.

    An entry of level ``replayed`` is always played again. Nothing is written.

    Args:
        path: the entry's file.
        paths, replayed, env: as for ``derive``.

    Raises:
        EntryError: the file is not an entry, or an entry without run folders (``reported``).
        NlacBenchError: a folder contains no run, or its environment cannot be made or played.
    """
    try:
        entry = parse_entry(file_content(path))
    except EntryError as error:
        raise EntryError(f"{path} {error}") from None
    if entry.source is not None or not entry.provenance.runs:
        raise EntryError(f"{path} is an entry of level {entry.level}, which has no run to verify it against")
    replayed = replayed or entry.level == "replayed"
    level = "replayed" if replayed else "recomputed"
    try:
        derived = derive(paths, replayed=replayed, env=env)
    except DamagedRunError as error:
        return Verified(level, [Check(INTACT, False, "readable files that agree", str(error))])
    ids = none_of("ids are hashes of the content", wrong_ids(entry), "the ids of the content")
    checks = [check for check in derived.checks if not (entry.partial and check in derived.missing)]
    return Verified(level, [*checks, ids, *_comparison(entry, derived.entry)])


def _comparison(stated: Entry, derived: Entry) -> Iterator[Check]:
    """Yield checks of whether each part of an entry equals the part that is derived from its run folders."""
    yield equal("kind", derived.kind, stated.kind)
    yield equal("partial", derived.partial, stated.partial)
    files = [
        [(run.manifest_sha256, run.episodes_sha256) for run in entry.provenance.runs]
        for entry in (derived, stated)
    ]
    yield equal("files are those that were submitted", *files)
    for name, part in (
        ("board is that of the runs", "board"),
        ("subject is that of the runs", "subject"),
        ("outcomes are those of the episodes", "outcomes"),
        ("numbers recompute", "numbers"),
        ("curves recompute", "curves"),
        ("cost recomputes", "cost"),
        ("provenance is that of the runs", "provenance"),
        ("command is that of the runs", "reproduce"),
    ):
        pair = [entry.model_dump(mode="json")[part] for entry in (derived, stated)]
        if part == "provenance":
            pair = [each["runs"] for each in pair]
        yield none_of(name, list(json_differences(*pair)), "as derived from the runs")
    yield equal("warnings are those of the runs", *map(_warnings, (derived, stated)))


def _warnings(entry: Entry) -> list[str]:
    return [each for each in entry.warnings if not each.startswith(OTHER_VERSION)]
