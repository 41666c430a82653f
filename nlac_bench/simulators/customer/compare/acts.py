"""Finds the verbs by which a sentence of an agent acts, or says what will be or has been done."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ADVERBS = (
    r"(?:(?:also|now|then|just|simply|still|first|next|only|please|even|therefore|already|both|all|"
    r"go ahead and|went ahead and|gone ahead and|go on and|be able to|be happy to|be glad to|like to|"
    r"love to|need to|have to|want to|going to|about to|able to|proceed to|\w+ly) )*"
)
_OBJECT = (
    r"(?= (?:it|this|that|them|the|your|you|an?|all|both|every|any|one|two|another|only|just|order|"
    r"reservation|"
    r"\$|\d|[a-z]+_\d|[a-z]*\d[a-z\d]*\b|[a-z]+ (?:insurance|bags?|seats?|passengers?|flights?|orders?)\b))"
)
_ACT = re.compile(
    r"\b(?:(?:i|we)(?:'ll|'d|'m|'re)?(?: (?:will|would|can|could|shall|should|may|might|must|am|are))?|"
    r"(?:shall|should|may|can|could|must) (?:i|we)|(?:want|like|need|ask|wish|prefer) (?:(?:me|us) "
    r")?to|for me to|"
    rf"let (?:me|us)|let's) {_ADVERBS}(?P<does>(?!not\b|never\b|no\b)[a-z][a-z-]+)\b(?!')|"
    rf"(?:\b(?:and|then|or)|,|;|:|^) {_ADVERBS}(?P<next>(?!shipping\b|your\b|the\b|an?\b|to\b|in\b|"
    rf"on\b|for\b|with\b|"
    rf"from\b|of\b|at\b|by\b|as\b)"
    rf"[a-z][a-z-]+){_OBJECT}|"
    r"\b(?:will|would|shall|should|can|could|gets?|is|are|was|were|has|have|be|i|we|i've|we've)(?: "
    r"been| be| being)? "
    rf"{_ADVERBS}(?P<done>[a-z]+(?:ed|[^e]nt|[^e]pt|put|set|made|done|bought|wn))\b"
)
_NOT = (
    r"(?:\b(?:not|never|cannot|nor|without|unless|if|once|after|before|until|when|nothing|neither|no|only|must|was|were)\b|n't\b)"
    r"[^,;:]*$"
)
_NEGATED = re.compile(_NOT)


@dataclass(frozen=True, slots=True)
class Act:
    """A verb in a sentence; ``kind`` says where it stands: "I'll cancel" does, "… and cancel" is next, "… is
    cancelled" is done.
    """

    verb: str
    start: int
    end: int
    kind: str


def acts(text: str) -> Iterator[Act]:
    """Yield the words of ``text`` that act if they are verbs, unless negated or conditional."""
    for match in _ACT.finditer(text):
        place = match.lastgroup or ""
        if not _NEGATED.search(text, max(0, match.start() - 40), match.start(place)):
            yield Act(match[place], *match.span(place), place)
