"""Knows the words in which agents serve a request; whatever else a message speaks of is not part of it.

``words.txt`` lists the stems of the words that agents use when they serve a request and do nothing else: a
line for the words of any request, then one for each kind of goal. A stem after ``+`` is a verb by which an
agent acts ("I'll cancel …"), one after ``=`` a verb that says what is done ("… will be charged"). A word that
is neither there nor among what the user knows about itself is strange to the request.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from nlac_bench.simulators.counting import NUMBERS
from nlac_bench.simulators.customer.compare.acts import Act, acts
from nlac_bench.simulators.customer.intent.goals import AIRPORTS, Goal, Script

_WORD = re.compile(r"(?<![\w#@./-])[a-z][a-z'-]*[a-z](?![\w@_-])")
_TAIL = re.compile(r"(?:'(?:s|ll|d|re|ve|m)?|n't)$")
_ENDINGS = (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("ly", ""))


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return ``word``, in lower case, without the usual endings of English."""
    word = _TAIL.sub("", word.replace("e-mail", "email")).strip("-'")
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending) + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


@lru_cache(maxsize=1)
def vocabulary() -> Mapping[str, frozenset[str]]:
    """Return the stems of each kind of goal, and of any request under ``any``."""
    lines = files(__package__).joinpath("words.txt").read_text(encoding="utf-8").splitlines()
    return {kind: frozenset(words.split()) for kind, _, words in (line.partition(": ") for line in lines)}


class Known:
    """The words that belong to a goal: those of its kind, and those of what its user knows about itself."""

    def __init__(self, goal: Goal, script: Script) -> None:
        words = vocabulary()
        goods = tuple(script.vocabulary.get(thing.product, {}) for thing in goal.items)
        texts: list[str] = []
        _collect((script.person, script.goals, script.profile, goods), texts)
        self._text = " ".join(texts).lower()
        self._own = _own(self._text)
        self._words = (
            words["any"] | words.get(_kind(goal, script), frozenset()) | self._own | {*map(stem, NUMBERS)}
        )

    @classmethod
    def of(cls, goal: Goal, script: Script) -> "Known":
        """Return what is known of ``goal``, which a conversation asks about in each of its messages."""
        return _known(_Same(goal), _Same(script))

    def strange(self, text: str) -> list[tuple[int, int]]:
        """Return where ``text``, in lower case, has words that do not belong to the goal."""
        return [
            match.span() for match in _WORD.finditer(text)
            if not (self._has(match[0]) or _ASIDE.match(text, match.end()) or match[0].endswith("ly")
                    or (_ADDRESSED.search(text, 0, match.start()) and _CLOSES.match(text, match.end()))
                    or _CODED.search(text, 0, match.start())
                    or _CANNOT.search(text, 0, match.start()))
        ]  # fmt: skip

    def acts(self, text: str) -> list[Act]:
        """Return the acts in ``text``, without words that are the user's own or never verbs."""
        known = vocabulary().values()
        return [
            act for act in acts(text)
            if (word := stem(act.verb)) not in self._own
            and (act.kind != "next" or any({f"+{word}", f"={word}"} & words for words in known))
        ]  # fmt: skip

    def strange_acts(self, text: str) -> list[tuple[int, int]]:
        """Return where ``text`` has verbs of acts that do not belong to the goal, and that have an object."""
        return [
            (act.start, act.end) for act in self.acts(text)
            if ("=" if act.kind == "done" else "+") + stem(act.verb) not in self._words
            and not _ASIDE.match(text, act.end)
        ]  # fmt: skip

    def says(self, value: str) -> bool:
        """Return whether ``value`` is among what the user knows about itself and its requests."""
        return re.search(rf"(?<![\w-]){re.escape(value)}(?![\w-])", self._text) is not None

    def _has(self, word: str) -> bool:
        return stem(word) in self._words or all(stem(part) in self._words for part in word.split("-"))


def _kind(goal: Goal, script: Script) -> str:
    """Return the kind of ``goal``; that of a cancellation with the word for what is cancelled."""
    if goal.kind in ("cancel", "ask"):
        return f"{goal.kind}_{'airline' if script.person.user_id else 'retail'}"
    return goal.kind


_ASIDE = re.compile(
    r"(?: (?:it|this|that|these|them|everything|all|through|on|ahead|away|now|for you|then|right|so|up|off))+"
    r"(?:[.,;:?!]|$| (?:and|but|or|if|when|once)\b)"
)
"""After a verb without an object of its own: "shall i whack it through?"."""
_CANNOT = re.compile(r"\b(?:can't|cannot|can not|won't|couldn't|unable|not able)\b[^,;:.?!]*$")
"""Before what is impossible, which nobody proposes: "it can't be brought back"."""
_CODED = re.compile(r"\b(?:reservation|booking|confirmation)(?: (?:id|code|number|reference))?(?: is|:)? $")
"""Before a code that may be a word: "reservation HATHAT"."""
_ADDRESSED = re.compile(r", $")
_CLOSES = re.compile(r"[.?!]|$")
"""Around a word that addresses the user: "…, mate?"."""


def _own(text: str) -> frozenset[str]:
    """Return the stems of the words in what the user knows, and those of the cities of its airports."""
    words = set(re.findall(r"[a-z][a-z'-]*[a-z]", text.replace("_", " ")))
    cities = {
        word for code, city in AIRPORTS.items() if code.lower() in words for word in city.lower().split()
    }
    return frozenset(map(stem, words | cities))


def _collect(value: Any, texts: list[str]) -> None:
    """Append all texts inside ``value`` to ``texts``."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, tuple):
        for part in value:
            _collect(part, texts)
    elif is_dataclass(value):
        for field in fields(value):
            _collect(getattr(value, field.name), texts)
    elif isinstance(value, Mapping):
        for pair in value.items():
            _collect(pair, texts)


class _Same:
    """A value that equals only itself. Goals and scripts have mappings, which cannot be hashed."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


@lru_cache(maxsize=64)  # its keys keep goals and scripts alive, so that no other object gets their identity
def _known(goal: _Same, script: _Same) -> Known:
    return Known(goal.value, script.value)
