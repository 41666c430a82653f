"""Decides whether a sentence asks who the user is, or says that the agent does not know it."""

import re

from nlac_bench.simulators.customer.hear.signals import SLIP
from nlac_bench.simulators.customer.hear.topics import topics

IDENTITY = frozenset({"email", "zip", "name", "user_id", "identity"})
"""Topics of questions about the user's identity."""


def wants_identity(sentence: str) -> bool:
    return bool(topics(sentence) & IDENTITY) or bool(_VERIFY.search(sentence))


def is_unidentified(sentence: str, bare: bool) -> bool:
    """Return whether a sentence says that the given data do not identify the user.

    With ``bare``, directly after the user has stated its identity, a short sentence need not name its
    subject.
    """
    if not _UNKNOWN.search(sentence) or _OF_GOODS.search(sentence):
        return False
    if wants_identity(sentence):
        return True
    if SLIP.search(sentence) or _ADMITS.search(sentence):
        return False
    if _WHO.search(sentence):
        return True
    return bare and len(sentence.split()) < 10 and not sentence.endswith("?")


_VERIFY = re.compile(r"(?<!for your )\b(?:verif|identif)\w*|\blook you up\b|\bfind you\b|\bpull up your\b")
_UNKNOWN = re.compile(
    r"(?:\b(?:not|no|nothing|nobody)\b|n't\b)(?:(?! (?:need|until)\b)[^.;!?]){0,40}?\b(?:verif|authenticat|"
    r"locat|find\b|c[ao]mes? (?:up)|enough|in (?:our) (?:system)|know who|work(?:s)?\b(?! (?:out))|"
    r"do\b(?=\W*$)|accounts?|users?|profiles?|associated|look you up)|\b(?:wrong)\b|"
    r"\b(?:alone)\b[^.;!?]{0,30}(?:n't\b)"
)
"""Says that the user was not found, or that the given data do not suffice to find the user."""
_WHO = re.compile(r"\b(?:you|accounts?|profiles?|users?|database)\b")
_ADMITS = re.compile(r"\bmy (?:bad)\b")
"""Agrees with an objection of the user."""
_OF_GOODS = re.compile(r"\b(?:orders?|reservations?|changes?)\b")
