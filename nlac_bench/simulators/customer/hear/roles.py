"""Decides which role a named value has in its sentence: proposed, present, kept, or mentioned only.

"I'll change the address from A to B; the lamp stays with you" proposes B, names A as present, keeps the lamp.
A value takes its role from the nearest governing word before it, or from a predicate that follows it
directly.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from nlac_bench.simulators.customer.hear.marks import (
    ADVERBS,
    CHANGE,
    ITEM_MARKS,
    STATE,
    UNWANTED,
    VALUE_MARKS,
)
from nlac_bench.simulators.customer.hear.structure import Unit

Role: TypeAlias = Literal["none", "new", "present", "kept", "context"]
Span: TypeAlias = tuple[int, int]

_FILL = re.compile(
    r"(?:[\s,:()\"'-]|\$[\d.]+|#w\d+|\([^()]*\)|\b(?:and|or|the|your|an?|both|which|that|also|other|items?|"
    r"as well as (?:the|your) (?:\w+ ){0,2}?(?:address|payment|method|shipping|delivery|everything)|"
    r"just|still|simply|is|are|same|that's|it's|they're|"
    r"do|does|will|would|should|shall|could|may|might|they|it|this|order|yours|in|one|be|can|to|all|of"
    r"|we(?:'d|'ll|'re)?|i(?:'d|'ll|'m)?|you(?:'d|'ll|'re)?|"
    r"(?:from|on) (?:the|your|that|this)(?: \w+)? (?:order|parcel|box|purchase))\b)*"
)
_KEEPS = re.compile(r"(?:keep|leav)(?:e|s|es|ing)?\b")
_OBJECT = re.compile(
    r" (?:(?:only|just|both|out) )?(?:the (?!same|way)|your |(?:this|that) (?!one\b|alone\b|as\b|is\b)|"
    r"an? |everything|anything|all\b|both\b|any\b|others\b|reservation|order |flight )"
)
_COULD = re.compile(r"\b(?:could|can|may|might|eligible to) (?:also )?(?:still )?be\b")
_BEFORE = re.compile(
    r"(?:without|except|exclud|apart|aside|other than|besides|but not|"
    r"not (?:(?:the|your|a|an|for|with|to|on|by|via|in|from|economy|business|basic|paypal|gift|visa|"
    rf"mastercard|credit)\b|[\d#])|no changes?|nothing|{UNWANTED})"
)
"""Words that govern what follows them, never what precedes."""
_OF_ACTION = re.compile(r"(?:items?|everything|products?) |(?:compris|contain|consist|includ)ing\b")
"""After an action, "the item in your order" is what the action is about, and what it comprises."""
_CONTENTS = re.compile(r"(?:#w\d+|\border|\bcontents) \(")
"""What an order contains, in brackets: "order #W1234567 (a kite; a lamp)"."""
_BRACKET = re.compile(r"[()]")
_BRACKETS = re.compile(r"\([^()]*\)")
_CLAUSE = re.compile(r", (?:and|but|while|whereas|so) ")
_SINGULAR = re.compile(r"\b(?:stays|remains|is|was|isn't|does|doesn't|goes|comes|keeps)\b")
_PASSIVE = re.compile(r"\b(?:be|is|are|get|gets|being|been)\b[ \w]{0,12}$")


def item_roles(text: str, spans: Sequence[Span]) -> list[Role]:
    """Return the roles of goods or records named at ``spans``, in order of their position."""
    if not spans:
        return []
    roles: list[Role] = []
    state: Role = "none"
    group: list[tuple[int, int]] = []  # the mentions since the last governing word, and where they begin
    last_end = 0
    holds = False  # whether the sentence lists the goods of an order after the change
    contents = _contents(text)
    for start, end, kind in _events(text, spans, ITEM_MARKS):
        if kind == "mention":
            if state != "new" and any(a < start < b for a, b in contents):
                roles.append("context")
                continue
            roles.append(state)
            group.append((len(roles) - 1, start))
            last_end = end
        elif kind == "end":
            state = "context" if state == "context" and text[start] == ";" else "none"
            group, holds = [], text.startswith("now", start)
        elif kind == "beside":
            if holds and group:
                state, group = "context", []  # "your order now includes the kite along with the lamp"
        elif (
            kind in ("kept", "back")
            and group
            and not _BEFORE.match(text, start)
            and not _governs(text, start, end, spans)
            and _FILL.fullmatch(text, last_end, start)
        ):
            # a column's name, "goes back?", is about everything in the row
            singular = bool(_SINGULAR.search(text, last_end, end)) and text[end : end + 1] != "?"
            for place in _subject(text, group, state, singular):
                roles[place] = "kept" if kind == "kept" else "new"
            state, group = "none", []
        elif kind == "kept":
            state, group = "kept", []
        elif kind in ("act", "back"):
            if group and _FILL.fullmatch(text, last_end, start) and _PASSIVE.search(text, last_end, start):
                # "the lamp could be returned as well" proposes nothing
                for place in _subject(text, group, state):
                    roles[place] = "context" if _COULD.search(text, last_end, start) else "new"
            state, group = "new", []
        elif not (state == "new" and not group and _OF_ACTION.match(text, start)):
            state, group = "context", []
    return roles


def _governs(text: str, start: int, end: int, spans: Sequence[Span]) -> bool:
    """Return whether the verb of keeping at ``start`` has its object after it: "and leave the kite as it is".

    Without an object, the verb is a predicate of the words before it: "the kite you keep". A participle after
    a comma begins a clause of its own: "on NB104, staying within economy".
    """
    if text[start:end].endswith("ing") and text.startswith(", ", start - 2):
        return True
    if not _KEEPS.match(text, start):
        return False
    return bool(_OBJECT.match(text, end)) or any(first == end + 1 for first, _ in spans)


def _contents(text: str) -> list[Span]:
    """Return the brackets after a record, in which its contents are listed; brackets may contain others."""
    spans: list[Span] = []
    for opening in _CONTENTS.finditer(text):
        if spans and opening.start() < spans[-1][1]:
            continue
        depth, end = 1, len(text)
        for bracket in _BRACKET.finditer(text, opening.end()):
            depth += 1 if bracket[0] == "(" else -1
            if not depth:
                end = bracket.start()
                break
        spans.append((opening.end() - 1, end))
    return spans


def _subject(text: str, group: Sequence[tuple[int, int]], state: Role, singular: bool = False) -> list[int]:
    """Return the mentions that a predicate after them is about: those of its own clause.

    Of mentions that a word before them governs, and before a verb in the singular, these are the ones after
    the last ", and", or the last one: "you keep the kite, and the tent and the lamp will go back".
    """
    if state == "none" and not singular:
        return [place for place, _ in group]
    flat = _BRACKETS.sub(lambda match: " " * len(match[0]), text[: group[-1][1]])
    cut = max((match.end() for match in _CLAUSE.finditer(flat, group[0][1])), default=group[-1][1])
    return [place for place, start in group if start >= cut]


def value_roles(text: str, spans: Sequence[Span]) -> list[Role]:
    """Return the roles of slot values (addresses, payments, cabins, dates …) named at ``spans``."""
    if not spans:
        return []
    roles: list[Role] = []
    state: Role = "none"
    strong = False  # whether the state comes from a word that only a proposal has
    seen = opened = False  # whether a value was named since, and whether "from" lacks its "to"
    last_end = since = 0
    later = _LATER.match(text) is not None
    left: tuple[int, Role, bool] | None = None  # the state after a bracket that contains a comma
    for start, end, kind in _events(text, spans, VALUE_MARKS):
        if left and start > left[0]:
            if state == "none" and _AND.match(text, left[0]):
                state, strong = left[1:]
            left = None
        near = bool(roles) and bool(_FILL.fullmatch(text, last_end, start))
        if kind == "mention":
            roles.append("present" if says_present(text, end) else state)
            seen, last_end = True, end
            continue
        if kind == "end":
            listing = seen and state in ("present", "context")  # "A, B and C are available"
            aside = _ASIDE.match(text, start) if state == "present" and not seen else None
            since = aside.end() if aside else since
            if text[start] == "," and (listing or (state == "present" and end - since < 4)):
                continue  # "currently, it goes to A", "currently booked, under SF4PKV, on B"
            if text[start] == "," and left is None and state != "none" and (close := _closes(text, start)):
                left = close, state, strong
            state, strong, opened = "none", False, False
        elif kind == "weak":
            word = text[start:end]
            if not (
                state == "none"
                or seen
                or (opened and word in _TARGETS)
                or (state == "context" and word in _MEANS)
            ):
                continue
            state, strong, opened = "new", False, False
        elif kind == "arrow":
            if near:
                roles[-1] = "present"
            state, strong = "new", True
        elif kind == "from":
            reversed_ = seen and _leads(text, end, spans)  # "to B from A"
            if not reversed_ and not _TO.search(text, end):
                continue
            state, opened = "present", not reversed_
        elif kind == "old" and later and _STANDS.match(text, start):
            state, strong = "new", True
        elif kind == "old" and text[start:end] == "off" and not _leads(text, end, spans):
            continue  # "take A off the profile"
        elif kind in ("present", "old"):
            closes = end >= len(text) or text[end] in ".,;)?!" or text.startswith((" and", " -"), end)
            governs = text[start:end].endswith((" than", " of"))  # "rather than with B"
            goes_on = _GOES_ON.match(text, end) and not governs and not _leads(text, end, spans)
            closes = closes or bool(goes_on)
            if seen and closes and (near or (ADVERBS.fullmatch(text, start, end) and not strong)):
                roles[-1] = "present"
                continue
            state, opened = "present", False
        elif (
            kind == "kept" and near and not (_BEFORE.match(text, start) or _governs(text, start, end, spans))
        ):
            roles[-1] = "kept"
            continue
        else:
            state, strong = ("new", True) if kind in ("new", "aim") else (_STATES[kind], False)
        seen, since = False, end
    return roles


def _closes(text: str, place: int) -> int:
    """Return where the bracket around ``place`` closes; 0 if there is none."""
    opened, closed = text.rfind("(", 0, place), text.rfind(")", 0, place)
    return text.find(")", place) + 1 if opened > closed else 0


_AND = re.compile(r",? (?:and|plus|&) |, (?=[\w -]{1,40} \()")
"""After a bracket: "from A (…), B (…) and C (…)" governs all."""


def _leads(text: str, end: int, spans: Sequence[Span]) -> bool:
    """Return whether a value directly follows the word that ends at ``end``."""
    value = next((first for first, _ in spans if first >= end), None)
    return value is not None and _FILL.fullmatch(text, end, value) is not None


def says_present(text: str, end: int) -> bool:
    """Return whether the predicate after a value, which ends at ``end``, says that it is the present one."""
    return _IS_PRESENT.match(text, end) is not None


_IS_PRESENT = re.compile(
    r"[ ,)\"']*(?:which |that |and )?(?:"
    r"(?:is|are|was|were) (?:(?:only|just) )?(?:what(?:'s| is| was| stands)? (?:there|here|on|in|it|we|you|"
    r"they|your)\b(?! (?:want|wish|need|ask|chose|choose|pick|prefer|would|request|like))(?!'d)|"
    r"(?:there|here)\b|on (?:file|record)\b|in (?:your|the) (?:profile|account|system)\b|the one\b|"
    r"the (?:old|current|present|previous|existing|former)\b|gone\b|out\b|dropped\b|removed\b|deleted\b)|"
    r"gets? (?:thrown|dropped|removed|deleted|taken)\b|"
    r"(?:drops?|comes?|goes|falls) (?:out|away|off)\b|no more\b|any ?more\b|"
    r"(?:will|would) (?:go(?= ?[,.;)?]| away)|no longer|disappear|drop out|be (?:removed|deleted|dropped|"
    r"gone)))"
)
"""In "(A is what's there today)"."""
_ASIDE = re.compile(r", (?:under|in|for|on|with|as) [^,.;:]{1,40}(?:, (?:on|in|at|with|for|to)\b|:)")
_GOES_ON = re.compile(r" (?:under|for|in|on|with|as)\b")
"""After "at the moment" in "you hold A at the moment under SF4PKV"."""
_LATER = re.compile(
    r"(?:(?:and|so|then|,) )*(?:after(?:wards)?|following|with|once|as of)\b[^,.;:]{0,20}\b"
    r"(?:change|update|amendment|modification|switch|swap|it's done|done|that)\b|after(?:wards)?\b"
)
"""Begins a sentence about the state after the change: "after the update it has B"."""
_STANDS = re.compile(r"(?:you|it|reservation|they) (?:have|has|are|'re)\b|you're\b")
_TARGETS = frozenset({"to", "into"})
_MEANS = frozenset({"to", "with", "via", "using", "charge", "charged", "paid", "pay"})
_STATES: Mapping[str, Role] = {"kept": "kept", "context": "context"}
_TO = re.compile(r"\bto\b|->|\binto\b")


def _events(text: str, spans: Sequence[Span], marks: re.Pattern[str]) -> list[tuple[int, int, str]]:
    """Return mentions and marks by position; a mark within a mention is part of the name."""
    events = [(start, end, "mention") for start, end in spans]
    covered = sorted(spans)
    place = 0
    for match in marks.finditer(text):
        while place < len(covered) and covered[place][1] <= match.start():
            place += 1
        if place < len(covered) and covered[place][0] < match.end():
            continue
        events.append((match.start(), match.end(), match.lastgroup or ""))
    return sorted(events)


def proposes(unit: Unit) -> bool:
    """Return whether a statement proposes a change, or is an entry of a list other than the present state."""
    if CHANGE.search(unit.full):
        return True
    return bool(unit.heading) and not STATE.search(unit.full)
