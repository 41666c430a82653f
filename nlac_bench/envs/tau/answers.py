"""Decides whether the agent has told the user an answer: the value is stated, and no other one competes.

A message states a number as the answer if the number stands in it and, in the same message,

1. every other number of its kind is *known*, was asked for as well, or follows from others: it is a summand
   of the answer, a sum, a difference or a product of numbers of the message, or a known number times a count
   that the message has; at most three numbers follow from others. A number is known if the user, the policy
   or the result of a call said it before the agent did, if it counts something in a result, or if the agent
   passed it to a call that succeeded;
2. it is not an entry of a list of numbers (three or more in a row, or two without any words), nor an
   alternative ("6 or 7"); a list of summands with their sum is none;
3. no other statement says the same of another number ("It is 6. It is 7.");
4. it is not in a line of quoted JSON, and the message has at most ``MOST`` different numbers of its kind.

Whoever lists all numbers that come into question breaks the first rule; whoever repeats what the tools said
without choosing breaks one of the others. Words, such as the name of a material, need only be said.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate, combinations
from typing import Any, Self

from nlac_bench.envs.tau.values import Stated, as_decimal, canonical, counts_of, numbers_of, stated

MOST = 40
"""Different numbers of the answer's kind that a message may have."""
MOST_STATED = 5 * MOST
"""Numbers that a message with several of the answer's kind may have, counted with repetitions."""
MOST_DERIVED = 3
"""Numbers of a message that may follow from others."""

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?", re.ASCII)
_BETWEEN = re.compile(r"(?:[\s,;|/&•*()\[\]{}_'\"-]|\band\b|\bor\b|\bto\b)*", re.IGNORECASE)
_OR = re.compile(r"\bor\b", re.IGNORECASE)
_COUNTS = {2: "two", 3: "three", 4: "four", 5: "five"}
_KEY = re.compile(r'"\s*:')
_ENDS = re.compile(r"(?<=[.!?;])\s+|\n+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


class OutputAnswers:
    """Follows a conversation, and notes which of the ``outputs`` that a task demands have been told.

    All fields are immutable, so a copy is cheap. Reading a text takes time in proportion to its length.
    """

    def __init__(self, outputs: Sequence[str], policy: str = "") -> None:
        self.told: frozenset[str] = frozenset()
        self._outputs = tuple(outputs)
        self._asked = frozenset().union(*(numbers_of(output) for output in outputs))
        self._known = numbers_of(policy) if outputs else frozenset()
        self._said: frozenset[str] = frozenset()
        self._passed: frozenset[str] = frozenset()

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def hear(self, text: str) -> None:
        """Note a message of the user, who may repeat what the agent said."""
        if self._outputs:
            self._known |= numbers_of(text) - self._said

    def call(self, arguments: Mapping[str, Any], result: str, failed: bool) -> None:
        """Note a call, whose result may repeat texts of the agent's arguments."""
        if not self._outputs:
            return
        texts, numbers = _scalars(arguments)
        self._passed |= frozenset().union(*(numbers_of(text) for text in texts)) - self._known
        if not failed:
            self._known |= (numbers_of(result) - self._passed) | counts_of(result) | numbers

    def say(self, message: str) -> None:
        """Note a message of the agent."""
        if self._outputs and isinstance(message, str):  # a recorded call may have no text
            self.told |= {output for output in self._outputs if self._states(message, output)}
            self._said |= numbers_of(message) - self._known

    def _states(self, message: str, output: str) -> bool:
        if not _NUMBER.fullmatch(output):
            return contains(output, message)
        value, numbers = canonical(output.lstrip("+-")), stated(message)
        return any(self._is_answer(message, each, numbers) for each in _first_of_each_kind(value, numbers))

    def _is_answer(self, message: str, answer: Stated, numbers: Sequence[Stated]) -> bool:
        """Return whether ``message``, whose numbers are ``numbers``, states one of them as the answer."""
        alike = [each for each in numbers if each.kind == answer.kind]
        values = {each.value for each in alike} - self._asked
        if not values:
            return True
        if len(values) > MOST or len(numbers) > MOST_STATED:
            return False
        unknown = values - self._known
        if len(unknown) > MOST_DERIVED or not self._follow(
            unknown, as_decimal(answer.value), message, numbers
        ):
            return False
        forms = _forms(message, alike)
        return any(
            not _is_quoted(message, each)
            and not self._is_listed(message, place, alike, forms[place][1])
            and not self._is_repeated(place, alike, forms)
            for place, each in enumerate(alike)
            if each.value == answer.value
        )

    def _follow(
        self, unknown: Collection[str], answer: Decimal, message: str, numbers: Sequence[Stated]
    ) -> bool:
        """Return whether the ``unknown`` numbers add up to the answer, follow from others of the message, or
        are a known number times a count that the message states."""
        given = [as_decimal(each.value) for each in numbers if each.value not in unknown]
        derived = {result for a, b in combinations(given, 2) for result in (a + b, abs(a - b), a * b)}
        for start in range(len(given)):
            derived.update(accumulate(given[start:]))
        counts = {int(each.value) for each in numbers if each.kind == "count"}
        counts |= {count for count, word in _COUNTS.items() if word in message.lower()}
        if sum(as_decimal(value) for value in unknown) == answer:
            return True
        return all(
            as_decimal(value) in derived
            or any(canonical(f"{as_decimal(value) / count:f}") in self._known for count in counts if count)
            for value in unknown
        )

    def _is_listed(self, message: str, place: int, alike: Sequence[Stated], words: str) -> bool:
        """Return whether the number is one of several in a row, or an alternative; ``words`` are those of its
        statement."""
        first = last = place
        while first and _BETWEEN.fullmatch(message, alike[first - 1].end, alike[first].start):
            first -= 1
        while last + 1 < len(alike) and _BETWEEN.fullmatch(message, alike[last].end, alike[last + 1].start):
            last += 1
        others = [each.value for each in alike[first : last + 1] if each.value not in self._asked]
        if others and not any(letter.isalpha() for letter in words):
            return True
        if others and _OR.search(message, alike[first].end, alike[last].start):
            return True
        summed = sum(as_decimal(value) for value in others) == as_decimal(alike[place].value)
        return len(set(others)) > 1 and not summed

    def _is_repeated(self, place: int, alike: Sequence[Stated], forms: Sequence[tuple[int, str]]) -> bool:
        """Return whether another statement has the same words and another number."""
        statement, form = forms[place]
        return any(
            other != statement and words == form and each.value not in self._asked
            for (other, words), each in zip(forms, alike, strict=True)
        )


def _first_of_each_kind(value: str, numbers: Sequence[Stated]) -> Collection[Stated]:
    return {each.kind: each for each in reversed(numbers) if each.value == value}.values()


def _is_quoted(message: str, number: Stated) -> bool:
    """Return whether the line of the number has a key of JSON."""
    start = message.rfind("\n", 0, number.start) + 1
    end = message.find("\n", number.end)
    return _KEY.search(message, start, len(message) if end < 0 else end) is not None


def _forms(message: str, numbers: Sequence[Stated]) -> list[tuple[int, str]]:
    """Return for each of ``numbers`` the place of its statement, and the words of it with a mark for each of
    them. Statements are sentences and lines."""
    ends = [match.start() for match in _ENDS.finditer(message)] + [len(message)]
    forms: dict[int, str] = {}
    places = []
    for each in numbers:
        index = bisect_left(ends, each.end)
        places.append(index)
        if index not in forms:
            start = ends[index - 1] if index else 0
            inside = [other for other in numbers if start <= other.start < ends[index]]
            forms[index] = _words(message, start, ends[index], inside)
    return [(index, forms[index]) for index in places]


def _words(message: str, start: int, end: int, numbers: Sequence[Stated]) -> str:
    parts = []
    for each in numbers:
        parts += [message[start : each.start], " 0 "]
        start = each.end
    return " ".join(re.findall(r"[\w#]+", "".join([*parts, message[start:end]]).lower()))


def contains(output: str, message: str) -> bool:
    """Return whether ``message`` has ``output`` as whole words: "IL" is not in "mail"."""
    pattern = re.escape(output.lower())
    if output[-1:].isalpha():
        pattern += "s?"
    whole = re.compile(rf"(?<![^\W_])(?<!\d[-:/.]){pattern}(?![^\W_])(?![-:/.]\d)")
    return whole.search(_THOUSANDS.sub("", message.lower())) is not None


def _scalars(value: Any) -> tuple[list[str], frozenset[str]]:
    """Return the texts in the arguments of a call, and the values of its numbers."""
    texts: list[str] = []
    numbers: set[str] = set()
    layer = [value]
    while layer:
        item = layer.pop()
        if isinstance(item, Mapping):
            layer += item.values()
        elif isinstance(item, list):
            layer += item
        elif isinstance(item, str):
            texts.append(item)
        elif isinstance(item, int | float) and not isinstance(item, bool):
            numbers |= numbers_of(str(item))
    return texts, frozenset(numbers)
