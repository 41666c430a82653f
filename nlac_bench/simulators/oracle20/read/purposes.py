"""Parses use, material, source of power, place and users of the hidden thing."""

from abc import ABC

from nlac_bench.simulators.oracle20.find.words import verb_key
from nlac_bench.simulators.oracle20.read import clauses
from nlac_bench.simulators.oracle20.read.core import Core, Words
from nlac_bench.simulators.oracle20.read.formula import And, Attr, Const, Formula, Or, Unknown
from nlac_bench.simulators.oracle20.read.function_words import (
    DETERMINERS,
    NEAR,
    PREPOSITIONS,
    PURPOSE_NOUNS,
    SETTING_NOUNS,
    SUBSTANCE_NOUNS,
    TO_HELP,
    VAGUE,
)


class Purposes(Core, ABC):
    """Parses complements: use, material, place, user, power, topic."""

    def used(self, words: Words) -> Formula | None:
        """Read what follows "used": "for cooking", "to cut", "in sports", "by children", "outdoors"."""
        return self.once("used", words, self._used)

    def _used(self, words: Words) -> Formula | None:
        first, rest = words[0], words[1:]
        listed = self.find("done", ("use", *words))
        if listed is not None and first not in ("for", "to", "by"):
            return listed
        match first:
            case "for" | "to":
                formula = self.use(rest) or (self.user(rest) if first == "for" else None)
                return formula or (self.be(rest[1:]) if rest[:1] == ("be",) else None)
            case "in" | "on" | "at" | "during" | "while" | "when":
                formula = self.place(words) or self.use(rest) or self.topic(rest)
                if formula is not None:
                    return formula
            case "by":
                formula = self.user(rest)
                if formula is not None:
                    return formula
            case "as":
                return self.find("use", rest) or self.role(rest)
            case "with":
                return None
        return self.place(words) or self.joined(words, self.used) or self.splits(words, self.used, self.post)

    def use(self, words: Words) -> Formula | None:
        """Read what it is used for: "cut things", "cooking", "entertainment", "keep you warm"."""
        return self.once("use", words, self._use)

    def _use(self, words: Words) -> Formula | None:
        if verb_key(words[0]) in TO_HELP:  # "help you to see"
            start = 2 if words[1:2] in (("you",), ("with",), ("in",)) else 1
            start += words[start : start + 1] == ("to",)
            formula = self.use(words[start:])
            if formula is not None:
                return formula
        if words[-1] in PURPOSE_NOUNS:
            formula = self.use(words[:-1]) or self.topic(words[:-1]) or self.find("place", words[:-1])
            if formula is not None:
                return formula
        if words[-2:] == ("with", "it"):
            return self.use(words[:-2])
        return (
            self.find("use", words) or self.joined(words, self.use) or self.splits(words, self.use, self.post)
        )

    def made(self, words: Words) -> Formula | None:
        """Read "made of wood", "built by people", "made in a factory", "made for children"."""
        return self.once("made", words, self._made)

    def _made(self, words: Words) -> Formula | None:
        formula = self.adjective(words) or self.find("done", words)
        if formula is not None:
            return formula
        rest = words[1:]
        if rest[:2] in (("out", "of"), ("up", "of")):
            return self.material(rest[2:])
        if rest[:1] in (("of",), ("from",), ("with",), ("using",)):
            return self.material(rest[1:])
        if rest[:1] == ("by",):
            return self.adjective(("made", *rest))
        if rest[:1] in (("to",), ("for",)):
            return self.used(rest)
        return self.joined(words, self.made)

    def material(self, words: Words) -> Formula | None:
        """Read "wood", "metal or plastic", "a soft material"."""
        return self.once("material", words, self._material)

    def _material(self, words: Words) -> Formula | None:
        formula = self.find("material", words)
        if formula is not None:
            return formula
        kind = clauses.without_kind(words[1:] if words[0] in DETERMINERS else words)
        if kind != words:
            return self.material(kind)
        if words[-1] in SUBSTANCE_NOUNS:
            formula = self.material(words[:-1]) or self.adjective(words[:-1])
        formula = formula or self.joined(words, self.material)
        if isinstance(formula, And):  # "wood and metal": it contains both; neither must be the main one
            parts = (self.find("have", (p.id,)) if isinstance(p, Attr) else None for p in formula.parts)
            formula = And(tuple(p or whole for p, whole in zip(parts, formula.parts, strict=True)))
        return formula

    def place(self, words: Words) -> Formula | None:
        """Read "in the kitchen", "on a farm or in a zoo", "at home", "outdoors"."""
        return self.once("place", words, self._place)

    def _place(self, words: Words) -> Formula | None:
        formula = self.find("place", words)
        if formula is None and words[0] in PREPOSITIONS:
            formula = self.find("place", words[1:])
            if formula is not None and words[0] in NEAR:  # what is not in the sea may be near it
                formula = Or((formula, Unknown(" ".join(words))))
            if formula is None and words[0] in ("in", "on", "at"):
                inner = clauses.without_kind(words[1:])
                formula = self.place(inner) if inner != words[1:] else None
        if formula is None and words[0] in DETERMINERS | VAGUE:
            formula = self.place(words[1:])
        if formula is None and words[-1] in SETTING_NOUNS:
            formula = self.place(words[:-1])
        return formula or self.joined(words, self.place) or self.splits(words, self.place, self._more_place)

    def _more_place(self, words: Words) -> Formula | None:
        if words[0] == "of" and words[-1] in ("home", "house", "homes", "houses"):
            return Const(True)  # "the living room of a house"
        return self.place(words) if words[0] in PREPOSITIONS else None

    def user(self, words: Words) -> Formula | None:
        """Read who uses it."""
        if words == ("you",):
            return Attr("useful")
        return self.once("user", words, lambda w: self.find("by", w) or self.joined(w, self.user))

    def power(self, words: Words) -> Formula | None:
        """Read the source of power, such as "electricity" in "powered by electricity"."""
        return self.once("power", words, lambda w: self.find("power", w) or self.joined(w, self.power))

    def topic(self, words: Words) -> Formula | None:
        """Read the topic that it is related to."""
        return self.once(
            "topic",
            words,
            lambda w: (
                self.find("topic", w)
                or self.find("use", w)
                or self.find("place", w)
                or self.user(w)
                or self.joined(w, self.topic)
            ),
        )
