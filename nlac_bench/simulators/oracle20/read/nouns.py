"""Parses noun phrases: "a large animal with four legs", and everything that may follow a noun."""

from abc import ABC

from nlac_bench.simulators.oracle20.find.words import noun_key, verb_key, word_set
from nlac_bench.simulators.oracle20.read import clauses
from nlac_bench.simulators.oracle20.read.comparisons import is_unit, states_amount
from nlac_bench.simulators.oracle20.read.core import EVERYBODY, Core, Words
from nlac_bench.simulators.oracle20.read.formula import (
    Attr,
    Const,
    Formula,
    Not,
    Noun,
    Or,
    Unknown,
    conjunction,
)
from nlac_bench.simulators.oracle20.read.function_words import (
    COUNTED_STEMS,
    DETERMINERS,
    DRIVEN,
    FOUND,
    GENERIC,
    MADE,
    PLACE_ADVERBS,
    PREPOSITIONS,
    RELATED,
    THINGS,
    TURNS,
    USED,
    VAGUE,
)

_COMPLEMENT_STARTS = word_set("that with without used made for to in on at you from by found kept worn")
_TOO_GENERAL = GENERIC | word_set("device gadget machine accessory supply tool instrument container unit")
_EXCEPTIONS = (("other", "than"), ("besides", ""), ("excluding", ""), ("except", "for"), ("and", "not"),
               ("but", "not"))  # fmt: skip
_NO_MODIFIERS = PREPOSITIONS | word_set("of out with without by for than as that")
_SMALL = (Attr("small"), Attr("tiny"))
_NEVER_HIDDEN = (Attr("person"), Attr("abstract"))


class Nouns(Core, ABC):
    """Parses noun phrases."""

    def noun_phrase(self, words: Words) -> Formula | None:
        """Read "a large animal with four legs": modifiers, a noun, and what follows it."""
        return self.once("noun_phrase", words, self._noun_phrase)

    def _noun_phrase(self, words: Words) -> Formula | None:
        key = tuple(noun_key(w) for w in words if w not in DETERMINERS)
        if key in self.lexicon.kinds and key not in self.lexicon.nouns:
            formula = self._described(words)
            return Noun(key) if formula is None else Or((Noun(key), formula))
        return self._described(words)

    def _described(self, words: Words) -> Formula | None:
        formula = self.noun(words)
        if formula is not None:
            return formula
        if words[0] in DETERMINERS:
            words = words[1:]
            if not words:
                return None
        kind = clauses.without_kind(words)
        formula = self.noun_phrase(kind) if kind != words else None
        if formula is not None:
            return formula
        return (
            self._other_than(words)
            or self.joined(words, self.noun_phrase, alone_first=True)
            or self.splits(words, self._narrowed, self.post, shortest=True)
            or self._modified(words)
            or (self._narrowed_somehow(words) if self.partial else None)
        )

    def _other_than(self, words: Words) -> Formula | None:
        """Read "an animal other than a dog", "a fruit but not an apple"."""
        for start, stop in _EXCEPTIONS:
            if start not in words[1:]:
                continue
            i = words.index(start, 1)
            rest = words[i + 1 :]
            if stop and rest[:1] != (stop,):
                continue
            left, right = self.noun_phrase(words[:i]), self.noun_phrase(rest[1:] if stop else rest)
            if left is not None and right is not None:
                return conjunction(left, Not(right))
        return None

    def _narrowed(self, words: Words) -> Formula | None:
        formula = self.noun_phrase(words)
        return None if formula in _NEVER_HIDDEN else formula

    def noun(self, words: Words) -> Formula | None:
        """Read a noun of the lexicon, an object's name, or "thing"."""
        bare = tuple(w for w in words if w not in DETERMINERS)
        if not bare:
            return None
        key = tuple(noun_key(w) for w in bare)
        if key in self.lexicon.nouns:
            return Noun(key)
        formula = self.find("noun", bare)
        if formula is not None:
            return formula
        return Const(True) if key[-1] in THINGS and all(w in GENERIC for w in key) else None

    def _narrowed_somehow(self, words: Words) -> Formula | None:
        """Read a known noun with a modifier or a complement that is not understood.

        Returns None if a word could negate the noun or add an alternative to it.
        """
        if TURNS & set(words) or words[-1] in _TOO_GENERAL:
            return None
        for k in range(1, len(words)):
            if words[k] in _COMPLEMENT_STARTS:
                if is_unit(words[k - 1]) or is_unit(words[-1]):
                    return None  # "a foot in diameter" is no foot, and "that is two feet" may go on
                head = self._narrowed(words[:k])
                return None if head is None else conjunction(head, Unknown(" ".join(words[k:])))
        for k in range(1, len(words)):
            if (_NO_MODIFIERS | DETERMINERS) & set(words[: k + 1]) or states_amount(words[: k + 1]):
                break  # "named after a tiger" is no tiger
            head = self._plain_noun(words[k:])
            if head is not None and head != Const(True):
                return conjunction(head, Unknown(" ".join(words[:k])))
        return None

    def _plain_noun(self, words: Words) -> Formula | None:
        """Read a noun that may have modifiers; people and ideas are excluded, since they are never hidden."""
        formula = self.noun(words)
        return None if formula in _NEVER_HIDDEN else formula

    def _modified(self, words: Words) -> Formula | None:
        """Read a noun with adjectives, materials, places or other nouns before it, but after its article."""
        for k in range(1, len(words)):
            head = None if words[k] in DETERMINERS else self._plain_noun(words[k:])
            modifiers = None if head is None else self.modifiers(words[:k])
            if head is not None and modifiers is not None:
                if (
                    isinstance(head, Noun)
                    and head.key not in self.lexicon.tables["noun"]
                    and modifiers in _SMALL
                ):
                    modifiers = Or(
                        (modifiers, Unknown(" ".join(words[:k])))
                    )  # a small dog is not a small thing
                return conjunction(modifiers, head)
        for k in range(1, len(words) - 1):  # a "stringed musical instrument" is a "stringed instrument"
            shorter = self.noun(words[:k] + words[-1:])
            rest = None if shorter is None else self.noun(words[k:])
            if shorter is not None and rest is not None:
                return conjunction(shorter, rest)
        return None

    def modifiers(self, words: Words) -> Formula | None:
        """Read what precedes a noun: "small", "wooden kitchen", "four legged", "non"."""
        return self.once("modifiers", words, self._modifiers)

    def _modifiers(self, words: Words) -> Formula | None:
        if all(w in VAGUE | GENERIC | {"of", ","} for w in words):
            return Const(True)
        if words[-1] in _NO_MODIFIERS | DETERMINERS:
            return None  # "made by a bee" is not a "made-by bee"
        if len(words) == 2 and verb_key(words[1]) in COUNTED_STEMS:  # "four legged", "six string"
            part = {"ey": "eye"}.get(verb_key(words[1]), verb_key(words[1]))
            counted = self.comparisons.count((words[0], part))
            if counted is not None:
                return counted
        formula = (
            self.adjective(words)
            or self.find("place", words)
            or self.find("material", words)
            or self.find("topic", words)
            or self.find("use", words)
            or self.participle(words)
        )
        if formula is None:  # "a vehicle part" is not necessarily a vehicle
            noun = self.find("noun", words)
            formula = None if noun is None or noun in _NEVER_HIDDEN else Unknown(" ".join(words))
        return formula or self.splits(words, self.modifiers, self.modifiers)

    def post(self, words: Words) -> Formula | None:
        """Read "that flies", "with a handle", "used for cooking", "in the kitchen", "to sit on"."""
        return self.once("post", words, self._post)

    def _post(self, words: Words) -> Formula | None:
        first, rest = words[0], words[1:]
        if first in (",", "and", "but"):
            return self.post(rest)
        if first == "that":
            return self.relative(rest)
        if clauses.people(words):
            return self.you(words[clauses.people(words) :])
        if first == "like":
            return None
        return (
            self._preposition(first, rest, words)
            or self._post_verb(first, rest, words)
            or self.find("adj", words)
            or self.comparisons.read(words)
            or (self.other_subject(words) if rest else None)
        )

    def _preposition(self, first: str, rest: Words, words: Words) -> Formula | None:
        """Read a phrase that begins with a preposition."""
        match first:
            case "with":
                return self.have(rest)
            case "without":
                return self.denied(rest, self.have)
            case "of" | "from":
                return self.material(rest) or self.place(rest)
            case "for":
                return (
                    self.find("adj", words)
                    or (self.comparisons.read(rest) if rest else None)
                    or self.use(rest)
                    or self.user(rest)
                    or self.find("use", ("hold", *rest))
                    or (self.place(rest) if rest != ("work",) else None)
                )
            case "to":
                return self.you(rest) or self.use(rest)
            case "by":
                who = self.user(rest)  # "built by children" does not mean mainly by them
                return Or((who, Unknown(" ".join(words)))) if who in EVERYBODY else who
            case "about" | "regarding":
                return self.topic(rest)
        return self.place(words) if first in PREPOSITIONS | PLACE_ADVERBS else None

    def _post_verb(self, first: str, rest: Words, words: Words) -> Formula | None:
        """Read a phrase that begins with a participle or an adjective with a complement."""
        if first in USED:
            return self.used(rest) or self.participle(words)
        if first in MADE:
            return self.made(words)
        if first in FOUND:
            formula = self.participle(words) or self.adjective(words)
            return formula or (self.place(rest) if first not in ("worn", "played") else None)
        if first in DRIVEN:
            power = rest[1:] if rest[:1] in (("by",), ("on",), ("with",), ("using",)) else ()
            if power == ("you",) and first not in ("powered", "propelled", "moved"):
                power = ()  # "driven by people" does not state the source of power
            return self.adjective(words) or self.power(power) or self.participle(words)
        if first in RELATED:
            return self.topic(rest[1:]) if rest[:1] in (("to",), ("with",), ("in",)) else None
        if first in ("able", "known", "likely") and rest[:1] == ("to",):
            return self.does(rest[1:])
        if first == "capable" and rest[:1] == ("of",):
            return self.does(rest[1:])
        if first in ("has", "have", "having", "containing"):
            return self.have(rest)
        return self.participle(words) if clauses.is_participle(first) else None

    def relative(self, words: Words) -> Formula | None:
        """Read what follows "that": "you wear", "is red", "can fly", "has a handle", "children play with"."""
        return self.once("relative", words, self._relative)

    def _relative(self, words: Words) -> Formula | None:
        if clauses.people(words):
            return self.you(words[clauses.people(words) :])
        return self.predicate(words) or self.other_subject(words)
