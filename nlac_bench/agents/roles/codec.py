"""Replaces identifiers by numbers: each order, user, item, payment or reservation id, each address, name and
amount becomes ``~k`` at its first mention, and ``~k`` in the model's answer is expanded again.

Models with a few million parameters copy one token reliably, but not ten digits. The translation is lossless
and depends only on the text of the prompt. It is done by the agent; the environment receives the identifiers.
"""

import functools
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


@functools.lru_cache(maxsize=4096)
def _split(text: str, identifier: re.Pattern[str]) -> tuple[str, ...]:
    """Split ``text`` into parts; the parts at odd indices are identifiers.

    The result is cached: the messages of a conversation are in the prompts of all roles and of later turns.
    """
    parts, end = [], 0
    for match in identifier.finditer(text):
        parts += [text[end : match.start()], match[0]]
        end = match.end()
    return (*parts, text[end:])


def hide(text: str) -> str:
    """Return ``text`` with ``#`` in place of every identifier."""
    return _IDENTIFIER.sub("#", text)


class IdentifierCodec:
    """The numbers of the identifiers in one prompt, in the order in which ``learn`` finds them.

    ``decode(encode(text)) == text`` for every text; a tilde in the text is doubled.
    """

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._identifier: list[str] = []

    def copy(self) -> "IdentifierCodec":
        """Return an independent copy."""
        twin = IdentifierCodec()
        twin._number, twin._identifier = dict(self._number), list(self._identifier)
        return twin

    def learn(self, text: str) -> str:
        """Return ``text`` with every identifier replaced by its number; new identifiers get new numbers."""
        return self._replace(text, grow=True)

    def encode(self, text: str) -> str:
        """Return ``text`` with known identifiers replaced by their numbers; others are kept."""
        return self._replace(text, grow=False)

    def decode(self, text: str) -> str:
        """Return ``text`` with numbers replaced by their identifiers; unknown numbers are kept."""

        def expand(match: re.Match[str]) -> str:
            if match[1]:
                return "~"
            number = int(match[2]) if len(match[2]) < 6 else -1
            return self._identifier[number] if 0 <= number < len(self._identifier) else match[0]

        return _WRITTEN.sub(expand, text)

    def _replace(self, text: str, grow: bool) -> str:
        parts = _split(text, _IDENTIFIER)
        out = [parts[0].replace("~", "~~")]
        for i in range(1, len(parts), 2):
            identifier, after = parts[i], parts[i + 1]
            number = self._number.get(identifier)
            if number is None and grow:
                number = self._number[identifier] = len(self._identifier)
                self._identifier.append(identifier)
            # "~1" followed by a digit of the text would be parsed as another number.
            followed_by_digit = "".join(parts[i + 1 : i + 3])[:1].isdigit()
            out.append(identifier if number is None or followed_by_digit else f"~{number}")
            out.append(after.replace("~", "~~"))
        return "".join(out)
