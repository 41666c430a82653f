"""Figures: labels do not overlap, tests are drawn at their checkpoints, the bytes are the same again."""

import re
import threading
import time
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from nlac_bench.reports.figures.costs import costs
from nlac_bench.reports.figures.curves import MethodCurves, Reference, draw_panels, method_curves, run_curve
from nlac_bench.reports.figures.figure import Figure, canvas, compact, label
from nlac_bench.reports.figures.forest import ForestRow, forest
from nlac_bench.reports.figures.labels import EndLabel, label_ends, label_points, spread
from nlac_bench.reports.figures.strip import order, strip
from nlac_bench.stats.estimates import Estimate
from nlac_bench.training.curve import AXES, Tested, TrainedSeed
from nlac_bench.types import Usage

HOSTILE = "$x$ <script>alert(1)</script> \u202egnp ]]> & \x07"


def rows(scale: float = 1.0) -> list[dict[str, Any]]:
    """Three validations."""
    return [
        {"gradient_steps_total": 20 * i, "env_steps": 600 * i, "tokens": 50_000 * i * scale,
         "seconds": 100.0 * i,         "success": 0.4 + 0.1 * i, "ci": [0.3, 0.8], "best": True}
        for i in range(3)
    ]  # fmt: skip


TESTED = Tested(rows()[1], 0.45, 0.35, 0.55)


def figures(name: str = "nlac") -> list[Figure]:
    """One figure of each kind, in which ``name`` is that of a method, a role, a task and a run."""
    methods = [
        MethodCurves(name, name, [TrainedSeed("0", rows(), TESTED)]),
        MethodCurves("ppo", "ppo", [TrainedSeed("0", rows(0.01))]),
    ]
    references = [Reference(name, 0.1), Reference("oracle", 1.0)]
    return [
        run_curve(
            TrainedSeed(name, rows(), TESTED), [{**r, "train_success": 0.5} for r in rows()], references, AXES
        ),
        method_curves(methods, references, "tokens", AXES["tokens"], name),
        forest(
            [ForestRow(name, "base", Estimate(0.4, 0.3, 0.5)), ForestRow("none", "run", Estimate(None))],
            "success",
            name,
        ),
        strip([name, "trained"], [name, "b", "c"], np.array([[1, 0, np.nan], [0, 0.5, 1]])),
        costs({(name, name): Usage(1, 1000, 100), ("training", "policy"): Usage(1, 10, 1)}),
    ]


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.floats(0.001, 0.2),
)
def test_labels_are_spread_apart_and_keep_their_order(positions: list[float], gap: float) -> None:
    placed = spread(positions, gap, 0.0, 1.0)
    by_place = sorted(range(len(placed)), key=lambda i: placed[i])
    assert [positions[i] for i in by_place] == sorted(positions)
    lowest = sorted(placed)
    assert all(b - a >= gap - 1e-9 for a, b in pairwise(lowest))
    if gap * (len(positions) - 1) <= 1:
        assert lowest[0] >= -1e-9 and lowest[-1] <= 1 + 1e-9


def test_labels_with_room_stay_at_their_ends() -> None:
    assert spread([0.9, 0.1, 0.5], 0.1, 0.0, 1.0) == pytest.approx([0.9, 0.1, 0.5])
    assert spread([0.5, 0.5], 0.1, 0.0, 1.0) == pytest.approx([0.45, 0.55])


def test_the_drawn_labels_do_not_overlap() -> None:
    with canvas() as new:
        figure = new(figsize=(4, 2), layout="constrained")
        panel = figure.subplots()
        panel.set_ylim(0, 1)
        label_ends(figure, {panel: [EndLabel(f"line {i}", 1.0, 0.5 + i / 100, "#000000") for i in range(6)]})
        figure.draw_without_rendering()
        boxes = sorted(
            (text.get_window_extent() for text in panel.texts if text.get_text()), key=lambda box: box.y0
        )
    assert len(boxes) == 6
    assert all(below.y1 <= above.y0 + 1 for below, above in pairwise(boxes))


def test_names_beside_points_do_not_overlap_and_stay_in_the_panel() -> None:
    """Eight points at equal cost, as in the panel of gradient steps, and single points elsewhere."""
    points = [(40.0, 0.6 + i / 200) for i in range(8)] + [(1.0, 0.3), (20.0, 0.31)]
    with canvas() as new:
        figure = new(figsize=(4, 3), layout="constrained")
        panel = figure.subplots()
        panel.set_xlim(0, 42)
        panel.set_ylim(0, 1)
        figure.draw_without_rendering()
        frame = panel.get_window_extent()
        label_points(figure, panel, [EndLabel(f"entry {x:g} {y:.3f}", x, y, "#000000") for x, y in points])
        figure.draw_without_rendering()
        boxes = [Text.get_window_extent(text) for text in panel.texts]  # without the lines to the points
        assert panel.get_window_extent().bounds == frame.bounds
    assert len(boxes) == 10 and all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)
    boxes = [box.shrunk(0.9, 0.9) for box in boxes]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_each_column_of_panels_has_its_ticks() -> None:
    """Five methods leave three panels of the second line empty."""
    methods = [MethodCurves(name, name, [TrainedSeed("0", rows())]) for name in "abcde"]
    figure = method_curves(methods, (), "tokens", "tokens")
    with canvas() as new:
        drawn = figure.draw(new)
        drawn.draw_without_rendering()
        labelled = [
            any(tick.label1.get_visible() for tick in panel.xaxis.get_major_ticks())
            for panel in drawn.axes if panel.get_visible()
        ]  # fmt: skip
    assert labelled == [False, True, True, True, True]


def test_the_bars_of_cost_have_a_legend() -> None:
    with canvas() as new:
        figure = costs({("training", "policy"): Usage(1, 1000, 10)}).draw(new)
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["generated", "read"]
    assert [patch.get_hatch() for patch in legend.get_patches()] == [None, "/////"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.25, "0.25"), (800, "800"), (1000, "1k"), (50_000, "50k"), (1_500_000, "1.5M"), (2e9, "2G")],
)
def test_ticks_are_short(value: float, text: str) -> None:
    assert compact(value) == text


def test_a_test_is_drawn_at_the_cost_of_its_checkpoint() -> None:
    with canvas() as new:
        panels = new().subplots(1, 2)
        methods = [
            MethodCurves("nlac", "nlac", [TrainedSeed("0", rows(), TESTED)]),
            MethodCurves("ppo", "ppo", []),
        ]
        draw_panels(panels, methods, [], "tokens", 0)
        marks = [container.lines[0].get_xydata().tolist() for container in panels[0].containers]
        whiskers = [container.lines[2][0].get_segments()[0].tolist() for container in panels[0].containers]
        assert not panels[1].containers and panels[1].get_title(loc="left") == "ppo"
    assert marks == [[[50_000.0, 0.45]]]
    assert np.allclose(whiskers, [[[50_000.0, 0.35], [50_000.0, 0.55]]])


@pytest.mark.parametrize("place", range(5))
def test_figures_are_the_same_bytes_again_and_survive_hostile_names(place: int, tmp_path: Path) -> None:
    once, again = figures()[place], figures()[place]
    once.save(tmp_path / "a.svg", "svg")
    again.save(tmp_path / "b.svg", "svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert once.inline() == again.inline()
    attacked = figures(HOSTILE)[place]
    inline = attacked.inline()
    ElementTree.fromstring(f"<div>{inline}</div>")  # well-formed
    assert "<script" not in inline and "style=" not in inline and "\u202e" not in inline
    attacked.save(tmp_path / "c.png", "png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert re.fullmatch(r"\w+", attacked.name, re.ASCII), "it is the name of a file"
    assert "⟨U+202E⟩" in attacked.table.to_csv()


def test_text_is_not_mathematics_and_keeps_its_ends() -> None:
    assert label("a" * 50 + "z", 11) == "aaaaa…aaaaz"
    assert "$x$" in str(forest([ForestRow("$x$", "run", Estimate(0.5))], "success").inline())


def test_the_strip_groups_what_flipped() -> None:
    means = np.array([[1, 0, 1, 0, np.nan, 0], [1, 1, 0, 0, 1, np.nan]])
    assert order(means) == [4, 1, 0, 3, 2, 5]
    table = strip(["before", "after"], list("abcdef"), means).table
    assert {row[0]: row[-1] for row in table.rows} == {
        "a": "same", "b": "won", "c": "lost", "d": "same", "e": "not scored", "f": "not scored",
    }  # fmt: skip


def test_a_figure_of_a_run_that_learned_nothing_is_drawn() -> None:
    empty = run_curve(TrainedSeed("x", []), [], [], AXES)
    assert not empty.table.rows and "gradient steps" in empty.inline()
    start = run_curve(TrainedSeed("x", rows()[:1]), [{**rows()[0], "train_success": None}], [], AXES)
    assert len(start.table.rows) == 1 and start.inline()


def test_figures_of_two_threads_leave_matplotlib_as_it_was() -> None:
    before, inside = dict(matplotlib.rcParams), threading.Event()

    def draw() -> None:
        with canvas():
            inside.set()
            time.sleep(0.05)

    other = threading.Thread(target=draw)
    other.start()
    assert inside.wait(60)
    with canvas():
        other.join()
    assert dict(matplotlib.rcParams) == before
