"""Tokenizes a normalised answer: determines which letters are a variable, a function, a unit or a word."""

import re
from typing import NamedTuple

from nlac_bench.simulators.math_grader.read.nodes import TooComplex, names
from nlac_bench.simulators.math_grader.read.units import is_unit
from nlac_bench.simulators.math_grader.read.wording import connective

MAX_DIGITS = 4_000  # maximal length of a number; CPython does not convert more than 4,300


class Token(NamedTuple):
    kind: str
    """Is number, letter, word, separator, command, group (raw text of a \\text{…}), or a character."""
    text: str
    spaced: bool
    """Whether white space precedes it."""


FUNCTIONS = names(
    "sin cos tan cot sec csc arcsin arccos arctan arccot arcsec arccsc sinh cosh tanh coth log ln "
    "lg exp gcd lcm max min det arg deg dim ker tr rank sgn sign Re Im"
)
_ASCII_COMMANDS = {
    **{name: name for name in FUNCTIONS},
    "sqrt": "sqrt", "pi": "pi", "inf": "infty", "infty": "infty", "infinity": "infty", "abs": "abs",
    "cbrt": "cbrt", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "theta": "theta", "alpha": "alpha",
    "beta": "beta", "lambda": "lambda", "union": "cup", "frac": "frac", "binom": "binom", "floor": "floor",
    "ceil": "ceil", "factorial": "factorial", "cdot": "cdot", "times": "times", "log2": "lb", "log10": "lg",
}  # fmt: skip
TEXT_COMMANDS = names(
    "text textbf textit textrm texttt textsf textsc textnormal textup mbox hbox emph mathrm "
    "mathbf mathit mathsf mathtt mathnormal boldsymbol bm bf rm it operatorname mathcal mathfrak "
    "mathscr underline"
)
_TOKEN = re.compile(
    r"([\s~]+)|(\d+(?:\.\d+)?(?:[eE][+-]?\d{1,6}(?![\d.]))?|\.\d+)|\\([a-zA-Z]+)\*?|(\\.)|([A-Za-z]+|[^\W\d_A-Za-z]+)|(.)",
    re.DOTALL,
)
_LETTERS = re.compile("[a-d]+|[u-z]+")  # abcd, wxyz: a product of variables
_SHORT_WORDS = names("no No NO per not Not is are was the but")
_TEXT_GROUP = re.compile(r"\\(?:text|mbox|mathrm)\s*\{[^{}]*\}")
_SPACE = re.compile(r"\s*")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d|,\d|\.\d+,\d)")


def join_thousands(text: str) -> str:
    """Replace `1,234` by `1234` if the comma can only group digits.

    Inside brackets `(1,234)` is a pair, unless spaced commas separate the elements: `(1,234, 5)`.
    """
    if "," not in text:
        return text
    depths: list[int] = []
    depth = 0
    opened: list[bool] = []  # for each open bracket, whether commas in it separate elements
    before = ""
    for character in text:
        if character in "([{":  # the brace of an argument, as in \\frac{1}{20,000}, contains one number
            opened.append(character != "{" or not (before.isalpha() or before in ("}", "^", "_", "]")))
            depth += opened[-1]
        depths.append(depth)
        if character in ")]}" and opened:
            depth -= opened.pop()
        before = character
    spaced = ", " in _TEXT_GROUP.sub("", text)
    return _GROUPED.sub(
        lambda m: m.group().replace(",", "") if spaced or depths[m.start()] == 0 else m.group(), text
    )


def _raw_group(text: str, start: int) -> int:
    """Return the index after the brace that closes the one at `start`, or the end of the text."""
    depth = 0
    for index in range(start, len(text)):
        if text[index] == "{":
            depth += 1
        elif text[index] == "}":
            depth -= 1
            if depth == 0:
                return index + 1
    return len(text)


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a normalised answer.

    Raises:
        TooComplex: a number has more than MAX_DIGITS digits.
    """
    tokens: list[Token] = []
    position, spaced = 0, False
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None  # the last alternative matches any character
        position = match.end()
        space, number, command, escaped, letters, other = match.groups()
        if space:
            spaced = True
            continue
        if number:
            if len(number) > MAX_DIGITS:
                raise TooComplex(f"a number of {len(number)} digits")
            tokens.append(Token("number", number, spaced))
        elif command in TEXT_COMMANDS:
            start = _SPACE.match(text, position).end()  # type: ignore[union-attr]
            if text[start : start + 1] == "{":
                position = _raw_group(text, start)
                tokens.append(Token("group", text[start + 1 : position].removesuffix("}"), spaced))
        elif command:
            tokens.append(Token("command", command, spaced))
        elif escaped:
            tokens.append(Token(escaped, escaped, spaced))
        elif letters:
            tokens.extend(_letters(letters, tokens[-1] if tokens else None, spaced))
        else:
            tokens.append(Token(other, other, spaced))
        spaced = False
    return tokens


def _letters(run: str, before: Token | None, spaced: bool) -> list[Token]:
    """Tokenize a run of letters: a function, a separator, a unit, a word, or adjacent variables."""
    if not run.isascii():
        return [Token("separator" if connective(run) else "word", run, spaced)]
    if len(run) == 1:
        return [Token("letter", run, spaced)]
    after_value = before is not None and before.kind in ("number", "}", ")", "command", "word")
    command = _ASCII_COMMANDS.get(run) or _ASCII_COMMANDS.get(run.lower() if len(run) > 3 else run)
    if command:
        return [Token("command", command, spaced)]
    if run.lower() in ("and", "or", "und", "et", "oder", "ou"):
        return [Token("separator", run, spaced)]
    if run in ("mod",):
        return [Token("command", "bmod", spaced)]
    # "10 cm" is a length; "10cm" can be 10·c·m, so short units are recognised only after a space.
    if after_value and is_unit(run) and (spaced or len(run) > 2):
        return [Token("word", run, spaced)]
    for name in ("sqrt", "pi"):  # 2pir, sqrtx
        if run.startswith(name) and len(run) <= len(name) + 1:
            return [Token("command", name, spaced), Token("letter", run[len(name) :], False)]
    if (
        (len(run) >= 4 and not _LETTERS.fullmatch(run))
        or (len(run) == 3 and (run.isupper() or run.istitle()))
        or run in _SHORT_WORDS
    ):
        return [Token("word", run, spaced)]
    return [Token("letter", letter, spaced and index == 0) for index, letter in enumerate(run)]
