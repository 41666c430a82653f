"""Draws the tokens that were read and generated in each role."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nlac_bench.reports.figures.figure import (
    ACCENT,
    BLACK,
    SMALL,
    WHITE,
    WIDTH,
    Cell,
    Figure,
    Table,
    compact,
    label,
)
from nlac_bench.types import Usage

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def costs(usage: Mapping[tuple[str, str], Usage]) -> Figure:
    """Return bars of the tokens of each part of a run (base, training, test) and role.

    The full part of a bar shows the generated tokens, its hatched part the tokens that were read.
    """
    shown = [(key, spent) for key, spent in usage.items() if spent.prompt_tokens + spent.completion_tokens]

    def draw(new: "type[Canvas]") -> "Canvas":
        figure = new(figsize=(WIDTH, 0.24 * len(shown) + 0.9), layout="constrained")
        panel = figure.subplots()
        most = max(spent.prompt_tokens + spent.completion_tokens for _, spent in shown)
        for place, (_, spent) in enumerate(shown):
            made, read = spent.completion_tokens, spent.prompt_tokens
            full = panel.barh(place, made, color=ACCENT, height=0.62)
            hatched = panel.barh(
                place, read, left=made, facecolor=WHITE, edgecolor=ACCENT, hatch="/////", height=0.62,
                linewidth=0.6,
            )  # fmt: skip
            panel.annotate(
                f"{compact(made)} generated, {compact(read)} read", (made + read, place), xytext=(5, 0),
                textcoords="offset points", va="center", fontsize=SMALL, color=BLACK,
            )  # fmt: skip
        panel.set_ylim(len(shown) - 0.5, -0.5)
        panel.set_yticks(range(len(shown)), [label(f"{part}: {role}", 34) for (part, role), _ in shown])
        panel.tick_params(axis="y", length=0)
        panel.set_xlim(0, most * 1.45)
        panel.xaxis.set_major_formatter(compact)
        panel.set_xlabel("tokens")
        figure.legend(  # type: ignore[call-overload]  # matplotlib accepts containers of artists, too
            [full, hatched], ["generated", "read"], loc="outside upper left", ncols=2, frameon=False,
            fontsize=SMALL,
        )  # fmt: skip
        return figure

    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (part, role, u.calls, u.prompt_tokens, u.completion_tokens, u.cost or None)
        for (part, role), u in usage.items()
    )
    header = ("part", "role", "calls", "tokens read", "tokens generated", "US$")
    return Figure(
        "costs",
        "Tokens generated (full) and read (hatched), by part of the run and role",
        Table(header, rows),
        draw,
    )
