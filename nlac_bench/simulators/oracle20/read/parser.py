"""Parses a yes/no question into a formula over the lexicon's attributes.

This is a recursive-descent parser of English questions about one thing ("it"). A phrase must be interpreted
*completely*: if a word cannot be interpreted, the whole phrase is rejected, and the oracle then does not know
the answer. This keeps wrong answers rare: "is it used to play the violin" does not become "is it a violin".
"""

from nlac_bench.simulators.oracle20.find.sentence import AUXILIARIES
from nlac_bench.simulators.oracle20.find.words import MAX_TOKENS, word_set
from nlac_bench.simulators.oracle20.know.knowledge import KnowledgeBase
from nlac_bench.simulators.oracle20.read import clauses
from nlac_bench.simulators.oracle20.read.being import Being
from nlac_bench.simulators.oracle20.read.comparisons import Comparisons, states_amount
from nlac_bench.simulators.oracle20.read.core import TooHardError, Words
from nlac_bench.simulators.oracle20.read.doing import Doing
from nlac_bench.simulators.oracle20.read.formula import And, Formula, Not, Or, Unknown
from nlac_bench.simulators.oracle20.read.function_words import BE, MODALS
from nlac_bench.simulators.oracle20.read.lexicon import Lexicon
from nlac_bench.simulators.oracle20.read.nouns import Nouns
from nlac_bench.simulators.oracle20.read.purposes import Purposes

_ADJUNCTS = word_set(
    "in on at from with like as near under around after during through onto along against among inside"
)
"""Words with which a phrase begins that narrows what precedes it."""
_NOT_NARROWING = word_set("or not n't than too without only no less if when while unless but except")


class QuestionParser:
    """Parses questions with a lexicon.

    Args:
        lexicon: maps phrases to tests of attributes.
        kb: has the things that comparisons refer to and the parts that can be counted.
    """

    def __init__(self, lexicon: Lexicon, kb: KnowledgeBase) -> None:
        self.lexicon = lexicon
        self.comparisons = Comparisons(kb)

    def read(self, words: Words) -> Formula:
        """Return the formula of a question, given as its tokens; ``Unknown`` if it is not understood."""
        formula = None
        if len(words) <= MAX_TOKENS:
            try:
                formula = _Reading(self.lexicon, self.comparisons).question(words)
                if formula is None:
                    reading = _Reading(self.lexicon, self.comparisons, partial=True)
                    formula = reading.question(words) or reading.beginning(words)
            except TooHardError:
                formula = None
        return Unknown(" ".join(words)) if formula is None else formula


class _Reading(Nouns, Being, Purposes, Doing):
    """The parsing of one question."""

    def question(self, words: Words) -> Formula | None:
        """Read a whole question, also elliptical ("made of wood") or with a tag ("it is alive, isn't it")."""
        if "(" in words:
            return self._bracketed(words)
        joined = self._clauses(words)
        if joined is not None:
            return joined
        words, negated = clauses.normal_form(words)
        if negated:
            return self.denied(words[2:], lambda rest: self._affirmed((*words[:2], *rest)))
        return self._affirmed(words)

    def _affirmed(self, words: Words) -> Formula | None:
        """Read a question in its normal form."""
        formula = self._contrast(words) if "rather" in words else self.clause(words)
        if formula is None and "or" in words:
            # One side of an "or" is understood, which is sufficient for a yes but not for a no.
            last = len(words) - 1 - words[::-1].index("or")
            side = self.clause(words[:last])
            if side is not None and self.bare(words[last + 1 :]) is None:
                formula = Or((side, Unknown(" ".join(words[last + 1 :]))))
        return formula

    def beginning(self, words: Words) -> Formula | None:
        """Read a question whose last phrase is not understood: "would you wear it to the beach".

        The answer is no for objects that are not worn, and unknown for objects that are. A phrase before
        the hidden thing is not an addition: "is a drink made from it" does not ask whether it is a drink.
        """
        if _NOT_NARROWING & set(words):
            return None
        for k in reversed(range(3, len(words))):
            if states_amount(words[k:]):
                return None
            if "it" in words[k:] and not {"it", "its", "you", "there"} & set(words[:k]):
                continue
            if words[k] in _ADJUNCTS or words[k : k + 2] == ("to", "a"):
                formula = self.question(words[:k])
                if formula is not None:
                    return And((formula, Unknown(" ".join(words[k:]))))
        return None

    def _clauses(self, words: Words) -> Formula | None:
        """Read two questions in one: "is it soft, and do you find it in the bedroom"."""
        for i in range(2, len(words) - 3):
            if words[i] not in ("and", "but", "or") or words[i + 1] not in BE | AUXILIARIES:
                continue
            if words[i + 2] not in ("it", "you", "its", "there") or words[0] not in BE | AUXILIARIES:
                continue
            left, right = self.question(words[:i]), self.question(words[i + 1 :])
            if left is not None and right is not None:
                return (Or if words[i] == "or" else And)((left, right))
        return None

    def _bracketed(self, words: Words) -> Formula | None:
        """Read "is it large (bigger than a person)": what the question and the words in brackets agree on."""
        i = words.index("(")
        j = words.index(")", i) if ")" in words[i:] else len(words)
        formula = self.question(tuple(w for w in words[:i] + words[j + 1 :] if w != ")"))
        if formula is None:
            return None
        if {",", "or"} & set(words[i + 2 : j]):  # "is it a vehicle (car, truck, bus)": examples
            return formula
        inside = self.question(words[i + 1 : j]) if j > i + 1 else formula
        other = Unknown(" ".join(words[i + 1 : j])) if inside is None else inside
        return Or((And((formula, other)), And((Or((formula, other)), Unknown("in brackets")))))

    def _contrast(self, words: Words) -> Formula | None:
        """Read "made of metal rather than plastic": the first, and not the second; both is not known."""
        i = words.index("rather")
        kept, other = words[:i], words[i + 2 :]
        formula = self.clause(kept) if words[i + 1 : i + 2] == ("than",) else None
        if formula is None:
            return None
        for k in range(len(kept) - 1, 0, -1):
            denied = self.clause(kept[:k] + other)
            if denied is not None:
                return And((formula, Or((Not(denied), Unknown(" ".join(words[i:]))))))
        return And((formula, Unknown(" ".join(words[i:]))))

    def clause(self, words: Words) -> Formula | None:
        """Read a clause according to its subject."""
        if not words:
            return None
        subject, rest = clauses.subject(words)
        match subject:
            case "it":
                return self.predicate(rest)
            case "its":
                return self.its(rest)
            case "you":
                return self.you(rest)
            case "there":
                return self.there(rest)
            case "other":
                return self.other_subject(rest) or (self.bare(words) if words[0] == "has" else None)
        return self.bare(rest)

    def bare(self, words: Words) -> Formula | None:
        """Read an elliptical question: "a dog", "alive", "made of wood", "has wheels", "can fly"."""
        return self.once("bare", words, self._bare)

    def _bare(self, words: Words) -> Formula | None:
        if words[0] in ("has", "have", "can", "does", "could", "will"):
            return self.predicate(words)
        return self.be(words) or self.does(words) or self.you(words)

    def predicate(self, words: Words) -> Formula | None:
        """Read the predicate of "it", with its verb: "is a dog", "can fly", "has wheels", "belongs to …"."""
        return self.once("predicate", words, self._predicate)

    def _predicate(self, words: Words) -> Formula | None:
        if words[0] in BE:
            return self.be(words[1:])
        if words[0] in MODALS:
            return self.predicate(words[1:])
        if words[0] in ("has", "have", "had") and words[1:2] == ("been",):
            return self.be(words[2:])
        if words[0] in ("has", "have", "had") and words[1:2] == ("got",):
            return self.have(words[2:])
        return self.does(words) or self.joined(words, self.predicate)
