"""Resolves questions that point back: "I can find you by email. Which can you give?"."""

import re
from collections.abc import Sequence

from nlac_bench.simulators.customer.hear.actions import RETAIL_ID
from nlac_bench.simulators.customer.hear.identity import IDENTITY
from nlac_bench.simulators.customer.hear.slots import methods
from nlac_bench.simulators.customer.hear.structure import Unit
from nlac_bench.simulators.customer.hear.topics import any_of, topics

_VERB = (
    r"(?=\W*$| (?:can|could|may|do|does|did|would|will|should|shall|is|are|works?|suits?|fits?|have|you|i)\b)"
)
_POINTS = any_of(
    r"\b(?:which|either|any|one|what) (?:one )?of (?:these|those|them|the (?:two|three|above|following))"
    rf"{_VERB}",
    rf"\bwhich(?: ones?| way| option| method)?{_VERB}|\bwhich one (?=to\b|for\b)",
    r"\bwhat (?:can|could|would|will|do|should|shall) (?:you|i|we)\b",
)
_OF_THOSE = re.compile(r"\bwhich (?:one )?of (?:them|these|those)\b")
_PRONOUN = re.compile(
    r"(?:and |so )?(?:what|which|who|where)(?:'s| is| are|'re| was| would| will| might| should| shall)? "
    r"(?:it|that|this|they|those|he|she)(?: be)?(?:,? please)?\?"
)
"""A question with a pronoun only: "I need a reason. What is it?"."""
_VAGUE = re.compile(
    r"\bwhat (?:it|that|this|they) (?:is|was|are|were|would be)\b|\b(?:what|which) (?:may|can|could|"
    r"should|shall|do|"
    r"would) (?:i|we|you) (?:\w+ )?(?:enter|put|write|note|log|record|select|give|choose|pick|fill|use|"
    r"have|say)\b|\b(?:share|tell|give|send|provide|spell|state)\b (?:me |us )?(?:it|that|this|them|both)\b"
)
_LACKED = re.compile(
    r"\b(?:need|want|require|must|ask|lack|miss|demand|oblig|mandator|has to|have to|requires?|record|"
    r"log)\w*\b"
)
"""States what is missing; a vague question refers to it: "I need a reason. What is it?"."""
_TOLD = frozenset({
    "reason", "payment", "address", "cabin", "flights", "date", "passengers", "bags", "items", "options",
    "record", "insurance", "email", "zip", "name", "user_id",
})  # fmt: skip
_OPEN = frozenset({"unclear", "record", "flights", "items", "request", "payment", "options"})
"""Topics that such a word may seem to name."""
_FINDS = re.compile(
    r"\b(?:find|found|look\w*|locat\w+|identif\w+|verif\w+|search\w*|pull\w*|access|open|reach|match\w*|"
    r"authenticat\w+|"
    r"know who|sure who|recogni[sz]e)\b"
)
_MAY = re.compile(
    r"\b(?:can|could|may|might|able to|possible|possibly|works?|either|options?|ways?|need|by|via)\b"
)
_KNOWN = re.compile(
    r"\b(?:i|we)(?:'ve| have)? (?:now )?(?:found|verified|located|identified|confirmed)\b|\bthank"
)
_WHICH_ONE = re.compile(r"\bwhich (?:one|of (?:them|these|those))\b")
_SEVERAL_RECORDS = re.compile(r"\b(?:orders|reservations|bookings|trips)\b")
"""Names records of which the user has several: "I see three reservations. Which one is it about?"."""
_SPENDS = re.compile(
    r"\b(?:use|charge|bill|debit|apply|pay|refund|credit|prefer|put|go with|go(?:es)? (?:to|on|onto)"
    r"|work|suit|be)\w*\b"
)
_ACTS_ON = re.compile(r"\b(?:return|exchang|swap|replac|cancel|modif|send|chang|mov|updat|switch)\w*")
_PURPOSE = re.compile(r"\bfor (?:this|the|your|that|any) [\w ]{1,30}")


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
