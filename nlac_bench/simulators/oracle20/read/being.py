"""Parses what follows "is it": adjectives, passives, and the values of "its colour", "its purpose"."""

from abc import ABC

from nlac_bench.simulators.oracle20.read import clauses
from nlac_bench.simulators.oracle20.read.comparisons import is_unit, number
from nlac_bench.simulators.oracle20.read.core import Core, Words
from nlac_bench.simulators.oracle20.read.formula import (
    And,
    Attr,
    Const,
    Formula,
    Not,
    Or,
    Unknown,
    conjunction,
)
from nlac_bench.simulators.oracle20.read.function_words import MADE, PROPERTY_NOUNS, USED, WHOLLY


class Being(Core, ABC):
    """Parses predicates with "be"."""

    def be(self, words: Words) -> Formula | None:
        """Read what follows "is it"."""
        return self.once("be", words, self._be)

    def _be(self, words: Words) -> Formula | None:
        words = clauses.without_frame(words)
        if not words:
            return None
        if words == ("you",):
            return Attr("person")
        if words[0] in ("about", "around", "roughly", "approximately") and words[1:4] == ("a", "size", "of"):
            words = words[1:]
        if words[0] in ("a", "its"):
            return self._with_article(words)
        if words[:2] == ("at", "least") and words[2:3] in (("partly",), ("partially",)):
            words = words[2:]
        if words[0] in ("partly", "partially"):
            return self.have(words[3:] if words[1:2] == ("made",) else words[1:])
        if words[0] in WHOLLY or (words[0] in MADE and words[1:2] and words[1] in WHOLLY):
            made = self.be(tuple(w for w in words if w not in WHOLLY))
            return None if made is None else conjunction(made, Not(Attr("several_materials")))
        if words[0] == "worth":
            return self.adjective(words) or self.comparisons.costs(words[1:])
        if words[:2] == ("known", "for"):
            deed = words[3:] if words[2:3] == ("being",) else words[2:]
            return self.adjective(words) or self.have(words[2:]) or self.adjective(words[2:]) or self.be(deed)
        if "enough" in words:
            return self._enough(words)
        simple = self._two_deeds(words) or self.adjective(words) or self.comparisons.read(words)
        if simple is not None:
            return simple
        if (words[0] == "as" and words[2:3] == ("as",)) or words[1:2] == ("like",):  # "as hard as a rock"
            like = self.adjective(words[1:2] if words[0] == "as" else words[:1])
            return None if like is None else conjunction(like, Unknown(" ".join(words)))
        named = self.noun(words)  # "is it washing machine" is not "is it washing"
        if named is not None:
            return named
        condition = clauses.condition(words)
        formula = self.be(words[:condition]) if condition and clauses.usual(words[condition:]) else None
        if formula is not None:
            return formula
        if words[:2] == ("part", "of"):
            return self.find("noun", words) or self.place(words[2:]) or self.topic(words[2:])
        return (
            self.post(words)
            or self.participle(words)
            or self.noun_phrase(words)
            or self.joined(words, self.be)
            or (self.material(words) if "or" in words else None)
            or (None if words[0] in USED else self.splits(words, self.adjective, self._after_adjective))
        )

    def _after_adjective(self, words: Words) -> Formula | None:
        """Read what may follow an adjective; "for children" in "dangerous for children" is not a test."""
        if words == ("inside",):  # "is it juicy inside"
            return Const(True)
        return None if words[0] == "for" and self.user(words[1:]) is not None else self.post(words)

    def _with_article(self, words: Words) -> Formula | None:
        """Read "a dog", "the size of a dog", "a bright colour"."""
        if words[1:3] == ("size", "of"):
            return self.comparisons.same_size(words[3:])
        amount = number(words)
        if amount is not None and len(words) > amount[1] + 1 and is_unit(words[amount[1]]):
            return self.comparisons.read(words)  # "a foot long" is not a foot
        if words[-1] in PROPERTY_NOUNS:
            inside = words[1:-1]
            formula = self.find("colour", inside) if words[-1] == "color" else self.adjective(inside)
            if formula is not None:
                return formula
        return self.noun_phrase(words)

    def _enough(self, words: Words) -> Formula | None:
        """Read "big enough to sit in", "sharp enough to cut you": the use if known, else the adjective."""
        formula = self.adjective(words)
        if formula is not None:
            return formula
        i = words.index("enough")
        rest = words[i + 1 :]
        if rest[:2] == ("for", "you"):
            rest = rest[2:]
        if rest[:1] == ("to",):
            formula = self.you(rest[1:]) or self.does(rest[1:])
        return formula or self.adjective(words[:i])

    def adjective(self, words: Words) -> Formula | None:
        """Read "edible", "red", "soft and warm"."""
        return self.once("adjective", words, self._adjective)

    def _adjective(self, words: Words) -> Formula | None:
        formula = self.find("adj", words) or self.find("colour", words)
        if formula is not None:
            return formula
        if words[-2:-1] == ("in",) and words[-1] in (*PROPERTY_NOUNS, "appearance", "nature", "weight"):
            return self.adjective(words[:-2])
        if words[-1] in ("colored", "sized", "shaped"):
            return self.adjective(words[:-1])
        return self.joined(words, self.adjective, alone_first=True)

    def participle(self, words: Words) -> Formula | None:
        """Read a passive: "eaten", "worn on the feet", "used by children", "driven by people"."""
        return self.once("participle", words, self._participle)

    def _participle(self, words: Words) -> Formula | None:
        if words[-2:] == ("by", "you"):
            formula = self.find("adj", words) or self.find("done", words)
            return formula or self.participle(words[:-2]) or self.adjective(words[:-2])
        if not clauses.is_participle(words[0]):
            return None
        formula = self.find("done", words)
        if formula is None and words[1:2] == ("by",) and clauses.is_participle(words[2] if words[2:] else ""):
            formula = self.find("done", words[2:])  # "played by blowing into it"
        if formula is None and words[1:2] == ("as",) and words[0] not in ("used", "known"):
            formula = self.role(words[2:])  # "kept as a pet", "served as a dessert"
        if formula is not None:
            return formula
        return self.splits(words, lambda w: self.find("done", w), self.post) or self.joined(
            words, self.participle
        )

    def _two_deeds(self, words: Words) -> Formula | None:
        """Read "used for cutting or worn on the head", whose second part is not what it is used for."""
        if not clauses.is_participle(words[0]) and words[0] not in USED:
            return None
        for i in range(2, len(words) - 2):
            if words[i] in ("and", "or") and clauses.is_participle(words[i + 1]):
                first, second = self.be(words[:i]), self.be(words[i + 1 :])
                if first is not None and second is not None:
                    return (Or if words[i] == "or" else And)((first, second))
        return None

    def its(self, words: Words) -> Formula | None:
        """Read "its colour red", "its main purpose to cut": the property's name, then its value."""
        for k in range(1, min(4, len(words))):
            kind = clauses.property_kind(words[:k])
            if kind is None:
                continue
            value = words[k:]
            if value[0] in ("is", "be"):
                value = value[1:]
            match kind:
                case "purpose":
                    use = value[1:] if value[:1] in (("to",), ("for",)) else value
                    return self.use(use) or self.used(value)
                case "material":
                    return self.material(value)
                case "habitat":
                    return self.place(value)
                case "size":
                    return self.be(value)
            return self.adjective(value)
        return None

    def there(self, words: Words) -> Formula | None:
        """Read "is there a screen on it"."""
        for tail in ("inside it", "on it", "in it", "attached to it", "involved", "inside", "with it"):
            ending = tuple(tail.split())
            if words[-len(ending) :] == ending:
                part = words[: -len(ending)]
                return self.have(part) or self.have(words) or self.power(part)
        if words[0] in ("one", "it"):  # "is there one in every house"
            return self.place(words[1:]) if words[1:] else None
        return self.adjective(words)
