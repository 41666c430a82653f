"""Forest plot: each estimate with its 95 % interval on a common scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from nlac_bench.reports.figures.figure import ACCENT, BLACK, GREY, SMALL, WHITE, Figure, Table, label

Kind: TypeAlias = Literal["floor", "base", "trained", "run", "oracle"]
_MARKS = {"floor": ("s", GREY, WHITE), "base": ("o", BLACK, WHITE), "trained": ("o", ACCENT, ACCENT),
          "run": ("o", ACCENT, ACCENT), "oracle": ("D", GREY, WHITE)}  # fmt: skip
"""Shape, colour and filling of each kind's mark."""


@dataclass(frozen=True)
class Estimate:
    """An estimate; ``low`` and ``high`` are None where its interval is unknown.

    ``seeds`` are the results of single seeds, drawn as small marks. ``note`` is shown beside the name.
    """

    name: str
    kind: Kind
    value: float | None
    low: float | None = None
    high: float | None = None
    seeds: tuple[float, ...] = ()
    note: str = ""

    def to_text(self) -> str:
        """Return the estimate as text: ``0.37 [0.29, 0.46]``."""
        if self.value is None:
            return "–"
        if self.low is None or self.high is None:
            return f"{self.value:.2f}"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def forest(estimates: Sequence[Estimate], metric: str, of: str = "", name: str = "forest") -> Figure:
    """Return the forest plot of ``estimates``, in their order from top to bottom.

    Args:
        metric: ``success``, whose scale is 0 to 1, or ``reward``.
        of: the environment, for the title.
        name: name of its files.
    """

    def draw(new: Any) -> Any:
        figure = new(figsize=(7.6, 0.27 * len(estimates) + 0.65), layout="constrained")
        panel = figure.subplots()
        for place, each in enumerate(estimates):
            _row(panel, place, each)
        panel.set_ylim(len(estimates) - 0.5, -0.5)
        names = [label(f"{e.name} {e.note}".strip(), 44) for e in estimates]
        panel.set_yticks(range(len(estimates)), names)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.grid(axis="x", linewidth=0.5)
        panel.set_axisbelow(True)
        if metric == "success":
            panel.set_xlim(-0.01, 1.01)
            panel.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        panel.set_xlabel(f"{metric} with 95 % interval")
        return figure

    rows = tuple(
        (e.name, e.kind, e.note, e.value, e.low, e.high, " ".join(f"{s:.3f}" for s in e.seeds))
        for e in estimates
    )
    header = ("", "kind", "note", metric, "95 % low", "95 % high", "each seed")
    where = f" on {of}" if of else ""
    title = f"{metric.capitalize()}{where} with 95 % intervals"
    if metric == "success" and any(e.kind == "trained" and e.seeds for e in estimates):
        title += ", which for trained models cover further training seeds too; the ticks are the seeds"
    return Figure(name, title, Table(header, rows), draw)


def _row(panel: Any, place: int, each: Estimate) -> None:
    shape, colour, inside = _MARKS[each.kind]
    panel.annotate(
        each.to_text(), (1.0, place), xycoords=panel.get_yaxis_transform(), xytext=(10, 0),
        textcoords="offset points", va="center", fontsize=SMALL, color=BLACK, annotation_clip=False,
        fontweight="bold" if each.kind in ("trained", "run") else "normal",
    )  # fmt: skip
    if each.value is None:
        return
    if each.low is not None and each.high is not None:
        panel.plot([each.low, each.high], [place, place], color=colour, linewidth=1.6, solid_capstyle="butt")
    if each.seeds:
        panel.plot(each.seeds, [place] * len(each.seeds), "|", color=colour, markersize=7)
    panel.plot(each.value, place, shape, color=colour, markerfacecolor=inside, markersize=6,
               markeredgewidth=1.3, clip_on=False, zorder=3)  # fmt: skip
