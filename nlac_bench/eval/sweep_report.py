"""What a sweep shows: a table for each environment, verdicts over seeds and tasks, learning curves."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nlac_bench.eval.algorithms import compare_algorithms
from nlac_bench.eval.base import BASE
from nlac_bench.eval.compare import ALPHA, Measured, compare
from nlac_bench.eval.curve import AXES, latest
from nlac_bench.eval.rundir import RunFolder
from nlac_bench.eval.significance import holm
from nlac_bench.eval.sweep import Cell, Sweep, base_folder, chosen_rates, done
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
    base: dict[int, float]
    gain: Difference
    cost: dict[str, float]
    """Mean over seeds: gradient steps, environment steps, generated tokens, seconds."""

    @property
    def success(self) -> float:
        """Mean over seeds."""
        return float(np.mean(list(self.seeds.values())))


def rows(sweep: Sweep, out: Path) -> list[Row]:
    """Every method's finished runs, by environment; the transferred ones last."""
    found = []
    for env in [*sweep.seeds, *sweep.transfer]:
        for method in sweep.methods:
            cells = [c for c in _cells(sweep, env, method) if done(_folder(sweep, c, out, env))]
            if cells:
                found.append(_row(sweep, out, env, method, cells))
    return found


def _cells(sweep: Sweep, env: str, method: str) -> list[Cell]:
    source = sweep.transfer.get(env, env)
    return [c for c in sweep.cells() if c.env == source and c.method == method]


def _folder(sweep: Sweep, cell: Cell, out: Path, env: str) -> Path:
    return cell.transferred(out, env) if env in sweep.transfer else cell.folder(out)


def _row(sweep: Sweep, out: Path, env: str, method: str, cells: Sequence[Cell]) -> Row:
    folders = {c.seed: _folder(sweep, c, out, env) for c in cells}
    trained = {seed: Measured.read(folder, f"{method}-{seed}") for seed, folder in folders.items()}
    paths = {seed: base_folder(out, env, seed) for seed in folders}
    known = {s: Measured.read(path, f"{BASE}-{s}") for s, path in paths.items() if done(path)}
    last = [latest(list(RunFolder.open(c.folder(out)).metrics()), "iteration")[-1] for c in cells]
    return Row(
        method, env,
        seeds={seed: _mean(run) for seed, run in trained.items()},
        base={seed: _mean(run) for seed, run in known.items()},
        gain=difference([trained[s] for s in known], list(known.values())),
        cost={label: float(np.mean([row[key] for row in last])) for key, label in AXES.items()},
    )  # fmt: skip


def _mean(run: Measured) -> float:
    return float(np.nanmean(run.outcomes.task_means("success")))


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


def pairs(sweep: Sweep, out: Path, env: str, against: str) -> dict[str, tuple[Difference, float]]:
    """``against`` minus each other method on ``env``; p-values and verdicts after Holm's correction."""
    runs = {
        method: [
            Measured.read(_folder(sweep, c, out, env), f"{method}-{c.seed}")
            for c in _cells(sweep, env, method)
            if done(_folder(sweep, c, out, env))
        ]
        for method in sweep.methods
    }
    if not runs.get(against):
        return {}
    found = {m: difference(runs[against], other) for m, other in runs.items() if m != against and other}
    adjusted = holm([float("nan") if d.p_value is None else d.p_value for d in found.values()])
    held = (
        d if p < ALPHA else replace(d, verdict="not distinguishable")
        for d, p in zip(found.values(), adjusted, strict=True)
    )
    return dict(zip(found, zip(held, adjusted, strict=True), strict=True))


def write(sweep: Sweep, out: Path, against: str) -> Path:
    """``comparison.json``, ``comparison.md`` and ``curves.svg`` in ``out``; the second is returned."""
    table, rates = rows(sweep, out), chosen_rates(sweep, out)
    parts = [f"# Comparison\n\nLearning rates: {rates or 'as configured'}.\n"]
    data: dict[str, Any] = {"learning_rates": rates, "rows": [], "pairs": {}}
    for env in [*sweep.seeds, *sweep.transfer]:
        here = [row for row in table if row.env == env]
        if not here:
            continue
        compared = pairs(sweep, out, env, against)
        parts.append(_section(sweep, env, here, against, compared))
        data["rows"] += [
            {
                "env": env, "method": r.method, "success": r.success, "seeds": r.seeds, "base": r.base,
                "gain": vars(r.gain), "cost": r.cost,
            }
            for r in here
        ]  # fmt: skip
        data["pairs"][env] = {m: {**vars(d), "p_holm": p} for m, (d, p) in compared.items()}
    draw(sweep, out)
    (out / "comparison.json").write_text(json.dumps(data, indent=1) + "\n")
    path = out / "comparison.md"
    path.write_text("\n".join(parts))
    return path


def _section(
    sweep: Sweep, env: str, here: Sequence[Row], against: str, compared: dict[str, tuple[Difference, float]]
) -> str:
    header = [
        "method",
        "seeds",
        "success",
        "each seed",
        "gain over base",
        "steps",
        "env steps",
        "tokens",
        "s",
    ]
    header += [f"{against} − method", "p (Holm)", "verdict"]
    lines = []
    for row in sorted(here, key=lambda r: -r.success):
        pair = compared.get(row.method)
        costs = [f"{row.cost[label]:,.0f}" for label in AXES.values()]
        each = " ".join(number(s) for s in row.seeds.values())
        versus = ["", "", ""]
        if pair is not None:
            verdict = (
                pair[0]
                .verdict.replace("A better", f"{against} better")
                .replace("B better", f"{row.method} better")
            )
            versus = [pair[0].to_text(), p_text(pair[1]), verdict]
        lines.append(
            [row.method, str(len(row.seeds)), number(row.success), each, row.gain.to_text(), *costs, *versus]
        )
    note = f" (trained on {sweep.transfer[env]})" if env in sweep.transfer else ""
    return f"## {env}{note}\n\n```\n{render_table(header, lines)}\n```\n"


def draw(sweep: Sweep, out: Path) -> Path:
    """``curves.svg``: validation success against each cost; a line is the mean of a method's seeds, its band
    their range."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    envs = list(sweep.seeds)
    figure, panels = pyplot.subplots(
        len(envs), len(AXES), figsize=(15, 3.4 * len(envs)), sharey="row", squeeze=False, layout="constrained"
    )
    for env, panel_row in zip(envs, panels, strict=True):
        for method in sweep.methods:
            series = [
                latest(list(RunFolder.open(c.folder(out)).metrics()), "validation")
                for c in _cells(sweep, env, method)
                if done(c.folder(out))
            ]
            for panel, key in zip(panel_row, AXES, strict=True):
                if series:
                    _band(panel, series, key, method)
        for panel, label in zip(panel_row, AXES.values(), strict=True):
            panel.set_xlabel(label)
            panel.set_ylim(0, 1)
            panel.grid(alpha=0.3)
        panel_row[0].set_ylabel(f"{env}: validation success")
        panel_row[0].legend(fontsize=7)
    path = out / "curves.svg"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return path


def _band(panel: Any, series: Sequence[Sequence[dict[str, Any]]], key: str, method: str) -> None:
    """On a common axis up to where the shortest run ends."""
    end = min(s[-1][key] for s in series)
    x = np.linspace(0, end, 50)
    ys = np.array([np.interp(x, [r[key] for r in s], [r["success"] for r in s]) for s in series])
    (line,) = panel.plot(x, ys.mean(axis=0), label=method, linewidth=1.2)
    panel.fill_between(x, ys.min(axis=0), ys.max(axis=0), alpha=0.12, color=line.get_color())
