"""The large figures that a report begins with: from, to, difference with its interval, cost."""

from collections.abc import Iterable, Sequence

import numpy as np

from nlac_bench.reports.figures.figure import compact, time_text
from nlac_bench.reports.report.page import Answer, Fact
from nlac_bench.reports.report.stored_sweep import StoredSweep
from nlac_bench.reports.report.subjects import Measurement, ReportSubject
from nlac_bench.reports.report.verdicts import against_floor, gain_of, gradient_steps, p_said
from nlac_bench.rollout.meter import spent_from_row
from nlac_bench.stats.compare import Comparison
from nlac_bench.stats.compare_seeds import AlgorithmComparison
from nlac_bench.stats.estimates import Estimate
from nlac_bench.stats.pairing import Metric, NotComparableError
from nlac_bench.stats.tables import number
from nlac_bench.stats.verdicts import UNDECIDED, worded
from nlac_bench.training.costs import RunCost
from nlac_bench.training.curve import AXES, rows_of
from nlac_bench.training.untrained import BASE


def run_answer(measurement: Measurement, metric: Metric) -> tuple[Answer, ...]:
    """Return the figures of a finished run: those before and after training, or those beside its best floor.

    Returns:
        Nothing for a run that is not finished or has no score.

    Raises:
        RunFolderError: the metrics of the run are damaged.
    """
    own, base = measurement.own, measurement.base
    estimate = own.estimate(metric)
    if own.progress is not None or estimate.value is None:
        return ()
    cost = _cost_of(own)
    if base is not None and base.progress is None and gradient_steps(measurement):
        try:
            gain = gain_of(measurement, metric)
        except NotComparableError:
            return (Answer((_estimate(f"{metric} after training", estimate), cost)),)
        before, after = (Estimate.with_interval(side.mean, side.interval) for side in (gain.b, gain.a))
        return (
            Answer((
                _estimate(f"{metric} before training", before), _estimate("after training", after),
                _difference(gain), cost,
            )),
        )  # fmt: skip
    floor = against_floor(measurement, metric)
    facts = [_estimate(metric, estimate)]
    if floor is not None:
        highest = Estimate.with_interval(floor.b.mean, floor.b.interval)
        facts += [_estimate(f"highest floor, {floor.b.name}", highest), _difference(floor)]
    return (Answer((*facts, cost)),)


def comparison_answer(
    results: Sequence[Comparison | AlgorithmComparison], sides: Sequence[Sequence[ReportSubject]]
) -> tuple[Answer, ...]:
    """Return the figures of two sides; of several runs, those of the two with the highest means.

    Args:
        results: the comparisons of all pairs of ``sides``, in the order of ``itertools.combinations``.
        sides: runs, or the seeds of two algorithms.

    Raises:
        RunFolderError: the metrics of a run are damaged.
    """
    pairs = [(i, j) for i in range(len(sides)) for j in range(i + 1, len(sides))]
    (i, j), result = max(
        zip(pairs, results, strict=True), key=lambda each: sum(mean for _, mean, _ in _sides(each[1]))
    )
    facts = [
        _estimate(f"{result.metric}, {name}", Estimate(mean, *bounds))
        for name, mean, bounds in _sides(result)
    ]
    a, b = (float(np.mean([RunCost.read(x.run, x.outcomes).tokens for x in sides[k]])) for k in (i, j))
    if a and b:
        words = f"{compact(a)} and {compact(b)} generated tokens"
        facts += [_difference(result), Fact("cost of A / B", f"{a / b:.2g} ×", words)]
        return (Answer(tuple(facts)),)
    return (Answer((*facts, _difference(result))),)


def sweep_answer(sweep: StoredSweep) -> tuple[Answer, ...]:
    """Return, for each environment, the figures of the method with which the others are compared."""
    answers = []
    for env in sweep.envs():
        row = next((row for row in sweep.rows_on(env) if row.method == sweep.against), None)
        if row is None or row.success is None or row.gain.mean is None:
            continue
        facts = (
            _estimate("success before training", sweep.forest_row(env, BASE, "base").estimate),
            _estimate(f"after training, {row.method}", sweep.forest_row(env, row.method, "trained").estimate),
            _signed(row.gain.mean, row.gain.low, row.gain.high, row.gain.verdict),
            _cost(", mean of a seed", *(row.cost.get(AXES[key], 0) for key in
                  ("tokens", "gradient_steps_total", "env_steps", "seconds"))),
        )  # fmt: skip
        answers.append(Answer(facts, env if len(sweep.envs()) > 1 else ""))
    return tuple(answers)


def _sides(
    result: Comparison | AlgorithmComparison,
) -> Iterable[tuple[str, float, tuple[float, ...]]]:
    """Yield name, mean and bounds of A and B; the intervals of algorithms are in the forest plot."""
    if isinstance(result, AlgorithmComparison):
        for name, seeds in ((result.name_a, result.seeds_a), (result.name_b, result.seeds_b)):
            yield name, float(np.mean([mean for _, mean, _ in seeds])), ()
        return
    for side in (result.a, result.b):
        yield side.name, side.mean, () if side.interval is None else (side.interval.low, side.interval.high)


def _estimate(label: str, estimate: Estimate) -> Fact:
    known = estimate.low is not None and estimate.high is not None
    note = f"{number(estimate.low)} to {number(estimate.high)}" if known else ""
    return Fact(f"{label[:1].upper()}{label[1:]}", number(estimate.value), note)


def _difference(result: Comparison | AlgorithmComparison) -> Fact:
    low, high = (None, None) if result.interval is None else (result.interval.low, result.interval.high)
    p = result.p_adjusted if isinstance(result, Comparison) else result.p_value
    return _signed(result.difference, low, high, result.verdict, p_said(p))


def _signed(value: float, low: float | None, high: float | None, verdict: str, p: str = "") -> Fact:
    bounds = "" if low is None else f"{number(low, sign=True)} to {number(high, sign=True)}"
    shown = "not told apart" if verdict == UNDECIDED else ""
    bounds, text = (text.replace("-", "−") for text in (bounds, number(value, sign=True)))
    tone = worded(verdict, "better", "worse", "")
    return Fact("Difference", text, ", ".join(filter(None, (bounds, p, shown))), tone)


def _cost_of(own: ReportSubject) -> Fact:
    """Return the cost of a run's training, or of the episodes of an agent that is not trained."""
    cost = RunCost.read(own.run, own.outcomes)
    rows = rows_of(own.run, "iteration") if own.run.config.get("train") else []
    usage = spent_from_row(rows[-1].get("usage", {})) if rows else own.outcomes.usage
    what = " of training" if rows else " of the episodes"
    price = sum(each.cost for each in usage.values())
    return _cost(what, cost.tokens, cost.gradient_steps, cost.env_steps, cost.seconds, price)


def _cost(
    what: str, tokens: float, steps: float, env_steps: float, seconds: float, price: float = 0.0
) -> Fact:
    parts = [
        f"{compact(tokens)} generated tokens" if price and tokens else "generated tokens" if tokens else "",
        f"{steps:,.0f} gradient steps" if steps else "",
        f"{env_steps:,.0f} environment steps" if env_steps else "",
        time_text(seconds / 3600) if tokens or price else "no model was called",
    ]
    value = f"US$ {price:,.2f}" if price else compact(tokens) if tokens else time_text(seconds / 3600)
    return Fact(f"Cost{what}", value, ", ".join(filter(None, parts)))
