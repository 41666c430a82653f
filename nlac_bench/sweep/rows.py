"""Computes the rows of a sweep's report: each method's gain and its comparison with a reference method."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from nlac_bench.stats.compare import Comparison, compare
from nlac_bench.stats.compare_seeds import AlgorithmComparison, compare_algorithms
from nlac_bench.stats.estimates import Estimate
from nlac_bench.stats.outcomes import Counts
from nlac_bench.stats.pairing import MeasuredRun, NotComparableError
from nlac_bench.stats.seed_errors import is_approximate
from nlac_bench.stats.sequential import Decision
from nlac_bench.stats.significance import holm
from nlac_bench.stats.verdicts import ALPHA, NOTHING_LEARNED, ONE_SEED, UNDECIDED
from nlac_bench.sweep.plan import Sweep
from nlac_bench.sweep.results import Played, Results
from nlac_bench.sweep.status import CellCount, one_line
from nlac_bench.training.costs import BudgetUse, CostComparison, mean_budget, mean_by_role
from nlac_bench.training.curve import AXES


@dataclass(frozen=True)
class Difference:
    """A − B with a 95 % interval: over seeds and tasks if both sides have two seeds, otherwise over tasks.

    One seed compares two checkpoints, so there is no test and the verdict is ``ONE_SEED``. The estimate has
    no value if the two could not be compared; ``why_not`` is the reason.
    """

    estimate: Estimate
    p_value: float | None
    verdict: str
    detectable: float | None = None
    """The smallest difference that would be found with a probability of 80 %, None if there is none."""
    approximate: bool = False
    """Whether there are so few seeds that the interval is only approximate."""
    why_not: str | None = None

    def to_json(self) -> dict[str, float | str | None]:
        """Return the difference in the format of ``comparison.json``."""
        mean, low, high = astuple(self.estimate)
        others = {name: value for name, value in vars(self).items() if name != "estimate"}
        return {"mean": mean, "low": low, "high": high, **others}


@dataclass(frozen=True)
class MethodRow:
    """The results of one method on one environment, of which any number of seeds are finished."""

    method: str
    env: str
    count: CellCount
    """Numbers of planned, finished and failed seeds, and what happened to those that did not finish."""
    seeds: dict[int, float | None]
    """Success of each planned seed in planned order; None if it did not finish or has no score."""
    gain: Difference
    cost: dict[str, float]
    """Mean cost over finished seeds, by the names of ``AXES``; empty without any."""
    chosen_steps: dict[int, int]
    """Gradient steps of the tested checkpoint of each seed; 0 is the untrained model."""
    versus: Difference | None
    """The reference method (``against``) minus this one; the verdict is that after Holm's correction."""
    p_holm: float | None
    last_change: dict[int, float]
    """Success of the last validation of each seed, minus that of the one before."""
    steps_to_best: dict[int, int | None]
    """Gradient steps at which the reference method's validation first reached this method's best, by common
    seed; None if it never did."""
    counts: Counts | None
    """Numbers of test episodes over all finished seeds; None without any."""
    generated: dict[str, float]
    """Mean number of generated tokens by role, over finished seeds."""
    budget: BudgetUse | None
    """The use of the budget, the mean over finished seeds."""
    costs: CostComparison | None
    """Costs of the reference method and of this one, over the seeds that both have; None for the reference,
    and without such seeds."""

    @property
    def approximate(self) -> bool:
        """Whether an interval of this row is only approximate."""
        return any(each is not None and each.approximate for each in (self.gain, self.versus))

    @property
    def success(self) -> float | None:
        """Mean success over the seeds that have one, or None."""
        return mean_of(self.seeds.values())


def rows(
    sweep: Sweep,
    results: Results,
    env: str,
    against: str,
    decisions: Mapping[str, Decision] | None = None,
) -> list[MethodRow]:
    """Return a row for every method of the sweep on ``env``, by descending success, those without a result
    last.

    Args:
        sweep, results, env, against: the sweep, its runs, the environment, and the reference method.
        decisions: the verdicts by method, if the seeds were chosen by them.
    """
    compared, leader = pairs(sweep, results, env, against), results.by_seed(env, against)
    if decisions is not None:
        compared = {m: (_decided(d, decisions[m]), None) for m, (d, _) in compared.items()}
    items = []
    for method in sweep.methods:
        runs, measured = results.by_seed(env, method), results.measured(env, method)
        count = results.count(env, method)
        versus, p_holm = compared.get(method, (None, None))
        gain = difference(measured, results.bases[env])
        if runs and not any(run.spent.signal for run in runs.values()):
            gain, versus = nothing_learned(gain), versus and nothing_learned(versus)
        items.append(
            MethodRow(
                method,
                env,
                count,
                seeds=seed_success(results.statuses.get((env, method), runs), measured),
                gain=gain,
                cost={k: float(np.mean([r.cost[k] for r in runs.values()])) for k in AXES.values() if runs},
                chosen_steps={seed: run.chosen_step for seed, run in runs.items()},
                versus=versus,
                p_holm=p_holm,
                last_change={s: change for s, run in runs.items() if (change := run.last_change) is not None},
                steps_to_best={} if method == against else steps_to_best(leader, runs),
                counts=total(list(measured.values())) if measured else None,
                generated=mean_by_role([run.spent.generated for run in runs.values()]),
                budget=mean_budget([run.spent for run in runs.values()]),
                costs=None if method == against else compared_costs(against, leader, method, runs),
            )
        )
    return sorted(items, key=lambda row: math.inf if row.success is None else -row.success)


def compared_costs(
    name_a: str, a: Mapping[int, Played], name_b: str, b: Mapping[int, Played]
) -> CostComparison | None:
    """Return the costs of the seeds that both methods have; None without any."""
    common = [seed for seed in a if seed in b]
    first, second = ([runs[seed].spent for seed in common] for runs in (a, b))
    worlds = all(runs[seed].measured.world is not None for seed in common for runs in (a, b))
    return CostComparison(first, second, (name_a, name_b), paired=worlds) if common else None


def nothing_learned(result: Difference) -> Difference:
    """Return ``result`` of a method that had nothing to learn from; decided verdicts stay."""
    return replace(result, verdict=NOTHING_LEARNED) if result.verdict == UNDECIDED else result


def seed_success(planned: Iterable[int], runs: Mapping[int, MeasuredRun]) -> dict[int, float | None]:
    """Return the success of each planned seed; None if it did not finish or no episode has a score."""
    return {seed: mean_success(runs[seed]) if seed in runs else None for seed in planned}


def mean_success(run: MeasuredRun) -> float | None:
    """Return the success rate of a run, the mean over tasks; None if no episode has a score."""
    means = run.outcomes.task_means("success")
    scored = means[~np.isnan(means)]
    return float(scored.mean()) if len(scored) else None


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the ``values`` that are not None, or None without any."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def total(runs: Sequence[MeasuredRun]) -> Counts:
    """Return the sum of the episode counts of ``runs``."""
    columns = zip(*(astuple(run.outcomes.counts) for run in runs), strict=True)
    return Counts(*map(sum, columns))


def steps_to_best(leader: Mapping[int, Played], others: Mapping[int, Played]) -> dict[int, int | None]:
    return {seed: leader[seed].steps_to(other.best) for seed, other in others.items() if seed in leader}


def difference(
    a: Mapping[int, MeasuredRun], b: Mapping[int, MeasuredRun], comparisons: int = 1
) -> Difference:
    """Return the difference of the runs ``a`` and ``b`` (by seed) over the seeds that both have.

    Args:
        a, b: runs by seed.
        comparisons: how many are made at once.
    """
    common = [seed for seed in a if seed in b]
    if not common:
        return _not_measured("no seed is finished on both sides")
    result: Comparison | AlgorithmComparison
    try:
        if len(common) > 1:
            sides = ([runs[seed] for seed in common] for runs in (a, b))
            result = compare_algorithms(*sides, tasks="common", comparisons=comparisons)
        else:
            result = compare(a[common[0]], b[common[0]], tasks="common")
            interval = Estimate.with_interval(result.difference, result.interval)
            return Difference(interval, None, ONE_SEED)
    except NotComparableError as error:
        return _not_measured(str(error))
    estimate = Estimate.with_interval(result.difference, result.interval)
    approximate = is_approximate(len(common))
    return Difference(estimate, result.p_value, result.verdict, result.detectable, approximate)


def _decided(found: Difference, decision: Decision) -> Difference:
    """Return the difference with the verdict by which the seeds were chosen; other tests do not hold then."""
    if found.why_not is None and decision.verdict is None:
        return _not_measured(f"{decision}")
    verdict = found.verdict if decision.verdict is None else decision.verdict
    return replace(found, verdict=verdict, p_value=None, detectable=None)


def _not_measured(why: str) -> Difference:
    return Difference(Estimate(None), None, "not measured", why_not=one_line(why))


def pairs(
    sweep: Sweep, results: Results, env: str, against: str
) -> dict[str, tuple[Difference, float | None]]:
    """Return ``against`` minus each other method on ``env``, with p-values and verdicts after Holm's
    correction.

    The correction is for all planned pairs. The p-value is None where there is no test.
    """
    runs = {method: results.measured(env, method) for method in sweep.methods}
    leader = runs.pop(against)
    items = {method: difference(leader, other, len(runs)) for method, other in runs.items()}
    adjusted = holm([1.0 if d.p_value is None else d.p_value for d in items.values()])
    return {
        method: (d, None) if d.p_value is None else (d if p < ALPHA else replace(d, verdict=UNDECIDED), p)
        for (method, d), p in zip(items.items(), adjusted, strict=True)
    }
