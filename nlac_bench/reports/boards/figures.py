"""The figures of a board: cost against success, and learning curves by the three costs of training."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nlac_bench.leaderboards.entry import Curve, CurvePoint
from nlac_bench.leaderboards.numbers import failed_if_missing
from nlac_bench.reports.boards.rows import RowView
from nlac_bench.reports.figures.curves import MethodCurves, Reference, method_curves
from nlac_bench.reports.figures.figure import ACCENT, BLACK, GREY, WIDTH, Cell, Figure, Table, compact, label
from nlac_bench.reports.figures.labels import EndLabel, label_points
from nlac_bench.stats.intervals import rate_interval
from nlac_bench.training.curve import Tested, TrainedSeed

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

COSTS = {
    "gradient_steps": "gradient steps",
    "environment_steps": "environment steps",
    "tokens": "generated tokens",
}


@dataclass(frozen=True)
class Chart:
    """A figure with its heading and its caption."""

    heading: str
    caption: str
    figure: Figure

    @property
    def table(self) -> Table:
        return self.figure.table


def board_charts(rows: Sequence[RowView], pinned: Sequence[RowView]) -> list[Chart]:
    """Return the figures of a board; without entries that were trained there are no learning curves."""
    charts = []
    shown = [row for row in rows if row.success is not None]
    if shown:
        charts.append(
            Chart(
                "Cost against success",
                "Success with its 95 % interval against the cost of training (mean over seeds) or, without "
                "training, of the test episodes."
                + (" Dashed lines: floors and oracle." if pinned else "")
                + (" Entries without a success rate are left out." if len(shown) < len(rows) else ""),
                _cost_figure(shown, pinned),
            )
        )
    trained = [row for row in rows if any(curve.points for curve in row.entry.curves)]
    for key, name in COSTS.items():
        if trained:
            charts.append(
                Chart(
                    f"Learning curves by {name}",
                    "Validation success, the mean and the range over seeds; the other entries are grey. "
                    "Diamonds: the test result of each seed, with its 95 % interval, at the cost of its "
                    "checkpoint; the number is the mean of these results.",
                    _curves(trained, pinned, key, name),
                )
            )
    return charts


def _references(pinned: Sequence[RowView]) -> list[Reference]:
    return [Reference(row.name, row.success) for row in pinned if row.success is not None]


_POINTS: tuple[tuple[str, Callable[[RowView], float | None]], ...] = (
    ("generated tokens", lambda row: row.tokens),
    ("environment steps", lambda row: row.environment_steps),
    ("gradient steps", lambda row: row.gradient_steps),
)


def _cost_figure(rows: Sequence[RowView], pinned: Sequence[RowView]) -> Figure:
    axes = [(name, cost) for name, cost in _POINTS if any(cost(row) for row in rows)] or [_POINTS[0]]

    bounds = [x for row in rows for x in (row.low, row.success, row.high) if x is not None]
    low, high = max(0.0, min(bounds) - 0.05), min(1.0, max(bounds) + 0.05)

    def draw(new: "type[Canvas]") -> "Canvas":
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        figure = new(figsize=(WIDTH, 3.4), layout="constrained")
        panels = figure.subplots(1, len(axes), sharey=True, squeeze=False)[0]
        known = [[(row, x) for row in rows if (x := cost(row)) is not None] for _, cost in axes]
        for panel, points, (name, _) in zip(panels, known, axes, strict=True):
            panel.set_ylim(low, high)
            panel.set_xlim(0, 1.05 * max((x for _, x in points), default=0) or 1)
            panel.grid(axis="y", linewidth=0.5)
            panel.set_xlabel(name)
            panel.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], integer=True))
            panel.xaxis.set_major_formatter(FuncFormatter(compact))
            for reference in _references(pinned):
                if low <= reference.success <= high:
                    panel.axhline(
                        reference.success, color=GREY, linewidth=0.7, linestyle=(0, (4, 3)), zorder=1
                    )
            for row, x in points:
                if row.low is not None and row.high is not None:
                    panel.plot([x, x], [row.low, row.high], color=ACCENT, linewidth=1, alpha=0.45)
                panel.plot([x], [row.success], "o", color=ACCENT, markersize=5, clip_on=False, zorder=3)
        panels[0].set_ylabel("success")
        figure.draw_without_rendering()  # drawing computes the layout and the room for the names
        for panel, points in zip(panels, known, strict=True):
            names = [EndLabel(label(row.name, 22), x, row.success or 0.0, BLACK) for row, x in points]
            label_points(figure, panel, names)
        return figure

    header = ("entry", *(name for name, _ in axes), "success", "95 % low", "95 % high")
    table: list[tuple[Cell, ...]] = [
        (row.name, *(_whole(cost(row)) for _, cost in axes), row.success, row.low, row.high) for row in rows
    ]
    table += [(r.name, *(None for _ in axes), r.success, None, None) for r in _references(pinned)]
    title = "Success against the cost of training, one point for each entry"
    return Figure("cost", title, Table(header, tuple(table)), draw)


def _whole(cost: float | None) -> int | None:
    """Return a mean over seeds as the nearest integer: the costs are counts."""
    return None if cost is None else round(cost)


def _curves(rows: Sequence[RowView], pinned: Sequence[RowView], key: str, name: str) -> Figure:
    methods = [
        MethodCurves(
            row.name,
            f"{row.place}  {row.name}" if row.ranked else row.name,
            [_seed(row, curve) for curve in row.entry.curves],
        )
        for row in rows
    ]
    return method_curves(methods, _references(pinned), key, name)


def _seed(row: RowView, curve: Curve) -> TrainedSeed:
    validations = [
        {key: getattr(point, key) for key in COSTS} | {"success": point.success} for point in curve.points
    ]
    return TrainedSeed(f"seed {curve.seed}", validations, _tested(row, curve))


def _tested(row: RowView, curve: Curve) -> Tested | None:
    """Return the test result of the seed at its last best checkpoint, which is the one that was tested."""
    best: CurvePoint | None = next((point for point in reversed(curve.points) if point.best), None)
    place = next((i for i, run in enumerate(row.entry.outcomes) if run.seed == curve.seed), None)
    if best is None or place is None:
        return None
    run = row.entry.outcomes[place]
    trials = len(next(iter(run.tasks.values())).state)
    interval = rate_interval(failed_if_missing(run), trials)
    if interval is None:
        return None
    success = row.entry.numbers.by_seed[place]
    return Tested({key: getattr(best, key) for key in COSTS}, success, interval.low, interval.high)
