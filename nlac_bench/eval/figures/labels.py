"""Labels at the ends of lines, moved apart where they would overlap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlac_bench.eval.figures.figure import GREY, SMALL

_LINE = 1.3
"""Distance of two labels, in font sizes."""
_OFFSET = 6
"""Distance of a label from its panel, in points."""


@dataclass(frozen=True)
class EndLabel:
    """A label for the line that ends at ``(x, y)``, in the units of its panel."""

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


def label_ends(figure: Any, labels: Mapping[Any, Sequence[EndLabel]]) -> None:
    """Write labels at the right of panels, each joined by a thin line with its end.

    Args:
        figure: has room for the labels at the right of its panels, or a layout engine that makes it.
        labels: of each panel, whose limits are final.
    """
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()  # computes the layout, and with it the height of the panels
    for panel, of in labels.items():
        low, high = panel.get_ylim()
        unit = panel.get_window_extent().height * 72 / figure.dpi / (high - low)  # points
        outside = {
            "xycoords": panel.get_yaxis_transform(), "textcoords": "offset points", "annotation_clip": False,
        }  # fmt: skip
        for each, y in zip(of, spread([e.y for e in of], SMALL * _LINE / unit, low, high), strict=True):
            end, place = (1.0, each.y), (_OFFSET, (y - each.y) * unit)
            panel.plot(
                [each.x, panel.get_xlim()[1]], [each.y] * 2, color=each.colour, linewidth=0.4, alpha=0.5
            )
            panel.annotate(
                each.text, end, xytext=place, va="center", fontsize=SMALL, color=each.colour, **outside
            )
            if abs(place[1]) > SMALL / 3:
                line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5}
                panel.annotate("", end, xytext=place, arrowprops=line, **outside)
