"""Plots the learning curves of a sweep: validation success against each cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlac_bench.eval.figures import save_svg
from nlac_bench.eval.sweep.plan import Sweep
from nlac_bench.eval.sweep.results import Results
from nlac_bench.eval.training.curve import AXES


def draw(sweep: Sweep, results: Results, path: Path) -> None:
    """Write the figure to ``path``; a line shows the mean of a method's seeds, the band their range.

    The legend has every method of the sweep; where seeds are not finished it says how many are.
    """
    import matplotlib

    matplotlib.rcdefaults()  # a matplotlibrc in the current folder could have LaTeX executed
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        len(sweep.seeds),
        len(AXES),
        figsize=(15, 3.4 * len(sweep.seeds)),
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for env, panel_row in zip(sweep.seeds, panels, strict=True):
        for panel, (key, label) in zip(panel_row, AXES.items(), strict=True):
            firsts = []
            for method in sweep.methods:
                series = [run.validations for run in results.of(env, method).values()]
                count = results.count(env, method)
                name = method
                if count.reason is not None:
                    name = f"{method} ({count.finished} of {count.planned} seeds)"
                if series:
                    _band(panel, series, key, name)
                    firsts += [float(s[1][key]) for s in series if len(s) > 1]
                else:
                    panel.plot([], [], label=name)
            if key != "gradient_steps_total" and firsts and min(firsts) > 0:
                panel.set_xscale("symlog", linthresh=min(firsts))  # methods differ by orders of magnitude
            panel.set_xlabel(label)
            panel.set_ylim(0, 1)
            panel.grid(alpha=0.3)
        panel_row[0].set_ylabel(f"{env}: validation success")
        panel_row[0].legend(fontsize=7)
    save_svg(figure, path)


def _band(panel: Any, series: Sequence[Sequence[dict[str, Any]]], key: str, method: str) -> None:
    """Plot mean and range of ``series`` up to the end of the shortest run."""
    end = min(s[-1][key] for s in series)
    x = np.unique([min(r[key], end) for s in series for r in s])
    ys = np.array([np.interp(x, [r[key] for r in s], [r["success"] for r in s]) for s in series])
    (line,) = panel.plot(x, ys.mean(axis=0), label=method, linewidth=1.2)
    panel.fill_between(x, ys.min(axis=0), ys.max(axis=0), alpha=0.12, color=line.get_color())
