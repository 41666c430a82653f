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
        figure: has the layout engine "constrained", which makes room for the labels.
        labels: of each panel, whose limits are final.
    """
    written = [(panel, each, _write(panel, each)) for panel, of in labels.items() for each in of]
    figure.draw_without_rendering()  # computes the layout, and with it the height of the panels
    figure.set_layout_engine("none")  # keeps it; computing it again would take as long as drawing
    for panel, of in labels.items():
        texts = [text for there, _, text in written if there is panel]
        low, high = panel.get_ylim()
        unit = panel.get_window_extent().height * 72 / figure.dpi / (high - low)  # points
        placed = spread([each.y for each in of], SMALL * _LINE / unit, low, high)
        for each, text, y in zip(of, texts, placed, strict=True):
            text.xyann = (_OFFSET, (y - each.y) * unit)
            panel.plot(
                [each.x, panel.get_xlim()[1]], [each.y, each.y], color=each.colour, linewidth=0.4, alpha=0.5
            )
            if abs(text.xyann[1]) > SMALL / 3:
                arrow = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5}
                panel.annotate("", (1.0, each.y), xytext=text.xyann, arrowprops=arrow, **_outside(panel))


def _write(panel: Any, each: EndLabel) -> Any:
    return panel.annotate(
        each.text, (1.0, each.y), xytext=(_OFFSET, 0), va="center", fontsize=SMALL, color=each.colour,
        **_outside(panel),
    )  # fmt: skip


def _outside(panel: Any) -> dict[str, Any]:
    """Return the coordinates of an annotation at the right edge of ``panel``, offset in points."""
    return {"xycoords": panel.get_yaxis_transform(), "textcoords": "offset points", "annotation_clip": False}
