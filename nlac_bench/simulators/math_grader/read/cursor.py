"""Moves through the tokens of an answer, and reads the arguments of commands."""

from abc import ABC, abstractmethod
from fractions import Fraction

from nlac_bench.simulators.math_grader.read.nodes import Node, TooComplex, Unreadable, num
from nlac_bench.simulators.math_grader.read.tokens import Token

MAX_EXPONENT = 5_000  # largest power of ten, as in 1.5e30
OPEN = {"(": (")", "]"), "[": ("]", ")"), "{": ("}",), "\\{": ("\\}",), "langle": ("rangle",),
         "lbrace": ("rbrace",), "lbrack": ("rbrack",)}  # fmt: skip


def number(text: str) -> Node:
    """Return the node of a literal such as `12`, `.5` or `1.5e3`; a decimal has its significant digits."""
    mantissa, _, exponent = text.lower().partition("e")
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        raise TooComplex(f"the exponent of {text}")
    value = Fraction(mantissa) * Fraction(10) ** int(exponent or 0)
    return num(value, len(mantissa.replace(".", "").lstrip("0")) if "." in mantissa else 0)


class Cursor(ABC):
    """The base of the parser: a position in the tokens.

    `LatexCommands`, `Atoms`, `Arithmetic` and `Parser` extend it, in this order.
    """

    def __init__(self, tokens: list[Token], depth: int = 0) -> None:
        self.tokens, self.position, self.depth = tokens, 0, depth
        self.bars = 0
        """Number of open absolute values; if positive, a bar closes one and cannot start another factor."""

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

    @abstractmethod
    def atom(self) -> Node: ...

    # --- reading tokens -------------------------------------------------------------------------------------

    def kind(self, ahead: int = 0) -> str:
        """Return the kind of a following token, or the name of a command; an empty string at the end."""
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
            closers = OPEN[self.next().text][:1]
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
