"""Reads the roles' answers in the chat style: verdicts, outcomes, numbers and labelled lines.

Labels and values may be in bold, quoted or in any case. A line that names several values of a choice, such as
"Optimal: yes or no", is a copy of a form, and so is an answer that names different values in several lines;
neither is readable.
"""

import re
from collections.abc import Iterable, Sequence

from nlac_bench.envs.react import first_action

_MARK = r"(?:[^\w\n]|_)"  # a part of bold, quotes and list marks
_EDGE = rf"{_MARK}{{0,12}}"  # bounded, so that reading takes linear time
_BEGIN = rf"(?:[ \t]{{0,4}}\d{{1,2}}[.)])?{_EDGE}"  # the line may be numbered
_START, _END = r"(?<![^\W_])", r"(?![^\W_])"  # of a word, which underscores may make bold
_COLON = rf"{_MARK}{{0,4}}?:"
_LABELS = "thought|action|prediction|reasoning|why|instead"
_BELOW = rf"(?:\n[ \t]{{0,8}}(?!{_BEGIN}\w{{3,12}}{_COLON}))?"  # the value may stand below its label
_LABELLED = re.compile(rf"^{_BEGIN}(?:{_LABELS}){_COLON}[*_ \t]{{0,8}}{_BELOW}(.*)$", re.I | re.M)
_REASONING = re.compile(rf"^{_EDGE}reasoning{_COLON}[*_]{{0,3}}", re.I | re.M)
_PREDICTION = re.compile(rf"^{_EDGE}prediction{_COLON}", re.I | re.M)
_THOUGHT = re.compile(rf"^{_EDGE}thought{_COLON}[*_]{{0,3}}\s*", re.I | re.M)
_PLACEHOLDER = re.compile(r"[^\w\n<{[]{0,12}(?:<[^<>]*>|\{[a-z_ ]+\}|…|\.{3})[^\w\n>}\]]{0,12}", re.I)
"""``<the action>`` or ``{action}``, also in bold or quoted. Environments have actions such as ``[rock]``."""
LONG = 5
"""Number of words of a line that is not repeated by chance."""
_NAMES = {"action", "thought", "reason", "prediction"}
_ABOUT = {"a", "an", "better", "here", "my", "new", "next", "one", "other", "the", "this", "your"}
"""Words beside a label's name in a value that describes itself: "your action here", "[action]"."""


def _choice(label: str, values: str, before: str = "") -> re.Pattern[str]:
    # The value may stand below its label, but not in a list of values.
    below = rf"(?:\n[*_`\"' \t]{{0,8}}(?={before}(?:{values})[^\w\n]*$))?"
    return re.compile(rf"^{_BEGIN}{label}{_EDGE}{below}{_START}{before}({values}){_END}(.*)$", re.I | re.M)


_NOUN = r"(?:(?:candidate|action|option|number) )?#?"
_NO = (
    r"no(?=[^\w\n]*$|\W{0,2}[,.;:!?)*_—–-]|\s{1,4}(?:if|when|unless|otherwise|wait|actually|sorry|because|since|as|but"
    r"|or|and|not|i|it|this|that|the|we|you|they|he|she|yes)\b)"
)
"""``no`` as a verdict: in "no doubt" and "no better action" it belongs to the noun."""
_OUTCOME = _choice("outcome", "success|failure")
_OPTIMAL = _choice("optimal", rf"yes|{_NO}")
_BEST = _choice("best", r"\d{1,2}", rf"(?<!-){_NOUN}")
_OTHERS = {
    _OUTCOME: re.compile(r".*[^\W_]"),
    _OPTIMAL: re.compile(
        rf"{_EDGE}(?:or\b|and\b){_EDGE}{_START}(?:yes|no){_END}|{_EDGE}{_START}(?:yes{_END}|{_NO})"
        rf"|.*(?<!yes[ -])(?<!yes[^\w\n] )\b(?:or|otherwise|else)\W{{1,4}}(?:yes{_END}|{_NO})"
        r"|.*\b(?:yes|no) otherwise\b|.*[^\w\s\"'-]\s{0,3}(?:yes|no)\W{1,4}(?:else|if|when|unless)\b",
        re.I,
    ),
    _BEST: re.compile(rf"{_EDGE}(?:or\b|and\b|to\b)?{_EDGE}{_NOUN}\d", re.I),
}
"""What may not follow a value on its line: another value (but "no, ask a yes or no question"), and after an
outcome any word."""


def outcome_place(text: str) -> re.Match[str] | None:
    """Return the match of the last outcome, ``success`` or ``failure`` in its group 1; see ``_only``."""
    return _only(_OUTCOME, text)


def verdict(text: str) -> bool | None:
    """Return whether the verdict is yes; None without one."""
    match = _only(_OPTIMAL, text)
    return None if match is None else match[1].lower() == "yes"


def number(text: str) -> int | None:
    """Return the number after ``Best:``; None without one."""
    match = _only(_BEST, text)
    return None if match is None else int(match[1])


def _only(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the last match; None if there is none, a line names two values, or lines name different ones."""
    matches = list(pattern.finditer(text))
    if not matches or any(_OTHERS[pattern].match(match[2]) for match in matches):
        return None
    return matches[-1] if len({match[1].lower() for match in matches}) == 1 else None


def reasoned(text: str) -> tuple[str, str] | None:
    """Return reasoning and prediction, the latter with its label; None if the text does not have both."""
    label = _REASONING.search(text)
    prediction = None if label is None else _PREDICTION.search(text, label.end())
    if label is None or prediction is None:
        return None
    return text[label.end() : prediction.start()].strip(), text[prediction.start() :].strip()


def thought_and_action(text: str) -> tuple[str, str] | None:
    """Return the thought, which may be empty, and the first action; None without an action."""
    span = first_action(text)
    if span is None:
        return None
    marker, start, end = span
    before, action = text[:marker], text[start:end].strip()
    label = _THOUGHT.search(before)
    return (before[label.end() :] if label else "").strip(), action


def values(text: str) -> set[str]:
    """Return the values of labelled lines such as ``Why: …`` in ``text``, without marks and case."""
    return {plain for value in _LABELLED.findall(text) if (plain := _plain(value))}


def copies(text: str, prompts: Iterable[str]) -> bool:
    """Return whether ``text`` repeats a value of ``prompts``, or has a placeholder for one.

    A line without a label repeats one if it has at least ``LONG`` words.
    """
    found: Sequence[str] = _LABELLED.findall(text)
    known = set(prompts)
    if any(_plain(value) in known or _stands_for_a_value(value) for value in found):
        return True
    return any(line in known and line.count(" ") >= LONG - 1 for line in map(_plain, text.splitlines()))


def _stands_for_a_value(text: str) -> bool:
    words = set(_plain(text).split())
    return bool((words & _NAMES and words <= _NAMES | _ABOUT) or _PLACEHOLDER.fullmatch(text.strip()))


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text)).casefold()
