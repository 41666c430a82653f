"""Numbered identifiers: each order, user, item, payment or reservation id, each address, name and amount
becomes ``~k`` at its first mention and is expanded again in the model's words.

Copying ten digits is the hard part for a model of a few million parameters; copying one token is not. The
translation is fixed by what a prompt mentions, is lossless, and lives on the agent's side: the environment
never sees a number.
"""

import re

_IDENTIFIER = re.compile(
    r"""
    [\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+         # e-mail (bounded: model text is hostile)
    | \#W\d+                                             # order
    | (?:credit_card|gift_card|certificate|paypal)_\d+   # payment method
    | \b[a-z]+_[a-z]+(?:_[a-z]+)*_\d{2,}\b               # user
    | \b[A-Z]{2,3}\d{3}\b                                # flight
    | \b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6}\b   # reservation
    | \b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2})?\b       # date
    | \b\d{1,5}\ [A-Z][A-Za-z.'-]*(?:\ [A-Z][A-Za-z.'-]*){1,3}\b   # house number and street
    | \b\d{5,}\b                                         # item, product, zip, certificate
    | \b\d{1,6}\.\d{1,2}\b                              # amount
    | \b(?:Apt|Suite|Unit)\ \d{1,4}\b                   # part of an address
    | (?:(?<=[a-z,:(]\ )|(?<="))(?:[A-Z][a-z]{1,30}|[A-Z]{2,3})\b   # name, city, state, airport
    """,
    re.VERBOSE,
)
_WRITTEN = re.compile(r"~(?:(~)|(\d+)(?![\d]))")


def hide(text: str) -> str:
    """``text`` with ``#`` for every identifier."""
    return _IDENTIFIER.sub("#", text)


class IdentifierCodec:
    """The numbering of one prompt: grows with every ``learn`` (or ``encode``) in reading order.

    ``decode(encode(text)) == text`` for every text; a tilde of the text itself is doubled.
    """

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._identifier: list[str] = []

    def copy(self) -> "IdentifierCodec":
        """An independent numbering that begins as this one is now."""
        twin = IdentifierCodec()
        twin._number, twin._identifier = dict(self._number), list(self._identifier)
        return twin

    def learn(self, text: str) -> str:
        """``text`` with every identifier replaced by its number; new ones get the next."""
        return self._replace(text, grow=True)

    def encode(self, text: str) -> str:
        """``text`` with the identifiers that were learned replaced; others stay as they are."""
        return self._replace(text, grow=False)

    def decode(self, text: str) -> str:
        """The identifiers behind the numbers; a number that names nothing stays as it is."""

        def expand(match: re.Match[str]) -> str:
            if match[1]:
                return "~"
            number = int(match[2]) if len(match[2]) < 6 else -1
            return self._identifier[number] if 0 <= number < len(self._identifier) else match[0]

        return _WRITTEN.sub(expand, text)

    def _replace(self, text: str, grow: bool) -> str:
        parts, end = [], 0
        for match in _IDENTIFIER.finditer(text):
            found = match[0]
            number = self._number.get(found)
            if number is None and grow:
                number = self._number[found] = len(self._identifier)
                self._identifier.append(found)
            # "~1" before a digit of the text would read as another number
            if number is None or text[match.end() : match.end() + 1].isdigit():
                continue
            parts += [text[end : match.start()].replace("~", "~~"), f"~{number}"]
            end = match.end()
        return "".join([*parts, text[end:].replace("~", "~~")])
