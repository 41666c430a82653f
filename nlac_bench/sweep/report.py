"""Writes a sweep's report: a table for each environment, verdicts over seeds and tasks, learning curves."""

import html
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nlac_bench.harness.runs.lines import new_files
from nlac_bench.stats.outcomes import COUNTED
from nlac_bench.stats.pairing import MeasuredRun
from nlac_bench.stats.seed_errors import FEWEST_SEEDS, approximate_note
from nlac_bench.stats.sequential import GROUP, Decision
from nlac_bench.stats.tables import number, p_text, render_table
from nlac_bench.stats.verdicts import ONE_SEED, worded
from nlac_bench.sweep.curves import draw
from nlac_bench.sweep.equal_cost import EqualCost, equal_cost
from nlac_bench.sweep.plan import Sweep, best_validation, chosen_rates, done, further_tuning
from nlac_bench.sweep.results import Results
from nlac_bench.sweep.rows import MethodRow, mean_of, mean_success, rows, seed_success, total
from nlac_bench.sweep.status import CellCount, status_of
from nlac_bench.training.curve import AXES
from nlac_bench.training.untrained import BASE

SEQUENTIAL = (
    f"Seeds were added in groups of {GROUP} until each verdict was reached or out of reach. The verdicts are "
    "those of a group-sequential permutation test on these tasks, with a family-wise error of 5 %; the "
    "intervals do not take the choice of seeds into account."
)


def write(
    sweep: Sweep, out: Path, against: str, decisions: Mapping[str, Mapping[str, Decision]] | None = None
) -> tuple[Path, list[CellCount]]:
    """Write ``comparison.json``, ``comparison.md`` and ``curves.svg`` to ``out``.

    Args:
        sweep, out, against: the sweep, its folder, and the method that the others are compared with.
        decisions: the verdicts by environment and method, if the seeds were chosen by them
            (``adaptive.Stage``); otherwise each is tested with all seeds.

    Returns:
        The path of ``comparison.md``, and the counts of seeds of each planned (environment, method).
    """
    results = Results.read(sweep, out)
    tuned, rates = tuning(sweep, out), chosen_rates(sweep, out)
    parts = ["# Comparison\n", _tuning_section(sweep, out, tuned, rates)]
    data: dict[str, Any] = {
        "against": against, "learning_rates": rates, "tuning": tuned, "cells": [], "rows": [], "runs": {},
        "equal_cost": {},
    }  # fmt: skip
    counts = []
    for env in sweep.seeds_by_env():
        here = rows(sweep, results, env, against, (decisions or {}).get(env))
        counts += [row.count for row in here]
        compared = {row.method: row.costs for row in here if row.method != against}
        at_equal_cost = equal_cost(compared, against) if env in sweep.seeds else []
        parts.append(_env_section(sweep, results, env, here, against, at_equal_cost))
        data["rows"] += [_row_json(row, results) for row in here]
        data["runs"][env] = _runs_json(sweep, results, env)
        data["equal_cost"][env] = [each.to_json() for each in at_equal_cost]
    if decisions:
        reached = (
            f"{env}, {against} − {m}: {d}" for env, found in decisions.items() for m, d in found.items()
        )
        parts.insert(1, f"{SEQUENTIAL}\n{_list(reached)}")
        data["decisions"] = {
            env: {method: decision.to_json() for method, decision in decided.items()}
            for env, decided in decisions.items()
        }
    data["cells"] = [count.to_json() for count in counts]
    with new_files(out) as draft:
        draw(sweep, results, draft / "curves.svg")
        (draft / "comparison.json").write_text(json.dumps(_plain(data), allow_nan=False) + "\n")
        (draft / "comparison.md").write_text("\n".join(parts))
    return out / "comparison.md", counts


def tuning(sweep: Sweep, out: Path) -> dict[str, dict[str, float | None]]:
    """Return the best validation success of each tuning run by method and learning rate; None if
    unfinished."""
    results: dict[str, dict[str, float | None]] = {}
    for cell in (*sweep.tuning(), *further_tuning(sweep, out)):
        folder = cell.folder(out)
        results.setdefault(cell.method, {})[f"{cell.lr:g}"] = (
            best_validation(folder) if done(folder) else None
        )
    return results


def _tuning_section(
    sweep: Sweep,
    out: Path,
    tuned: Mapping[str, Mapping[str, float | None]],
    rates: Mapping[str, float],
) -> str:
    if not tuned:
        return "Learning rates as configured.\n"
    columns = sorted({rate for tried in tuned.values() for rate in tried}, key=float)
    lines = [
        [
            method,
            *(number(by_rate.get(rate)) for rate in columns),
            f"{rates[method]:g}" if method in rates else "–",
        ]
        for method, by_rate in tuned.items()
    ]
    table = render_table(["best validation at rate", *columns, "taken"], lines)
    statuses = {
        f"{cell.method} at rate {cell.lr:g}": status_of(cell.folder(out))
        for cell in (*sweep.tuning(), *further_tuning(sweep, out))
    }
    left = _list(f"{name}: {status}" for name, status in statuses.items() if not status.finished)
    return f"## Tuning\n\n```\n{table}\n```\n{left}"


def _env_section(
    sweep: Sweep,
    results: Results,
    env: str,
    here: Sequence[MethodRow],
    against: str,
    at_equal_cost: Sequence[EqualCost],
) -> str:
    source = sweep.transfer.get(env)
    title = f"## {env}" + (f" (trained on {source}, whose costs these are)" if source else "")
    tables = [
        render_table(*_success_table(here, results, env, against)),
        render_table(*_cost_table(here, against)),
        *([render_table(*_budget_table(here))] if any(row.generated for row in here) else []),
        *(each.to_text() for each in at_equal_cost),
        render_table(*_episode_table(here, list(results.bases[env].values()))),
    ]
    notes = "".join(f"\n{note}\n" for note in _notes(here, results.bases[env]))
    notes += _list(note for row in here if row.costs is not None for note in row.costs.notes(verdict=False))
    left = [row.count for row in here] + [results.count(env, BASE)]
    parts = [f"{count.method}: {count}" for count in left if count.reason is not None]
    floors = results.floor_statuses.get(env, {})
    parts += [f"floor {name}: {status}" for name, status in floors.items() if not status.finished]
    for row in here:
        compared = ((f"{row.method} − {BASE}", row.gain), (f"{against} − {row.method}", row.versus))
        parts += [f"{what} is not measured: {d.why_not}" for what, d in compared if d and d.why_not]
    return f"{title}\n\n```\n" + "\n\n".join(tables) + f"\n```\n{notes}{_list(parts)}"


def _list(items: Iterable[str]) -> str:
    """Return a Markdown list of plain texts, each one line, after an empty line; "" without items."""
    lines = "".join(f"- {_escaped(item)}\n" for item in items)
    return lines and f"\n{lines}"


def _escaped(text: str) -> str:
    """Return ``text`` with the characters escaped that Markdown or HTML would interpret."""
    return re.sub(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", html.escape(text, quote=False))


def _success_table(
    here: Sequence[MethodRow], results: Results, env: str, against: str
) -> tuple[list[str], list[list[str]]]:
    header = ["method", "seeds", "success", "each seed", "gain over base", f"{against} − method"]
    lines = []
    for row in here:
        versus = [""] * 4
        if row.versus is not None:
            versus = [
                row.versus.estimate.to_text(sign=True), number(row.versus.detectable), p_text(row.p_holm),
                worded(row.versus.verdict, f"{against} better", f"{row.method} better"),
            ]  # fmt: skip
        lines.append(
            [
                row.method,
                *_seeds(row.count, row.seeds),
                row.gain.estimate.to_text(sign=True),
                *versus,
                approximate_note(FEWEST_SEEDS - 1) if row.approximate else "",
            ]
        )
    bases = seed_success(results.statuses[env, BASE], results.bases[env])
    lines.append([BASE, *_seeds(results.count(env, BASE), bases), *[""] * 6])
    for name in results.floor_statuses[env]:
        run = results.floors[env].get(name)
        lines.append([f"floor: {name}", "", number(None if run is None else mean_success(run)), *[""] * 7])
    header += ["detectable", "p (Holm)", "verdict", "note"]
    if any(line[-1] for line in lines):
        return header, lines
    return header[:-1], [line[:-1] for line in lines]


def _seeds(count: CellCount, successes: Mapping[int, float | None]) -> list[str]:
    """Return the cells "seeds", "success" and "each seed"; a dash stands for each seed without a result."""
    values = list(successes.values())
    finished = str(count.planned) if count.reason is None else f"{count.finished} of {count.planned}"
    return [finished, number(mean_of(values)), " ".join(map(number, values))]


def _cost_table(here: Sequence[MethodRow], against: str) -> tuple[list[str], list[list[str]]]:
    header = [
        "cost, mean over seeds",
        *AXES.values(),
        "tested at step",
        "change at the last validation",
        f"steps for {against} to validate as well",
    ]
    lines = []
    for row in here:
        steps = " ".join("–" if step is None else str(step) for step in row.steps_to_best.values())
        chosen = " ".join(map(str, row.chosen_steps.values()))
        costs = [f"{row.cost[label]:,.0f}" if row.cost else "–" for label in AXES.values()]
        lines.append([row.method, *costs, chosen or "–", _last_change(row), steps])
    return header, lines


def _last_change(row: MethodRow) -> str:
    """Return the mean change of the last validation, and how many seeds still rise."""
    changes = list(row.last_change.values())
    if not changes:
        return "–"
    return f"{number(mean_of(changes), sign=True)} ({sum(x > 0 for x in changes)}/{len(changes)} up)"


def _budget_table(here: Sequence[MethodRow]) -> tuple[list[str], list[list[str]]]:
    """Return what each method spent of its budget, and its tokens by role; means over seeds."""
    roles = sorted({role for row in here for role in row.generated})
    lines = []
    for row in here:
        use = row.budget
        spent = (
            ["–"] * 3
            if use is None
            else [f"{use.planned:,} {use.kind}", f"{use.spent:,.0f}", f"{use.overshoot:,.0f}"]
        )
        tokens = [f"{row.generated[role]:,.0f}" if role in row.generated else "–" for role in roles]
        lines.append([row.method, *spent, *tokens])
    return [
        "budget, mean over seeds",
        "planned",
        "spent",
        "overshoot",
        *(f"tokens: {r}" for r in roles),
    ], lines


def _episode_table(
    here: Sequence[MethodRow], bases: Sequence[MeasuredRun]
) -> tuple[list[str], list[list[str]]]:
    counts = {row.method: row.counts for row in here} | {BASE: total(bases) if bases else None}
    which = "all" if all(row.count.reason is None for row in here) else "finished"
    return [f"test episodes of {which} seeds", *COUNTED], [
        [name, *(["–"] * len(COUNTED) if c is None else c.cells())] for name, c in counts.items()
    ]


def _notes(here: Sequence[MethodRow], bases: Mapping[int, MeasuredRun]) -> list[str]:
    notes = []
    if any(row.p_holm is not None for row in here):
        notes.append("The 95 % intervals are not corrected for the number of methods; p and verdict are.")
    if any(each is not None and each.verdict == ONE_SEED for row in here for each in (row.gain, row.versus)):
        notes.append("One seed compares two checkpoints, not two algorithms.")
    if len({frozenset(bases), *(frozenset(row.chosen_steps) for row in here if row.chosen_steps)}) > 1:
        notes.append(
            "Not all methods have the same seeds as each other and as the untrained model: a difference is "
            "over those that both have; success, costs and curves are means over each one's own, so they are "
            "not to be compared."
        )
    return notes


def _row_json(row: MethodRow, results: Results) -> dict[str, object]:
    bases = {seed: mean_success(run) for seed, run in results.bases[row.env].items()}
    floors = {name: mean_success(run) for name, run in results.floors.get(row.env, {}).items()}
    statuses = results.statuses[row.env, row.method]
    return {
        "env": row.env, "method": row.method, "success": row.success, "seeds": row.seeds, "base": bases,
        "floors": floors, "episodes": row.counts and row.counts.to_json(),
        "gain": row.gain.to_json(), "cost": row.cost, "chosen_steps": row.chosen_steps,
        "generated": row.generated, "budget": row.budget and row.budget.to_json(),
        "cost_notes": [] if row.costs is None else row.costs.notes(verdict=False),
        "versus": row.versus and row.versus.to_json(), "p_holm": row.p_holm,
        "steps_to_best": row.steps_to_best, "last_change": row.last_change,
        "status": {seed: vars(status) for seed, status in statuses.items()},
    }  # fmt: skip


def _runs_json(sweep: Sweep, results: Results, env: str) -> dict[str, object]:
    """Return each run's success by task and its validations, from which the comparison can be repeated."""
    items: dict[str, Any] = {}
    for seed, base in results.bases[env].items():
        items[f"{BASE}-{seed}"] = {"success": _by_task(base)}
    for method in sweep.methods:
        for seed, run in results.by_seed(env, method).items():
            curve = [
                {key: v[key] for key in (*AXES, "success", "tasks") if key in v} for v in run.validations
            ]
            items[f"{method}-{seed}"] = {"success": _by_task(run.measured), "cost": run.cost}
            if env in sweep.seeds:
                items[f"{method}-{seed}"]["validations"] = curve
    return items


def _by_task(run: MeasuredRun) -> dict[str, float]:
    return dict(zip(run.outcomes.tasks, run.outcomes.task_means("success").tolist(), strict=True))


def _plain(value: object) -> object:
    """Return ``value`` with None in place of NaN, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
