"""Distinguishes what is given from what is received in "exchange A for B" and "change A to B".

The verb's object is what the user has, and what follows the preposition is what the user gets, whichever
words describe them. A value that another word calls the present one or the kept one keeps that role.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from nlac_bench.simulators.customer.hear.roles import Role, Span

_SWAP = re.compile(
    r"(?<!in )\b(?:exchang|swap|trad|switch|chang|replac|modif|convert)(?:e|es|ed|y|ied|ing|p(?:ed|ing)|s)?\b"
    r"(?! (?:in|out|it|them|that|this|for|to|into|with|by|back|over)\b)"
)
"""A verb with an object: not "swap in", "change it to"."""
_FOR = re.compile(r"\bfor (?!(?:you|order|this|that|any|free|all|your)\b|the (?:diff|price)|\W)")
_TO = re.compile(r"\b(?:to|into)\b(?! (?:you|your|order|keep|be|get|have|make)\b)|->")
_WITH = re.compile(r"\b(?:with|by)\b(?! (?:you|your|the (?:diff|price))\b)")
_OTHERWISE = re.compile(
    r"\b(?:from|instead|rather than|in place|in return|was|were|currently|receiv\w+|get)\b"
)
"""Words that distribute the roles in another way."""
_GIVE = re.compile(
    r"\b(?:return(?:s|ing)?(?! (?:flight|trip|label|leg)\b)|(?:sen[dt]|hand|giv|tak|tradi?)(?:e|es|ing|s)?"
    r"(?= (?:in|up|back)\b|[^.;]{1,160} back\b)|surrender(?:ing)?)\b"
)
_GET = re.compile(
    r"\b(?:get|receiv|obtain|ship|deliver|sen[dt])(?:e|es|s|ing|ting|ping)?\b"
    r"(?! (?:rid|back|your money|the money|out)\b)(?![^.;]{1,160} back\b)"
)
_WAS = re.compile(r"\b(?:was|were|currently|instead|rather than|in exchange for|in return for|in place of)\b")
_PASSIVE = re.compile(
    r"(?:^|[.;:] )(?=[^.;:]*\bfor\b[^.;:]*\b(?:be|being|is|are) (?:exchanged|swapped|traded)\b)"
)
_GRAMMAR = (
    (_SWAP, (_FOR, _TO, _WITH), _OTHERWISE, True), (_GIVE, (_GET,), _WAS, True), (_GET, (_FOR,), _WAS, False),
    (_PASSIVE, (_FOR,), _WAS, True),
)  # fmt: skip
"""A verb, what joins its object to the rest, words with which it means something else, and whether the
object is given: "exchange A for B", "return A and get B", "get B for A", "A for B will be exchanged"."""
_STOP = re.compile(r"[.;:?!](?=\s|$)|\n|, (?:and |but |so |while )?(?:i|we|it|the (?:diff|refund|price))\b|$")
_NEXT = re.compile(r",? and (?:the |an? )?|, (?:the|an?) ")
"""Begins the next exchange: "A for B and C for D"."""
_BRACKETS = re.compile(r"\([^()]*\)")


def swapped(text: str, spans: Sequence[Span], roles: Sequence[Role]) -> list[Role]:
    """Return ``roles`` of the values at ``spans``, with those that an exchange gives as present."""
    result = list(roles)
    flat = _BRACKETS.sub(lambda positions: "_" * len(positions[0]), text)
    for verbs, joints, others, gives in _GRAMMAR:
        for verb in verbs.finditer(flat):
            stop = _STOP.search(flat, verb.end())
            begin, end = verb.end(), stop.start() if stop else len(flat)
            if others.search(flat, begin, end):
                continue
            positions = ([mark.start() for mark in joint.finditer(flat, begin, end)] for joint in joints)
            marks = next(filter(None, positions), [])
            for mark, after in pairwise([*marks, end]):
                cuts = [cut.start() for cut in _NEXT.finditer(flat, mark, after)] if after < end else []
                limit = cuts[-1] if cuts else after
                first = [i for i, (start, _) in enumerate(spans) if begin <= start < mark]
                second = [i for i, (start, _) in enumerate(spans) if mark < start < limit]
                if first and second:
                    _mark(result, first, second) if gives else _mark(result, second, first)
                begin = limit
    return result


def _mark(roles: list[Role], given: Sequence[int], received: Sequence[int]) -> None:
    """Set the roles of given and received goods, unless another word marks them as kept or present."""
    for place in given:
        roles[place] = roles[place] if roles[place] == "kept" else "present"
    for place in received:
        roles[place] = roles[place] if roles[place] in ("kept", "present") else "new"
