"""Writes a sweep's report: a table for each environment, verdicts over seeds and tasks, learning curves."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlac_bench.eval.statistics.compare import Measured
from nlac_bench.eval.statistics.outcomes import COUNTED
from nlac_bench.eval.statistics.tables import number, p_text, render_table
from nlac_bench.eval.sweep.curves import draw
from nlac_bench.eval.sweep.plan import Sweep, best_validation, chosen_rates, done
from nlac_bench.eval.sweep.results import Results
from nlac_bench.eval.sweep.rows import Row, mean_success, rows, total
from nlac_bench.eval.training.curve import AXES
from nlac_bench.eval.training.untrained import BASE


def write(sweep: Sweep, out: Path, against: str) -> Path:
    """Write ``comparison.json``, ``comparison.md`` and ``curves.svg`` to ``out``; return the second path."""
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
        untrained = {seed: run for seed, run in results.bases[env].items() if seed in seeds}
        bases = {seed: mean_success(run) for seed, run in untrained.items()}
        floors = {name: mean_success(run) for name, run in results.floors.get(env, {}).items()}
        tables = [
            render_table(*_success_table(here, bases, floors, against)),
            render_table(*_cost_table(here, against)),
            render_table(*_episode_table(here, list(untrained.values()))),
        ]
        notes = "".join(f"\n{note}\n" for note in _notes(here))
        parts.append(f"{title}\n\n```\n" + "\n\n".join(tables) + f"\n```\n{notes}")
        data["rows"] += [_row_json(row, bases, floors) for row in here]
        data["runs"][env] = _runs_json(sweep, results, env)
    draw(sweep, results, out / "curves.svg")
    (out / "comparison.json").write_text(json.dumps(_plain(data), allow_nan=False) + "\n")
    path = out / "comparison.md"
    path.write_text("\n".join(parts))
    return path


def tuning(sweep: Sweep, out: Path) -> dict[str, dict[str, float]]:
    """The best validation success of every finished tuning run, by method and learning rate."""
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
    here: Sequence[Row], bases: Mapping[int, float], floors: Mapping[str, float], against: str
) -> tuple[list[str], list[list[str]]]:
    header = ["method", "seeds", "success", "each seed", "gain over base", f"{against} − method"]
    lines = []
    for row in here:
        versus = [""] * 4
        if row.versus is not None:
            names = {"A better": f"{against} better", "B better": f"{row.method} better"}
            versus = [
                row.versus.to_text(), number(row.versus.detectable), p_text(row.p_holm),
                names.get(row.versus.verdict, row.versus.verdict),
            ]  # fmt: skip
        lines.append([row.method, *_seeds(row.seeds), row.gain.to_text(), *versus])
    if bases:
        lines.append([BASE, *_seeds(bases), *[""] * 5])
    lines += [[f"floor: {name}", "", number(success), *[""] * 6] for name, success in floors.items()]
    return [*header, "detectable", "p (Holm)", "verdict"], lines


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
        steps = " ".join("–" if step is None else str(step) for step in row.steps_to_best.values())
        chosen = " ".join(map(str, row.chosen_steps.values()))
        lines.append([row.method, *(f"{row.cost[label]:,.0f}" for label in AXES.values()), chosen, steps])
    return header, lines


def _episode_table(here: Sequence[Row], bases: Sequence[Measured]) -> tuple[list[str], list[list[str]]]:
    counts = {row.method: row.counts for row in here} | ({BASE: total(bases)} if bases else {})
    return ["test episodes of all seeds", *COUNTED], [[name, *c.cells()] for name, c in counts.items()]


def _notes(here: Sequence[Row]) -> list[str]:
    notes = []
    if min(len(row.seeds) for row in here) == 1:
        notes.append("One seed tells two checkpoints apart, not two algorithms.")
    if len({tuple(row.seeds) for row in here}) > 1:
        notes.append("Not all methods have the same seeds: a difference is over those that both have.")
    return notes


def _row_json(row: Row, bases: Mapping[int, float], floors: Mapping[str, float]) -> dict[str, Any]:
    return {
        "env": row.env, "method": row.method, "success": row.success, "seeds": row.seeds, "base": bases,
        "floors": floors, "episodes": row.counts.to_json(),
        "gain": vars(row.gain), "cost": row.cost, "chosen_steps": row.chosen_steps,
        "versus": row.versus and vars(row.versus), "p_holm": row.p_holm, "steps_to_best": row.steps_to_best,
    }  # fmt: skip


def _runs_json(sweep: Sweep, results: Results, env: str) -> dict[str, Any]:
    """Each run's success by task and its validations, from which the comparison can be repeated."""
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


def _plain(value: Any) -> Any:
    """``value`` with None in place of NaN, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
