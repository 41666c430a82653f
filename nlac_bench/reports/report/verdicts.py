"""The sentences that reports begin with. They claim no difference that the comparison does not show."""

from collections.abc import Iterator, Mapping, Sequence

from nlac_bench import tiny
from nlac_bench.harness.measure.model_defaults import default_tasks
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.reports.report.page import as_sentence, shown
from nlac_bench.reports.report.subjects import Measurement
from nlac_bench.stats.compare import Comparison, compare
from nlac_bench.stats.compare_seeds import AlgorithmComparison
from nlac_bench.stats.pairing import Metric, NotComparableError
from nlac_bench.stats.tables import bracket, number, p_text
from nlac_bench.stats.verdicts import UNDECIDED, worded
from nlac_bench.training.curve import rows_of, start_is_best

TESTS = {"exact McNemar": "exact McNemar test", "sign flips by task": "sign-flip test by task"}
"""The names of the tests of ``compare`` in sentences."""


def setting(runs: Sequence[RunFolder]) -> str:
    """Return a sentence with the models and the environments of ``runs``, which every report shows.

    It follows the verdict.
    """
    measured = [
        f"{_model(run.subject)} on {shown(str(run.conditions.get('env')), 100)}"
        + (f" ({where})" if (where := ", ".join(_where(run.conditions))) else "")
        for run in runs
    ]
    notes = dict.fromkeys(note for run in runs if (note := default_tasks(run.config)))
    said = "".join(f" {as_sentence(note)}" for note in notes)
    return f"Measured: {'; '.join(dict.fromkeys(measured))}.{said}"


def _model(subject: Mapping[str, object]) -> str:
    if "model" not in subject:
        return "a model that is not named"
    name = subject["model"]
    if str(name) in tiny.FOLDERS:
        return f"the miniature model {name}, which nlac-bench contains,"
    return "an agent without a model" if name is None else f"the model {shown(str(name), 100)}"


def _where(conditions: Mapping[str, object]) -> Iterator[str]:
    """Yield the properties of the tasks: data, split, arguments of the environment, its user."""
    for name, word in (("data_source", "data"), ("split", "tasks")):
        if conditions.get(name) is not None:
            yield f"{shown(str(conditions[name]), 60)} {word}"
    arguments = conditions.get("env_args")
    if not isinstance(arguments, Mapping):  # None without arguments; the run may come from somebody else
        arguments = {}
    yield from (
        f"{shown(str(key), 60)} {shown(str(value), 60)}"
        for key, value in arguments.items()
        if key not in ("data", "split", "user")
    )
    if isinstance(user := conditions.get("user"), str):
        yield f"{shown(user, 60)} user"


def run_verdict(measurement: Measurement, metric: Metric) -> str:
    """Return the result of a run, compared with the untrained model or the highest floor."""
    own, base = measurement.own, measurement.base
    if own.progress is not None:
        return f"This run is not finished: {_unfinished(measurement)}. It supports no verdict yet."
    estimate = own.estimate(metric)
    if estimate.value is None:
        return "No episode of this run has a score."
    env, tasks = own.run.conditions["env"], len(own.outcomes.tasks)
    has = f"a {metric} of {estimate.to_text()} on {tasks} tasks of {env}"
    if not measurement.trains:
        return f"{own.name} has {has}.{_against_floor(measurement, metric)}"
    steps = gradient_steps(measurement)
    if not steps:
        return (
            f"No gradient step was taken, so the tested model is the untrained one; it has {has}."
            f"{_against_floor(measurement, metric)}"
        )
    if base is None:
        return f"The model {own.name} has {has}.{_against_floor(measurement, metric)}"
    try:
        gain = gain_of(measurement, metric)
    except NotComparableError as error:
        return f"The model {own.name} has {has}; its gain is not known: {error}."
    method = own.run.subject["agent"]
    before, after = number(gain.b.mean), number(gain.a.mean)
    change = f"from {before} to {after} ({_difference(gain)}) on {gain.tasks} tasks of {env}"
    shows = worded(
        gain.verdict,
        f"Training with {method} raised {metric} {change}.",
        f"Training with {method} lowered {metric} {change}.",
        f"Training with {method} made no difference that this run can show: {metric} went {change}.",
    )
    start = ""
    if start_is_best(own.run):
        start = (
            " The best validation was that before training, so the tested checkpoint is the untrained model."
        )
    one = " One training run shows what became of this model; claims about the method need several seeds."
    return shows + start + one


def gain_of(measurement: Measurement, metric: Metric) -> Comparison:
    """Return the comparison of a training run with its untrained model.

    Raises:
        NotComparableError: there is no untrained model, or the two have no scored task in common.
    """
    if measurement.base is None:
        raise NotComparableError("the untrained model was not measured")
    return compare(measurement.own.measured, measurement.base.measured, metric=metric, tasks="common")


def gradient_steps(measurement: Measurement) -> int:
    """Return how many gradient steps the training took."""
    rows = rows_of(measurement.own.run, "iteration")
    return int(rows[-1]["gradient_steps_total"]) if rows else 0


def pairs_verdict(results: Sequence[Comparison], metric: Metric) -> str:
    """Return which of the compared runs are better, after Holm's correction where there are several pairs."""
    decided = [_pair(each, metric) for each in results if each.verdict != UNDECIDED]
    if len(results) == 1 and not decided:
        c = results[0]
        return (
            f"{c.a.name} and {c.b.name} cannot be told apart: their difference in {metric} is "
            f"{_difference(c)} on {c.tasks} tasks.{_seen(c.detectable)}"
        )
    if not decided:
        return f"None of the {len(results)} pairs of runs can be told apart by their {metric}."
    rest = len(results) - len(decided)
    others = f" The other {rest} pairs cannot be told apart." if rest > 1 else ""
    others = " The other pair cannot be told apart." if rest == 1 else others
    return " ".join(decided) + others


def algorithms_verdict(result: AlgorithmComparison) -> str:
    """Return whether one of two algorithms is better, over seeds and tasks."""
    difference = f"{number(result.difference, sign=True)} {bracket(result.interval, sign=True)}"
    over = f"over {len(result.seeds_a)} and {len(result.seeds_b)} seeds and {result.tasks} tasks"
    return worded(
        result.verdict,
        f"{result.name_a} is better than {result.name_b}: {result.metric} {difference} {over}.",
        f"{result.name_b} is better than {result.name_a}: A − B = {difference} {result.metric} {over}.",
        f"{result.name_a} and {result.name_b} cannot be told apart: their difference in {result.metric} is "
        f"{difference} {over}.{_seen(result.detectable)}",
    )


def _pair(c: Comparison, metric: Metric) -> str:
    better, worse = (c.a, c.b) if c.verdict == "A better" else (c.b, c.a)
    return (
        f"{better.name} is better than {worse.name}: {metric} {number(better.mean)} against "
        f"{number(worse.mean)} on {c.tasks} tasks ({p_said(c.p_adjusted)}, {TESTS.get(c.test, c.test)})."
    )


def _difference(c: Comparison) -> str:
    tested = f"{p_said(c.p_adjusted)}, {TESTS.get(c.test, c.test)}"
    return f"{number(c.difference, sign=True)} {bracket(c.interval, sign=True)}, {tested}"


def p_said(p: float) -> str:
    """Return a p-value as text for a sentence: ``p = 0.012``, ``p < 0.001``."""
    return f"p {p_text(p).replace('<', '< ')}" if p < 0.001 else f"p = {p_text(p)}"


def _seen(detectable: float | None) -> str:
    if detectable is None:
        return ""
    return f" Differences of {number(detectable)} or more would be found with a probability of 80 %."


def _unfinished(measurement: Measurement) -> str:
    base = measurement.base
    if measurement.trains and (base is None or base.progress is not None):
        planned = len(measurement.own.run.plan)
        before = base.progress if base is not None else f"0 of {planned} episodes are recorded"
        return f"of the untrained model, {before}"
    if measurement.trains and not measurement.own.outcomes.end_reasons:
        return f"training took {gradient_steps(measurement):,} gradient steps, {measurement.own.progress}"
    return str(measurement.own.progress)


def against_floor(measurement: Measurement, metric: Metric) -> Comparison | None:
    """Return the comparison with the highest floor; None where no floor was played, or none is comparable."""
    floors = [each for each in measurement.references if each.kind == "floor"]
    known = [(value, each) for each in floors if (value := each.estimate(metric).value) is not None]
    if not known:
        return None
    _, highest = max(known, key=lambda each: each[0])
    try:
        return compare(measurement.own.measured, highest.measured, metric=metric, tasks="common")
    except NotComparableError:
        return None


def _against_floor(measurement: Measurement, metric: Metric) -> str:
    """Return a sentence on the comparison with the highest floor; "" without one."""
    result = against_floor(measurement, metric)
    if result is None:
        return ""
    floor = f"the highest floor ({result.b.name}, {number(result.b.mean)})"
    return worded(
        result.verdict,
        f" It is better than {floor}.",
        f" It is worse than {floor}.",
        f" It is not above {floor}: the two cannot be told apart.",
    )
