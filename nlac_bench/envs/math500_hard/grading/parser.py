"""Implements a recursive-descent parser for answers in LaTeX or plain text.

It evaluates nothing. Juxtaposition is multiplication, `1\\frac12` and `1 1/2` are mixed numbers, a comma list
is unordered, brackets keep their kind. `compare` and `values` interpret the constructs.
"""

from collections.abc import Callable

from nlac_bench.envs.math500_hard.grading.atoms import (
    BIG,
    CONSTRUCTS,
    FENCES,
    MARKS,
    SYMBOLS,
    Atoms,
    number,
)  # fmt: skip
from nlac_bench.envs.math500_hard.grading.forms import mixed_number
from nlac_bench.envs.math500_hard.grading.nodes import Node, TooComplex, Unreadable, key, names
from nlac_bench.envs.math500_hard.grading.normalize import words
from nlac_bench.envs.math500_hard.grading.tokens import (
    FUNCTIONS,
    TEXT_COMMANDS,
    Token,
    join_thousands,
    tokenize,
)
from nlac_bench.envs.math500_hard.grading.wording import SEPARATOR_TEXT, connective, is_introduction

MAX_DEPTH = 400
"""Maximal depth of the tree; a pair of brackets takes three levels."""

_RELATIONS = {
    "=": "=", "<": "<", ">": ">", "le": "<=", "leq": "<=", "leqslant": "<=", "leqq": "<=", "ge": ">=",
    "geq": ">=", "geqslant": ">=", "geqq": ">=", "lt": "<", "gt": ">", "ne": "!=", "neq": "!=", "in": "in",
    "approx": "~", "sim": "~", "simeq": "~", "thickapprox": "~", "equiv": "equiv", "cong": "cong",
    "notin": "notin", "to": "to", "rightarrow": "to", "mapsto": "to", "Rightarrow": "=>", "implies": "=>",
    "iff": "<=>",
    "Leftrightarrow": "<=>", "subset": "subset", "subseteq": "subset", "supset": "supset", "perp": "perp",
    "parallel": "parallel", "propto": "propto", "mid": "mid", "doteq": "=", "coloneqq": "=", "|": "mid",
}  # fmt: skip
_DOUBLE = {"<=": "<=", ">=": ">=", "==": "=", "=>": "=>", "<>": "!=", "=<": "<="}
_SEPARATORS = {
    **dict.fromkeys((",", ";", "quad", "qquad", "\\\\", "newline", "enspace"), ""),
    "land": "and", "wedge": "and", "lor": "or", "vee": "or",
}  # fmt: skip
_EQUALS = ("is", "are", "equals", "is equal to", "equal to")
_C = Node("sym", value="C")
_STARTS = (
    names("number letter word ( [ { \\{ dollar")
    | (FUNCTIONS | SYMBOLS | MARKS | BIG | CONSTRUCTS | TEXT_COMMANDS | frozenset(FENCES))
) - {"|", "\\|", "circ", "Vert", "vert"}


def parse(text: str, *, thousands: bool = True) -> Node:
    """Parse a normalised answer; several adjacent answers become one `list`.

    Args:
        thousands: read `1,234` as one number; otherwise as two.

    Raises:
        Unreadable: the parser does not recognise the text as mathematics.
        TooComplex: the text exceeds MAX_DEPTH or the limits of `tokens.tokenize`.
    """
    tokens = tokenize(join_thousands(text) if thousands else text)
    try:
        return Parser(without_double_brackets(tokens)).answer()
    except RecursionError:
        raise TooComplex("nested too deep") from None


def without_double_brackets(tokens: list[Token]) -> list[Token]:
    """Replace `((…))` by `(…)`, for any number of brackets."""
    if sum(token.kind == "(" for token in tokens) < 2:
        return tokens
    partner: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind in ("(", "["):
            opened.append(index)
        elif token.kind in (")", "]") and opened:
            partner[opened.pop()] = index
    double: set[int] = set()
    for start, end in partner.items():
        inside = partner.get(start + 1)
        if inside == end - 1 and {tokens[i].kind for i in (start, start + 1, end, inside)} == {"(", ")"}:
            double |= {start, end}
    return [token for index, token in enumerate(tokens) if index not in double]


class Parser(Atoms):
    """Parses lists, relations and arithmetic; inherits the parser of atoms."""

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooComplex(f"nested deeper than {MAX_DEPTH}")

    def nested(self, text: str) -> Node:
        return Parser(tokenize(join_thousands(text)), self.depth + 1).answer()

    # --- lists and relations --------------------------------------------------------------------------------

    def answer(self) -> Node:
        items, joined = self.items("")
        if not items:
            raise Unreadable("an empty answer")
        return items[0] if len(items) == 1 else Node("list", tuple(items), joined or "")

    def separator(self) -> str | None:
        """Consume a separator of a list and return "and", "or" or "" for it; return None if there is none."""
        kind = self.kind()
        word = _SEPARATORS.get(kind)
        if kind in ("separator", "group"):
            match = SEPARATOR_TEXT.fullmatch(self.tokens[self.position].text)
            word = connective(match["word"]) if match else None
        if word is not None:
            self.position += 1
        return word

    def items(self, *closers: str) -> tuple[list[Node], str | None]:
        """Parse relations up to a closer, which is not consumed.

        Returns:
            the items, and how they are joined: None without any separator, "or" or "and" if one of them is
            this word ("or" separates groups that "and" joins), else "".
        """
        self.deeper()
        groups: list[list[Node]] = [[]]
        joined: set[str] = set()
        while True:
            while self.kind() not in closers and (word := self.separator()) is not None:
                joined.add(word)
                if word == "or" and groups[-1]:
                    groups.append([])
            if self.kind() in closers:
                break
            groups[-1].append(self.relation())
            if self.kind() not in closers and not self.at_separator():
                raise Unreadable(f"{self.kind() or 'the end'!r} where the answer should go on")
        self.depth -= 1
        if {"and", "or"} <= joined:
            items = [group[0] if len(group) == 1 else Node("list", tuple(group), "and") for group in groups]
        else:
            items = [item for group in groups for item in group]
        return items, next((word for word in ("or", "and", "") if word in joined), None)

    def at_separator(self) -> bool:
        start = self.position
        found = self.separator() is not None
        self.position = start
        return found

    def introduction(self) -> None:
        """Skip texts that only introduce a value: `\\text{The area is } 12`."""
        start = self.position
        while self.kind() in ("group", "word") and not self.at_separator():
            self.position += 1
        said = " ".join(token.text for token in self.tokens[start : self.position])
        introduces = self.starts_factor() or self.kind() in ("=", "approx", "+", "-")
        if not (said and introduces and is_introduction(said)):
            self.position = start

    def relation(self) -> Node:
        self.introduction()
        if self.kind() in ("approx", "="):  # "≈ 8.24" is 8.24
            self.position += 1
        parts = [self.set_expression()]
        operators: list[str] = []
        while (operator := self.relation_operator()) is not None:
            operators.append(operator)
            parts.append(self.set_expression())
        return Node("rel", tuple(parts), tuple(operators)) if operators else parts[0]

    def relation_operator(self) -> str | None:
        kind, following = self.kind(), self.kind(1)
        if (kind, following) in (("not", "="), ("!", "=")) and not (
            kind == "!" and self.tokens[self.position + 1].spaced
        ):
            self.position += 2
            return "!="
        if (kind, following) == ("not", "in"):
            self.position += 2
            return "notin"
        if (kind, following) == (":", "="):
            self.position += 2
            return "="
        if kind in ("group", "word") and words(self.tokens[self.position].text) in _EQUALS:
            self.position += 1
            return "="
        if kind not in _RELATIONS or (kind == "|" and self.bars):
            return None
        self.position += 1
        if kind + following in _DOUBLE:
            self.position += 1
            return _DOUBLE[kind + following]
        return _RELATIONS[kind]

    def set_expression(self) -> Node:
        parts = [self.ratio()]
        while self.kind() in ("cup", "bigcup", "cap", "setminus", "backslash") or (
            self.kind() == "letter"
            and self.tokens[self.position].text == "U"
            and parts[-1].op in ("tuple", "set")
        ):
            operator = self.next().text
            right = self.ratio()
            if operator in ("cup", "bigcup", "U"):
                parts.append(right)
            else:
                parts[-1] = Node("opaque", (parts[-1], right), "cap" if operator == "cap" else "setminus")
        return Node("union", tuple(parts)) if len(parts) > 1 else parts[0]

    def ratio(self) -> Node:
        parts = [self.sum()]
        while self.kind() in (":", "colon") and self.kind(1) != "=":
            self.position += 1
            parts.append(self.sum())
        return Node("ratio", tuple(parts)) if len(parts) > 1 else parts[0]

    # --- arithmetic -----------------------------------------------------------------------------------------

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
                factors = [Node("div", (_mul(factors), self.signed(self.factor)))]
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
            return not (SEPARATOR_TEXT.fullmatch(text) or words(text) in _EQUALS)
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


def _signed(sign: str, node: Node) -> Node:
    if sign == "+":
        return node
    return Node("neg", (node,)) if sign == "-" else Node("pm", (node,), sign)


def _mul(factors: list[Node], calls: tuple[int, ...] = ()) -> Node:
    return factors[0] if len(factors) == 1 else Node("mul", tuple(factors), calls or None)
