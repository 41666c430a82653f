"""Compares entries and published figures with the floors of their board: agents that use no model."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from nlac_bench.leaderboards.entry import Entry
from nlac_bench.leaderboards.entry_file import canonical
from nlac_bench.leaderboards.numbers import failed_if_missing
from nlac_bench.stats.distributions import t_cdf
from nlac_bench.stats.intervals import Floats
from nlac_bench.stats.seed_errors import algorithm_error
from nlac_bench.stats.significance import fisher_p, holm, sign_flip_p
from nlac_bench.stats.tables import p_text
from nlac_bench.stats.verdicts import ALPHA


def best_floor(floors: Iterable[Entry]) -> Entry | None:
    """Return the floor with the highest success rate, the mean over its seeds; None without floors."""
    return max(floors, key=lambda floor: (np.mean(floor.numbers.by_seed), floor.entry_id), default=None)


def floor_note(entry: Entry, floors: Sequence[Entry]) -> str | None:
    """Return a note if ``entry`` is not significantly above the best of ``floors``, else None.

    Floors with other tasks, or of other worlds, are left out. An entry with one run is tested as in
    ``compare``. For an entry with several seeds, the error covers further seeds and tasks (``algorithm_p``).
    """
    played = _played(entry)
    best = best_floor(floor for floor in floors if _played(floor) == played)
    if best is None:
        return None
    rates_ST, floor_ST = (
        np.array([failed_if_missing(run) for run in each.outcomes]) for each in (entry, best)
    )
    floor_T = floor_ST.mean(axis=0)
    difference = float(rates_ST.mean() - floor_T.mean())
    p = sign_flip_p(rates_ST[0] - floor_T) if len(rates_ST) == 1 else algorithm_p(rates_ST, floor_T)
    if difference > 0 and p < ALPHA:
        return None
    where = "below" if difference < 0 and p < ALPHA else "not above"
    return (
        f"{where} its floor: the agent {best.subject.agent!r}, which uses no model, has "
        f"{np.mean(best.numbers.by_seed):.3f} (difference {difference:+.3f}, p = {p_text(p)})"
    )


def _played(entry: Entry) -> tuple[set[str], set[int]]:
    """Return the tasks of an entry, and its worlds; a task is another one in each world."""
    return set(entry.outcomes[0].tasks), set(entry.subject.worlds or ())


def algorithm_p(rates_ST: Floats, floor_T: Floats) -> float:
    """Return the two-sided p-value of the difference between an algorithm and a floor, over seeds and tasks.

    The floor has no training seeds, so only those of the algorithm are resampled, and tasks for both.

    Args:
        rates_ST: ``[seeds, tasks]`` success rates of the algorithm; at least two seeds and two tasks.
        floor_T: ``[tasks]`` success rates of the floor.
    """
    floor_ST = np.tile(floor_T, (len(rates_ST), 1))
    error, df, _ = algorithm_error(rates_ST, floor_ST, np.random.default_rng(0), paired=True)
    return 2 * (1 - t_cdf(abs(float(rates_ST.mean() - floor_T.mean())) / error, df))


def published_p(reported: Sequence[Entry], floor: Entry | None) -> Mapping[str, float]:
    """Return the p-value of each published figure's difference to ``floor``, by the id of its entry.

    The tasks that a publication solved are not known, so Fisher's exact test compares the numbers of solved
    tasks, as if the figure were of one trial on as many tasks as the floor. Holm's correction is over all
    figures.
    """
    if floor is None:
        return {}
    tasks = len(floor.outcomes[0].tasks)
    solved = round(float(np.mean(floor.numbers.by_seed)) * tasks)
    figures = [entry for entry in reported if entry.numbers.success is not None]
    p_values = [fisher_p(round((e.numbers.success or 0.0) * tasks), tasks, solved, tasks) for e in figures]
    return dict(zip((entry.entry_id for entry in figures), holm(p_values), strict=True))


def stale_floors(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the reason by ``entry_id`` for each floor that was not measured again for a newer environment.

    A floor is stale if other entries of its environment, arguments, rules and data source have a higher
    ``env_version``, and none of the floors does.
    """
    everything = [entry for entry in entries if entry.level != "reported"]
    floors = [entry for entry in everything if entry.standing == "floor"]
    newest: dict[bytes, int] = {}
    measured: dict[bytes, int] = {}
    for entry in everything:
        found = measured if entry.standing == "floor" else newest
        if entry.standing != "oracle" and (version := entry.version_number) is not None:
            found[_environment(entry)] = max(version, found.get(_environment(entry), version))
    return {
        floor.entry_id: f"is a floor of env_version {floor.board.env_version}, and other entries have "
        f"{newest[key]}: measure the floors again (python -m nlac_bench.leaderboards.floors)"
        for floor in floors
        if (key := _environment(floor)) in measured and newest.get(key, -1) > measured[key]
    }


def _environment(entry: Entry) -> bytes:
    """Return what stays the same when the version of an environment rises."""
    board = entry.board.model_dump(
        mode="json", include={"env", "arguments", "split", "data_source", "reward", "limits"}
    )
    return canonical(board)
