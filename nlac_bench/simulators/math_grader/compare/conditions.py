"""Removes the text around an answer: conditions behind it, `c = 36 \\text{ (since } c \\neq 0)`, and steps
that lead to it, `n = 13, \\text{ so } 2n = 26`.

A condition is removed only if it does not contradict the answer: `x = 5 \\ (x < 0)` states nothing.
"""

import re

from nlac_bench.simulators.math_grader.compare.intervals import ORDER
from nlac_bench.simulators.math_grader.compare.reading import read
from nlac_bench.simulators.math_grader.evaluate.consistency import contradict, excludes, letters
from nlac_bench.simulators.math_grader.read.nodes import Node, TooComplex, Unreadable, names, symbols, walk
from nlac_bench.simulators.math_grader.read.normalize import words
from nlac_bench.simulators.math_grader.read.wording import is_aside

_CLAUSE = re.compile(
    r"(?<![\\a-z])(?:(?P<reason>since|because|where|as|given(?: that)?|provided(?: that)?|assuming(?: that)?)"
    r"|(?P<rejected>(?:we )?(?:reject|discard|exclud|ignor)(?:s|e|es|ed|ing)?)"
    r"|(?P<form>(?:when|after|upon) (?:fully |completely )?"
    r"(?:simplif|round|express|reduc|factor|expand|writ)\w+)"
    r"|(?:attained |achieved )?(?P<place>for|with|at|when))(?![a-z])",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(  # n = 13, \text{ so the answer is } 13
    r"[,;.\s]\s*\\text\s*\{\s*(?:and )?(?:so|thus|hence|therefore)"
    r"(?: (?!(?:[^{}]* )?(?:not|no|never|or|than) )[^{}]* (?:is|are|equals|be))?[\s,:]*\}",
    re.IGNORECASE,
)
_REASON_FIRST = re.compile(  # \text{Since } x > 0, x = 5
    r"\\text\s*\{\s*(?:since|because|as|given(?: that)?)\s*\}", re.IGNORECASE
)
_EXTRANEOUS = re.compile(
    r"\\text\s*\{\s*(?:is|are)?\s*(?:extraneous|rejected|discarded|invalid|not valid|impossible)\s*\}\Z"
)
_BEFORE_CLAUSE = re.compile(r"[\s(,;]*(?:\\text\s*\{)?[\s(,;]*\Z")
_DOMAIN = re.compile(
    r"(?:\\text\s*\{)?\s*(?:(?:all|any|every|each|real|complex|positive|negative|nonnegative|integers?|natural"
    r"|numbers?|values?|of)\s*)+\}?\s*(?P<letter>[a-z])"
)
_LISTED = re.compile(r"[<>]|\\(?:n|l|g|in|equiv|not|implies|Rightarrow|iff|to)")  # a relation other than =
_TEXT_START = re.compile(r"[\s}]*(?:\\text\s*\{)?\s*")
_WORDS_ONLY = re.compile(r"\\text\s*\{[^{}\\\d=<>]*\}")
_ALTERNATIVES = names("or otherwise unless else if either but")
_MAX_LENGTH = 1_000


def without_conditions(text: str) -> Node | None:
    """Return the answer in a normalised text without the conditions after it; None if no condition follows.

    Raises:
        Unreadable: the answer without its conditions cannot be parsed as mathematics.
        TooComplex: the answer exceeds the parser's limits.
    """
    if len(text) > _MAX_LENGTH:
        return None
    *_, conclusion = _CONCLUSION.split(text)
    if conclusion != text and conclusion.strip():
        return read(conclusion)
    if reason := _REASON_FIRST.match(text):
        stated = read(text[reason.end() :])
        *reasons, answer = stated.args if stated.op == "list" and stated.value == "" else (stated,)
        return answer if reasons and not contradict(answer, reasons) else None
    clause = _clause(text)
    if clause is None:
        return _without_listed(read(text)) if _LISTED.search(text) else None
    kind, start, stop = clause
    head, body = _split(text, start, stop)
    if not head:
        return None
    answer = read(head)
    return answer if _is_met(kind, body, answer) else None


def _clause(text: str) -> tuple[str, int, int] | None:
    """Return the kind of the condition that ends a text, where it starts, and where its content starts."""
    clause = _last_bracket(text)
    match = _CLAUSE.search(text)
    if match is None:
        return clause
    kind = str(match.lastgroup)
    if clause is None or match.start() < clause[1]:
        return kind, match.start(), match.end()
    inner = _TEXT_START.match(text, clause[2])
    return (kind, clause[1], match.end()) if inner and _CLAUSE.match(text, inner.end()) else clause


def _is_met(kind: str, body: str, answer: Node) -> bool:
    """Return whether a condition can be removed; one with unknown words only if it is a reason."""
    if kind == "bracket" and _EXTRANEOUS.search(body):
        kind, body = "rejected", _EXTRANEOUS.sub("", body)
    if kind == "place" and (domain := _DOMAIN.fullmatch(body)):
        return domain["letter"] in symbols(answer)
    condition = words(body)
    if kind == "form":  # when simplified
        return not _ALTERNATIVES.intersection(condition.split())
    conditions = _relations(body)
    if kind == "rejected":
        return conditions is not None and excludes(answer, conditions)
    if conditions is None:
        aside = kind == "bracket" and bool(_WORDS_ONLY.fullmatch(body)) and is_aside(condition)
        return aside or (kind == "reason" and not _ALTERNATIVES.intersection(condition.split()))
    if _ALTERNATIVES.intersection(condition.split()):
        return False
    if kind == "place" and [one.op for one in conditions] == ["tuple"]:  # the maximum 10 at (2, 4)
        return not any(one.op == "tuple" for one in walk(answer)) and not symbols(conditions[0])
    if any(one.op != "rel" for one in conditions):
        return False
    if kind == "place" and not all(_concerns(one, answer) or set(one.value) == {"="} for one in conditions):
        return False
    return not contradict(answer, conditions)


def _last_bracket(text: str) -> tuple[str, int, int] | None:
    """Return where the round bracket that ends a text starts: `x = 5 (x > 0)`."""
    bare = text.rstrip(" }.")
    if not bare.endswith(")"):
        return None
    depth = 0
    for index in range(len(bare) - 1, 0, -1):
        depth += (bare[index] == ")") - (bare[index] == "(")
        if not depth:
            return "bracket", index, index + 1
    return None


def _split(text: str, start: int, stop: int) -> tuple[str, str]:
    """Return the answer and the condition without the brackets and the `\\text{` around the condition."""
    head, body = text[:start], text[stop:]
    inside = head.count("{") - head.count("}")
    head = _BEFORE_CLAUSE.sub("", head)
    if inside == 1:  # the clause starts in a \text{…}
        condition, _, rest = body.partition("}")
        if condition.strip(" ()") and not re.search(r"[=<>\\]", condition):
            condition = f"\\text{{{condition}}}"
        body = f"{condition} {rest}"
        head += "}" * (head.count("{") - head.count("}"))
    return head.strip(), _balanced(body).strip(" ,.")


def _balanced(text: str) -> str:
    """Return the text without unmatched closing brackets."""
    kept, opened = list[str](), list[str]()
    for character in text:
        if character in "({":
            opened.append(character)
        elif character in ")}":
            if opened[-1:] != ["(" if character == ")" else "{"]:
                continue
            opened.pop()
        kept.append(character)
    return "".join(kept)


def _relations(body: str) -> list[Node] | None:
    """Return the relations of a condition, and its values; None if it has words or cannot be parsed."""
    try:
        tree = read(body)
    except (Unreadable, TooComplex):
        return None
    if any(one.op == "text" for one in walk(tree)):
        return None
    return list(tree.args) if tree.op == "list" and tree.value != "or" else [tree]


def _without_listed(tree: Node) -> Node | None:
    """Return `c = 36` for the list `c = 36, c \\neq 0`."""
    if tree.op != "list" or tree.value == "or":
        return None
    steps = [one.op == "rel" and "=>" in one.value for one in tree.args]
    if steps[-1] and steps.count(True) == 1 and all(one.op == "rel" for one in tree.args):
        return tree.args[-1]  # m = 10, b = -4 \implies y = 10x - 4
    conditions = [one for one in tree.args if _is_condition(one)]
    answers = [one for one in tree.args if not _is_condition(one)]
    if not conditions or not answers:
        return None
    first = next(index for index, one in enumerate(tree.args) if _is_condition(one))
    for answer in answers:
        stated = answer.op == "rel" and set(answer.value) == {"="}
        # `x \\ne 3, 5` excludes two values.
        if not stated and (answer.op in ("rel", "tuple", "set", "union") or answer not in tree.args[:first]):
            return None
        if not all(_concerns(one, answer) for one in conditions) or contradict(answer, conditions):
            return None
    return answers[0] if len(answers) == 1 else Node("list", tuple(answers), tree.value)


def _is_condition(node: Node) -> bool:
    return node.op == "rel" and set(node.value) <= ORDER | {"!=", "in", "equiv"}


def _concerns(condition: Node, answer: Node) -> bool:
    return letters(condition) <= symbols(answer)
