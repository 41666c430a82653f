"""Resolves questions that point back: "I can find you by email. Which can you give?"."""

import re
from collections.abc import Sequence

from nlac_bench.simulators.customer.hear.actions import RETAIL_ID
from nlac_bench.simulators.customer.hear.identity import IDENTITY
from nlac_bench.simulators.customer.hear.slots import methods
from nlac_bench.simulators.customer.hear.structure import Unit
from nlac_bench.simulators.customer.hear.topics import any_of, topics

_VERB = r"(?=\W*$| (?:can|do|would|will|should|shall|is|works?|you|i)\b)"
_POINTS = any_of(
    rf"\b(?:which|either|one) (?:one )?of (?:these|those|them|the (?:two|following)){_VERB}",
    rf"\bwhich(?: ones?| method)?{_VERB}|\bwhich one (?=to\b)",
    r"\bwhat (?:can|would|do|should|shall) (?:you|i|we)\b",
)
_OF_THOSE = re.compile(r"\bwhich (?:one )?of (?:them|these|those)\b")
_PRONOUN = re.compile(r"(?:so )?(?:what)(?: is)? (?:it)(?: be)?(?:,? please)?\?")
"""A question with a pronoun only: "I need a reason. What is it?"."""
_VAGUE = re.compile(
    r"\bwhat (?:it) (?:is)\b|\b(?:what|which) (?:can|should|shall|do|would) (?:i|you) (?:\w+ )?(?:give|use|"
    r"have)\b|\b(?:share|tell|give|send|provide)\b (?:me )?(?:it|that)\b"
)
_LACKED = re.compile(r"\b(?:need|require)\w*\b")
"""States what is missing; a vague question refers to it: "I need a reason. What is it?"."""
_TOLD = frozenset({
    "reason", "payment", "address", "cabin", "flights", "date", "passengers", "bags", "items", "options",
    "record", "insurance", "email", "zip", "name", "user_id",
})  # fmt: skip
_OPEN = frozenset({"unclear", "record", "flights", "items", "request", "payment", "options"})
"""Topics that such a word may seem to name."""
_FINDS = re.compile(r"\b(?:find|found|look\w*|locat\w+|verif\w+|pull\w*|access|open|authenticat\w+)\b")
_MAY = re.compile(r"\b(?:can|could|able to|either|options?|ways?|need)\b")
_KNOWN = re.compile(r"\bthank")
_WHICH_ONE = re.compile(r"\bwhich (?:one|of (?:them|these|those))\b")
_SEVERAL_RECORDS = re.compile(r"\b(?:orders|reservations)\b")
"""Names records of which the user has several: "I see three reservations. Which one is it about?"."""
_SPENDS = re.compile(r"\b(?:use|bill|pay|prefer|go(?:es)? (?:to)|work|be)\w*\b")
_ACTS_ON = re.compile(r"\b(?:mov)\w*")
_PURPOSE = re.compile(r"\bfor (?:this|the) [\w ]{1,30}")


def referred(question: str, before: Sequence[Unit]) -> frozenset[str]:
    """Return the topics of the units ``before`` to which ``question`` refers; empty if it names a topic.

    These are the user's identity, where the units say how the user may be found, and the payment, where they
    name several methods.
    """
    if before and _PRONOUN.fullmatch(question):
        return topics(before[-1].text) & _TOLD
    if (
        _OF_THOSE.search(question)
        and len({code for unit in before for code in RETAIL_ID.findall(unit.text)}) == 1
    ):
        return topics(question) - {"record"}  # items of a single order
    if (
        _VAGUE.search(question)
        and topics(question) <= {"request"}
        and _LACKED.search(before[-1].text if before else "")
    ):
        return topics(before[-1].text) & _TOLD or frozenset({"unclear"})
    if not _POINTS.search(question) or topics(question) - _OPEN:
        return frozenset()
    if _WHICH_ONE.search(question) and before and _SEVERAL_RECORDS.search(before[-1].full):
        return frozenset({"record"})
    text = " ".join(unit.full for unit in _said(before))
    identity = topics(text) & IDENTITY
    ways = len(identity - {"identity"}) > 1 or _FINDS.search(text)
    if identity and ways and _MAY.search(text) and not _KNOWN.search(text):
        return frozenset(identity)
    asked = _PURPOSE.sub("", question)
    if _several(text) and _SPENDS.search(asked) and not _ACTS_ON.search(asked):
        return frozenset({"payment"})
    if len(asked.split()) <= 5 and _several(before[-1].text if before else ""):
        return frozenset({"payment"})  # "…: Visa, PayPal. Which of the two?"
    return frozenset()


def _several(text: str) -> bool:
    """Return whether ``text`` names several payment methods."""
    return len({value for *_, value in methods(text)}) > 1


def _said(before: Sequence[Unit]) -> Sequence[Unit]:
    """Return the last statements: the list before the question, or up to three sentences."""
    heading = before[-1].heading if before else ""
    last = [unit for unit in before if unit.heading == heading] if heading else before[-3:]
    return [unit for unit in last if not unit.text.endswith("?")]
