"""Implements what all phrases share: cache, budget, look-up, and "and" and "or"."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

from nlac_bench.simulators.oracle20.find.words import word_set
from nlac_bench.simulators.oracle20.read.comparisons import Comparisons
from nlac_bench.simulators.oracle20.read.formula import (
    And,
    Attr,
    Formula,
    Not,
    Noun,
    Or,
    Role,
    Unknown,
    conjunction,
    unknown_words,
)
from nlac_bench.simulators.oracle20.read.function_words import (
    BE,
    DENIALS,
    DETERMINERS,
    MODALS,
    NEGATIONS,
    PREPOSITIONS,
    VAGUE,
)
from nlac_bench.simulators.oracle20.read.lexicon import Lexicon

Words: TypeAlias = tuple[str, ...]
Reader: TypeAlias = Callable[[Words], Formula | None]
"""Reads a phrase, *all* of it, or returns None."""

_JOINTS = ("and", "but", ",")
_BEGINS_AGAIN = DENIALS | BE | MODALS | word_set("with has have that")
"""Words with which a side of "and" begins that no "not" on the other side denies."""
_OF_NOUNS = ("noun_phrase", "modifiers")
"""Phrases in which a noun, or what precedes it, may follow the word that "non" denies."""

EVERYBODY = tuple(map(Attr, ("children", "adults", "women_wear", "men_wear", "everyone", "unisex")))
"""Attributes of what such people mainly use; an occupation's attribute is what the occupation needs."""
MAX_CALLS = 20_000
"""Maximal number of readings that are tried for a question; beyond it the question is not understood."""


class TooHardError(Exception):
    """Raised for a sentence so ambiguous that parsing it would take too long."""


class Core(ABC):
    """The parsing of one question: its cache, its budget, and the phrase methods that subclasses implement.

    Each phrase method interprets all of its words, or returns None. In a ``partial`` reading a noun may have
    an attribute that is not understood: "a fruit with a thick peel" is then a fruit and something unknown,
    which is sufficient to answer no for a spoon.
    """

    def __init__(self, lexicon: Lexicon, comparisons: Comparisons, partial: bool = False) -> None:
        self.lexicon = lexicon
        self.comparisons = comparisons
        self.partial = partial
        self._memo: dict[tuple[str, Words], Formula | None] = {}
        self._calls = 0

    @abstractmethod
    def be(self, words: Words) -> Formula | None:
        """Read what follows "is it"."""

    @abstractmethod
    def adjective(self, words: Words) -> Formula | None:
        """Read "edible", "red", "soft and warm"."""

    @abstractmethod
    def participle(self, words: Words) -> Formula | None:
        """Read a passive: "eaten raw", "worn on the feet", "driven by people"."""

    @abstractmethod
    def noun_phrase(self, words: Words) -> Formula | None:
        """Read "a large animal with four legs"."""

    @abstractmethod
    def noun(self, words: Words) -> Formula | None:
        """Read a noun, with or without its article."""

    @abstractmethod
    def post(self, words: Words) -> Formula | None:
        """Read what follows a noun: "that flies", "with a handle", "in the kitchen", "to sit on"."""

    @abstractmethod
    def used(self, words: Words) -> Formula | None:
        """Read what follows "used": "for cooking", "to cut", "in sports", "by children"."""

    @abstractmethod
    def use(self, words: Words) -> Formula | None:
        """Read what it is used for: "cut things", "cooking", "entertainment"."""

    @abstractmethod
    def made(self, words: Words) -> Formula | None:
        """Read "made of wood", "built by people", "made in a factory"."""

    @abstractmethod
    def material(self, words: Words) -> Formula | None:
        """Read "wood", "metal or plastic", "a soft material"."""

    @abstractmethod
    def place(self, words: Words) -> Formula | None:
        """Read "in the kitchen", "on a farm or in a zoo", "outdoors"."""

    @abstractmethod
    def user(self, words: Words) -> Formula | None:
        """Read who uses it."""

    @abstractmethod
    def power(self, words: Words) -> Formula | None:
        """Read what drives it."""

    @abstractmethod
    def topic(self, words: Words) -> Formula | None:
        """Read the topic that it is related to."""

    @abstractmethod
    def predicate(self, words: Words) -> Formula | None:
        """Read the predicate of "it", with its verb: "is a dog", "can fly", "has wheels"."""

    @abstractmethod
    def does(self, words: Words) -> Formula | None:
        """Read what follows "does it" or "can it"."""

    @abstractmethod
    def have(self, words: Words) -> Formula | None:
        """Read what follows "does it have"."""

    @abstractmethod
    def you(self, words: Words) -> Formula | None:
        """Read what people do with it: "eat it", "find it in a kitchen", "use it to cut"."""

    @abstractmethod
    def other_subject(self, words: Words) -> Formula | None:
        """Read "children play with it", "a chef uses it"."""

    def role(self, words: Words) -> Formula | None:
        """Read what it is used, kept or served as: "a pet", "a weapon". A role is not what the thing is."""
        formula = self.noun_phrase(words) if words else None
        return None if formula is None else Role(formula)

    def once(self, name: str, words: Words, read: Reader) -> Formula | None:
        """Return ``read(words)``, cached; a leading "not" or "neither" is removed and negates the result.

        A phrase whose reading depends on itself returns None.
        """
        if not words:
            return None
        key = (name, words)
        if key not in self._memo:
            self._calls += 1
            if self._calls > MAX_CALLS:
                raise TooHardError
            self._memo[key] = None
            if words[0] in NEGATIONS and words[1:2] in (("not",), ("n't",)):
                self._memo[key] = None  # "that is not alive and not edible" is not "that is not not edible"
            elif words[0] == "non" and words[2:] and (name in _OF_NOUNS or {*_JOINTS, "or"} & set(words)):
                self._memo[key] = read(words)  # "non" denies no more than the next word
            elif words[0] in NEGATIONS or (words[0] == "neither" and "nor" in words):
                self._memo[key] = self.denied(words[1:], lambda rest: self.once(name, rest, read))
            else:
                self._memo[key] = read(words)
        return self._memo[key]

    def denied(self, words: Words, read: Reader) -> Formula | None:
        """Read ``words`` that follow "not": "a dog or a cat", "a dog and not a cat", "a dog but a cat".

        "Not" applies to all sides of an "or", and to the left side of "and not", of "but", and of the first
        comma if "and" follows it. Whether "not a tool and a toy" denies one or both is not known, in contrast
        to "not both a tool and a toy".
        """
        if "neither" not in words:
            words = tuple("or" if w == "nor" else w for w in words)
        for i, word in enumerate(words):
            comma = words[i : i + 2] == (",", "and") and "," not in words[:i]
            right, contrast = words[i:], comma
            while right and right[0] in _JOINTS:
                right, contrast = right[1:], contrast or right[0] == "but"
            if i == 0 or word not in _JOINTS or not right:
                continue
            be = right[0] in BE and right[1:2] and right[1] in NEGATIONS
            denies = be or right[0] == "no" or right[0] in NEGATIONS
            inside = {"that", "with"} & set(words[:i]) and right[1:2] != ("a",)
            if inside or not (denies or contrast):
                continue  # "not a bird that swims but not flies"
            left = read(words[:i])
            alone = (read(right) or (read(right[1:]) if be else None)) if left is not None else None
            pair = self._pair(words[:i], right, read, False) if left is not None else None
            second = None if pair is None else pair[1]
            if second is None or denies or comma or right[0] in DETERMINERS or any(unknown_words(second)):
                second = alone or second
            if left is not None and second is not None:
                return And((Not(left), second))
        whole = read(words)
        several = isinstance(whole, And | Or) and len(set(whole.parts)) > 1
        if several and {"and", "but"} & set(words) and "both" not in words:
            return Unknown(" ".join(("not", *words)))
        return negation(whole)

    def find(self, role: str, words: Words) -> Formula | None:
        """Return the lexicon's entry of ``words``, also without "thing" and other words without meaning."""
        formula = self.lexicon.find(role, words)
        if formula is None and "thing" in words and role != "noun":
            formula = self.lexicon.find(role, tuple(w for w in words if w not in ("thing", "other")))
        if formula is None and any(w in VAGUE for w in words):
            formula = self.lexicon.find(role, tuple(w for w in words if w not in VAGUE))
        return formula or self.lexicon.find_loosely(role, words)

    def splits(self, words: Words, head: Reader, tail: Reader, shortest: bool = False) -> Formula | None:
        """Join by "and" the longest beginning that ``head`` reads and the rest, which ``tail`` must read.

        ``shortest`` tries short beginnings first: in "a fruit that grows on trees" everything after the noun
        is one phrase.
        """
        lengths = range(1, len(words))
        for k in lengths if shortest else reversed(lengths):
            rest = tail(words[k:])
            if rest is None:
                continue
            first = head(words[:k])
            if first is not None:
                return conjunction(first, rest)
        return None

    def joined(self, words: Words, read: Reader, alone_first: bool = False) -> Formula | None:
        """Read ``words`` split at "and", "or" or a comma.

        A side may lack a beginning or an end that it shares with the other. ``alone_first`` first tries to
        read the right side by itself: "a small animal or insect" in contrast to "cut wood or paper".
        """
        for i, word in enumerate(words):
            if word not in (*_JOINTS, "or") or i == 0:
                continue
            left, right, operator = words[:i], words[i + 1 :], word
            while right and right[0] in (*_JOINTS, "or"):
                operator, right = right[0], right[1:]
            listed = operator == "," and not {"and", "but", "or"} & set(right)
            if operator == ",":
                operator = "or" if "or" in right else "and"
            if left[0] in ("either", "both"):
                left = left[1:]
            if not left or not right:
                continue
            if DENIALS & set(left) and right[0] not in _BEGINS_AGAIN:
                continue  # "not" may apply to the right side too; ``denied`` reads it
            pair = self._pair(left, right, read, alone_first)
            if pair is not None:
                if listed and all(map(_names, pair)):
                    operator = "or"  # "a lion, a tiger, a bear": one thing cannot be all of them
                if operator == "or" and (pair[0] == Not(pair[1]) or pair[1] == Not(pair[0])):
                    return None  # "is it heavy or light" asks which
                return (Or if operator == "or" else And)(pair)
        return None

    def _pair(
        self, left: Words, right: Words, read: Reader, alone_first: bool
    ) -> tuple[Formula, Formula] | None:
        first = read(left)
        if len(left) == 1 and right[0] not in DENIALS:  # "worn or used by women": the left side lacks the end
            for k in range(1, len(right) - 1):
                if right[k] in PREPOSITIONS:
                    shared, second = read(left + right[k:]), read(right)
                    if shared is not None and second is not None:
                        return shared, second
        if first is not None:
            alone = read(right)
            if alone is not None and alone_first and not PREPOSITIONS & set(left):
                return first, alone  # but "worn on the feet or legs" is "worn on the legs"
            whole = next((k for k, word in enumerate(left) if word in DENIALS | NEGATIONS), len(left) - 1)
            for k in range(whole, 0, -1):  # "used in the kitchen or bathroom"
                second = read(left[:k] + right)
                if second is not None:
                    return first, second
            return None if alone is None else (first, alone)
        second = read(right)
        if second is not None:  # "hot or cold food"
            for k in range(1, len(right)):
                first = read(left + right[k:])
                if first is not None:
                    return first, second
        return None


def _names(formula: Formula) -> bool:
    """Return whether ``formula`` is a noun or a choice of nouns."""
    return isinstance(formula, Noun) or (isinstance(formula, Or) and all(map(_names, formula.parts)))


def negation(formula: Formula | None) -> Formula | None:
    """Return the negation of ``formula``, or None for None."""
    return None if formula is None else Not(formula)
