"""Strip of tasks: one square for each task and run, filled if the task was won."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nlac_bench.reports.figures.figure import ACCENT, GREY, SECOND, SMALL, WIDTH, Cell, Figure, Table, label
from nlac_bench.stats.intervals import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.patches import PathPatch

TASKS = 60
"""Tasks in a line."""
_CELL = 0.127
"""Size of a square with its margin, in inches."""
_LINE = 1.35
"""Distance of two lines, in squares."""


def order(means_RT: Floats) -> list[int]:
    """Return the tasks in the order of the strip: first those that the last run won, then by the other runs.

    With two runs, the groups are: won by the last only, by both, by none, by the first only. Tasks without a
    score in the last run are last.

    Args:
        means_RT: success ``[runs, tasks]``, NaN without a score.
    """
    *others, last = np.nan_to_num(means_RT, nan=-1.0)
    keys = [-last] + [(-1 if i else 1) * row for i, row in enumerate(reversed(others))]
    # lexsort sorts by its last key first; among equal results the planned order is kept
    return [int(i) for i in np.lexsort(keys[::-1])]


def strip(names: Sequence[str], tasks: Sequence[str], means_RT: Floats, env: str = "") -> Figure:
    """Return the strip of ``tasks``, one line for each run; with two runs a third line marks what flipped.

    Args:
        names: of the runs; the last is compared with the first.
        means_RT: success of each run and task (mean over trials) ``[runs, tasks]``, NaN without a score.
        env: the environment, where a report has several.
    """
    ordered = order(means_RT)
    lines = len(names) + (len(names) == 2)

    def draw(new: "type[Canvas]") -> "Canvas":
        blocks = [ordered[i : i + TASKS] for i in range(0, len(ordered), TASKS)]
        pitch = lines * _LINE + 0.9
        height = pitch * len(blocks) + 0.2
        figure = new(figsize=(WIDTH, height * _CELL))
        panel = figure.add_axes((1 - (TASKS + 0.5) * _CELL / WIDTH, 0, TASKS * _CELL / WIDTH, 1))
        panel.set_axis_off()
        panel.set_xlim(-0.5, TASKS - 0.5)
        panel.set_ylim(height - 0.8, -0.8)
        for block, members in enumerate(blocks):
            for line in range(lines):
                y = block * pitch + line * _LINE
                name = label(names[line], 17) if line < len(names) else "flipped"
                panel.annotate(
                    name, (-0.8, y), ha="right", va="center", fontsize=SMALL, annotation_clip=False
                )
                if line < len(names):
                    _squares(panel, means_RT[line, members], y)
                else:
                    _flips(panel, means_RT[0, members], means_RT[-1, members], y)
        return figure

    flipped = ("change",) if len(names) == 2 else ()
    rows: list[tuple[Cell, ...]] = []
    for i in ordered:
        means: list[Cell] = [None if np.isnan(m) else float(m) for m in means_RT[:, i]]
        change = (_change(means_RT[0, i], means_RT[1, i]),) if flipped else ()
        rows.append((tasks[i], *means, *change))
    where = f" of {env}" if env else ""
    title = f"Tasks{where}: a full square is won, an empty square is lost, a dot has no score"
    if len(names) == 2:
        title += f"; ▲ is won by {label(names[1])} only, ▼ by {label(names[0])} only"
    return Figure("tasks", title, Table(("task", *names, *flipped), tuple(rows)), draw)


def _squares(panel: "Axes", means: Floats, y: float) -> None:
    """Draw a line of squares, filled from below by the share of trials that were won."""
    scored, won = np.flatnonzero(~np.isnan(means)), np.flatnonzero(means > 0)
    for places, heights, style in (
        (won, means[won], {"facecolor": ACCENT, "edgecolor": "none"}),
        (scored, np.ones(len(scored)), {"facecolor": "none", "edgecolor": ACCENT, "linewidth": 0.6}),
    ):
        if len(places):
            panel.add_artist(_boxes(places, y, heights, style))
    rest = np.flatnonzero(np.isnan(means))
    panel.plot(rest, [y] * len(rest), ".", color=GREY, markersize=3)


def _boxes(places: NDArray[np.intp], y: float, heights: Floats, style: Mapping[str, Any]) -> "PathPatch":
    """Return rectangles as one path: matplotlib takes a millisecond for each path and for its limits."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    left, bottom = places - 0.38, np.full(len(places), y + 0.38)
    top = bottom - 0.76 * heights
    corners = [(left, bottom), (left + 0.76, bottom), (left + 0.76, top), (left, top)]
    boxes_BC2 = np.array(corners).transpose(2, 0, 1)
    return PathPatch(Path.make_compound_path_from_polys(boxes_BC2), **style)


def _flips(panel: "Axes", first: Floats, last: Floats, y: float) -> None:
    for shape, colour, where in (("^", ACCENT, last > first), ("v", SECOND, last < first)):
        places = np.flatnonzero(where)
        panel.plot(places, [y] * len(places), shape, color=colour, markersize=4.5, markeredgewidth=0)


def _change(first: float, last: float) -> str:
    if np.isnan(first) or np.isnan(last):
        return "not scored"
    if first == last:
        return "same"
    return "won" if last > first else "lost"
