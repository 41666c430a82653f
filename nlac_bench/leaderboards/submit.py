"""Derives entries from run folders, refuses those whose checks fail, and writes them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from pydantic import ValidationError

import nlac_bench
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError, new_files
from nlac_bench.leaderboards.checks import (
    MAY_BE_PARTIAL,
    Check,
    joined_checks,
    none_of,
    replay_check,
    run_checks,
    token_check,
    trusted_config,
)
from nlac_bench.leaderboards.entry import Entry, Provenance, Relation
from nlac_bench.leaderboards.entry_file import (
    MAX_ENTRY_BYTES,
    SHORT_HASH,
    EntryError,
    entry_text,
    explained,
    sealed,
)
from nlac_bench.leaderboards.from_run import (
    board_key,
    command,
    cost_of,
    curve_of,
    outcomes_by_task,
    provenance_of,
    seed_of,
    subject_of,
)
from nlac_bench.leaderboards.numbers import numbers_of
from nlac_bench.untrusted import read_untrusted

INTACT = "run folders are intact"
OTHER_VERSION = "measured with nlac-bench "
"""The beginning of the warning that depends on the version that checks a run."""


class DamagedRunError(EntryError):
    """A run folder's files are damaged, or contradict each other."""


@dataclass(frozen=True)
class Derived:
    """An entry that was derived from its run folders, with the checks of these folders.

    ``missing`` are the failed checks with which an entry can be submitted as a partial one.
    """

    entry: Entry
    checks: list[Check]
    missing: list[Check]

    @property
    def faults(self) -> list[Check]:
        """The failed checks that refuse the entry."""
        return [check for check in self.checks if not check.ok and check not in self.missing]


def derive(
    paths: Sequence[Path],
    *,
    replayed: bool = False,
    env: str | None = None,
    submitter: str | None = None,
    relation: Relation | None = None,
) -> Derived:
    """Derive the entry of one run, or of several seeds of one algorithm, and check the folders.

    Args:
        paths: the run folders, in any order.
        replayed: whether to play every action again.
        env: repeats the environment of the runs, where it imports code (see ``trusted_config``).
        submitter, relation: who submits, and the relation to the model.

    Raises:
        DamagedRunError: a folder is damaged.
        EntryError: the runs are not seeds of one algorithm, or a text or a number in a folder does not fit
            into an entry.
        NlacBenchError: a folder contains no run, or its environment cannot be made or played.
    """
    runs = [RunFolder.open(path) for path in paths]
    several = len(runs) > 1
    if several:
        runs.sort(key=seed_of)  # so that the order of the folders does not change the entry
    configs = [trusted_config(run, env) for run in runs]
    joined = list(joined_checks(runs)) if several else []
    if unlike := [check for check in joined if not check.ok]:
        raise EntryError("these runs are not seeds of one algorithm: " + "; ".join(map(str, unlike)))
    try:
        read = [outcomes_by_task(run) for run in runs]
        outcomes = [each for each, _ in read]
        checks, missing = joined, []
        for run, config, result in zip(runs, configs, outcomes, strict=True):
            for check in [
                *run_checks(run, config, result),
                *([replay_check(run, config), *token_check(run, config)] if replayed else []),
            ]:
                named = replace(check, name=f"{check.name} (seed {seed_of(run)})") if several else check
                checks.append(named)
                if not check.ok and check.name in MAY_BE_PARTIAL:
                    missing.append(named)
        trained = runs[0].subject.get("train") is not None
        provenance = Provenance(
            runs=[provenance_of(run) for run in runs], submitter=submitter, relation=relation
        )
        entry = sealed(
            {
                "kind": "algorithms" if several else "models",
                "board": board_key(runs[0]),
                "subject": subject_of(runs),
                "outcomes": outcomes,
                "numbers": numbers_of(outcomes),
                "curves": [curve_of(run) for run in runs] if trained else [],
                "cost": cost_of([outcome for _, outcome in read]),
                "provenance": provenance,
                "level": "replayed" if replayed else "recomputed",
                "partial": bool(missing),
                "reproduce": command(configs[0]),
            }
        )
    except RunFolderError as error:
        raise DamagedRunError(f"{INTACT}: {error}") from None
    except ValidationError as error:
        raise EntryError(f"{runs[0].path} does not fit into an entry: {explained(error)}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedRunError(f"{INTACT}: {runs[0].path} is damaged ({error!r}); restore its files") from None
    checks.append(falling(entry))
    partial = [f"partial: {check}"[:4_000] for check in missing]
    return Derived(
        entry.model_copy(update={"warnings": [*partial, *_warnings(entry, runs)]}), checks, missing
    )


def falling(entry: Entry) -> Check:
    """Return the check that pass^k does not rise with k."""
    rates = [result.value for result in entry.numbers.pass_k if result.value is not None]
    rising = [
        f"pass^{k + 1} = {b} above pass^{k} = {a}" for k, (a, b) in enumerate(pairwise(rates), 1) if b > a
    ]
    return none_of("pass^k does not rise with k", rising, "pass^(k+1) at most pass^k")


def refuse_faults(derived: Derived, *, partial: bool) -> None:
    """Check that a derived entry can be submitted.

    Raises:
        EntryError: a check failed; or episodes or tasks are missing, and ``partial`` is not set. The message
            lists every reason.
    """
    if derived.faults:
        raise EntryError(
            "this run is refused: "
            + "; ".join(map(str, derived.faults))
            + ". Restore the folder; check it with the version of nlac-bench and the data that made it; or "
            "measure again"
        )
    if derived.missing and not partial:
        raise EntryError(
            "this run is refused: "
            + "; ".join(map(str, derived.missing))
            + ". Finish it with `nlac-bench resume`, or measure all tasks; or submit it with --partial, as "
            "an entry without a place"
        )


def write_entries(entries: Sequence[Entry], out: Path) -> list[Path]:
    """Write one file per entry to the folder ``out``; nothing is written if one of them cannot be.

    An entry that is there already under the shorter ids of an earlier version keeps them.

    Raises:
        EntryError: a file of that name exists with other content, or is a link.
        RunFolderError: the folder cannot be written to.
    """
    entries = [_with_stored_ids(entry, out) for entry in entries]
    paths = [out / f"{entry.entry_id}.json" for entry in entries]
    texts: dict[Path, str] = {}
    for path, entry in zip(paths, entries, strict=True):
        text = entry_text(entry)
        if texts.setdefault(path, text) != text or _differs(path, text):
            raise EntryError(
                f"{path} exists with other content: an entry of this run with another level, submitter or "
                "code; remove that file to replace it, or choose another --out"
            )
    with new_files(out) as draft:
        for path, text in texts.items():
            (draft / path.name).write_text(text, encoding="ascii")
    return paths


def _with_stored_ids(entry: Entry, out: Path) -> Entry:
    """Return ``entry`` with shorter ids if ``out`` has a file of that name."""
    ids = {"entry_id": entry.entry_id[: SHORT_HASH - 64], "board_id": entry.board_id[: SHORT_HASH - 64]}
    return entry.model_copy(update=ids) if (out / f"{ids['entry_id']}.json").is_file() else entry


def _differs(path: Path, text: str) -> bool:
    try:
        return read_untrusted(path, MAX_ENTRY_BYTES) != text.encode("ascii")
    except FileNotFoundError:
        return False
    except OSError as error:
        raise EntryError(f"{path} cannot be read ({error.strerror}); choose another --out") from None


def _warnings(entry: Entry, runs: Sequence[RunFolder]) -> Iterator[str]:
    """Yield the warnings of the entry."""
    code = entry.provenance.runs
    if any(run.dirty for run in code):
        yield "the code had changes that are not in its commit"
    if any(run.commit is None or run.dirty is None for run in code):
        yield "the commit of the code, or whether it was changed, is not known"
    if len({run.commit for run in code}) > 1:
        yield "the seeds were measured with different commits of the code"
    if len({run.packages_sha256 for run in code}) > 1:
        yield "the seeds were measured with different versions of packages"
    if others := sorted({run.nlac_bench for run in code} - {nlac_bench.__version__}):
        yield f"{OTHER_VERSION}{', '.join(others)}, and checked with {nlac_bench.__version__}"
    for run in runs:
        if any(session.get("packages") for session in run.manifest["sessions"][1:]):
            yield f"seed {seed_of(run)} was continued with other versions of packages"
    if entry.board.simulator is not None:
        yield "a model plays the user, oracle or judge: another measurement would have other replies"
    counts = entry.numbers.counts
    if counts is not None and counts.content_filter:
        yield f"a content filter stopped {counts.content_filter} episodes; they count as failures"
    if counts is not None and counts.unscored > counts.content_filter:
        yield f"{counts.unscored - counts.content_filter} episodes ended without a success value"
    training = entry.subject.training
    if training is not None:
        if training.offline:
            yield "trained on episodes of another run, which are not in its folder"
        if idle := [run.seed for run in training.runs if run.gradient_steps == 0]:
            yield f"no gradient step was taken with the seeds {idle}"
