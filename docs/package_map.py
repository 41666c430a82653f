"""Draws the packages of ``nlac_bench`` and what imports what; `make docs` writes it to ``packages.svg``."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

from nlac_bench.reports.figures.save import save_svg

PACKAGE = Path(__file__).parents[1] / "nlac_bench"
WIDTH, HEIGHT = 4.4, 0.42
"""Size of a box in inches."""


def imports() -> dict[str, set[str]]:
    """Return the packages that each package of ``nlac_bench`` imports, also within functions."""
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    edges: dict[str, set[str]] = {name: set() for name in packages}
    for name in packages:
        for path in (PACKAGE / name).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        edges[name].update(f"{node.module}.{alias.name}".split(".")[1:2])
        edges[name] &= packages - {name}
    return edges


def reduced(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the edges of ``edges``, which has no cycle, that no longer path replaces."""
    reached: dict[str, set[str]] = {}
    for name in TopologicalSorter(edges).static_order():
        reached[name] = edges[name].union(*(reached[below] for below in edges[name]))
    return {
        name: {to for to in targets if not any(to in reached[other] for other in targets - {to})}
        for name, targets in edges.items()
    }


def draw_packages(path: Path) -> None:
    """Draw a box for each package, above all that it imports, with the first line of its docstring."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
    from matplotlib.patches import FancyBboxPatch

    edges = imports()
    above = {name: {other for other in edges if name in edges[other]} for name in edges}
    level: dict[str, int] = {}
    for name in TopologicalSorter(edges).static_order():
        level[name] = 1 + max((level[below] for below in edges[name]), default=-1)
    for name in reversed(list(TopologicalSorter(edges).static_order())):
        level[name] = min((level[other] for other in above[name]), default=level[name] + 1) - 1
    chain = [max(level, key=lambda name: level[name])]
    while below := [name for name in edges[chain[-1]] if level[name] == level[chain[-1]] - 1]:
        chain.append(max(below, key=lambda name: len(edges[name])))
    place = {
        name: (0.0 if name in chain else WIDTH + 0.4, number * (HEIGHT + 0.22))
        for name, number in level.items()
    }
    size = 2 * WIDTH + 1.2, (HEIGHT + 0.22) * len(chain)
    figure, panel = pyplot.subplots(figsize=size, layout="constrained")
    for name, (x, y) in sorted(place.items()):
        tree = ast.parse((PACKAGE / name / "__init__.py").read_text(encoding="utf-8"))
        first = (ast.get_docstring(tree) or "").splitlines()[0]
        box = FancyBboxPatch((x - WIDTH / 2, y - HEIGHT / 2), WIDTH, HEIGHT, boxstyle="round,pad=0.02")
        box.set(facecolor="#eef3f8", edgecolor="#5b7a99")
        panel.add_patch(box)
        panel.text(x, y + 0.09, name, ha="center", va="center", fontsize=8, fontweight="bold")
        panel.text(x, y - 0.09, first, ha="center", va="center", fontsize=6.5)
    for name, targets in sorted(reduced(edges).items()):
        for target in sorted(targets):
            (x, y), (to_x, to_y) = place[name], place[target]
            arrow = {"arrowstyle": "-|>", "color": "#5b7a99", "shrinkA": 0, "shrinkB": 0}
            if x == to_x:
                ends = (to_x, to_y + HEIGHT / 2 + 0.02), (x, y - HEIGHT / 2 - 0.02)
            else:
                left = 1 if x < to_x else -1
                ends = (to_x - left * WIDTH / 2, to_y), (x + left * WIDTH / 2, y)
            panel.annotate("", *ends, arrowprops=arrow)
    panel.set_xlim(-WIDTH / 2 - 0.2, size[0] - WIDTH / 2 - 0.2)
    panel.set_ylim(-HEIGHT, size[1] - HEIGHT / 2)
    panel.set_aspect("equal")
    panel.axis("off")
    save_svg(figure, path)
