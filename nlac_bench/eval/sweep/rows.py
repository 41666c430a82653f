"""Computes the rows of a sweep's report: each method's gain and its comparison with a reference method."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from nlac_bench.eval.statistics.compare import ALPHA, Measured, compare
from nlac_bench.eval.statistics.compare_seeds import compare_algorithms
from nlac_bench.eval.statistics.outcomes import Counts
from nlac_bench.eval.statistics.significance import holm
from nlac_bench.eval.statistics.tables import number
from nlac_bench.eval.sweep.plan import Sweep
from nlac_bench.eval.sweep.results import Played, Results
from nlac_bench.eval.training.curve import AXES


@dataclass(frozen=True)
class Difference:
    """A − B with a 95 % interval: over seeds and tasks if both sides have two seeds, otherwise over tasks."""

    mean: float
    low: float | None
    high: float | None
    p_value: float | None
    verdict: str
    detectable: float | None = None
    """The smallest difference that would be found with a probability of 80 %."""

    def to_text(self) -> str:
        """The difference and its interval as text: ``+0.050 [+0.005, +0.094]``."""
        if self.low is None or self.high is None:
            return number(self.mean, sign=True)
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


@dataclass(frozen=True)
class Row:
    """The results of one method on one environment."""

    method: str
    env: str
    seeds: dict[int, float]
    gain: Difference
    cost: dict[str, float]
    """Mean cost over seeds, by the names of ``AXES``."""
    chosen_steps: dict[int, int]
    """Gradient steps of the tested checkpoint of each seed; 0 is the untrained model."""
    versus: Difference | None
    """The reference method (``against``) minus this one; the verdict is that after Holm's correction."""
    p_holm: float | None
    steps_to_best: dict[int, int | None]
    """Gradient steps at which the reference method's validation first reached this method's best, by common
    seed; None if it never did."""
    counts: Counts
    """Numbers of test episodes over all seeds."""

    @property
    def success(self) -> float:
        """Mean success over seeds."""
        return float(np.mean(list(self.seeds.values())))


def rows(sweep: Sweep, results: Results, env: str, against: str) -> list[Row]:
    """The rows of the methods with finished runs on ``env``, by descending success."""
    compared, leader = pairs(sweep, results, env, against), results.of(env, against)
    found = []
    for method in sweep.methods:
        runs, measured = results.of(env, method), results.measured(env, method)
        if not runs:
            continue
        versus, p_holm = compared.get(method, (None, None))
        found.append(
            Row(
                method,
                env,
                seeds={seed: mean_success(run) for seed, run in measured.items()},
                gain=difference(measured, results.bases[env]),
                cost={k: float(np.mean([r.cost[k] for r in runs.values()])) for k in AXES.values()},
                chosen_steps={seed: run.chosen_step for seed, run in runs.items()},
                versus=versus,
                p_holm=p_holm,
                steps_to_best={} if method == against else _steps_to_best(leader, runs),
                counts=total(list(measured.values())),
            )
        )
    return sorted(found, key=lambda row: -row.success)


def mean_success(run: Measured) -> float:
    """The success rate of a run: the mean over tasks."""
    return float(np.nanmean(run.outcomes.task_means("success")))


def total(runs: Sequence[Measured]) -> Counts:
    """The sum of the episode counts of ``runs``."""
    columns = zip(*(astuple(run.outcomes.counts) for run in runs), strict=True)
    return Counts(*map(sum, columns))


def _steps_to_best(leader: Mapping[int, Played], others: Mapping[int, Played]) -> dict[int, int | None]:
    return {seed: leader[seed].steps_to(other.best) for seed, other in others.items() if seed in leader}


def difference(a: Mapping[int, Measured], b: Mapping[int, Measured]) -> Difference:
    """The difference of the runs ``a`` and ``b`` (by seed) over the seeds that both have."""
    common = [seed for seed in a if seed in b]
    if not common:
        return Difference(float("nan"), None, None, None, "not measured")
    if len(common) > 1:
        many = compare_algorithms([a[s] for s in common], [b[s] for s in common], tasks="common")
        interval = many.interval
        return Difference(
            many.difference, interval.low, interval.high, many.p_value, many.verdict, many.detectable
        )
    one = compare(a[common[0]], b[common[0]], tasks="common")
    low, high = (None, None) if one.interval is None else (one.interval.low, one.interval.high)
    return Difference(one.difference, low, high, one.p_value, one.verdict, one.detectable)


def pairs(sweep: Sweep, results: Results, env: str, against: str) -> dict[str, tuple[Difference, float]]:
    """``against`` minus each other method on ``env``, with p-values and verdicts after Holm's correction."""
    runs = {method: results.measured(env, method) for method in sweep.methods}
    leader = runs.pop(against)
    if not leader:
        return {}
    found = {method: difference(leader, other) for method, other in runs.items() if other}
    adjusted = holm([float("nan") if d.p_value is None else d.p_value for d in found.values()])
    held = (
        d if p < ALPHA else replace(d, verdict="not distinguishable")
        for d, p in zip(found.values(), adjusted, strict=True)
    )
    return dict(zip(found, zip(held, adjusted, strict=True), strict=True))
