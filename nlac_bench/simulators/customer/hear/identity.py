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


_VERIFY = re.compile(
    r"(?<!for your )\b(?:verif|authenticat|identif)\w*|\blook you up\b|\bfind you\b|\bpull up your\b"
)
_UNKNOWN = re.compile(
    r"(?:\b(?:not|no|never|cannot|unable|nothing|nobody|neither|zero|fail(?:s|ed)?)\b|n't\b)"
    r"(?:(?! (?:need|without|until|before|longer)\b)[^.;!?]){0,40}?"
    r"\b(?:identif|verif|authenticat|confirm (?:it's you|who|your identity)|locat|find\b|found\b|match|"
    r"recogni[sz]e|exist|pull(?:ed)? up|c[ao]mes? (?:up|back)|enough|sufficient|suffice|adequate|valid\b|"
    r"correct|correspond|registered|on file|on record|in (?:our|the|my) (?:system|records|database|files)|"
    r"know who|work(?:s|ed)?\b(?! (?:out|for you))|do\b(?=\W*$)|tell me who|such|results?|hits?|"
    r"accounts?|users?|customers?|profiles?|records?|linked|tied|associated|look you up)|"
    r"\b(?:insufficient|unverified|unidentified|invalid|incorrect|unknown|wrong|unrecogni[sz]ed)\b|"
    r"\b(?:alone|only|just)\b[^.;!?]{0,30}(?:\bnot\b|n't\b)|"
    r"\bcame (?:up empty|back (?:empty|with nothing|blank))|\bmore than (?:just )?(?:that|this|your|an?)\b"
)
"""Says that the user was not found, or that the given data do not suffice to find the user."""
_WHO = re.compile(
    r"\b(?:you|your (?:details|information|data)|accounts?|profiles?|users?|customers?|records?|system|"
    r"database|anyone|anybody|someone|somebody|nobody|identif\w*)\b"
)
_ADMITS = re.compile(r"\byou(?:'re| are) (?:\w+ )?(?:right|correct)\b|\bmy (?:mistake|bad|error|fault)\b")
"""Agrees with an objection of the user."""
_OF_GOODS = re.compile(
    r"\b(?:orders?|reservations?|bookings?|items?|products?|flights?|trips?|return|exchange|cancel\w*|"
    r"refund\w*|cards?|payments?|policy|bags?|cabin|price|stock|available|changes?)\b"
)
