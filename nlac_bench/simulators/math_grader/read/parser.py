"""Implements a recursive-descent parser for answers in LaTeX or plain text.

It evaluates nothing. Juxtaposition is multiplication, `1\\frac12` and `1 1/2` are mixed numbers, a comma list
is unordered, brackets keep their kind. `compare` and `values` interpret the constructs.
"""

from nlac_bench.simulators.math_grader.read.arithmetic import EQUALS, Arithmetic
from nlac_bench.simulators.math_grader.read.nodes import Node, TooComplex, Unreadable
from nlac_bench.simulators.math_grader.read.normalize import words
from nlac_bench.simulators.math_grader.read.tokens import Token, join_thousands, tokenize
from nlac_bench.simulators.math_grader.read.wording import SEPARATOR_TEXT, connective, is_introduction

_RELATIONS = {
    "=": "=", "<": "<", ">": ">", "le": "<=", "leq": "<=", "leqslant": "<=", "leqq": "<=", "ge": ">=",
    "geq": ">=", "geqslant": ">=", "geqq": ">=", "lt": "<", "gt": ">", "ne": "!=", "neq": "!=", "in": "in",
    "approx": "~", "sim": "~", "simeq": "~", "thickapprox": "~", "equiv": "equiv", "cong": "cong",
    "notin": "notin", "to": "to", "rightarrow": "to", "mapsto": "to", "Rightarrow": "=>", "implies": "=>",
    "therefore": "=>", "Longrightarrow": "=>", "leadsto": "=>", "iff": "<=>",
    "Leftrightarrow": "<=>", "subset": "subset", "subseteq": "subset", "supset": "supset", "perp": "perp",
    "parallel": "parallel", "propto": "propto", "mid": "mid", "doteq": "=", "coloneqq": "=", "|": "mid",
}  # fmt: skip
_DOUBLE = {"<=": "<=", ">=": ">=", "==": "=", "=>": "=>", "<>": "!=", "=<": "<="}
_SEPARATORS = {
    **dict.fromkeys((",", ";", "quad", "qquad", "\\\\", "newline", "enspace"), ""),
    "land": "and", "wedge": "and", "lor": "or", "vee": "or",
}  # fmt: skip


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


class Parser(Arithmetic):
    """Parses lists and relations; inherits the parser of arithmetic."""

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
        separated = self.separator() is not None
        self.position = start
        return separated

    def introduction(self) -> None:
        """Skip texts that only introduce a value: `\\text{The area is } 12`, `\\text{Area: } 12`."""
        if self.kind() not in ("group", "word"):
            return
        start = self.position
        while self.kind() in ("group", "word") and not self.at_separator():
            self.position += 1
        text = " ".join(token.text for token in self.tokens[start : self.position])
        if self.kind() == ":" and self.kind(1) not in ("group", "word", "="):  # \text{Answer}: 5
            text += ":"
            self.position += 1
        introduces = self.starts_factor() or self.kind() in ("=", "approx", "+", "-")
        if not (text and introduces and is_introduction(text)):
            self.position = start

    def relation(self) -> Node:
        self.introduction()
        if self.kind() in ("approx", "=") or _RELATIONS.get(self.kind()) in ("=>", "to"):  # "≈ 8.24" is 8.24
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
        if kind in ("group", "word") and words(self.tokens[self.position].text) in EQUALS:
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

    def at_to(self, before: Node) -> bool:
        """Return whether the ratio `1 \\text{ to } 4` continues."""
        is_text = self.kind() in ("group", "word") and before.op == "num"
        return is_text and words(self.tokens[self.position].text) == "to" and self.kind(1) == "number"

    def ratio(self) -> Node:
        parts = [self.sum()]
        while (self.kind() in (":", "colon") and self.kind(1) != "=") or self.at_to(parts[-1]):
            self.position += 1
            parts.append(self.sum())
        return Node("ratio", tuple(parts)) if len(parts) > 1 else parts[0]
