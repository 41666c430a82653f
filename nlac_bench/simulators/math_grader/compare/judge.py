"""Decides one case with `check(gold, pred)`, without limits of time or memory; `grader` adds those."""

import re

from nlac_bench.simulators.math_grader.compare.answers import same
from nlac_bench.simulators.math_grader.compare.conditions import without_conditions
from nlac_bench.simulators.math_grader.compare.finished import pending
from nlac_bench.simulators.math_grader.compare.reading import read
from nlac_bench.simulators.math_grader.extract.boxes import boxed
from nlac_bench.simulators.math_grader.extract.extract import MAX_TAIL, extract, final_part, is_bare
from nlac_bench.simulators.math_grader.read.nodes import (
    Node,
    TooComplex,
    UnknownCommand,
    Unreadable,
    key,
    names,
    walk,
)
from nlac_bench.simulators.math_grader.read.normalize import MAX_ANSWER, WRAPPER, normalize, words
from nlac_bench.simulators.math_grader.read.parser import parse
from nlac_bench.simulators.math_grader.read.wording import is_qualified, without_introduction

Verdict = tuple[bool | None, str]

_DECIMAL = re.compile(r"([-+]?)(\d{1,3}(?:,\d{3})+|\d+|)(?:\.(\d+))?", re.ASCII)
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?")
# A decimal comma is not followed by three digits, before which it would group, nor by a space.
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,(?!\d{3}$)\d+", re.ASCII)
_SPACED_GROUPS = re.compile(r"[-+]?\d{1,3}(?:,~\d{3})+", re.ASCII)
_WORDY = re.compile(r"[^\W\d_]{3,}")
_CHOICE = re.compile(r"\(?([A-H])\)?[).:] \S.*|\(([A-H])\)(?: +-?)?[A-Za-z0-9\\$].*")
_ANOTHER_CHOICE = re.compile(
    r"\([A-H]\)|\b[A-H][).:]|\b(?:and|or|not) [A-H]\b|\A[A-H]\Z|\A(?:[+=<>,;]|\\to\b|or\b|and\b)"
)
_DENIED_CHOICE = re.compile(
    r"(?:is|are|was|does|do|can|could|fails|cannot|must|should|will|would)\b", re.IGNORECASE
)
_LETTER = re.compile(r"\W*(?:\\?(?:text|textbf|mathrm)\W*)?[A-H]\W*")
_OPTION = re.compile(r"\A(?:\\text\s*\{)?\s*(?:option|choice)\s+\(?([A-H])\)?\s*\}?\Z", re.IGNORECASE)
_WORDS = re.compile(r"(?:[^\W_]|[\s,.;:!?'{}()~]|(?<=[^\W\d_])-(?=[^\W\d_]))+")
# Constructs that the parser only recognises by their spelling; math-verify computes their values.
_SYMBOLIC = names("int iint iiint oint lim")
_SERIES = names("sum prod")
_PROVEN, _BY_ALGEBRA = "equal", "equal by math-verify"
EVALUATED = (_PROVEN, _BY_ALGEBRA)
"""The reasons of right answers that have another form than the gold answer."""


def quick(gold: str, pred: str) -> Verdict | None:
    """Return the verdict if the spelling decides it: a box or a bare answer, identical or both numbers.

    Returns None otherwise. Takes linear time and is safe for any input.
    """
    if not gold.strip():
        return None, "ungraded: the gold answer is empty"
    if not pred.strip():
        return False, "no answer"
    answers = []
    for text in (final_part(gold), final_part(pred)):
        answer = boxed(text)
        if answer is None:
            answer = text.strip()
            if _DECIMAL.fullmatch(answer):
                answers.append(answer)
                continue
            if len(answer) > 200 or not answer.isascii() or not is_bare(answer):
                return None
        answers.append(normalize(answer) if len(answer) <= MAX_ANSWER else answer)
    if not answers[0] or not answers[1]:
        return None
    if answers[0] == answers[1]:
        return True, "identical"
    numbers = [_plain_number(answer) for answer in answers]
    if numbers[0] is None or numbers[1] is None:
        return None
    if numbers[0] == numbers[1]:
        return True, "the same number"
    return None if "," in answers[0] + answers[1] else (False, "different numbers")


def _plain_number(text: str) -> tuple[str, str, str] | None:
    """Return the sign, the integer part and the decimals of a decimal of any length, or None."""
    match = _DECIMAL.fullmatch(text)
    if match and (match.group(2) or match.group(3)):
        whole = match.group(2).replace(",", "").lstrip("0") or "0"
        decimals = (match.group(3) or "").rstrip("0")
        negative = match.group(1) == "-" and (whole, decimals) != ("0", "")
        return ("-" if negative else "", whole, decimals)
    return None


def check(gold: str, pred: str) -> Verdict:
    """Return whether `pred` (a bare answer, or a whole solution) has the answer `gold`.

    Returns:
        (True or False, reason), or (None, reason) if the case cannot be decided: the gold answer is empty,
        numbers or nesting exceed fixed limits, or computer algebra failed. Time and memory are not limited.
    """
    gold, pred = gold[-MAX_TAIL:], pred[-MAX_TAIL:]
    verdict = quick(gold, pred)
    if verdict is not None:
        return verdict
    if words(gold) == words(pred) and _is_words(gold) and _is_words(pred):
        return True, "the same words"
    gold, pred = _gold_answer(gold), extract(pred)
    gold_text, pred_text = normalize(gold[: MAX_ANSWER + 1]), normalize(pred[: MAX_ANSWER + 1])
    if not gold_text:
        return None, "ungraded: the gold answer is empty"
    if not pred_text:
        return False, "no answer"
    if len(gold) > MAX_ANSWER or len(pred) > MAX_ANSWER:
        return (
            (True, "identical")
            if gold == pred
            else (None, f"ungraded: an answer of over {MAX_ANSWER} characters")
        )
    if gold_text == pred_text or _spelled(gold) == _spelled(pred):
        return True, "identical"
    if words(gold) == words(pred) and _is_words(gold) and _is_words(pred):
        return True, "the same words"
    return _compare(gold_text, pred_text)


def _spelled(text: str) -> str:
    """Return the text without the optional thin negative spaces of `11,\\! 111`."""
    return " ".join(text.replace("\\!", "").split())


def _gold_answer(gold: str) -> str:
    """Return the answer in a gold text, which may be a whole solution; short plain text is returned as is."""
    plain = len(gold) < 60 and "$" not in gold and "\\(" not in gold and "\\[" not in gold
    return gold if plain and boxed(gold) is None else extract(gold)


def _is_words(text: str) -> bool:
    """Return whether a text consists of words, which are compared by spelling, and not of mathematics."""
    return bool(_WORDY.search(text)) and bool(_WORDS.fullmatch(WRAPPER.sub(" ", text).strip(" $")))


def _compare(gold: str, pred: str) -> Verdict:
    verdict = _verdict(gold, pred)
    if verdict[0] is not False:
        return verdict
    try:
        answer = without_conditions(pred)
        if answer is None or not same(gold_tree := read(gold), answer):
            return verdict
        return _accepted(_PROVEN, gold_tree, answer)
    except (Unreadable, TooComplex, RecursionError):
        return verdict


def _verdict(gold: str, pred: str) -> Verdict:
    pred = without_introduction(pred)
    gold_choice, pred_choice = _chosen(gold), _chosen(pred)
    if gold_choice and gold_choice[0] in (pred_choice[0] if pred_choice else "", pred.strip("()")):
        return True, "the letter chosen"
    if pred_choice:
        letter, content = pred_choice
        if gold.strip("()") in (letter, f"\\text{{{letter}}}", f"\\text{{({letter})}}"):
            return True, "the letter chosen"
        if not gold_choice and not _LETTER.fullmatch(gold):
            return _compare(gold, content)
    gold, pred = _OPTION.sub(r"\1", gold), _OPTION.sub(r"\1", pred)
    clocks = [_clock(text) for text in (gold, pred)]
    if clocks[0] is not None and clocks[1] is not None:
        return (True, _PROVEN) if clocks[0] == clocks[1] else (False, "another time of day")
    trees: list[Node | None] = []
    unread = ""
    for text in (gold, pred):
        try:
            trees.append(read(text))
        except UnknownCommand as error:
            trees.append(None)
            unread = f" (not read: {error})"
        except Unreadable as error:
            return False, f"different (not read: {error})"
        except TooComplex as error:
            return None, f"ungraded: {error}"
    gold_tree, pred_tree = trees
    try:
        if gold_tree is not None and pred_tree is not None:
            if same(gold_tree, pred_tree) or _other_reading(gold, gold_tree, pred, pred_tree):
                return _accepted(_PROVEN, gold_tree, pred_tree)
            if not _needs_algebra(gold_tree, pred_tree):
                return False, "different"
    except TooComplex as error:
        return None, f"ungraded: {error}"
    except RecursionError:
        return None, "ungraded: nested too deep"
    from nlac_bench.simulators.math_grader.evaluate import symbolic

    try:
        if symbolic.equal(gold, pred):
            return _accepted(_BY_ALGEBRA, gold_tree, pred_tree)
    except symbolic.Unsettled as error:
        return None, f"ungraded: {error}{unread}"
    return False, f"not shown to be equal by math-verify{unread}"


def _accepted(reason: str, gold: Node | None, pred: Node | None) -> Verdict:
    """Return the verdict on an answer that equals the gold answer: refused if it is not evaluated."""
    if gold is None or pred is None:
        return True, reason
    if left := pending(gold, pred):
        return False, f"equal, but not evaluated: {left}"
    return True, "the same expression" if key(gold) == key(pred) else reason


def _other_reading(gold: str, gold_tree: Node, pred: str, pred_tree: Node) -> bool:
    """Compare other readings of an ambiguous spelling: `101,202` as two numbers, `20:34` as a time of day."""
    if pred_tree.op in ("list", "set") and gold_tree.op == "num" and _is_list(gold, len(pred_tree.args)):
        return same(parse(gold, thousands=False), pred_tree)
    if gold_tree.op in ("list", "set") and pred_tree.op == "num" and _is_list(pred, len(gold_tree.args)):
        return same(gold_tree, parse(pred, thousands=False))
    if gold_tree.op == "num" and pred_tree.op == "list":
        if _DECIMAL_COMMA.fullmatch(pred) and "." in gold:
            return same(gold_tree, parse(pred.replace(",", ".")))
        if _SPACED_GROUPS.fullmatch(pred):
            return same(gold_tree, parse(pred.replace(",~", "")))
    if pred_tree.op == "num" and _SPACED_GROUPS.fullmatch(gold):
        return same(parse(gold.replace(",~", "")), pred_tree)
    if "time" in (gold_tree.op, pred_tree.op) and "ratio" in (gold_tree.op, pred_tree.op):
        times = [
            tree if tree.op == "time" else _clock(text)
            for text, tree in ((gold, gold_tree), (pred, pred_tree))
        ]
        return times[0] is not None and times[1] is not None and same(*times)  # type: ignore[arg-type]
    return False


def _is_list(text: str, length: int) -> bool:
    """Return whether groups of digits such as `101,202` can be a list of this length; `1,000` cannot."""
    groups = text.split(",")
    return len(groups) == length > 1 and not any(group.startswith("0") for group in groups)


def _clock(text: str) -> Node | None:
    """Return `20:34` as a time of day, or None; it can also be a ratio."""
    match = _CLOCK.fullmatch(text.replace(" ", ""))
    if match is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return Node("time", value=(hours * 3600 + minutes * 60 + seconds, ""))


def _chosen(text: str) -> tuple[str, str] | None:
    """Return the letter and the content of `(C) 12`, one option, or None."""
    match = _CHOICE.fullmatch(re.sub(r"\\(?:text|textbf|textrm|mathrm|mbox)\b\s*|[{}]", "", text).strip())
    if match is None:
        return None
    letter = match.group(1) or match.group(2)
    content = match.group().partition(letter)[2].lstrip(").: ")
    if _ANOTHER_CHOICE.search(content) or (_DENIED_CHOICE.match(content) and is_qualified(content)):
        return None
    return letter, text[text.index(letter) + 1 :].lstrip("}):. ")


def _needs_algebra(gold: Node, pred: Node) -> bool:
    """Return whether one side has a construct that only computer algebra can evaluate.

    Two series with different spelling are treated as different: if a closed form is asked for, one side has
    no series.
    """
    opaque = [{str(one.value) for one in walk(tree) if one.op == "opaque"} for tree in (gold, pred)]
    either = opaque[0] | opaque[1]
    if either & _SYMBOLIC or any(name.startswith("determinant") for name in either):
        return True
    return bool(opaque[0] & _SERIES) != bool(opaque[1] & _SERIES)
