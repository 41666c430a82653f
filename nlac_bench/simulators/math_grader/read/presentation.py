"""Removes LaTeX that only changes how an answer looks: sizes, colours, invisible rules, `$` in a text."""

import re

_ALONE = re.compile(  # commands without an argument
    r"\\(?:left|right|middle|bigl|bigr|Bigl|Bigr|biggl|biggr|Biggl|Biggr|big|Big|bigg|Bigg|m?left|m?right)"
    r"(?![a-zA-Z])\s*\.?"
    r"|\\(?:displaystyle|textstyle|scriptstyle|scriptscriptstyle|limits|nolimits|hfill|noindent|hline"
    r"|allowbreak|nobreak|nonumber|notag|checkmark|blacksquare|qed|qedhere|centering|strut|mathstrut|null|relax"
    r"|protect|tiny|scriptsize|footnotesize|small|normalsize|large|Large|LARGE|huge|Huge|bfseries|itshape"
    r"|rmfamily|sffamily|ttfamily|upshape|normalfont|unboldmath|ensuremath|mathord|mathbin|mathrel|mathop"
    r"|mathopen|mathclose|mathinner|smash)(?![a-zA-Z])"
)
_WITH_ARGUMENT = re.compile(  # commands that print nothing, or only what follows them
    r"\\(?:hspace|vspace|hskip|label|tag|color|textcolor|colorbox|style|class|cssId|hphantom|vphantom|scalebox"
    r"|raisebox)\*?\s*(?:\[[^\[\]{}]*\]\s*)?\{[^{}]*\}"
    r"|\\fcolorbox\s*\{[^{}]*\}\s*\{[^{}]*\}"
    r"|\\rule\s*(?:\[[^\[\]{}]*\]\s*)?\{[^{}]*\}\s*\{[^{}]*\}"
    r"|\\bbox\s*(?:\[[^\[\]{}]*\])?"
    r"|\\m?kern-?[\d.]+\s*(?:pt|em|ex|mu|cm|mm|in)"
    r"|\\phantom\s*(?:\{[^{}]*\}|[^\\{}\s])"
    r"|\\(?:boxed|fbox)\s*\{\s*\}"
)
_ROW_SPACE = re.compile(r"\\\\\s*\[\s*-?[\d.]+\s*[a-z]{2}\s*\]")  # \\[4pt]
_DELIMITER = re.compile(r"(?<!\\)\\[()\[\]]")
_TEXT = re.compile(r"\\(?:text|mbox|hbox|textrm|textbf|textit|textnormal|textsf|emph)\s*\{")
_DOLLARS = re.compile(r"(?<!\\)\$+")


def undressed(text: str) -> str:
    """Return an answer without presentation: `\\Large \\text{so $x = 5$}` is `\\text{so } x = 5`."""
    if "\\" not in text:
        return text
    text = _ROW_SPACE.sub(r"\\\\", text)
    text = _ALONE.sub(" ", _WITH_ARGUMENT.sub(" ", text))
    return _math_outside_texts(_DELIMITER.sub("$", text))


def _math_outside_texts(text: str) -> str:
    """Return `\\text{so } x = 5` for `\\text{so $x = 5$}`."""
    if "$" not in text:
        return text
    closing = _closing_braces(text)
    result, position = list[str](), 0
    for match in _TEXT.finditer(text):
        end = closing.get(match.end() - 1)
        if match.start() < position or end is None:
            continue
        parts = _DOLLARS.split(text[match.end() : end])
        if len(parts) < 3 or len(parts) % 2 == 0:
            continue
        result.append(text[position : match.start()])
        for index, part in enumerate(parts):
            result.append(f" {part} " if index % 2 else f"{match.group()}{part}}}" if part.strip() else "")
        position = end + 1
    return "".join([*result, text[position:]])


def _closing_braces(text: str) -> dict[int, int]:
    """Return for each opening brace the index of the one that closes it."""
    closing, opened = dict[int, int](), list[int]()
    for index, character in enumerate(text):
        if character == "{":
            opened.append(index)
        elif character == "}" and opened:
            closing[opened.pop()] = index
    return closing
