"""Finds the boxed answer of a text: the last box, or the list of boxes that ends with it."""

import re

from nlac_bench.simulators.math_grader.read.wording import SEPARATOR_TEXT, connective

MAX_BOX = 20_000
"""Maximal length of a box's content."""
_MAX_BOXES = 20

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)(?![a-zA-Z])\s*")
_BARE_BOX = re.compile(r"[-+]?[\d.,]+|\\?[A-Za-z]+")
_NEGATED = re.compile(
    r"(?:\b(?:not|never|cannot)(?: (?:be|equal(?: to)?))?|n't(?: be| equal)?|\\neq?(?![a-z])|≠)"
    r"[\s$*({\[\\]*\Z",
    re.IGNORECASE,
)
_GLUE = re.compile(r"\\(?:text|textbf|mbox|mathrm|quad|qquad)(?![a-zA-Z])|\\[()\[\],;:! ]|[${}*~]")


def boxed(text: str) -> str | None:
    """Return the content of the last box that is not empty, or None without a box.

    Boxes that are joined only by commas, semicolons, "and" or "or" are one list: `\\boxed{1}, \\boxed{2}`.
    A box behind a negation, `not $\\boxed{7}$`, is skipped; if it is the only box, the negation is kept.
    """
    if "boxed" not in text and "fbox" not in text and "framebox" not in text:
        return None
    text = text.replace("\x08oxed", "\\boxed").replace("\x0cbox", "\\fbox")
    boxes = list(_BOX.finditer(text))[-_MAX_BOXES:]
    answer, denied, start = "", "", 0
    for box in reversed(boxes):
        inside = _content(text, box.end())
        if inside is None or not inside[0].strip():
            continue
        content, end = inside
        if _NEGATED.search(text[max(0, box.start() - 40) : box.start()]):
            denied = denied or content.strip()
            continue
        if answer:
            join = _join(text[end:start]) if end <= start else None
            if join is None:
                break
            answer = f"{content.strip()}{join}{answer}"
        else:
            answer = content.strip()
        start = box.start()
    if answer or denied:
        return answer or f"\\text{{not }} {denied}"
    if boxes and text[boxes[-1].end() :].startswith("{") and _content(text, boxes[-1].end()) is None:
        # truncated, or a missing brace
        return text[boxes[-1].end() + 1 :].split("\n")[0].strip().rstrip("$ .") or None
    return None


def _join(between: str) -> str | None:
    """Return the separator that a text between two boxes is, or None if it is anything else."""
    if len(between) > 60:
        return None
    match = SEPARATOR_TEXT.fullmatch(_GLUE.sub(" ", between))
    if match is None or not (match["word"] or "," in between or ";" in between):
        return None
    return f" \\text{{ {connective(match['word'])} }} " if match["word"] else ", "


def _content(text: str, start: int) -> tuple[str, int] | None:
    """Return the balanced group at `start`, or the single token of `\\boxed 5`, and where it ends."""
    if text[start : start + 1] != "{":
        match = _BARE_BOX.match(text, start)
        return (match.group().rstrip(".,"), match.end()) if match else None
    depth, index = 0, start
    end = min(len(text), start + MAX_BOX)
    while index < end:
        character = text[index]
        if character == "\\":
            index += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return text[start + 1 : index], index + 1
        index += 1
    return None
