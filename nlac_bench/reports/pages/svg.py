"""Turns matplotlib figures into inline SVG: the same figure always gives the same bytes.

A page's Content-Security-Policy forbids style attributes and style elements, which matplotlib writes, so they
become presentation attributes. Black becomes the page's text colour and the colours of ``PALETTE`` become the
page's, so that a figure is readable in its dark and its light form.
"""

import hashlib
import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from nlac_bench.errors import MissingError
from nlac_bench.visible import visible

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure as Canvas

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7a5195", "#8c564b")
"""Colours of series: Okabe and Ito's, except that the yellow, which cannot be read on white, is darker.

The CSS variables ``--c0`` to ``--c7`` of ``page.css`` are their values on a dark and on a light page."""
GREY = "#808080"
"""Colour of the background elements: grid, other series, reference lines."""

PIXELS_PER_POINT = 1.5
"""Size of figures on pages: labels of 8 points are 12 CSS pixels high in all figures and windows."""

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_COLOURS = {"#000000": "currentColor", "#ffffff": "var(--page)", GREY: "var(--line, #808080)"} | {
    colour: f"var(--c{i}, {colour})" for i, colour in enumerate(PALETTE)
}
_FONT_SIZE = re.compile(r"([\d.]+)px")
_LOCK = threading.RLock()
"""Matplotlib's settings belong to the process: contexts of two threads would restore each other's."""


@contextmanager
def drawing() -> "Iterator[type[Canvas]]":
    """Give ``matplotlib.figure.Figure`` under settings that do not depend on the user's own.

    A ``matplotlibrc`` in the current folder is ignored (it could have LaTeX executed), dollar signs in names
    are shown as such, and identifiers come from a fixed salt.

    Raises:
        MissingError: matplotlib is not installed.
    """
    try:
        import matplotlib
        from cycler import cycler
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingError("figures need matplotlib", "pip install 'nlac-bench[train]'") from error
    settings: dict[Any, Any] = dict(matplotlib.rcParamsDefault) | {
        "svg.hashsalt": "nlac-bench",
        "svg.fonttype": "none",
        "text.parse_math": False,
        "axes.prop_cycle": cycler(color=PALETTE),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": GREY,
        "grid.alpha": 0.25,
    }
    settings.pop("backend", None)
    with _LOCK, matplotlib.rc_context(settings):
        yield Figure


def inline_svg(figure: "Canvas", title: str, kind: str = "") -> "Markup":
    """Return a matplotlib ``Figure`` as an element ``<svg role="img">``; call it within ``drawing``.

    Args:
        figure: the figure; its texts are made visible and escaped.
        title: description of the figure for screen readers.
        kind: a further class of the element.
    """
    from markupsafe import Markup

    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(visible(out.getvalue()))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
        _to_attributes(parent)
    identifier = _identifiers(root, visible(title))
    heading = ElementTree.Element(f"{{{_SVG}}}title", {"id": f"{identifier}-title"})
    heading.text = visible(title)
    root.insert(0, heading)
    root.attrib |= {"role": "img", "aria-labelledby": f"{identifier}-title", "stroke-linejoin": "round",
                    "class": f"figure {kind}".strip()}  # fmt: skip
    for name in ("width", "height"):
        root.attrib[name] = f"{float(root.attrib[name].removesuffix('pt')) * PIXELS_PER_POINT:.0f}"
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _to_attributes(element: ElementTree.Element) -> None:
    """Replace an element's style by presentation attributes, and its colours by the page's."""
    for declaration in element.attrib.pop("style", "").split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":  # the shorthand is not a presentation attribute; the page sets the family
            if size := _FONT_SIZE.search(value):
                element.attrib["font-size"] = size[1]
        elif name and name != "font-family":
            element.attrib[name] = value
    for name in ("fill", "stroke"):
        if (colour := element.attrib.get(name)) in _COLOURS:
            element.attrib[name] = _COLOURS[colour]
    if element.tag == f"{{{_SVG}}}text":
        element.attrib.setdefault("fill", "currentColor")


def _identifiers(root: ElementTree.Element, title: str) -> str:
    """Make the identifiers unique in a page with several figures; return their prefix."""
    prefix = f"f{hashlib.sha256(title.encode() + ElementTree.tostring(root)).hexdigest()[:8]}"
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.attrib[name] = f"{prefix}-{value}"
            elif value.startswith("url(#"):
                element.attrib[name] = f"url(#{prefix}-{value[5:]}"
            elif name == f"{{{_XLINK}}}href" and value.startswith("#"):
                element.attrib[name] = f"#{prefix}-{value[1:]}"
    return prefix
