"""Forms: answers with fixed words, choices among given words, and free text, which an engine fills in.

A model of any size can fill in a form, while small models seldom write one by themselves. The fixed words are
not sampled. A choice is sampled among the tokens of its options only, so its log-probabilities are those of
the distribution restricted to them. Free text is sampled as usual.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from nlac_bench.rollout.engines.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Fixed:
    """Words that are written for the model. If they begin with a stop string of the free text before them,
    the model writes it, unless the text ends otherwise."""

    text: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One of ``options``; after one of ``last``, which are options, the answer ends."""

    options: tuple[str, ...]
    last: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Free:
    """Free text. It ends after a stop string that follows other text, at the end token, or at its limit.

    If the next part is free text too, it begins after the stop string and may have other stop strings; the
    end token then ends the answer.

    Args:
        limit: largest number of tokens; the answer goes on after them. None: the rest of the answer, which is
            incomplete if it is cut.
        stop: strings that end the text.
        begins: words without which the segment is skipped; free text follows it.
    """

    limit: int | None = None
    stop: tuple[str, ...] = ()
    begins: str = ""


Segment: TypeAlias = Fixed | Choice | Free
Form: TypeAlias = tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Filled:
    """How the tokens of an answer in a form came about.

    Args:
        sampled: for each token, whether the model had a choice; fixed words are not sampled.
        restricted: the tokens that were possible, for each index at which the options of a choice differ.
        chosen: the options chosen, in order, with the log-probability of the choice.
    """

    sampled: list[bool] = field(default_factory=list)
    restricted: dict[int, list[int]] = field(default_factory=dict)
    chosen: list[tuple[str, float]] = field(default_factory=list)


def check_form(form: Form) -> None:
    """Check that ``form`` can be filled in.

    Raises:
        ValueError: there are no fixed words between a choice and another slot, a segment is empty, or other
            segments than free text follow free text without a limit, or text that may be skipped.
    """
    if not form:
        raise ValueError("a form needs at least one segment")
    for segment, following in zip(form, (*form[1:], None), strict=True):
        slots = not isinstance(segment, Fixed) and isinstance(following, Choice | Free)
        if slots and Choice in (type(segment), type(following)):
            raise ValueError(f"fixed words must stand between {segment!r} and {following!r}")
        if isinstance(segment, Fixed):
            if not segment.text or isinstance(following, Fixed):
                raise ValueError(f"fixed words must not be empty, nor follow others, got {segment!r}")
        elif isinstance(segment, Choice):
            if not segment.options or len(set(segment.options) - {""}) < len(segment.options):
                raise ValueError(f"a choice needs different, non-empty options, got {segment.options!r}")
            if not set(segment.last) <= set(segment.options):
                raise ValueError(f"last = {segment.last!r} are not among the options {segment.options!r}")
        elif segment.limit is not None and segment.limit < 1:
            raise ValueError(f"the limit of free text must be at least 1, got {segment.limit!r}")
        elif segment.begins and not isinstance(following, Free):
            raise ValueError(f"free text must follow {segment!r}, which may be skipped")
        elif segment.limit is None and isinstance(following, Fixed):
            raise ValueError(f"free text before {following!r} needs a limit")


class FormTokens:
    """The tokens of a form's fixed words and options, in the order of its segments.

    An option has a further token, which ends it: the first token of the words that follow, or the end token.
    So an option may begin with another one, such as 1 and 10.

    Raises:
        ValueError: see ``check_form``.
    """

    def __init__(self, form: Form, tokenizer: Tokenizer) -> None:
        check_form(form)
        self.form, self.tokenizer = form, tokenizer
        assert tokenizer.eos_token_id is not None
        self.end_id = int(tokenizer.eos_token_id)
        self.fixed: dict[int, tuple[list[int], list[int]]] = {}
        """By segment: the tokens of fixed words, whole and without the stop string at their beginning."""
        self.options: dict[int, dict[str, list[int]]] = {}
        for i, segment in enumerate(form):
            if isinstance(segment, Fixed):
                rest = segment.text.removeprefix(stop_before(form, i))
                self.fixed[i] = self.ids(segment.text), self.ids(rest)
        for i, segment in enumerate(form):
            if isinstance(segment, Choice):
                before = form[i - 1] if i else None
                words = before.text if isinstance(before, Fixed) else ""
                after = self.fixed[i + 1][0][0] if i + 1 < len(form) else self.end_id
                self.options[i] = {
                    option: [*self._within(words, option), self.end_id if option in segment.last else after]
                    for option in segment.options
                }

    def ids(self, text: str) -> list[int]:
        """Return the tokens of ``text``."""
        return [int(i) for i in self.tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _within(self, before: str, text: str) -> list[int]:
        """Return the tokens of ``text`` after ``before``; some tokenizers treat a text's first word apart."""
        first, both = self.ids(before) if before else [], self.ids(before + text)
        return both[len(first) :] if both[: len(first)] == first else self.ids(text)

    def needed(self, after: int) -> int:
        """Return the largest number of tokens of fixed words, options and end after a segment."""
        fixed = sum(len(whole) for i, (whole, _) in self.fixed.items() if i > after)
        options = sum(max(map(len, o.values())) for i, o in self.options.items() if i > after)
        return fixed + options + isinstance(self.form[-1], Fixed)

    def encoded(self, text: str) -> tuple[list[int], Filled] | None:
        """Return the tokens of an answer in this form, with its end token; None if it has another form."""
        match = _pattern(self.form).fullmatch(text.strip())
        if match is None:
            return None
        ids: list[int] = []
        filled = Filled()

        def add(tokens: Sequence[int], sampled: bool) -> None:
            ids.extend(tokens)
            filled.sampled.extend([sampled] * len(tokens))

        begun = 0  # tokens of the next fixed words that ended a choice
        stop = ""  # with which the text before them ends
        for i, segment in enumerate(self.form):
            value = match[f"s{i}"]
            if value is None:  # the answer ended with another option than one of ``last``
                return None
            if isinstance(segment, Fixed):
                add(self.fixed[i][1] if stop else self.fixed[i][0][begun:], sampled=False)
                begun = 0
            elif isinstance(segment, Free):
                stop = stop_before(self.form, i + 1)
                add(self.ids(value + stop), sampled=True)
            else:
                left = list(self.options[i].values())
                for depth, token in enumerate(self.options[i][value]):
                    possible = list(dict.fromkeys(each[depth] for each in left))
                    if len(possible) > 1:
                        filled.restricted[len(ids)] = possible
                    add([token], sampled=len(possible) > 1)
                    left = [each for each in left if each[depth] == token]
                if value in segment.last or i == len(self.form) - 1:
                    return ids, filled
                begun, stop = 1, ""
        add([self.end_id], sampled=isinstance(self.form[-1], Free))
        return ids, filled


def stop_before(form: Form, at: int) -> str:
    """Return the stop string of the free text before segment ``at`` with which its words begin, or ""."""
    before, segment = (form[at - 1] if at else None), (form[at] if at < len(form) else None)
    if not isinstance(before, Free) or not isinstance(segment, Fixed):
        return ""
    return next((stop for stop in before.stop if segment.text.startswith(stop)), "")


@lru_cache(maxsize=256)
def _pattern(form: Form) -> re.Pattern[str]:
    """Return a pattern of answers in ``form``, with a group ``s{i}`` for each segment."""
    parts, optional = [], 0
    for i, segment in enumerate(form):
        if isinstance(segment, Fixed):
            stop = stop_before(form, i)
            words = re.escape(segment.text)
            if stop:  # a token may contain further white space
                words = re.escape(stop) + r"\s*" + re.escape(segment.text.removeprefix(stop).lstrip())
            parts.append(f"(?P<s{i}>{words})")
        elif isinstance(segment, Free):
            parts.append(f"(?P<s{i}>.*?)")
        else:
            parts.append(f"(?P<s{i}>{'|'.join(map(re.escape, segment.options))})")
            if segment.last:
                parts.append("(?:")
                optional += 1
    return re.compile("".join(parts) + ")?" * optional, re.DOTALL)
