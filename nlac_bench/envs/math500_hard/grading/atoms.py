"""Parses the atoms of an answer: numbers, letters, brackets, commands with arguments, environments, texts."""

import re
from abc import ABC, abstractmethod
from fractions import Fraction

from nlac_bench.envs.math500_hard.grading.forms import marked, without_name
from nlac_bench.envs.math500_hard.grading.nodes import (
    Node,
    TooComplex,
    UnknownCommand,
    Unreadable,
    key,
    names,
    num,
)
from nlac_bench.envs.math500_hard.grading.tokens import FUNCTIONS, TEXT_COMMANDS, Token
from nlac_bench.envs.math500_hard.grading.units import is_unit
from nlac_bench.envs.math500_hard.grading.wording import is_introduction

MAX_EXPONENT = 5_000  # largest power of ten, as in 1.5e30

SYMBOLS = names(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi "
    "omicron rho varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta "
    "Lambda Xi Pi Sigma Upsilon Phi Psi Omega Alpha Beta Epsilon ell hbar partial nabla triangle "
    "angle measuredangle ldots dots cdots vdots ddots dotsc dotsb square forall exists neg Box "
    "Pr star bullet aleph circ odot oplus otimes ominus diamond diamondsuit heartsuit clubsuit "
    "spadesuit dagger"
)
MARKS = names(
    "overline bar vec hat widehat tilde widetilde overrightarrow overleftarrow overleftrightarrow "
    "dot ddot overarc wideparen mathring underbrace overbrace boxed"
)
_FIGURES = {"angle": "angle", "measuredangle": "angle", "triangle": "triangle"}
BIG = names("sum prod int iint iiint oint lim bigcup bigcap limsup liminf")
FENCES = {"lfloor": ("rfloor", "floor"), "lceil": ("rceil", "ceil"), "lvert": ("rvert", "abs"),
          "lVert": ("rVert", "norm"), "|": ("|", "abs"), "\\|": ("\\|", "norm"), "Vert": ("Vert", "norm"),
          "vert": ("vert", "abs")}  # fmt: skip
CONSTRUCTS = names(
    "frac sqrt cbrt abs floor ceil binom pi infty langle begin lb mathbb emptyset varnothing "
    "lbrace lbrack imath factorial"
)
_OPEN = {"(": (")", "]"), "[": ("]", ")"), "{": ("}",), "\\{": ("\\}",), "langle": ("rangle",),
         "lbrace": ("rbrace",), "lbrack": ("rbrack",)}  # fmt: skip
_INFIX = names("bmod pmod mod times cdot div ast choose cup cap setminus le leq ge geq ne neq in notin lt gt")
_OF_SEVERAL = names("max min gcd lcm")
_AFTER_NAME = ("", "}", ")", "=", "<", ">", ",")
_SET = ("{", "\\{", "lbrace")
_MATRICES = frozenset(["matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array"])
_SINGLE_LETTER = re.compile(r"\(?\s*([A-Za-z])\s*\)?\s*\.?")
_MATH_TEXT = re.compile(r"[-+]?[\d.,/\s]*\d\s*%?|[-+]?\d[\d\s+*/^().,-]*")
_COUNT = re.compile(r"(\D*?)([-+]?\d[\d,]*(?:\.\d+)?)\s((?!and\b|or\b)[^\W\d_][^\d,;]*)")  # 5 red apples
_FORMULA = re.compile(  # p - q, (3, 4], without words
    r"(?=.*[-+^_<>(\[])(?:(?<![A-Za-z])[A-Za-z](?![A-Za-z])|[\d\s.,:;+*/^_<>|()\[\]{}-])+", re.DOTALL
)
_TEXT_WORD = re.compile(r"[^\W\d_]+")
_TEXT_LIST = re.compile(r"\s*(?:,\s*(?:and|or)\b|,|;|\band\b|\bor\b)\s*")


def number(text: str) -> Node:
    """Return the node of a literal such as `12`, `.5` or `1.5e3`; a decimal has its significant digits."""
    mantissa, _, exponent = text.lower().partition("e")
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        raise TooComplex(f"the exponent of {text}")
    value = Fraction(mantissa) * Fraction(10) ** int(exponent or 0)
    return num(value, len(mantissa.replace(".", "").lstrip("0")) if "." in mantissa else 0)


class Atoms(ABC):
    """The lower part of the parser, below powers; above it are `Arithmetic` and `parser.Parser`."""

    def __init__(self, tokens: list[Token], depth: int = 0) -> None:
        self.tokens, self.position, self.depth = tokens, 0, depth
        self.bars = 0
        """Number of open absolute values. If positive, a bar closes one and cannot start another factor."""

    @abstractmethod
    def items(self, *closers: str) -> tuple[list[Node], str | None]: ...

    @abstractmethod
    def sum(self) -> Node: ...

    @abstractmethod
    def product(self) -> Node: ...

    @abstractmethod
    def factor(self) -> Node: ...

    @abstractmethod
    def nested(self, text: str) -> Node: ...

    # --- reading tokens -------------------------------------------------------------------------------------

    def kind(self, ahead: int = 0) -> str:
        """Return the kind of a token ahead, for a command its name; empty at the end."""
        index = self.position + ahead
        if index >= len(self.tokens):
            return ""
        token = self.tokens[index]
        return token.text if token.kind == "command" else token.kind

    def next(self) -> Token:
        if self.position >= len(self.tokens):
            raise Unreadable("the text ends too early")
        self.position += 1
        return self.tokens[self.position - 1]

    def expect(self, *kinds: str) -> str:
        kind = self.kind()
        if kind not in kinds:
            raise Unreadable(f"{kinds[0]!r} is missing before {kind or 'the end'!r}")
        self.position += 1
        return kind

    # --- arguments ------------------------------------------------------------------------------------------

    def group(self) -> Node:
        """Parse the argument of a command: `{…}`, or `(…)` after a plain-text function, or a single token."""
        if self.kind() in ("{", "("):
            closers = _OPEN[self.next().text][:1]
            items, _ = self.items(*closers)
            self.expect(*closers)
            if not items:
                raise Unreadable("an empty group")
            return items[0] if len(items) == 1 else Node("tuple", tuple(items), "()")
        return self.single()

    def single(self) -> Node:
        """Parse one LaTeX token as an argument; in `\\frac12` each digit is an argument."""
        if self.kind() == "number":
            token = self.next()
            if len(token.text) > 1 and token.text.isdecimal():
                self.position -= 1
                self.tokens[self.position] = Token("number", token.text[1:], False)
                return number(token.text[0])
            return number(token.text)
        if self.kind() in ("-", "+"):
            return Node("neg", (self.single(),)) if self.next().text == "-" else self.single()
        return self.atom()

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
        if kind in _OPEN:
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
        if content.strip(" ~") in ("a", "A") and content[-1] == " " and self.kind() in ("number", "dollar", "frac"):
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

    # --- brackets -------------------------------------------------------------------------------------------

    def brackets(self, opener: str) -> Node:
        outer_bars, self.bars = self.bars, 0
        start = self.position
        try:
            items, joined = self.items(*_OPEN[opener])
        except Unreadable:
            if opener not in _SET:
                raise
            return self.set_builder(opener, start)
        self.bars = outer_bars
        closer = self.expect(*_OPEN[opener])
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
            depth += (kind == opener) - (kind == _OPEN[opener][0])
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

    # --- commands -------------------------------------------------------------------------------------------

    def command(self, name: str) -> Node:
        if name in FUNCTIONS:
            return self.function(name)
        if name == "frac":
            top = self.group()
            return Node("div", (top, self.group()))
        if name in ("sqrt", "cbrt"):
            return self.root(num(3) if name == "cbrt" else num(2))
        if name in ("abs", "floor", "ceil", "factorial"):
            return Node("fact", (self.group(),)) if name == "factorial" else Node("fn", (self.group(),), name)
        if name == "binom":
            top = self.group()
            return Node("fn", (top, self.group()), "binom")
        if name == "lb":
            return Node("fn", (self.group(), num(2)), "log")
        if name == "pi":
            return Node("const", value="pi")
        if name == "imath":
            return Node("const", value="i")
        if name == "infty":
            return Node("const", value="oo")
        if name in ("emptyset", "varnothing"):
            return Node("set")
        if name == "mathbb":
            return Node("sym", value=f"mathbb {key(self.group())}")
        if name in _FIGURES and (figure := self.figure(name)) is not None:
            return figure
        if name in SYMBOLS:
            return Node("sym", value=name.removeprefix("var"))
        if name in MARKS:
            return self.group() if name == "boxed" else marked(name, self.group())
        if name in BIG:
            return self.big(name)
        if name == "begin":
            return self.environment()
        if name in TEXT_COMMANDS:  # {\bf 3}, \mathbf 3
            return self.factor()
        if name in _INFIX:
            raise Unreadable(f"\\{name} without a value before it")
        raise UnknownCommand(f"the command \\{name}")

    def figure(self, name: str) -> Node | None:
        """Parse `\\angle ABC`, which equals `\\angle CBA`, or `\\triangle ABC`, with corners in any order."""
        corners = ""
        while self.kind() in ("letter", "word") and self.tokens[self.position].text.isupper():
            corners += self.next().text
        if not corners:
            return None
        corners = min(corners, corners[::-1]) if _FIGURES[name] == "angle" else "".join(sorted(corners))
        return Node("opaque", (), f"{_FIGURES[name]} {corners}")

    def root(self, index: Node) -> Node:
        if self.kind() == "[":
            self.position += 1
            index = self.sum()
            self.expect("]")
        if self.kind() == "number":  # \sqrt13 is read as the root of 13
            return Node("root", (number(self.next().text), index))
        return Node("root", (self.group(), index))

    def function(self, name: str) -> Node:
        power = base = None
        while self.kind() in ("^", "_"):
            if self.next().kind == "^":
                power = self.group()
            else:
                base = self.group()
        if self.kind() in _AFTER_NAME:  # m_{\max}, \min = 3
            return Node("sym", value=name)
        argument = self.atom() if self.kind() in ("{", "(", "[") else self.argument()
        arguments = argument.args if argument.op in ("tuple", "set") else (argument,)
        if power is not None and power == Node("neg", (num(1),)) and not name.startswith("a"):
            name, power = "arc" + name, None
        if base is not None:
            arguments = (*arguments, base)
        node = Node("fn", arguments, name)
        return node if power is None else Node("pow", (node, power))

    def argument(self) -> Node:
        """Parse a function's argument without brackets: `\\sin 2x \\cos x` is a product of two functions."""
        if self.kind() in ("-", "+"):
            return Node("neg", (self.argument(),)) if self.next().text == "-" else self.argument()
        factors = [self.factor()]
        while self.kind() in ("number", "letter", "frac", "sqrt", "pi") or self.kind() in SYMBOLS:
            if self.kind() == "number" and factors[-1].op == "num":
                raise Unreadable("two numbers side by side")
            factors.append(self.factor())
        if self.kind() == "(" and all(f.op in ("num", "const") for f in factors):
            factors.append(self.factor())
        return factors[0] if len(factors) == 1 else Node("mul", tuple(factors))

    def big(self, name: str) -> Node:
        """Parse a sum, product, integral or limit with bounds and body; `values` evaluates finite ones."""
        lower = upper = Node("text", value="")
        while self.kind() in ("^", "_"):
            if self.next().kind == "^":
                upper = self.group()
            else:
                lower = self.group()
        return Node("opaque", (lower, upper, self.product()), name)

    def environment(self) -> Node:
        """Parse `\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}`, `cases` or `aligned`."""
        name = self.environment_name()
        if name == "array" and self.kind() == "{":
            while self.next().kind != "}":
                pass
        rows: list[list[Node]] = [[]]
        while self.kind() != "end":
            if self.kind() == "\\\\":
                self.position += 1
                rows.append([])
                continue
            if self.kind() == "&":
                self.position += 1
                if name in _MATRICES:
                    continue
            items, joined = self.items("&", "\\\\", "end")
            if len(items) > 1 and name not in _MATRICES:
                items = [Node("list", tuple(items), joined)]
            rows[-1].extend(items)
        self.position += 1
        self.environment_name()
        rows = [row for row in rows if row]
        if not rows:
            raise Unreadable(f"an empty {name}")
        if name in _MATRICES:
            if len({len(row) for row in rows}) > 1:
                raise Unreadable("a matrix with rows of different lengths")
            if name in ("array", "matrix") and len(rows) == len(rows[0]) == 1:
                return rows[0][0]
            return Node("matrix", tuple(cell for row in rows for cell in row), (len(rows), len(rows[0])))
        if name in ("vmatrix", "Vmatrix"):
            return Node("opaque", tuple(cell for row in rows for cell in row), f"determinant {len(rows)}")
        cells = [row[0] if len(row) == 1 else Node("tuple", tuple(row), "row") for row in rows]
        return cells[0] if len(cells) == 1 else Node("cases", tuple(cells))

    def environment_name(self) -> str:
        self.expect("{")
        name = ""
        while (token := self.next()).kind != "}":
            name += token.text
        return name
