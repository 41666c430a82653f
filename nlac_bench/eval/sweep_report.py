"""What a sweep shows: a table for each environment, verdicts over seeds and tasks, learning curves."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nlac_bench.eval.algorithms import compare_algorithms
from nlac_bench.eval.base import BASE
from nlac_bench.eval.compare import ALPHA, Measured, compare
from nlac_bench.eval.curve import AXES
from nlac_bench.eval.significance import holm
from nlac_bench.eval.sweep import Sweep, best_validation, chosen_rates, done
from nlac_bench.eval.sweep_curves import draw
from nlac_bench.eval.sweep_results import Played, Results
from nlac_bench.eval.tables import number, p_text, render_table


@dataclass(frozen=True)
class Difference:
    """A − B with a 95 % interval: over seeds and tasks where each side has two seeds, else over tasks."""

    mean: float
    low: float | None
    high: float | None
    p_value: float | None
    verdict: str

    def to_text(self) -> str:
        """``+0.050 [+0.005, +0.094]``."""
        if self.low is None or self.high is None:
            return number(self.mean, sign=True)
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


@dataclass(frozen=True)
class Row:
    """One method on one environment."""

    method: str
    env: str
    seeds: dict[int, float]
    gain: Difference
    cost: dict[str, float]
    """Mean over seeds, by the names of ``AXES``."""
    chosen_steps: dict[int, int]
    """Gradient steps of the checkpoint that each seed was tested with; 0 is the untrained model."""
    versus: Difference | None
    """The method that all are compared with, minus this one; the verdict is that after Holm's correction."""
    p_holm: float | None
    steps_to_best: float | None
    """Gradient steps after which that method's validation was first as good as this one's best; mean over
    common seeds, None where it never was in one of them."""

    @property
    def success(self) -> float:
        """Mean over seeds."""
        return float(np.mean(list(self.seeds.values())))


def rows(sweep: Sweep, results: Results, env: str, against: str) -> list[Row]:
    """Every method that is finished on ``env``, best first."""
    compared, leader = pairs(sweep, results, env, against), results.of(env, against)
    found = []
    for method in sweep.methods:
        runs = results.of(env, method)
        if not runs:
            continue
        based = [seed for seed in runs if seed in results.bases[env]]
        versus, p_holm = compared.get(method, (None, None))
        found.append(
            Row(
                method,
                env,
                seeds={seed: _mean(run.measured) for seed, run in runs.items()},
                gain=difference([runs[s].measured for s in based], [results.bases[env][s] for s in based]),
                cost={k: float(np.mean([r.cost[k] for r in runs.values()])) for k in AXES.values()},
                chosen_steps={seed: run.chosen_step for seed, run in runs.items()},
                versus=versus,
                p_holm=p_holm,
                steps_to_best=None if method == against else _steps_to_best(leader, runs),
            )
        )
    return sorted(found, key=lambda row: -row.success)


def _mean(run: Measured) -> float:
    return float(np.nanmean(run.outcomes.task_means("success")))


def _steps_to_best(leader: Mapping[int, Played], others: Mapping[int, Played]) -> float | None:
    steps = [leader[seed].steps_to(others[seed].best) for seed in leader if seed in others]
    known = [step for step in steps if step is not None]
    return float(np.mean(known)) if known and len(known) == len(steps) else None


def difference(a: Sequence[Measured], b: Sequence[Measured]) -> Difference:
    """How much better ``a``'s runs are than ``b``'s."""
    if not a or not b:
        return Difference(float("nan"), None, None, None, "not measured")
    if min(len(a), len(b)) >= 2:
        many = compare_algorithms(a, b, tasks="common")
        return Difference(many.difference, many.interval.low, many.interval.high, many.p_value, many.verdict)
    one = compare(a[0], b[0], tasks="common")
    low, high = (None, None) if one.interval is None else (one.interval.low, one.interval.high)
    return Difference(one.difference, low, high, one.p_value, one.verdict)


def pairs(sweep: Sweep, results: Results, env: str, against: str) -> dict[str, tuple[Difference, float]]:
    """``against`` minus each other method on ``env``; p-values and verdicts after Holm's correction."""
    leader = [run.measured for run in results.of(env, against).values()]
    if not leader:
        return {}
    others = {m: [run.measured for run in results.of(env, m).values()] for m in sweep.methods if m != against}
    found = {method: difference(leader, runs) for method, runs in others.items() if runs}
    adjusted = holm([float("nan") if d.p_value is None else d.p_value for d in found.values()])
    held = (
        d if p < ALPHA else replace(d, verdict="not distinguishable")
        for d, p in zip(found.values(), adjusted, strict=True)
    )
    return dict(zip(found, zip(held, adjusted, strict=True), strict=True))


def write(sweep: Sweep, out: Path, against: str) -> Path:
    """``comparison.json``, ``comparison.md`` and ``curves.svg`` in ``out``; the second is returned."""
    results = Results.read(sweep, out)
    tuned = tuning(sweep, out)
    rates = chosen_rates(sweep, out)
    parts = ["# Comparison\n", _tuning_section(tuned, rates)]
    data: dict[str, Any] = {
        "against": against, "learning_rates": rates, "tuning": tuned, "rows": [], "runs": {},
    }  # fmt: skip
    for env in [*sweep.seeds, *sweep.transfer]:
        here = rows(sweep, results, env, against)
        if not here:
            continue
        source = sweep.transfer.get(env)
        title = f"## {env}" + (f" (trained on {source}, whose costs these are)" if source else "")
        seeds = {seed for row in here for seed in row.seeds}
        bases = {seed: _mean(run) for seed, run in results.bases[env].items() if seed in seeds}
        table = render_table(*_success_table(here, bases, against))
        costs = render_table(*_cost_table(here, against))
        parts.append(f"{title}\n\n```\n{table}\n\n{costs}\n```\n")
        data["rows"] += [_row_json(row, bases) for row in here]
        data["runs"][env] = _runs_json(sweep, results, env)
    draw(sweep, results, out / "curves.svg")
    (out / "comparison.json").write_text(json.dumps(data) + "\n")
    path = out / "comparison.md"
    path.write_text("\n".join(parts))
    return path


def tuning(sweep: Sweep, out: Path) -> dict[str, dict[str, float]]:
    """The best validation of every finished tuning run, by method and rate."""
    found: dict[str, dict[str, float]] = {}
    for cell in sweep.tuning():
        if done(cell.folder(out)):
            found.setdefault(cell.method, {})[f"{cell.lr:g}"] = best_validation(cell.folder(out))
    return found


def _tuning_section(tuned: Mapping[str, Mapping[str, float]], rates: Mapping[str, float]) -> str:
    if not tuned:
        return "Learning rates as configured.\n"
    tried = list(dict.fromkeys(rate for of in tuned.values() for rate in of))
    lines = [
        [method, *(number(of.get(rate)) for rate in tried), f"{rates[method]:g}" if method in rates else "–"]
        for method, of in tuned.items()
    ]
    table = render_table(["best validation at rate", *tried, "taken"], lines)
    return f"## Tuning\n\n```\n{table}\n```\n"


def _success_table(
    here: Sequence[Row], bases: Mapping[int, float], against: str
) -> tuple[list[str], list[list[str]]]:
    header = ["method", "seeds", "success", "each seed", "gain over base", f"{against} − method", "p (Holm)"]
    lines = []
    for row in here:
        versus = ["", "", ""]
        if row.versus is not None:
            names = {"A better": f"{against} better", "B better": f"{row.method} better"}
            versus = [
                row.versus.to_text(), p_text(row.p_holm), names.get(row.versus.verdict, row.versus.verdict),
            ]  # fmt: skip
        lines.append([row.method, *_seeds(row.seeds), row.gain.to_text(), *versus])
    if bases:
        lines.append([BASE, *_seeds(bases), "", "", "", ""])
    return [*header, "verdict"], lines


def _seeds(successes: Mapping[int, float]) -> list[str]:
    values = list(successes.values())
    return [str(len(values)), number(float(np.mean(values))), " ".join(map(number, values))]


def _cost_table(here: Sequence[Row], against: str) -> tuple[list[str], list[list[str]]]:
    header = [
        "cost, mean over seeds",
        *AXES.values(),
        "tested at step",
        f"steps for {against} to validate as well",
    ]
    lines = []
    for row in here:
        steps = number(row.steps_to_best, digits=0) if row.method != against else ""
        chosen = " ".join(map(str, row.chosen_steps.values()))
        lines.append([row.method, *(f"{row.cost[label]:,.0f}" for label in AXES.values()), chosen, steps])
    return header, lines


def _row_json(row: Row, bases: Mapping[int, float]) -> dict[str, Any]:
    return {
        "env": row.env, "method": row.method, "success": row.success, "seeds": row.seeds, "base": bases,
        "gain": vars(row.gain), "cost": row.cost, "chosen_steps": row.chosen_steps,
        "versus": row.versus and vars(row.versus), "p_holm": row.p_holm, "steps_to_best": row.steps_to_best,
    }  # fmt: skip


def _runs_json(sweep: Sweep, results: Results, env: str) -> dict[str, Any]:
    """Each run's success by task and its validations: enough to compare anew."""
    found: dict[str, Any] = {}
    for seed, base in results.bases[env].items():
        found[f"{BASE}-{seed}"] = {"success": _by_task(base)}
    for method in sweep.methods:
        for seed, run in results.of(env, method).items():
            curve = [
                {**{key: v[key] for key in AXES}, "success": v["success"], "tasks": v["tasks"]}
                for v in run.validations
            ]
            found[f"{method}-{seed}"] = {"success": _by_task(run.measured), "cost": run.cost}
            if env in sweep.seeds:
                found[f"{method}-{seed}"]["validations"] = curve
    return found


def _by_task(run: Measured) -> dict[str, float]:
    return dict(zip(run.outcomes.tasks, run.outcomes.task_means("success").tolist(), strict=True))
