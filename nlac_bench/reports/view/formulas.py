r"""Turns formulas in texts (``$\frac12$``) into MathML trees, which ``latex2mathml`` makes of their LaTeX.

A tree is a list: the name of a MathML element, its attributes, then its children, which are trees or texts.
The page's script makes the elements, so no text of a model becomes markup. A formula stays text if it has a
command that is not known here, or if its MathML has other elements or attributes than those named here.
"""

import html
import re
from typing import Any
from xml.etree.ElementTree import Element

from latex2mathml.commands import FUNCTIONS, LIMIT, MATRICES
from latex2mathml.converter import MOVABLE_LIMIT_TEXTS, convert_to_element
from latex2mathml.symbols_parser import SYMBOLS

from nlac_bench.visible import visible

LONGEST = 4_000
"""Largest number of characters of a formula that is rendered."""
DEEPEST = 40
"""Largest nesting depth of elements of MathML, and of braces of LaTeX."""

_OPENING = re.compile(r"\$\$|\$|\\\[|\\\(")
_CLOSING = {"$$": "$$", "$": "$", "\\[": "\\]", "\\(": "\\)"}
_TOKEN = re.compile(r"\\(?:begin|end)\{[a-zA-Z]+\*?\}|\\[a-zA-Z]+|\\.|[{}%#$]", re.DOTALL)
_CODE = re.compile(r"&#x[0-9A-F]+;")  # how the library writes the characters of commands
_REPLACED = (  # what the library reads otherwise than TeX
    (re.compile(r"\\(begin|end)\{aligned\}"), r"\\\1{split}"),
    (re.compile(r"\\begin\{"), r"{\\begin{"),  # with braces these are one element, which can have scripts
    (re.compile(r"\\end\{[^{}]*\}"), r"\g<0>}"),
    (re.compile(r"\\[dt]?binom\s*\{[^{}]*\}\s*\{[^{}]*\}"), r"{\g<0>}"),
    (re.compile(r"(\\sqrt|\\[cdt]?frac\s*\{[^{}]*\})\s*(\d)"), r"\1{\2}"),  # one digit, as in \sqrt12
    (re.compile(r"\\(lim|max|min|sup|inf)(?=\s*_)"), r"\\\1\\limits"),
)
# Only these commands reach the library: with those that define macros or copy arguments (\def, \sideset), a
# short formula could take any time.
_BRACKETS = {rf"\{end}{{{name[1:]}}}" for name in MATRICES for end in ("begin", "end")}
_COMMANDS = {"{", "}", *SYMBOLS, *FUNCTIONS, *LIMIT, *MOVABLE_LIMIT_TEXTS, *_BRACKETS}
_STRUCTURE = re.compile(
    r"\\(?:[cdt]?frac|[dt]?binom|sqrt|left|right|middle|boxed|[bp]?mod|operatorname|mbox|text(?:bf|it|rm|normal)?"
    r"|math(?:rm|bf|it|sf|bb|cal)|boldsymbol|(?:display|text)style|limits|(?:over|under)(?:line|brace|set)|stackrel"
    r"|bar|d?dot|vec|(?:wide)?(?:hat|tilde)|overrightarrow|[bB]igg?[lr]?|q?quad|[ ,;:!>{}|\\])"
)
_ELEMENTS = {  # with their numbers of children; None is any number
    **dict.fromkeys(("mrow", "mi", "mo", "mn", "mtext", "mspace", "msqrt", "mtable", "mtr", "mtd", "mstyle",
                     "menclose")),
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2), "msubsup": 3, "munderover": 3,
}  # fmt: skip
_ATTRIBUTES = {"accent", "columnalign", "columnlines", "columnspacing", "displaystyle", "fence", "form",
               "stretchy", "linethickness", "mathvariant", "maxsize", "minsize", "movablelimits", "notation",
               "rowspacing", "scriptlevel", "width"}  # fmt: skip


def formulas(text: str) -> Any:
    """Return ``text`` if it has no formula that can be rendered, else a list of texts and trees."""
    parts: list[Any] = []
    end = at = 0
    while opening := _OPENING.search(text, at):
        mark, start = opening[0], opening.end()
        stop = text.find(_CLOSING[mark], start, start + LONGEST)
        source = text[start:stop]
        if stop <= start or (mark == "$" and "\n" in source):
            at = start
            continue
        at = stop + len(_CLOSING[mark])  # what was read once is not read again, so the time is linear
        display = "block" if mark in ("$$", "\\[") else "inline"
        if tree := _rendered(source, display):
            parts += [text[end : opening.start()], ["math", display, tree, text[opening.start() : at]]]
            end = at
    return [part for part in [*parts, text[end:]] if part] if parts else text


def _rendered(source: str, display: str) -> list[Any] | None:
    """Return the tree of a formula, or None if it is not rendered."""
    for pattern, replacement in _REPLACED:
        source = pattern.sub(replacement, source)
    depth = 0
    for token in _TOKEN.findall(source):
        depth += (token == "{") - (token == "}")
        known = token in _COMMANDS or _STRUCTURE.fullmatch(token)
        if not known or not 0 <= depth <= DEEPEST:
            return None
    try:  # besides its own errors, the library raises IndexError, StopIteration and RecursionError
        return None if depth else _tree(convert_to_element(source, display=display)[0], DEEPEST)
    except Exception:
        return None


def _tree(element: Element, depth: int) -> list[Any]:
    """Return an element as a tree; raise ``ValueError`` if it has what is not allowed or lies too deep."""
    name, attributes = element.tag, element.attrib
    text = visible(_CODE.sub(lambda code: html.unescape(code[0]), element.text or ""))
    fits = _ELEMENTS.get(name, -1) in (None, len(element)) and _ATTRIBUTES.issuperset(attributes)
    if not fits or "\\" in text or not depth:
        raise ValueError(f"{name} with {attributes}, {text!r} and {len(element)} children is not rendered")
    children = [*([text] if text else []), *(_tree(child, depth - 1) for child in element)]
    # MathML Core has no menclose: the page draws a border round mpadded.
    return ["mpadded", {}, *children] if name == "menclose" else [name, attributes, *children]
