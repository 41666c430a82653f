"""Reads text in ReAct's form: ``Thought: …``, then ``Action: …`` (Yao et al. 2023).

Models vary the form: markers in bold, in a list, numbered, in other case or on the line of the thought, an
introduction, further actions, made-up observations, a fence around the whole. The first action counts.
"""

import re

_MARKS = r"[*_#> \t]{0,8}"  # bounded, so that reading takes linear time
_DECOR = rf"{_MARKS}(?:(?:[-+•]|\d{{1,2}}[.)])[*_ \t]{{0,4}})?"
_IN_LIST = re.compile(rf"{_MARKS}[-+•\d]")
_NUMBER, _LABEL_END = r"(?:[ \t]?\d{1,2})?", r"[*_ \t]{0,4}[:：]"
_COLON = rf"{_NUMBER}{_LABEL_END}[*_]{{0,3}}\s*"
_AT_START = rf"(?m:^){_DECOR}(?i:action){_COLON}"
_IN_LINE = rf"(?<=\s)[*_]{{0,3}}Action{_COLON}"
ACTION = re.compile(f"{_AT_START}|{_IN_LINE}")
"""The marker of an action: at the beginning of a line in any case, elsewhere with a capital letter."""
_MARKERS = tuple(re.compile(f"(?:{each})+") for each in (_AT_START, _IN_LINE))  # it may be repeated at once
_ACTS = re.compile(rf"\s*{_DECOR}action{_LABEL_END}", re.I)
_THOUGHT = re.compile(rf"^{_DECOR}thoughts?{_NUMBER}{_LABEL_END}", re.I | re.M)
_SPEAKER = r"[ \t]{0,4}(?:user|tool result)"
_FURTHER, _FURTHER_IN_LIST = (
    re.compile(rf"^(?:{mark}(?:action|thoughts?|observation)|{_SPEAKER}){_NUMBER}{_LABEL_END}", re.I | re.M)
    for mark in (_MARKS, _DECOR)
)
FENCE = re.compile(r"```(?:[A-Za-z_]{1,20}(?=[ \t]*[\r\n{\[]))?")
"""A code fence with its language, which stands before the end of the line or before JSON."""


def in_form(text: str) -> bool:
    """Return whether ``text`` begins with an action, or a line of it with a thought.

    Numbered actions without a thought are a list.
    """
    return _ACTS.match(text) is not None or _THOUGHT.search(text) is not None


def first_action(text: str) -> tuple[int, int, int] | None:
    """Return where the first action's marker begins, and where the action begins and ends; None without one.

    A marker at the beginning of a line takes precedence, since thoughts may quote one. The action ends before
    a further marker (``Action:``, ``Thought:``, ``Observation:``, ``User:``, ``Tool result:``) at the
    beginning of a line, and before a fence that it does not open.
    """
    marker = next(filter(None, (each.search(text) for each in _MARKERS)), None)
    if marker is None:
        return None
    start = marker.end()
    listed = _IN_LIST.match(marker[0]) is not None  # else the action may have a list
    further = (_FURTHER_IN_LIST if listed else _FURTHER).search(text, start)
    end = further.start() if further and further.start() > start else len(text)
    fences = list(FENCE.finditer(text, start, end))
    if len(fences) % 2 and not text[fences[-1].end() : end].strip():
        end = fences[-1].start()
    return marker.start(), start, start + len(text[start:end].rstrip())


def action_text(text: str) -> str:
    """Return the first action of ``text``, without a fence around it; all of ``text`` if it has none."""
    span = first_action(text)
    action = (text if span is None else text[span[1] : span[2]]).strip()
    fences = list(FENCE.finditer(action))
    whole = len(fences) == 2 and fences[0].start() == 0 and fences[1].end() == len(action)
    return (action[fences[0].end() : fences[1].start()] if whole else action).strip()
