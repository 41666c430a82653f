r"""Turns formulas in texts (``$\frac12$``) into MathML trees.

A tree is a list: the name of a MathML element, then its children, which are trees or, in a leaf, one text.
The page's script makes the elements, so no text of a model becomes markup. The notation is that of the
problems of MATH: fractions, roots, scripts, sums, delimiters, functions, matrices. A formula with a command
that is not known here is left as it was written.
"""

import re
from typing import Any

LONGEST = 4_000
"""Largest number of characters of a formula that is rendered."""
DEEPEST = 40

_OPENING = re.compile(r"\$\$|\$|\\\[|\\\(")
_CLOSING = {"$$": "$$", "$": "$", "\\[": "\\]", "\\(": "\\)"}


def _table(text: str) -> dict[str, str]:
    """Return a table that is written as words ``command=symbol``."""
    return dict(pair.split("=", 1) for pair in text.split())


_LETTERS = _table(
    """
    alpha=α beta=β gamma=γ delta=δ epsilon=ε varepsilon=ε zeta=ζ eta=η theta=θ iota=ι kappa=κ lambda=λ
    mu=μ nu=ν xi=ξ pi=π rho=ρ sigma=σ tau=τ phi=φ varphi=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ
    Lambda=Λ Pi=Π Sigma=Σ Phi=Φ Psi=Ψ Omega=Ω infty=∞ ell=ℓ emptyset=∅ ldots=… cdots=⋯ dots=… vdots=⋮
    ddots=⋱ angle=∠ triangle=△ circ=∘ prime=′ degree=°
    """
)
_OPERATORS = _table(
    """
    cdot=· times=× div=÷ pm=± mp=∓ le=≤ leq=≤ ge=≥ geq=≥ ne=≠ neq=≠ equiv=≡ approx=≈ sim=∼ cong=≅ to=→
    rightarrow=→ Rightarrow=⇒ implies=⟹ iff=⟺ mapsto=↦ cup=∪ cap=∩ setminus=∖ subset=⊂ subseteq=⊆ in=∈
    notin=∉ mid=∣ parallel=∥ perp=⟂ sum=∑ prod=∏ int=∫ land=∧ lor=∨ neg=¬ ast=∗ star=⋆ lfloor=⌊ rfloor=⌋
    lceil=⌈ rceil=⌉ langle=⟨ rangle=⟩ lvert=| rvert=| vert=| colon=: lt=< gt=> forall=∀ exists=∃
    bmod=mod
    """
)
_FUNCTIONS = {
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log",
    "ln", "exp", "lim", "max", "min", "gcd", "lcm", "det", "deg", "dim", "ker", "inf", "sup", "arg", "mod",
    "Re", "Im",
}  # fmt: skip
_SPACES = {",": "0.17em", ";": "0.28em", ":": "0.22em", " ": "0.25em", "!": "0em", "quad": "1em",
           "qquad": "2em"}  # fmt: skip
_TEXT = ("text", "mathrm", "textbf", "mbox", "operatorname", "textrm", "textit")
_TOKEN = re.compile(
    rf"\\(?:{'|'.join(_TEXT)})\s*\{{[^{{}}\\]*\}}|\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\S", re.DOTALL
)
_SAME = ("mathbf", "mathit", "mathbb", "mathcal", "boldsymbol", "displaystyle", "textstyle", "limits")
_OVER = {"overline": "¯", "bar": "¯", "hat": "^", "vec": "→", "widehat": "^", "overrightarrow": "→",
         "dot": "˙", "tilde": "~"}  # fmt: skip
_MATRICES = {"matrix": "", "pmatrix": "()", "bmatrix": "[]", "vmatrix": "||", "array": "", "cases": "{",
             "aligned": "", "align": ""}  # fmt: skip
_MOVING = ("∑", "∏", "lim", "max", "min")


class _UnknownError(Exception):
    """The formula contains what is not rendered."""


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
        try:
            tree = _Parser(source).whole()
        except _UnknownError:
            continue
        display = "block" if mark in ("$$", "\\[") else "inline"
        parts += [text[end : opening.start()], ["math", display, tree, text[opening.start() : at]]]
        end = at
    return [part for part in [*parts, text[end:]] if part] if parts else text


class _Parser:
    """Parses one formula by recursive descent."""

    def __init__(self, source: str) -> None:
        self._tokens = _TOKEN.findall(source)
        self._at, self._depth = 0, 0

    def whole(self) -> list[Any]:
        """Return the tree of the formula."""
        result = self._row(())
        if self._at < len(self._tokens):
            raise _UnknownError
        return result

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise _UnknownError
        self._at += 1
        return self._tokens[self._at - 1]

    def _row(self, ends: tuple[str, ...]) -> list[Any]:
        """Return what stands before the next of ``ends``, which is not read."""
        found: list[Any] = []
        while self._at < len(self._tokens) and self._tokens[self._at] not in (*ends, "}"):
            found.append(self._scripted())
        return found[0] if len(found) == 1 else ["mrow", *found]

    def _scripted(self) -> list[Any]:
        """Return an atom with what is written below and above it."""
        base = ["mrow"] if self._tokens[self._at] in ("^", "_") else self._atom()
        scripts: dict[str, list[Any]] = {}
        while self._at < len(self._tokens) and self._tokens[self._at] in ("^", "_", "'"):
            mark = self._next()
            place = "_" if mark == "_" else "^"
            script = ["mo", "′"] if mark == "'" else self._argument()
            if place in scripts and mark != "'":
                raise _UnknownError
            scripts[place] = ["mrow", scripts[place], script] if place in scripts else script
        names = ("munder", "mover", "munderover") if base[-1] in _MOVING else ("msub", "msup", "msubsup")
        if len(scripts) == 2:
            return [names[2], base, scripts["_"], scripts["^"]]
        if scripts:
            return [names["^" in scripts], base, *scripts.values()]
        return base

    def _argument(self) -> list[Any]:
        """Return the next group, or one token: ``\\frac12`` has the arguments 1 and 2."""
        token = self._next()
        if token == "{":
            return self._group("}")
        if token.isdigit() and len(token) > 1:  # a number without braces gives one digit
            self._at -= 1
            self._tokens[self._at : self._at + 1] = list(token)
            token = self._next()
        self._at -= 1
        return self._atom()

    def _group(self, end: str) -> list[Any]:
        result = self._row((end,))
        if self._next() != end:
            raise _UnknownError
        return result

    def _words(self) -> str:
        """Return the text of a group, such as the name of an environment."""
        if self._next() != "{":
            raise _UnknownError
        words = []
        while (token := self._next()) != "}":
            words.append(token)
        return "".join(words)

    def _atom(self) -> list[Any]:
        """Return one atom; atoms in atoms are nested at most ``DEEPEST`` deep."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise _UnknownError
        result = self._token()
        self._depth -= 1
        return result

    def _token(self) -> list[Any]:
        token = self._next()
        if token == "{":
            return self._group("}")
        if token[0].isdigit():
            return ["mn", token]
        if token[0] != "\\":
            if token in "&^_}#%$~":
                raise _UnknownError
            return ["mi" if token.isalpha() else "mo", "−" if token == "-" else token]
        return self._command(token[1:])

    def _command(self, name: str) -> list[Any]:
        if name in ("frac", "dfrac", "tfrac", "cfrac"):
            return ["mfrac", self._argument(), self._argument()]
        if name in ("binom", "dbinom"):
            parts = [self._argument(), self._argument()]
            rows = ["mtable", *(["mtr", ["mtd", part]] for part in parts)]
            return ["mrow", ["mo", "("], rows, ["mo", ")"]]
        if name == "sqrt":
            if self._at < len(self._tokens) and self._tokens[self._at] == "[":
                self._at += 1
                degree = self._group("]")
                return ["mroot", self._argument(), degree]
            return ["msqrt", self._argument()]
        if name == "left":
            return self._fenced()
        if name in ("boxed", "fbox"):
            return ["mrow", ["mo", "⟦"], self._argument(), ["mo", "⟧"]]
        if name == "pmod":
            return ["mrow", ["mo", "("], ["mi", "mod"], ["mspace", "0.25em"], self._argument(), ["mo", ")"]]
        if name.endswith("}"):
            return ["mtext", name[name.index("{") + 1 : -1]]
        if name in _SAME:
            return self._argument() if name.startswith(("math", "bold")) else ["mrow"]
        if name in _OVER:
            return ["mover", self._argument(), ["mo", _OVER[name]]]
        if name == "begin":
            return self._matrix()
        return _symbol(name)

    def _fenced(self) -> list[Any]:
        """Return what stands between ``\\left`` and ``\\right``, with both delimiters."""
        opening = self._delimiter()
        inner = self._row(("\\right",))
        if self._next() != "\\right":
            raise _UnknownError
        return ["mrow", *opening, inner, *self._delimiter()]

    def _delimiter(self) -> list[Any]:
        token = self._next()
        if token == ".":
            return []
        return [["mo", _symbol(token[1:])[1] if token[0] == "\\" else token]]

    def _matrix(self) -> list[Any]:
        name = self._words()
        if name not in _MATRICES:
            raise _UnknownError
        if name == "array":
            self._words()  # the alignment of columns
        rows: list[Any] = []
        cells: list[Any] = []
        while True:
            cells.append(["mtd", self._row(("&", "\\\\", "\\end"))])
            token = self._next()
            if token != "&":
                rows.append(["mtr", *cells])
                cells = []
            if token == "\\end":
                if self._words() != name:
                    raise _UnknownError
                break
            if token not in ("&", "\\\\"):
                raise _UnknownError
        fences = [["mo", fence] for fence in _MATRICES[name]]
        return ["mrow", *fences[:1], ["mtable", *rows], *fences[1:]]


def _symbol(name: str) -> list[Any]:
    """Return the leaf of a command without arguments."""
    for known, leaf in ((_LETTERS, "mi"), (_OPERATORS, "mo")):
        if name in known:
            return [leaf, known[name]]
    if name in _FUNCTIONS:
        return ["mi", name]
    if name in _SPACES:
        return ["mspace", _SPACES[name]]
    if name in ("{", "}", "%", "$", "#", "&", "_", "|"):
        return ["mo", "∥" if name == "|" else name]
    raise _UnknownError
