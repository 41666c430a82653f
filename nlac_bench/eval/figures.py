"""Saves matplotlib figures so that the same figure is always the same bytes."""

from pathlib import Path
from typing import Any


def save_svg(figure: Any, path: Path) -> None:
    """Write a matplotlib ``Figure`` to ``path`` as SVG and close it.

    Identifiers in the file come from a fixed salt instead of a random one, the date and matplotlib's version
    are left out, and text stays text instead of outlines of a font.
    """
    from matplotlib import pyplot, rc_context

    with rc_context({"svg.hashsalt": "nlac-bench", "svg.fonttype": "none"}):
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
