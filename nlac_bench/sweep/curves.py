"""Plots the learning curves of a sweep: validation success against each cost, one panel for each method."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from nlac_bench.envs.env_string import parse
from nlac_bench.reports.figures.curves import MethodCurves, Reference, draw_panels, grid
from nlac_bench.reports.figures.figure import canvas
from nlac_bench.reports.figures.labels import EndLabel, label_ends
from nlac_bench.sweep.plan import Sweep
from nlac_bench.sweep.results import Results
from nlac_bench.sweep.rows import mean_of, mean_success
from nlac_bench.training.curve import AXES, TrainedSeed, tested

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL_WIDTH = 28
"""Characters in a line of a label beside a panel."""


def draw(sweep: Sweep, results: Results, path: Path) -> None:
    """Write the figure to ``path``: for each environment a line of panels for each cost.

    A panel emphasises one method: the mean of its seeds, their range, and the test of each seed at the cost
    of its checkpoint. The title has every method of the sweep; where seeds are not finished it says how many
    are.
    """
    named = short_names(list(sweep.seeds))
    lines = [(env, key, name) for env in sweep.seeds for key, name in AXES.items()]
    with canvas() as new:
        width = 1.8 + 1.95 * len(sweep.methods) - 0.2
        figure, panels = grid(new, len(lines), len(sweep.methods), 1.35, (0.2, 0.7), width)
        labels: dict[Axes, list[EndLabel]] = {}
        for (env, key, name), row in zip(lines, panels, strict=True):
            labels |= draw_panels(row, methods_of(sweep, results, env), references_of(results, env), key, 0)
            row[0].set_ylabel(f"{named[env]}: validation success", fontsize=7)
            for panel in row:
                panel.set_xlabel(name)
        label_ends(figure, labels)
        figure.savefig(path, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})


def short_names(envs: Sequence[str]) -> Mapping[str, str]:
    """Return a label for each environment: its name without arguments, unless another one has that name."""
    names = Counter(parse(env)[0] for env in envs)
    return {env: parse(env)[0] if names[parse(env)[0]] == 1 else fill(env, LABEL_WIDTH) for env in envs}


def methods_of(sweep: Sweep, results: Results, env: str) -> list[MethodCurves]:
    """Return the learning curves of the sweep's methods on ``env``, with the tests of their checkpoints."""
    items = []
    for method in sweep.methods:
        seeds = []
        for seed, run in results.by_seed(env, method).items():
            chosen = [row for row in run.validations if row["best"]]
            test = tested(chosen[-1], run.measured.outcomes) if chosen else None
            seeds.append(TrainedSeed(str(seed), run.validations, test))
        count, title = results.count(env, method), method
        if count.reason is not None:
            title = f"{method} ({count.finished} of {count.planned} seeds)"
        items.append(MethodCurves(method, title, seeds))
    return items


def references_of(results: Results, env: str) -> list[Reference]:
    """Return the success of the untrained model (mean over seeds) and of the floors on ``env``."""
    values = {name: mean_success(run) for name, run in results.floors.get(env, {}).items()}
    values["untrained (test)"] = mean_of(map(mean_success, results.bases[env].values()))
    return [
        Reference(name.removeprefix("floor-"), value) for name, value in values.items() if value is not None
    ]
