"""Labels at the ends of lines, moved apart where they would overlap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlac_bench.eval.figures.figure import GREY, SMALL

_LINE = 1.3
"""Distance of two labels, in font sizes."""


@dataclass(frozen=True)
class EndLabel:
    """A label for the line that ends at ``(x, y)``, in the units of its panel."""

    text: str
    x: float
    y: float
    colour: str


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return ``positions`` moved as little as possible (least squares) so that they are at least ``gap`` apart.

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


def label_ends(panel: Any, labels: Sequence[EndLabel]) -> None:
    """Write ``labels`` at the right of ``panel``, each joined by a thin line with its end.

    Call it when the limits of the panel are final. The figure must have the layout engine "constrained", which
    makes room for the labels.
    """
    texts = [
        panel.annotate(
            each.text, (1.0, each.y), xycoords=panel.get_yaxis_transform(), xytext=(6, 0),
            textcoords="offset points", va="center", fontsize=SMALL, color=each.colour, annotation_clip=False,
        )
        for each in labels
    ]  # fmt: skip
    panel.figure.draw_without_rendering()  # the layout, and with it the height of the panel
    low, high = panel.get_ylim()
    height = panel.get_window_extent().height * 72 / panel.figure.dpi
    gap = SMALL * _LINE * (high - low) / height
    for text, each, y in zip(texts, labels, spread([e.y for e in labels], gap, low, high), strict=True):
        text.xyann = (6, (y - each.y) * height / (high - low))
        right = panel.get_xlim()[1]
        panel.plot([each.x, right], [each.y, each.y], color=each.colour, linewidth=0.4, alpha=0.5)
        if abs(y - each.y) > gap / 4:
            panel.annotate(
                "", (1.0, each.y), xycoords=panel.get_yaxis_transform(), xytext=text.xyann,
                textcoords="offset points", arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5},
                annotation_clip=False,
            )  # fmt: skip
