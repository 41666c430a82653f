"""Parses commands with their arguments: fractions, roots, functions, sums, environments."""

from nlac_bench.simulators.math_grader.read.cursor import Cursor, number
from nlac_bench.simulators.math_grader.read.forms import marked
from nlac_bench.simulators.math_grader.read.nodes import Node, UnknownCommand, Unreadable, key, names, num
from nlac_bench.simulators.math_grader.read.tokens import FUNCTIONS, TEXT_COMMANDS

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
CONSTRUCTS = names(
    "frac cfrac sqrt cbrt abs floor ceil binom pi infty langle begin lb mathbb emptyset varnothing "
    "lbrace lbrack imath factorial"
)
_INFIX = names("bmod pmod mod times cdot div ast choose cup cap setminus le leq ge geq ne neq in notin lt gt")
_AFTER_NAME = ("", "}", ")", "=", "<", ">", ",")
_MATRICES = frozenset(["matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array"])


class LatexCommands(Cursor):
    """The part of the parser that reads what follows a command's name."""

    def command(self, name: str) -> Node:
        if name in FUNCTIONS:
            return self.function(name)
        if name in ("frac", "cfrac"):  # normalize writes repeating decimals with \cfrac
            top = self.group()
            return Node("div", (top, self.group()), "repeating" if name == "cfrac" else None)
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
