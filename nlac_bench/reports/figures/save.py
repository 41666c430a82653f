"""Saves matplotlib figures reproducibly: the same figure always gives the same bytes."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def save_svg(figure: "Canvas", path: Path) -> None:
    """Write a matplotlib ``Figure`` to ``path`` as SVG and close it.

    Identifiers in the file are derived from a fixed salt instead of a random one, the date and matplotlib's
    version are left out, and text is stored as text instead of font outlines.
    """
    from matplotlib import pyplot, rc_context

    with rc_context({"svg.hashsalt": "nlac-bench", "svg.fonttype": "none"}):
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
