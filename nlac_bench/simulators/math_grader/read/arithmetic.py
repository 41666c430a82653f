"""Parses arithmetic: sums, products, mixed numbers, powers, subscripts."""

from collections.abc import Callable

from nlac_bench.simulators.math_grader.read.atoms import FENCES, Atoms
from nlac_bench.simulators.math_grader.read.commands import BIG, CONSTRUCTS, MARKS, SYMBOLS
from nlac_bench.simulators.math_grader.read.cursor import number
from nlac_bench.simulators.math_grader.read.forms import mixed_number
from nlac_bench.simulators.math_grader.read.nodes import Node, TooComplex, Unreadable, key, names
from nlac_bench.simulators.math_grader.read.normalize import words
from nlac_bench.simulators.math_grader.read.tokens import FUNCTIONS, TEXT_COMMANDS
from nlac_bench.simulators.math_grader.read.wording import SEPARATOR_TEXT

MAX_DEPTH = 400
"""Maximal depth of the tree; a pair of brackets takes three levels."""

EQUALS = ("is", "are", "equals", "is equal to", "equal to")
_C = Node("sym", value="C")
_STARTS = (
    names("number letter word ( [ { \\{ dollar")
    | (FUNCTIONS | SYMBOLS | MARKS | BIG | CONSTRUCTS | TEXT_COMMANDS | frozenset(FENCES))
) - {"|", "\\|", "circ", "Vert", "vert"}


class Arithmetic(Atoms):
    """The middle of the parser, between atoms and relations."""

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooComplex(f"nested deeper than {MAX_DEPTH}")

    def sum(self) -> Node:
        self.deeper()
        terms: list[Node] = []
        while not terms or self.kind() in ("+", "-", "pm", "mp"):
            signs = []
            while self.kind() in ("+", "-", "pm", "mp"):
                signs.append(self.next().text)
            term = self.product()
            for sign in reversed(signs[-MAX_DEPTH:]):
                term = _signed(sign, term)
            if len(signs) > MAX_DEPTH:
                raise TooComplex(f"{len(signs)} signs in a row")
            terms.append(term)
        self.depth -= 1
        return Node("add", tuple(terms)) if len(terms) > 1 else terms[0]

    def product(self) -> Node:
        factors = [self.implicit()]
        while True:
            kind = self.kind()
            if kind == "*" and self.kind(1) == "*":  # Python's power
                self.position += 2
                factors[-1] = Node("pow", (factors[-1], self.signed(self.factor)))
            elif kind in ("*", "cdot", "times", "ast"):
                self.position += 1
                factors.append(self.signed(self.implicit))
            elif kind in ("/", "div"):
                self.position += 1
                factors = [_quotient(_mul(factors), self.signed(self.factor))]
                if self.starts_factor():
                    factors.append(self.implicit())
            elif kind in ("bmod", "pmod", "mod"):
                self.position += 1
                modulus = self.group() if kind == "pmod" else self.signed(self.factor)
                factors = [Node("opaque", (_mul(factors), modulus), "mod")]
            elif kind == "circ" and self.kind(1) in _STARTS:  # f \circ g
                factors += [Node("sym", value=self.next().text), self.implicit()]
            elif kind == "choose":
                self.position += 1
                factors = [Node("fn", (_mul(factors), self.implicit()), "binom")]
            else:
                return _mul(factors)

    def signed(self, read: Callable[[], Node]) -> Node:
        """Parse a factor that may have its own sign, as in 2·(-3) written `2 \\cdot -3`."""
        signs = []
        while self.kind() in ("+", "-", "pm", "mp"):
            signs.append(self.next().text)
        if len(signs) > MAX_DEPTH:
            raise TooComplex(f"{len(signs)} signs in a row")
        node = read()
        for sign in reversed(signs):
            node = _signed(sign, node)
        return node

    def implicit(self) -> Node:
        """Parse adjacent factors; only the first can be the integer part of a mixed number."""
        is_number = self.kind() == "number"
        calls: list[int] = []
        factors = [self.called_or_factor(calls, 0)]
        while self.starts_factor():
            whole = factors[0] if is_number and len(factors) == 1 and factors[0].op == "num" else None
            two_numbers = self.kind() == "number" and factors[-1].op == "num"
            following = self.plain_fraction() if two_numbers else self.called_or_factor(calls, len(factors))
            mixed = mixed_number(whole, following) if whole and following else None
            if mixed is not None:
                factors[0] = mixed
                is_number = False
            elif two_numbers or following is None:
                raise Unreadable("two numbers side by side")
            else:
                factors.append(following)
        return _mul(factors, tuple(calls))

    def called_or_factor(self, calls: list[int], index: int) -> Node:
        """Parse a factor; if it is a letter before a bracket, such as p(3), add its index to `calls`."""
        factor = self.factor()
        if factor.op in ("sym", "opaque", "pow") and self.kind() in ("(", "["):
            calls.append(index)
        return factor

    def plain_fraction(self) -> Node | None:
        """Parse the `1/2` of `1 1/2`."""
        if self.kind(1) != "/" or self.kind(2) != "number" or not self.tokens[self.position].spaced:
            return None
        top = number(self.next().text)
        self.position += 1
        fraction = Node("div", (top, number(self.next().text)))
        if self.kind() == "%":
            self.position += 1
            return Node("pct", (fraction,))
        if self.kind() == "^" and "circ" in (self.kind(1), self.kind(2)):
            self.position += 1
            return self.exponent(fraction)
        return fraction

    def starts_factor(self) -> bool:
        kind = self.kind()
        if kind in _STARTS:
            return True
        if kind == "group":
            text = self.tokens[self.position].text
            return not (SEPARATOR_TEXT.fullmatch(text) or words(text) in (*EQUALS, "to"))
        return False

    def factor(self) -> Node:
        """Parse an atom with its exponents, subscripts, factorials, primes and per cent signs."""
        self.deeper()
        outer = self.depth
        node = self.atom()
        while True:
            kind = self.kind()
            if kind == "^":
                self.position += 1
                node = self.exponent(node)
            elif kind == "_":
                self.position += 1
                node = self.subscript(node)
            elif kind == "!" and (self.kind(1) != "=" or self.tokens[self.position + 1].spaced):
                self.position += 1
                node = Node("fact", (node,))
            elif kind == "'":
                self.position += 1
                node = Node("opaque", (node,), "prime")
            elif kind == "%":
                self.position += 1
                node = Node("pct", (node,))
            else:
                self.depth = outer - 1
                return node
            self.deeper()  # each sign of 3!!!!… adds a level to the tree

    def exponent(self, base: Node) -> Node:
        kinds = [self.kind(0), self.kind(1), self.kind(2)]
        for mark in ("circ", "prime", "*", "star", "ast"):
            if kinds[0] == mark or kinds == ["{", mark, "}"]:
                self.position += 1 if kinds[0] == mark else 3
                if mark != "circ":
                    return Node("opaque", (base,), "prime" if mark == "prime" else "star")
                if self.kind() == "letter" and self.tokens[self.position].text in "CFK":  # a temperature
                    self.position += 1
                return Node("deg", (base,))
        if kinds[0] == "{":
            return self.power(base, self.group())
        if kinds[0] in ("+", "-"):
            return Node("pow", (base, self.signed(self.factor)))
        exponent = self.atom()
        if self.kind() == "!":
            self.position += 1
            return Node("fact", (Node("pow", (base, exponent)),))
        return self.power(base, exponent)

    def power(self, base: Node, exponent: Node) -> Node:
        """Return a power, or the binomial `C^3_8`."""
        if base == _C and self.kind() == "_":
            self.position += 1
            return binomial(self.group() if self.kind() == "{" else self.single(), exponent)
        return Node("pow", (base, exponent))

    def subscript(self, base: Node) -> Node:
        before = self.tokens[self.position - 2]
        if before.kind == ")" and base.op == "num":  # (1010)_2
            before = self.tokens[self.position - 3]
        if self.kind() == "group":
            text = self.next().text.strip()
            index = number(text) if text.isdecimal() else Node("text", value=text)
        else:
            index = self.group() if self.kind() == "{" else self.single()
        if before.kind in ("number", "group") and base.op == "num" and index.op == "num":
            return Node("numeral", value=(before.text.strip(), int(index.value)))
        if base == _C and self.kind() == "^":
            self.position += 1
            return binomial(index, self.group() if self.kind() == "{" else self.single())
        if base.op == "sym":
            return Node("sym", value=f"{base.value}_{key(index)}")
        return Node("opaque", (base, index), "sub")


def binomial(lower: Node, upper: Node) -> Node:
    """Return `C_8^3`, the number of ways to choose 3 of 8; of two numbers the larger is the set's size."""
    if lower.op == upper.op == "num" and upper.value > lower.value:
        lower, upper = upper, lower
    return Node("fn", (lower, upper), "binom")


def _quotient(top: Node, bottom: Node) -> Node:
    """Return a quotient; the sign behind `270/7^\\circ` or `1/2\\%` is that of the quotient."""
    if bottom.op in ("deg", "pct") and top.op not in ("deg", "pct"):
        return Node(bottom.op, (Node("div", (top, bottom.args[0])),))
    return Node("div", (top, bottom))


def _signed(sign: str, node: Node) -> Node:
    if sign == "+":
        return node
    return Node("neg", (node,)) if sign == "-" else Node("pm", (node,), sign)


def _mul(factors: list[Node], calls: tuple[int, ...] = ()) -> Node:
    return factors[0] if len(factors) == 1 else Node("mul", tuple(factors), calls or None)
