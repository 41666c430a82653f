"""Defines a sweep: its runs (methods × environments × seeds), their settings and their folders."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.training.curve import chosen_of, rows_of, success_of_planned
from nlac_bench.training.untrained import BASE

TUNING = "tuning"
"""Name of the folder of the runs that choose learning rates."""
FLOORS = ("random", "constant")
"""Policies without a model that every report shows."""
ALWAYS_A_FLOOR = FLOORS[0]
"""The one that every environment has; the other needs constant actions."""


@dataclass(frozen=True)
class Sweep:
    """The plan of a sweep, as ``sweep.toml`` describes it.

    Args:
        methods: names of training algorithms, or of ``variants``.
        seeds: seeds of the runs by environment.
        run: settings of every run (``RunConfig``): model, limit, concurrency and so on.
        train: training settings of every method, above all ``budget``.
        method_train: additional training settings by method.
        variants: ``{name: algorithm}``; a variant is an algorithm with the settings that ``method_train`` has
            for its name.
        transfer: ``{to: from}``; the checkpoints of ``from`` are measured on ``to`` without further training.
        learning_rates: rates to try, and one beyond (``further_tuning``). Each method takes the rate whose
            best validation is highest; if there are no rates, nothing is tuned.
        tuning_seed, tuning_env: seed and environment of the tuning runs.
        tuning_train: training settings of the tuning runs that replace those of ``train`` and
            ``method_train``.
        counts: number of seeds by (environment, method), from the first on, where not all are wanted.
    """

    methods: tuple[str, ...]
    seeds: Mapping[str, tuple[int, ...]]
    run: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)
    method_train: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    variants: Mapping[str, str] = field(default_factory=dict)
    transfer: Mapping[str, str] = field(default_factory=dict)
    learning_rates: tuple[float, ...] = ()
    tuning_seed: int = 100
    tuning_env: str = ""
    tuning_train: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def seeds_of(self, env: str, method: str) -> tuple[int, ...]:
        """Return the seeds with which ``method`` is trained on ``env``."""
        return self.seeds[env][: self.counts.get((env, method), len(self.seeds[env]))]

    def cells(self) -> Iterator["Cell"]:
        """Yield the runs that are compared: all with the first seed, then all with the second, and so on."""
        for place in range(max(map(len, self.seeds.values()))):
            for env, seeds in self.seeds.items():
                for method in self.methods:
                    if place < len(self.seeds_of(env, method)):
                        yield Cell(method, env, seeds[place])

    def seeds_by_env(self) -> dict[str, tuple[int, ...]]:
        """Return the seeds by environment, including environments that are only measured."""
        most = {env: max((self.seeds_of(env, m) for m in self.methods), key=len) for env in self.seeds}
        return {**most, **{to: most[source] for to, source in self.transfer.items()}}

    def tuning(self) -> Iterator["Cell"]:
        """Yield the runs that try the listed learning rates."""
        for lr in self.learning_rates:
            for method in self.methods:
                yield Cell(method, self.tuning_env, self.tuning_seed, lr)

    def base(self, env: str) -> dict[str, object]:
        """Return the configuration of the untrained model's run on ``env``, without the seed."""
        return {**self.run, "env": env, "agent": self.algorithm(self.methods[0])}

    def algorithm(self, method: str) -> str:
        """Return the name of the algorithm of a method, which may be a variant."""
        return self.variants.get(method, method)

    def settings(self, cell: "Cell", lr: float | None) -> dict[str, Any]:
        """Return the configuration of ``cell``'s run."""
        train = {**self.train, **self.method_train.get(cell.method, {})}
        if lr is not None:
            train["lr"] = lr
        agent = self.algorithm(cell.method)
        run = {**self.run, "env": cell.env, "agent": agent, "seed": cell.seed, "train": train}
        if cell.lr is not None:
            run["limit"] = 1  # tuning uses only validation tasks, so one test task is enough
            train.update(self.tuning_train)
        return run


@dataclass(frozen=True)
class Cell:
    """A training run; ``lr`` is set if the run is part of the tuning."""

    method: str
    env: str
    seed: int
    lr: float | None = None

    def folder(self, out: Path) -> Path:
        """Return the run folder."""
        last = f"{self.method}-{self.seed}" if self.lr is None else f"{self.method}-lr{self.lr:g}"
        return out / (TUNING if self.lr is not None else self.env) / last

    def transferred(self, out: Path, to: str) -> Path:
        """Return the folder of the run that measures its checkpoint on ``to``."""
        return out / to / f"{self.method}-{self.seed}"


def base_folder(out: Path, env: str, seed: int) -> Path:
    """Return the folder of the untrained model's run, with which all runs with this seed are compared."""
    return out / env / f"{BASE}-{seed}"


def floor_folder(out: Path, env: str, name: str) -> Path:
    """Return the folder of the run of a policy without a model."""
    return out / env / f"floor-{name}"


def done(folder: Path) -> bool:
    """Return whether the run in ``folder`` exists, can be read, and all of its episodes are recorded."""
    try:
        return (folder / "manifest.json").exists() and not RunFolder.open(folder).owed()
    except RunFolderError:  # resuming the run fails with a message that names the damage
        return False


def best_validation(folder: Path) -> float:
    """Return the validation success of a run's best checkpoint.

    Raises:
        RunFolderError: the metrics are damaged, or have no validation in which all episodes have a result.
    """
    chosen = chosen_of(rows_of(RunFolder.open(folder), "validation"))
    if chosen is None:
        raise RunFolderError(
            f"{folder / 'metrics.jsonl'} has no validation in which all episodes have a result; restore the "
            "file, or move the folder away to run it again"
        )
    return success_of_planned(chosen)


def further_tuning(sweep: Sweep, out: Path) -> list[Cell]:
    """Return the runs that try one more rate for methods whose best listed rate is the smallest or largest.

    It is as far beyond the best rate as the next listed one is on the other side (the quotients are equal).
    """
    rates = sorted(sweep.learning_rates)
    further = []
    for method in sweep.methods if len(rates) > 1 else ():
        best = _best([cell for cell in sweep.tuning() if cell.method == method], out)
        if best is not None and best.lr in (rates[0], rates[-1]):
            next_to_it = rates[1] if best.lr == rates[0] else rates[-2]
            beyond = float(f"{best.lr**2 / next_to_it:.3g}")
            further.append(Cell(method, sweep.tuning_env, sweep.tuning_seed, beyond))
    return further


def chosen_rates(sweep: Sweep, out: Path) -> dict[str, float]:
    """Return the learning rate of each method whose rates have all been tried; of equally good ones, the
    smallest."""
    tried = [*sweep.tuning(), *further_tuning(sweep, out)]
    rates: dict[str, float] = {}
    for method in sweep.methods:
        best = _best([cell for cell in tried if cell.method == method], out)
        if best is not None and best.lr is not None:
            rates[method] = best.lr
    return rates


def _best(tried: Sequence[Cell], out: Path) -> Cell | None:
    """Return the run with the best validation; None if one is not done."""
    if not all(done(cell.folder(out)) for cell in tried):
        return None
    return max(tried, key=lambda c: (best_validation(c.folder(out)), -(c.lr or 0.0)), default=None)
