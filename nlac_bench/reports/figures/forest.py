"""Forest plot: each estimate with its 95 % interval on a common scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from nlac_bench.reports.figures.figure import (
    ACCENT,
    BLACK,
    GREY,
    NARROW,
    SMALL,
    WHITE,
    WIDTH,
    Figure,
    Table,
    label,
)
from nlac_bench.stats.estimates import Estimate
from nlac_bench.stats.tables import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Kind: TypeAlias = Literal["floor", "base", "trained", "run", "oracle"]
_MARKS = {"floor": ("s", GREY, WHITE), "base": ("o", BLACK, WHITE), "trained": ("o", ACCENT, ACCENT),
          "run": ("o", ACCENT, ACCENT), "oracle": ("D", GREY, WHITE)}  # fmt: skip
"""Shape, colour and filling of each kind's mark."""


@dataclass(frozen=True)
class ForestRow:
    """A row of a forest plot.

    ``seeds`` are the results of single seeds, drawn as small marks. ``note`` is shown beside the name.
    """

    name: str
    kind: Kind
    estimate: Estimate
    seeds: tuple[float, ...] = ()
    note: str = ""


def forest(rows: Sequence[ForestRow], metric: str, env: str = "", name: str = "forest") -> Figure:
    """Return the forest plot of ``rows``, in their order from top to bottom.

    Args:
        metric: ``success``, whose scale is 0 to 1, or ``reward``.
        env: the environment, for the title.
        name: name of its files.
    """

    def draw(new: "type[Canvas]", width: float = WIDTH) -> "Canvas":
        wide = width > NARROW
        figure = new(figsize=(width, 0.27 * len(rows) + 0.65), layout="constrained")
        panel = figure.subplots()
        for place, each in enumerate(rows):
            _row(panel, place, each, wide)
        panel.set_ylim(len(rows) - 0.5, -0.5)
        names = [label(f"{e.name} {e.note}".strip(), 44 if wide else 20) for e in rows]
        panel.set_yticks(range(len(rows)), names)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.grid(axis="x", linewidth=0.5)
        panel.set_axisbelow(True)
        if metric == "success":
            panel.set_xlim(-0.01, 1.01)
            panel.set_xticks(
                [0, 0.25, 0.5, 0.75, 1], ["0", "0.25" if wide else "", "0.5", "0.75" if wide else "", "1"]
            )
        panel.set_xlabel(f"{metric} with 95 % interval")
        return figure

    cells = tuple(
        (
            e.name, e.kind, e.note, e.estimate.value, e.estimate.low, e.estimate.high,
            " ".join(f"{s:.3f}" for s in e.seeds),
        )
        for e in rows
    )  # fmt: skip
    header = ("", "kind", "note", metric, "95 % low", "95 % high", "each seed")
    where = f" on {env}" if env else ""
    title = f"{metric.capitalize()}{where} with 95 % intervals"
    if metric == "success" and any(e.kind == "trained" and e.seeds for e in rows):
        title += ", which for trained models cover further training runs too; the ticks are the runs"
    return Figure(name, title, Table(header, cells), draw, partial(draw, width=NARROW))


def _row(panel: "Axes", place: int, each: ForestRow, wide: bool) -> None:
    shape, colour, inside = _MARKS[each.kind]
    value, low, high = each.estimate.value, each.estimate.low, each.estimate.high
    panel.annotate(
        each.estimate.to_text(digits=2) if wide else number(value, digits=2),
        (1.0, place), xycoords=panel.get_yaxis_transform(), xytext=(10, 0),
        textcoords="offset points", va="center", fontsize=SMALL, color=BLACK, annotation_clip=False,
        fontweight="bold" if each.kind in ("trained", "run") else "normal",
    )  # fmt: skip
    if value is None:
        return
    if low is not None and high is not None:
        panel.plot([low, high], [place, place], color=colour, linewidth=1.6, solid_capstyle="butt")
    if each.seeds:
        panel.plot(each.seeds, [place] * len(each.seeds), "|", color=colour, markersize=7)
    panel.plot(value, place, shape, color=colour, markerfacecolor=inside, markersize=6,
               markeredgewidth=1.3, clip_on=False, zorder=3)  # fmt: skip
