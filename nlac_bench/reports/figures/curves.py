"""Learning curves: success against gradient steps, environment steps, generated tokens and seconds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from nlac_bench.reports.figures.figure import (
    ACCENT,
    BLACK,
    GREY,
    NARROW,
    SECOND,
    SMALL,
    WHITE,
    WIDTH,
    Cell,
    Figure,
    Table,
    compact,
    file_name,
    label,
)
from nlac_bench.reports.figures.labels import EndLabel, label_ends
from nlac_bench.stats.intervals import Floats
from nlac_bench.training.curve import Tested, TrainedSeed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

COLUMNS = 4
"""Number of panels in a line of a figure of many methods."""
_LETTERS = 12
"""Letters of a panel's title in an inch."""


@dataclass(frozen=True)
class Reference:
    """A success that does not depend on training: a floor, the oracle, the untrained model."""

    name: str
    success: float


@dataclass(frozen=True)
class MethodCurves:
    """A method and its seeds; ``title`` names it and, where seeds are missing, says how many there are."""

    name: str
    title: str
    seeds: Sequence[TrainedSeed]


def run_curve(
    run: TrainedSeed,
    training: Sequence[Mapping[str, Any]],
    references: Sequence[Reference],
    axes: Mapping[str, str],
) -> Figure:
    """Return the curve of one run: validation with its 95 % interval, training episodes, test, references.

    Args:
        training: the rows of the iterations; those with ``train_success`` are drawn.
        axes: labels of the costs by their keys; one panel each.
    """
    played = [row for row in training if row.get("train_success") is not None]

    def draw(new: "type[Canvas]", columns: int = 2, width: float = WIDTH) -> "Canvas":
        lines = math.ceil(len(axes) / columns)
        figure, panels = grid(new, lines, columns, 1.9, (1.25, 0.6), width)
        labels: dict[Axes, list[EndLabel]] = {}
        for panel, (key, name) in zip(chain(*panels), axes.items(), strict=False):
            _set_up(panel, name)
            x = [row[key] for row in run.validations]
            ends = []
            if played:
                y = [row["train_success"] for row in played]
                panel.plot([row[key] for row in played], y, color=GREY, linewidth=0.9)
                ends.append(EndLabel("training episodes", played[-1][key], y[-1], GREY))
            if run.validations:
                y = [row["success"] for row in run.validations]
                low, high = zip(*(row["ci"] for row in run.validations), strict=True)
                panel.fill_between(x, low, high, color=ACCENT, alpha=0.15, linewidth=0)
                panel.plot(x, y, color=ACCENT, marker="o", markersize=3.5)
                ends.append(EndLabel("validation", x[-1], y[-1], ACCENT))
            _from_zero(panel, [*x, *(row[key] for row in played)])
            if run.tested is not None:
                _test_mark(panel, run.tested, key)
                ends.append(EndLabel("test", run.tested.at[key], run.tested.success, SECOND))
            labels[panel] = ends + _reference_lines(panel, references)
        for row in panels:
            row[0].set_ylabel("success")
        label_ends(figure, labels)
        return figure

    rows: list[tuple[Cell, ...]] = [
        ("validation", *(row[key] for key in axes), row["success"], *row["ci"]) for row in run.validations
    ]
    rows += [("training episodes", *(r[key] for key in axes), r["train_success"], None, None) for r in played]
    rows += _tested_rows([("test", run.tested)], axes)
    rows += [(ref.name, *(None for _ in axes), ref.success, None, None) for ref in references]
    table = Table(("", *axes.values(), "success", "95 % low", "95 % high"), tuple(rows))
    title = "Success of validation, training episodes and test against each cost of training"
    return Figure("learning_curve", title, table, draw, partial(draw, columns=1, width=NARROW))


def method_curves(
    methods: Sequence[MethodCurves], references: Sequence[Reference], key: str, name: str, env: str = ""
) -> Figure:
    """Return one small panel for each method: its mean and range over seeds, the other methods in grey.

    Args:
        key, name: the cost on the horizontal axis, and its label.
        env: the environment, where a report has several.
    """

    def draw(new: "type[Canvas]") -> "Canvas":
        columns = min(COLUMNS, len(methods))
        lines = math.ceil(len(methods) / columns)
        figure, panels = grid(new, lines, columns, 1.35 if columns > 2 else 1.9, (0.2, 0.35), sharex=True)
        every = [*chain(*panels)]
        for place in range(len(methods), len(every)):
            every[place].set_visible(False)
            every[place - columns].tick_params(labelbottom=True)  # the lowest visible panel of its column
        labels: dict[Axes, list[EndLabel]] = {}
        for line, row in enumerate(panels):
            labels |= draw_panels(row, methods, references, key, line * columns)
            row[0].set_ylabel("success")
        figure.supxlabel(name, fontsize=9, y=0.01)
        label_ends(figure, labels)
        return figure

    rows: list[tuple[Cell, ...]] = []
    for method in methods:
        for seed in method.seeds:
            rows += [
                (method.name, seed.name, "validation", row[key], row["success"], None, None)
                for row in seed.validations
            ]
            rows += _tested_rows([(method.name, seed.tested)], {key: name}, seed.name, "test")
    rows += [(ref.name, "", "", None, ref.success, None, None) for ref in references]
    header = ("method", "seed", "episodes", name, "success", "95 % low", "95 % high")
    where = f" on {env}" if env else ""
    title = f"Validation success against {name}{where}, one method emphasised in each panel"
    return Figure(file_name("curves", env, name), title, Table(header, tuple(rows)), draw)


def grid(
    new: "type[Canvas]",
    lines: int,
    columns: int,
    height: float,
    gap: tuple[float, float],
    whole: float = WIDTH,
    *,
    sharex: bool = False,
) -> "tuple[Canvas, list[list[Axes]]]":
    """Return a figure and its panels ``[lines, columns]``, with room for labels at their right.

    Args:
        height: of a panel, in inches.
        gap: width and height of the space between panels, in inches.
        whole: width of the figure, in inches.

    matplotlib's engines could find the room too, but take minutes for a hundred panels.
    """
    left, right, top, bottom = 0.55, 1.25, 0.25, 0.5
    width = (whole - left - right - (columns - 1) * gap[0]) / columns
    total = bottom + lines * height + (lines - 1) * gap[1] + top
    figure = new(figsize=(whole, total))
    edges = {
        "left": left / whole,
        "right": 1 - right / whole,
        "bottom": bottom / total,
        "top": 1 - top / total,
    }
    spaces = {"wspace": gap[0] / width, "hspace": gap[1] / height}
    panels = figure.subplots(
        lines, columns, squeeze=False, sharex=sharex, sharey=True, gridspec_kw={**edges, **spaces}
    )
    return figure, [list(row) for row in panels]


def draw_panels(
    panels: "Sequence[Axes]",
    methods: Sequence[MethodCurves],
    references: Sequence[Reference],
    key: str,
    first: int,
) -> "dict[Axes, list[EndLabel]]":
    """Draw the panels of ``methods[first:]`` into a row of ``panels``.

    Returns:
        The names of ``references``, to be written at the end of the row.
    """
    lines = {method.name: _mean(method.seeds, key) for method in methods}
    starts = [float(s.validations[1][key]) for m in methods for s in m.seeds if len(s.validations) > 1]
    every = [row[key] for method in methods for seed in method.seeds for row in seed.validations]
    shown = methods[first : first + len(panels)]
    labels: dict[Axes, list[EndLabel]] = {}
    for panel, method in zip(panels, shown, strict=False):
        _set_up(panel, "")
        room = round(_LETTERS * panel.bbox.width / panel.figure.dpi)
        panel.set_title(label(method.title, room), loc="left", color=BLACK, fontweight="bold")
        _from_zero(panel, every, min(starts, default=0.0))
        for name, other in lines.items():
            if other is not None and name != method.name:
                panel.plot(other[0], other[1].mean(axis=0), color=GREY, linewidth=0.7, alpha=0.6)
        own = lines[method.name]
        if own is not None:
            x, ys = own
            panel.fill_between(x, ys.min(axis=0), ys.max(axis=0), color=ACCENT, alpha=0.18, linewidth=0)
            panel.plot(x, ys.mean(axis=0), color=ACCENT, linewidth=1.8)
            tests = [seed.tested for seed in method.seeds if seed.tested is not None]
            if len(tests) == len(method.seeds):
                _test_label(panel, tests, key, x, ys.max(axis=0))
        for seed in method.seeds:
            if seed.tested is not None:
                _test_mark(panel, seed.tested, key)
        labels = {panel: _reference_lines(panel, references)}
    return labels


def _mean(seeds: Sequence[TrainedSeed], key: str) -> tuple[Floats, Floats] | None:
    """Return costs ``[points]`` and successes ``[seeds, points]`` up to the end of the shortest run."""
    series = [seed.validations for seed in seeds if seed.validations]
    if not series:
        return None
    end = min(rows[-1][key] for rows in series)
    x = np.unique([min(row[key], end) for rows in series for row in rows])
    y = [np.interp(x, [row[key] for row in rows], [row["success"] for row in rows]) for rows in series]
    return x, np.array(y)


def _set_up(panel: "Axes", name: str) -> None:
    panel.set_ylim(0, 1)
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
    panel.grid(axis="y", linewidth=0.5)
    panel.set_xlabel(name)


def _from_zero(panel: "Axes", x: Sequence[float], linear: float = 0.0) -> None:
    """Let the horizontal axis run from 0 to the largest of ``x``, with ticks such as 50k.

    It is logarithmic above ``linear`` if the values then span more than two decades, because methods differ
    by orders of magnitude.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    end = max([*x, 0]) or 1
    if 0 < linear < end / 30:
        panel.set_xscale("symlog", linthresh=linear)
        decades = range(math.ceil(math.log10(linear)), math.floor(math.log10(end)) + 1)
        ticks = [0.0, *(10.0**power for power in decades)]
        panel.xaxis.set_major_locator(FixedLocator(ticks[:1] + ticks[1:][-3:]))
        panel.xaxis.set_minor_locator(NullLocator())
    else:
        panel.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], integer=True))
    panel.xaxis.set_major_formatter(FuncFormatter(compact))
    panel.set_xlim(0, end * 1.03)


def _test_mark(panel: "Axes", tested: Tested, key: str) -> None:
    """Draw a test result at the cost of its checkpoint, with its 95 % interval."""
    panel.errorbar(
        tested.at[key], tested.success,
        yerr=[[max(0.0, tested.success - tested.low)], [max(0.0, tested.high - tested.success)]],
        fmt="D", markersize=4, color=SECOND, markeredgecolor=WHITE, markeredgewidth=0.6, linewidth=1.1,
        capsize=2, zorder=4, clip_on=False,
    )  # fmt: skip


def _reference_lines(panel: "Axes", references: Sequence[Reference]) -> list[EndLabel]:
    right = panel.get_xlim()[1]
    for reference in references:
        panel.axhline(reference.success, color=GREY, linewidth=0.7, linestyle=(0, (4, 3)), zorder=1)
    return [EndLabel(label(ref.name, 20), right, ref.success, GREY) for ref in references]


def _test_label(panel: "Axes", tests: Sequence[Tested], key: str, x: Floats, top: Floats) -> None:
    """Write the mean of ``tests`` over the end of a line and over the marks beside it.

    The text says that it is the test result: the line itself is validation.

    Args:
        x, top: costs ``[points]`` of the line, and the highest success ``[points]`` that is drawn there.
    """

    def across(cost: float) -> float:
        place: float = panel.transAxes.inverted().transform(panel.transData.transform((cost, 0.0)))[0]
        return place

    part = across(float(x[-1]))
    drawn = [*zip(x, top, strict=True), *((test.at[key], test.high) for test in tests)]
    highest = max(float(y) for cost, y in drawn if abs(across(float(cost)) - part) < 0.3)
    side, beside = ("right", -4) if part > 0.7 else ("left", 4) if part < 0.3 else ("center", 0)
    panel.annotate(
        f"test {np.mean([test.success for test in tests]):.3f}", (float(x[-1]), min(highest + 0.02, 0.9)),
        xytext=(beside, 0), textcoords="offset points", ha=side, va="bottom", fontsize=SMALL, color=SECOND,
        fontweight="bold",
    )  # fmt: skip


def _tested_rows(
    tests: Sequence[tuple[str, Tested | None]], axes: Mapping[str, str], *more: Cell
) -> list[tuple[Cell, ...]]:
    return [
        (name, *more, *(test.at[key] for key in axes), test.success, test.low, test.high)
        for name, test in tests
        if test is not None
    ]
