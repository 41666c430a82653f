"""Labels at the ends of lines and beside points, moved apart where they would overlap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nlac_bench.reports.figures.figure import GREY, SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_LINE = 1.3
"""Distance of two labels, in font sizes."""
_OFFSET = 6
"""Distance of a label from its panel, in points."""
_BESIDE = 10
"""Distance of a label from its point, in points."""
_COLUMN = 70
"""Points with a smaller horizontal distance, in points, have their labels in one column."""
_LEADER = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5}
"""The line from a label that was moved to its point."""


@dataclass(frozen=True)
class EndLabel:
    """A label for the point, or for the line that ends, at ``(x, y)`` in the units of its panel."""

    text: str
    x: float
    y: float
    colour: str


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return ``positions`` moved as little as possible (least squares), so that each two are ``gap`` apart.

    Their order is kept. They stay within ``low`` and ``high`` if there is room for all of them. With
    ``q_i = p_i − i gap`` in ascending order this is isotonic regression, which pools adjacent violators
    (Barlow et al. 1972).
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    pools: list[tuple[float, int]] = []  # mean and size
    for place, i in enumerate(order):
        mean, size = positions[i] - place * gap, 1
        while pools and pools[-1][0] >= mean:
            before, count = pools.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    moved = [mean for mean, size in pools for _ in range(size)]
    top = max(low, high - gap * (len(order) - 1))
    placed = [0.0] * len(order)
    for place, i in enumerate(order):
        placed[i] = float(np.clip(moved[place], low, top)) + place * gap
    return placed


def label_ends(figure: "Canvas", labels: "Mapping[Axes, Sequence[EndLabel]]") -> None:
    """Write labels at the right of panels, each joined by a thin line with its end.

    Args:
        figure: has room for the labels at the right of its panels, or a layout engine that makes it.
        labels: of each panel, whose limits are final.
    """
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()  # drawing computes the layout and the height of the panels
    for panel, ends in labels.items():
        low, high = panel.get_ylim()
        unit = panel.get_window_extent().height * 72 / figure.dpi / (high - low)  # points
        write = partial(
            panel.annotate, xycoords=panel.get_yaxis_transform(), textcoords="offset points",
            annotation_clip=False,
        )  # fmt: skip
        for each, y in zip(ends, spread([e.y for e in ends], SMALL * _LINE / unit, low, high), strict=True):
            end, place = (1.0, each.y), (_OFFSET, (y - each.y) * unit)
            panel.plot(
                [each.x, panel.get_xlim()[1]], [each.y] * 2, color=each.colour, linewidth=0.4, alpha=0.5
            )
            write(each.text, end, xytext=place, va="center", fontsize=SMALL, color=each.colour)
            if abs(place[1]) > SMALL / 3:
                write("", end, xytext=place, arrowprops=_LEADER)


def label_points(figure: "Canvas", panel: "Axes", labels: Sequence[EndLabel]) -> None:
    """Write labels beside points, on the side where a panel has more room.

    Points that are near each other horizontally have their labels in one column.

    Args:
        figure: of ``panel``; its layout and the panel's limits are final.
    """
    (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
    size = panel.get_window_extent()
    across, up = (
        pixels * 72 / figure.dpi / length  # points
        for pixels, length in ((size.width, right - left), (size.height, high - low))
    )
    columns: list[list[EndLabel]] = []
    for each in sorted(labels, key=lambda each: each.x):
        if columns and (each.x - columns[-1][-1].x) * across < _COLUMN:
            columns[-1].append(each)
        else:
            columns.append([each])
    for column in columns:
        to_left = column[0].x + column[-1].x > left + right
        x, side = (column[0].x, -_BESIDE) if to_left else (column[-1].x, _BESIDE)
        for each, y in zip(column, spread([e.y for e in column], SMALL * _LINE / up, low, high), strict=True):
            moved = abs(y - each.y) * up > SMALL / 3 or each.x != x
            beside = panel.annotate(
                each.text, (each.x, each.y), xytext=((x - each.x) * across + side, (y - each.y) * up),
                textcoords="offset points", ha="right" if to_left else "left", va="center", fontsize=SMALL,
                color=each.colour,
                arrowprops=_LEADER if moved else None,
            )  # fmt: skip
            beside.set_in_layout(False)  # the layout has been computed
