"""Parses the atoms of an answer: numbers, letters, texts, brackets."""

import re

from nlac_bench.simulators.math_grader.read.commands import LatexCommands
from nlac_bench.simulators.math_grader.read.cursor import OPEN, number
from nlac_bench.simulators.math_grader.read.forms import without_name
from nlac_bench.simulators.math_grader.read.nodes import Node, Unreadable, names
from nlac_bench.simulators.math_grader.read.tokens import FUNCTIONS, Token
from nlac_bench.simulators.math_grader.read.units import is_unit
from nlac_bench.simulators.math_grader.read.wording import is_introduction

FENCES = {"lfloor": ("rfloor", "floor"), "lceil": ("rceil", "ceil"), "lvert": ("rvert", "abs"),
          "lVert": ("rVert", "norm"), "|": ("|", "abs"), "\\|": ("\\|", "norm"), "Vert": ("Vert", "norm"),
          "vert": ("vert", "abs")}  # fmt: skip
_OF_SEVERAL = names("max min gcd lcm")
_SET = ("{", "\\{", "lbrace")
_SINGLE_LETTER = re.compile(r"\(?\s*([A-Za-z])\s*\)?\s*\.?")
_MATH_TEXT = re.compile(r"[-+]?[\d.,/\s]*\d\s*%?|[-+]?\d[\d\s+*/^().,-]*")
_COUNT = re.compile(r"(\D*?)([-+]?\d[\d,]*(?:\.\d+)?)\s((?!and\b|or\b)[^\W\d_][^\d,;]*)")  # 5 red apples
_FORMULA = re.compile(  # p - q, (3, 4], without words
    r"(?=.*[-+^_<>(\[])(?:(?<![A-Za-z])[A-Za-z](?![A-Za-z])|[\d\s.,:;+*/^_<>|()\[\]{}-])+", re.DOTALL
)
_TEXT_WORD = re.compile(r"[^\W\d_]+")
_TEXT_LIST = re.compile(r"\s*(?:,\s*(?:and|or)\b|,|;|\band\b|\bor\b)\s*")


class Atoms(LatexCommands):
    """The lower part of the parser, below powers; above it are `Arithmetic` and `parser.Parser`."""

    def atom(self) -> Node:
        token = self.next()
        kind = token.text if token.kind == "command" else token.kind
        if kind == "number":
            return number(token.text)
        if kind == "letter":
            return self.letter(token)
        if kind == "word":
            return Node("text", value=token.text)
        if kind == "group":
            return self.text(token.text)
        if kind in OPEN:
            return self.brackets(kind)
        if kind in FENCES:
            return self.fence(*FENCES[kind])
        if kind == "dollar":
            sign = Node("text", value="dollar")
            return Node("mul", (sign, self.factor())) if self.kind() in ("number", "{", "frac", "(") else sign
        if token.kind == "command":
            return self.command(kind)
        raise Unreadable(f"{kind!r} where a value should stand")

    def letter(self, token: Token) -> Node:
        if token.text in "fgh" and self.kind() == "(":
            return Node("opaque", (self.group(),), f"call {token.text}")
        if token.text in "ei":
            return Node("const", value=token.text)
        return Node("sym", value=token.text)

    def text(self, content: str) -> Node:
        """Parse `\\text{…}`: the letter of an option, a number, a list of words, a function, or words."""
        is_apart = content.startswith((" ", "~")) and self.follows_value()
        if (
            content.strip(" ~") in ("a", "A")
            and content[-1] == " "
            and self.kind() in ("number", "dollar", "frac")
        ):
            return Node("text", value="a")  # \text{a } 25\% \text{ increase}
        content = content.lstrip(" ~").rstrip(" .~\\")
        if match := _SINGLE_LETTER.fullmatch(content):
            letter = match.group(1)
            if content == letter and (is_apart or (is_unit(letter) and self.follows_value())):  # 80 \text{ N}
                return Node("text", value=letter)
            return (
                Node("const", value=letter)
                if letter in "ei" and content == letter
                else Node("sym", value=letter)
            )
        bare = names("letter number frac pi") if content not in _OF_SEVERAL else frozenset()
        if content in FUNCTIONS and self.kind() in bare | {"(", "{", "[", "_", "^"}:
            return self.function(content)
        is_formula = bool(_FORMULA.fullmatch(content)) and not self.follows_value()  # not the unit m^2
        if is_formula or _MATH_TEXT.fullmatch(content) or "\\" in content or "=" in content:
            try:
                return self.nested(content)
            except Unreadable:
                return Node("text", value=content)
        if (match := _COUNT.fullmatch(content)) and (not match[1] or is_introduction(match[1])):
            return Node("mul", (self.nested(match[2]), Node("text", value=match[3])))
        parts = [part for part in _TEXT_LIST.split(content) if part]
        if len(parts) > 1 and not any(len(part.split()) > 3 for part in parts):
            words = set(_TEXT_WORD.findall(content)) & {"and", "or"}
            return Node("list", tuple(self.text(part) for part in parts), min(words, default=""))
        return Node("text", value=content)

    def follows_value(self) -> bool:
        """Return whether the last token follows a number or a closed group: 5\\text{ m}."""
        before = self.tokens[self.position - 2] if self.position > 1 else None
        return before is not None and (before.kind in ("number", "}", ")") or before.text == "pi")

    def brackets(self, opener: str) -> Node:
        outer_bars, self.bars = self.bars, 0
        start = self.position
        try:
            items, joined = self.items(*OPEN[opener])
        except Unreadable:
            if opener not in _SET:
                raise
            return self.set_builder(opener, start)
        self.bars = outer_bars
        closer = self.expect(*OPEN[opener])
        if opener in _SET:
            if len(items) == 1 and opener == "{" and joined is None:
                return items[0]
            if items and (condition := without_name(items[0])) is not None:
                return condition if len(items) == 1 else Node("list", (condition, *items[1:]))
            return Node("set", tuple(items))
        if not items:
            raise Unreadable("empty brackets")
        if joined in ("and", "or") and len(items) > 1:
            return Node("list", tuple(items), joined)
        if len(items) == 1 and joined is None and {opener, closer} != {"(", "]"} and items[0].op != "rel":
            return items[0]
        if len(items) == 1 and items[0].op == "rel":
            return items[0]
        return Node("tuple", tuple(items), "()" if opener == "langle" else opener[-1] + closer[-1])

    def set_builder(self, opener: str, start: int) -> Node:
        """Parse `\\{x \\mid x > 1\\}`: everything between the braces becomes one opaque node."""
        depth, self.position = 1, start
        content = []
        while depth:
            token = self.next()
            kind = token.text if token.kind == "command" else token.kind
            depth += (kind == opener) - (kind == OPEN[opener][0])
            content.append(token.text)
        if "|" not in content and "mid" not in content and ":" not in content:
            raise Unreadable("braces that hold no set")
        return Node("opaque", (), "set " + " ".join(content[:-1]))

    def fence(self, closer: str, name: str) -> Node:
        self.bars += closer == "|"
        inner = self.sum()
        if self.kind() == ",":
            raise Unreadable("a comma between bars")
        self.expect(closer)
        self.bars -= closer == "|"
        return Node("fn", (inner,), name)
