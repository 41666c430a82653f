"""Answers rewritten: ways to write the same, and near misses, made from an answer's own text."""

import re
from collections.abc import Iterator

Variant = tuple[str, str]
"""What was done, and the text."""

_SAME_SPELLINGS = [
    (r"\frac", r"\dfrac"), (r"\dfrac", r"\frac"), (r"\tfrac", r"\frac"), (r"\frac", r"\tfrac"), (",", " , "),
    ("+", " + "), ("=", " = "), (r"^\circ", ""), (r"^\circ", "°"), (r"\pi", "π"), (r"\cdot", r"\times"),
    (r"\!", ""),
    (r"\$", ""), (r"\infty", "∞"), (r"\cup", "∪"), (r"\text{", r"\mbox{"), (r"\mbox{", r"\text{"),
    ("pmatrix", "bmatrix"),
    (r"\%", ""),
]  # fmt: skip
_NO_VALUE = r"[=<>,_:~]|\\(?:le|ge|in|pm|text|mbox|approx)"
_LIST = r"[^,()\[\]{}]+(?:,[^,()\[\]{}]+)+"
_WHOLE_THOUSANDS = r"\\?\$?\d{1,3}(,(\\!)?\s?\d{3})+"


def same(answer: str) -> Iterator[Variant]:
    """The answer itself in prose and boxes, and other spellings of it."""
    yield "itself", answer
    yield "boxed", rf"So the result is $\boxed{{{answer}}}$."
    yield "last box", rf"First \boxed{{99991}}. Wait, no. Hence \[\boxed{{{answer}}}\]"
    yield "dollars", f"${answer}$"
    yield "final answer", f"Therefore, the final answer is ${answer}$. I hope it is correct."
    yield "answer line", f"Some words.\n\nAnswer: {answer}"
    yield "sentence in the box", rf"\boxed{{So the answer is ${answer}$.}}"
    yield "Markdown in the box", rf"\boxed{{**Answer:** {answer}}}"
    yield "introduced", rf"$\boxed{{\text{{Therefore, }} {answer}}}$"
    if not re.search(_NO_VALUE, answer):
        yield "named sum", rf"$\boxed{{u_0+v_0 = {answer}}}$"
        yield "named call", rf"$\boxed{{q(3) = {answer}}}$"
        yield "chain", rf"$\boxed{{{answer} = {answer}}}$"
    for old, new in _SAME_SPELLINGS:
        if old in answer and not (old == "," and re.search(r"\\,|" + _WHOLE_THOUSANDS, answer)):
            yield f"{old} as {new}", answer.replace(old, new)
    if r"\left" in answer:
        yield "without left and right", answer.replace(r"\left", "").replace(r"\right", "")
    elif "(" in answer and "[" not in answer and "]" not in answer:
        yield "with left and right", answer.replace("(", r"\left(").replace(")", r"\right)")
    if not re.search(r"\\[a-zA-Z]+ [a-zA-Z]|\\ |[a-z] [a-z]|\d \d|\d \\frac|\\text|\\mbox", answer):
        yield "without spaces", answer.replace(" ", "")
    yield from _same_numbers(answer)
    unit = re.fullmatch(r"(.+?)\s*\\(?:text|mbox)\{[^}]*\}(?:\^\d)?", answer)
    if unit and not re.search(r"\\text|and|[:_]", unit[1]):
        yield "without unit", unit[1]
    if re.fullmatch(_LIST, answer) and not re.search(r"\\!|,\\|" + _WHOLE_THOUSANDS, answer):
        yield "other order", ", ".join(answer.split(",")[::-1])


def _same_numbers(answer: str) -> Iterator[Variant]:
    fraction = re.fullmatch(r"(-?)\\d?frac\{(\d+)\}\{(\d+)\}", answer)
    if fraction:
        sign, top, bottom = fraction.groups()
        yield "slash", f"{sign}{top}/{bottom}"
        yield "sign in the numerator", rf"\frac{{{sign}{top}}}{{{bottom}}}"
        yield "not reduced", rf"{sign}\frac{{{2 * int(top)}}}{{{2 * int(bottom)}}}"
    if re.fullmatch(r"-?\d+", answer):
        grouped = f"{int(answer):,}"
        yield from [
            ("decimal", answer + ".0"), ("named", "x = " + answer), ("unit", answer + r" \text{ units}"),
            ("bare unit", answer + " cm"), ("bold", f"**{answer}**"), ("degrees", answer + r"^\circ"),
            ("commas", grouped),
            ("LaTeX commas", grouped.replace(",", "{,}")), ("thin spaces", grouped.replace(",", r"\,")),
            ("spaces", grouped.replace(",", " ")),
            ("full stop", answer + "."),
        ]  # fmt: skip


def different(answer: str) -> Iterator[Variant]:
    """Near misses: a digit, a sign, a bracket, an element or a constant changed."""
    digits = list(re.finditer(r"\d", answer))
    if digits:
        last, first = digits[-1], digits[0]
        changed = answer[: last.start()] + str((int(last[0]) + 1) % 10) + answer[last.end() :]
        yield "last digit", changed
        yield "first digit", answer[: first.start()] + str(int(first[0]) % 9 + 1) + answer[first.end() :]
    if re.search(r"[1-9]", answer) and not re.search(r"pm|text|mbox|_|:|=|cup|\(|\\begin|\{|circ", answer):
        yield "negated", f"-({answer})" if answer[0] != "-" else answer[1:]
    pair = re.fullmatch(r"(?:\\left)?\(\s*(.+),(.+?)(?:\\right)?\)", answer)
    if pair and "," not in pair[1] + pair[2] and pair[1].strip() != pair[2].strip():
        yield "swapped", f"({pair[2]},{pair[1]})"
        yield "closed", f"[{pair[1]},{pair[2]}]"
        yield "one coordinate", pair[1]
    if re.fullmatch(_LIST, answer) and not re.search(r"\\!|,\\|" + _WHOLE_THOUSANDS, answer):
        yield "one missing", ",".join(answer.split(",")[:-1])
        yield "one too many", answer + ", 77777"
    for constant in (r"\sqrt", r"\pi"):
        if constant in answer:
            yield f"without {constant}", answer.replace(constant, "", 1) or "1"
    if answer.count("-") == 1:
        yield "sign", answer.replace("-", "+")
    elif answer.count("+") == 1:
        yield "sign", answer.replace("+", "-")
    if r"\cup" in answer:
        yield "one part", answer.partition(r"\cup")[0]
        yield "intersection", answer.replace(r"\cup", r"\cap")
    yield "plus one", answer + "+1"
    if re.fullmatch(r"-?\d+", answer):
        yield "not added", f"{int(answer) - 7}+7"
    yield "not", rf"\boxed{{\text{{not }} {answer}}}"
    yield "not in prose", f"The answer is not ${answer}$."
    yield "denied", f"{answer} is not the answer."
    yield "anything but", rf"\boxed{{\text{{anything but }} {answer}}}"
    yield "at least", rf"\boxed{{\text{{at least }} {answer}}}"
    yield "or", rf"\boxed{{{answer} \text{{ or }} 77777}}"
    yield "or in prose", rf"The answer is ${answer}$ or $77777$."
    yield "two answers", f"The answer is ${answer}$. The answer is $77777$."
    yield "two boxes", rf"$\boxed{{{answer}}}$ and $\boxed{{77777}}$"
    yield "list of boxes", rf"\boxed{{77777}}, \boxed{{{answer}}}"
    yield "false chain", rf"\boxed{{{answer} = 77777}}"
    yield "false chain to it", rf"\boxed{{77777 = {answer}}}"
    if re.fullmatch(r"-?[1-9]\d*", answer):
        yield "linear equation", rf"\boxed{{2w = {answer}}}"
        yield "shifted equation", rf"\boxed{{w+1 = {answer}}}"
    yield "nothing", ""
    yield "a list of guesses", f"{answer}, 31, 41, 51" if len(answer) <= 3 else "31, 41, 51"
    yield "last box", rf"\boxed{{{answer}}} but finally \boxed{{-98765}}"
    if "2004" not in answer:
        yield "tiny number", "1/2004!"
