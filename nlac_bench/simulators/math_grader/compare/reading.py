"""Reads a normalised answer as a tree: clock times and numerals of a base before arithmetic."""

import re

from nlac_bench.simulators.math_grader.evaluate.exact import numeral
from nlac_bench.simulators.math_grader.read.forms import REALS
from nlac_bench.simulators.math_grader.read.nodes import Node, num
from nlac_bench.simulators.math_grader.read.normalize import NUMBER_WORDS, words
from nlac_bench.simulators.math_grader.read.parser import parse

_TIME = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?([ap])m")
_NUMERAL = re.compile(
    r"(-?(?:[0-9A-Za-z.]*[0-9][0-9A-Za-z]*|[A-Fa-f]{2,}(?=_\{?16)))_\{?(\d{1,2}|[a-z]{3,7})\}?"
)
_TEXT_OR_SPACE = re.compile(r"\\(?:text|mbox|mathrm)\s*\{([^{}]*)\}|\s")
_ONLY_BASE = re.compile(r"(?:in )?base (\w+)", re.IGNORECASE)
_IN_BASE = re.compile(  # 2516 \text{ (in base } 8), 2516_8 \text{ (base eight)}
    r"(?<=[\w})])(?P<index>_\{?(?:\w+)\}?)?\s*\(?\s*(?P<group>\\(?:text|mbox|mathrm)\s*\{)?\s*\(?\s*"
    r"(?:(?:written |expressed )?in )?base[\s-]*(?P<closed>\})?\s*\{?(?P<base>\d{1,2}|[a-z]{3,7})\}?\s*\)?\s*"
    r"(?(group)(?(closed)|\}?))\s*\)?",
    re.IGNORECASE,
)


_ALL_EXCEPT = re.compile(
    r"(?:\\text\s*\{\s*(?:all|any|every) (?:real ?)?(?:numbers?|values?|reals)?(?: of)?"
    r"|\\mathbb\s*\{?R\}?\s*\\text\s*\{)"
    r"\s*(?:\}\s*[a-z]\s*\\text\s*\{\s*)?(?:except|but|other than|excluding|besides)(?: for)?\s*\}"
)


def read(text: str) -> Node:
    """Parse a normalised answer; clock times and numerals with letters take precedence over arithmetic."""
    if words(text) in NUMBER_WORDS:
        return num(NUMBER_WORDS[words(text)])
    if "base" in text.lower():
        if only := _ONLY_BASE.fullmatch(words(text)):  # the base that was asked for
            return read(only[1])
        text = _IN_BASE.sub(_with_index, text)
    squeezed = re.sub(r"\\(?:text|mbox|mathrm)|[\s{}.]|\\(?![a-zA-Z])", "", text).lower()
    if match := _TIME.fullmatch(squeezed):
        hours, minutes, seconds = (int(part or 0) for part in match.groups()[:3])
        if hours <= 24:
            hours = hours % 12 + (12 if match.group(4) == "p" else 0) if hours <= 12 else hours
            return Node("time", value=(hours * 3600 + minutes * 60 + seconds, match.group(4)))
    if "_" in text and len(text) < 200:
        match = _NUMERAL.fullmatch(_TEXT_OR_SPACE.sub(r"\1", text))
        if match:
            base = int(match[2]) if match[2].isdecimal() else NUMBER_WORDS.get(match[2].lower(), 0)
            if numeral(match[1], base) is not None:
                return Node("numeral", value=(match[1], base))
    if match := _ALL_EXCEPT.match(text):  # \text{all real numbers except } 3
        others = parse(text[match.end() :])
        values = [
            one.args[-1] if one.op == "rel" and one.value == ("=",) else one
            for one in (others.args if others.op == "list" else (others,))
        ]
        return Node("opaque", (Node("sym", value=REALS), Node("set", tuple(values))), "setminus")
    return parse(text)


def _with_index(match: re.Match[str]) -> str:
    """Return `_8` for `\\text{ (in base 8)}`; the text itself if it contradicts the index before it."""
    base = _base(match["base"])
    if not base or (match["index"] and _base(match["index"].strip("_{}")) != base):
        return match.group()
    return f"_{{{base}}}"


def _base(text: str) -> int:
    return int(text) if text.isdecimal() else NUMBER_WORDS.get(text.lower(), 0)
