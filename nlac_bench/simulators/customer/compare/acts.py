"""Finds the verbs by which a sentence of an agent acts, or says that something will be or has been done."""

import re
from collections.abc import Iterator

_ADVERBS = (
    r"(?:(?:also|now|then|just|simply|still|first|next|only|please|even|therefore|already|both|all|not|"
    r"go ahead and|went ahead and|gone ahead and|go on and|be able to|be happy to|be glad to|happily|gladly|like to|"
    r"love to|need to|have to|want to|going to|about to|able to|proceed to|\w+ly) )*"
)
_ACT = re.compile(
    r"\b(?:(?:i|we)(?:'ll|'d|'ve|'m|'re)?(?: (?:will|would|can|could|shall|should|may|might|must|have|had|am|are))?|"
    r"(?:shall|should|may|can|could|must) (?:i|we)|(?:want|like|need|ask|wish) (?:me|us) to|for me to|"
    rf"let (?:me|us)|let's) {_ADVERBS}(?P<verb>[a-z][a-z-]+)\b|"
    r"\b(?:will|would|shall|should|can|could|gets?|is|are|was|were|has|have|be)(?: (?:also|now|then|all|both|"
    rf"already|just|\w+ly))*(?: been| be| being)? {_ADVERBS}(?P<passive>[a-z]+(?:ed|t|n|wn))\b|"
    rf"(?:\band|\bthen|,|;|^|:) {_ADVERBS}(?P<next>[a-z][a-z-]+)(?= (?:it|this|that|them|the|your|you|an?|all|both|"
    r"every|any|one|two|another|only|just|order|reservation|\$|\d|[a-z]+_\d))"
)
_NEGATED = re.compile(
    r"\b(?:not|never|cannot|nor|without|unless|if|once|after|before|until|when|nothing|no|only)\b[^,;:]*$|n't\b[^,;:]*$"
)


def acts(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the verbs of ``text``, in lower case, that act and are not negated or conditional, with their place."""
    for match in _ACT.finditer(text):
        place = match.lastgroup or "verb"
        if not _NEGATED.search(text, max(0, match.start() - 40), match.start(place)):
            yield match[place], match.start(place), match.end(place)
