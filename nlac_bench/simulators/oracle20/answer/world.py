"""Defines a world of objects: their names, the truth about them, and the parser of questions about them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from nlac_bench.simulators.oracle20.find.words import MAX_TOKENS, noun_key, tokens, word_set
from nlac_bench.simulators.oracle20.know.features import Features, content, said_about
from nlac_bench.simulators.oracle20.know.knowledge import KnowledgeBase, embedded
from nlac_bench.simulators.oracle20.read.comparisons import states_amount
from nlac_bench.simulators.oracle20.read.formula import (
    Atom,
    Attr,
    BulkCompare,
    Compare,
    Const,
    Count,
    Formula,
    Noun,
    Or,
    Question,
    Role,
    Truth,
    claimed,
    evaluate,
    nouns,
    unknown_words,
)
from nlac_bench.simulators.oracle20.read.lexicon import Lexicon, embedded_lexicon, name_key
from nlac_bench.simulators.oracle20.read.parser import QuestionParser

MEASURE_MARGIN = 1.15
"""If a measure is within this ratio of the number in the question, the answer is not known."""
BULK_MARGIN = 1.25
LIKE_RATIO, UNLIKE_RATIO = 1.5, 2.0
"""Two things are of the same size if the ratio of their lengths is at most the first number, and of different
sizes if it is at least the second."""
ALIENATING = word_set(
    """toy model fake stuffed plush rubber paper plastic chocolate miniature imitation artificial pretend
    cartoon statue picture photo drawing painting sculpture part piece half broken former robot robotic
    electric"""
)
"""Words that, before a noun, may change which thing it names: a toy car is not a car."""
_LARGER_THAN_RANK = {
    "bigger_than_breadbox": 4, "bigger_than_person": 6, "bigger_than_car": 8, "bigger_than_house": 9,
}  # fmt: skip
_AT_MOST_RANK = {"fits_in_pocket": 2, "small": 3}
"""Attribute → maximal size rank; a test compares them with ``kb/attributes/size.toml``."""


class World:
    """The objects that can be hidden, and the truth about them. Read-only after construction.

    Args:
        kb: the objects and what is known about them.
        lexicon: the phrases that name attributes.
        data: ``"embedded"``, ``"official"`` or a folder.
        reopen: makes this world from ``data`` again; a pickle contains only these two.
        more_nouns: noun → ``int8 [objects]``, whether it names an object (+1), does not (-1) or may (0), in
            addition to the objects' names (official data: the WordNet ancestors).
        said: for each object, stems of what is said about it (``features``).
    """

    max_words: ClassVar[int] = MAX_TOKENS
    """Largest number of words of a question that is read."""

    def __init__(
        self,
        kb: KnowledgeBase,
        lexicon: Lexicon,
        data: str,
        reopen: Callable[[str], "World"],
        more_nouns: Mapping[tuple[str, ...], np.ndarray] | None = None,
        said: Sequence[frozenset[str]] = (),
    ) -> None:
        self.kb = kb
        self.said = said
        self.data = data
        self._reopen = reopen
        self.lexicon = lexicon
        self.names = kb.names
        self.index = {name: i for i, name in enumerate(kb.names)}
        self._more_nouns = more_nouns or {}
        self._parsed: dict[tuple[str, ...], Formula] = {}
        self._answered: dict[str, Truth] = {}

    def __reduce__(self) -> tuple[Callable[[str], "World"], tuple[str]]:
        return self._reopen, (self.data,)

    @property
    def knowledge_sha256(self) -> str:
        """Hash of the embedded knowledge base, which also answers questions about official objects."""
        return embedded().sha256

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def parser(self) -> QuestionParser:
        """The parser of questions about this world."""
        return QuestionParser(self.lexicon, self.kb)

    @property
    def class_nouns(self) -> tuple[tuple[str, ...], ...]:
        """The keys of nouns that name classes of objects other than the knowledge base's categories."""
        return tuple(self._more_nouns)

    @cached_property
    def name_keys(self) -> tuple[frozenset[tuple[str, ...]], ...]:
        """For each object, the keys of all names that a guess may use."""
        return tuple(
            frozenset(name_key(n) for n in (name, *aliases))
            for name, aliases in zip(self.kb.names, self.kb.aliases, strict=True)
        )

    @cached_property
    def _named(self) -> Mapping[tuple[str, ...], np.ndarray]:
        by_key: dict[tuple[str, ...], np.ndarray] = {}
        for i, keys in enumerate(self.name_keys):
            for key in keys:
                by_key.setdefault(key, np.zeros(len(self), dtype=bool))[i] = True
        return by_key

    @cached_property
    def _features(self) -> Features:
        implied: list[set[str]] = [set() for _ in self.names]
        for attribute, cells in zip(self.kb.attributes, self.kb.cells, strict=True):
            stems = content(attribute.ask)
            for i in np.flatnonzero(cells > 0):
                implied[i] |= stems
        for key, named in self._more_nouns.items():
            for i in np.flatnonzero(named > 0):
                implied[i] |= content(key)
        return Features(self.said, [frozenset(stems) for stems in implied])

    def read(self, words: tuple[str, ...]) -> Formula:
        """Return the formula of a question, given as tokens; cached."""
        formula = self._parsed.get(words)
        if formula is None:
            if len(self._parsed) >= 4096:
                self._parsed.clear()
            formula = self._parsed[words] = Question(self.parser.read(words), " ".join(words))
        return formula

    def truth_of(self, formula: Formula) -> Truth:
        """Return the value of ``formula`` for every object, ``int8 [objects]``."""
        return evaluate(formula, self)

    def guessed(self, formula: Formula) -> frozenset[int]:
        """Return the objects that ``formula`` names as a guess.

        A guess claims one thing: "is it a violin", "is it a brown violin", also "is it a couch or sofa",
        which are names of one object. "Is it a violin or a cello", "is it not a violin" and "is it like a
        violin" are not guesses.
        """
        named = [self._named.get(noun.key) for noun in (claimed(formula) or list(nouns(formula)))]
        if not named or any(n is None for n in named):
            return frozenset()
        common = np.logical_and.reduce(named)  # type: ignore[arg-type]
        if not claimed(formula) and not _is_choice_of_names(formula):
            return frozenset()
        return frozenset(int(i) for i in np.flatnonzero(common))

    def fairly_guessed(self, formula: Formula, i: int) -> bool:
        """Return whether ``formula`` guesses object ``i`` and adds only modifiers whose truth is unknown.

        "Is it a pet dog" and "is it the front door" are fair guesses of a dog and a door; "is it a toy dog"
        and a name with the name of another thing before it ("a computer mouse") are not.
        """
        if i not in self.guessed(formula) or self.truth_of(formula)[i] < 0:
            return False
        return not any(self._renames(words.split(), i) for words in unknown_words(formula))

    def _renames(self, words: list[str], i: int) -> bool:
        """Return whether a modifier that is not understood could turn the name into that of another thing."""
        if ALIENATING & set(words):
            return True
        key = tuple(noun_key(w) for w in words if w not in ("a", "its"))
        return key in self.lexicon.nouns and self._noun(key)[i] <= 0

    def mentioned(self, words: tuple[str, ...]) -> int:
        """Return how many different objects the words of a question name."""
        groups: set[frozenset[int]] = set()
        i = 0
        while i < len(words):
            for length in range(4, 0, -1):
                key = tuple(noun_key(w) for w in words[i : i + length])
                if len(key) == length and key in self._named:
                    groups.add(frozenset(np.flatnonzero(self._named[key]).tolist()))
                    i += length - 1
                    break
            i += 1
        return len(groups)

    def truth(self, atom: Atom) -> Truth:
        """Return the value of one test for every object."""
        n = len(self)
        if isinstance(atom, Attr):
            return self.kb.cells[self.kb.row[atom.id]]
        if isinstance(atom, Noun):
            return self._noun(atom.key)
        if isinstance(atom, Count):
            return _count(self.kb.counts[atom.part], atom.comparison, atom.number)
        if isinstance(atom, Compare):
            values = self.kb.measures[atom.measure]
            value = _compare(values, atom.comparison, atom.number, margin=MEASURE_MARGIN)
            return np.where(np.isnan(values), self._by_bounds(atom), value).astype(np.int8)
        if isinstance(atom, BulkCompare):
            return self._bulk(atom)
        if isinstance(atom, Const):
            return np.full(n, 1 if atom.value else -1, dtype=np.int8)
        if isinstance(atom, Role):
            objects = any(n.key in self._named and n.key not in self._nouns for n in nouns(atom))
            return np.zeros(n, dtype=np.int8) if objects else evaluate(atom.part, self)
        if isinstance(atom, Question):
            return self._answer(atom)
        return self._unlisted(atom.text)

    def _answer(self, question: Question) -> Truth:
        """Answer a whole question by its formula, or if its value is unknown, by the features of the objects.

        A no that contradicts the features becomes unknown, unless the question is that of an attribute, names
        a thing ("a car key" is not a car) or has an "or".
        """
        value, unlisted = evaluate(question.formula, self), self._unlisted(question.text)
        value = np.where(value == 0, unlisted, value).astype(np.int8)
        if (
            " or " in question.text
            or question.text in self._asks
            or any(noun.key in self._named or noun.key in self.kb.foreign for noun in nouns(question.formula))
        ):
            return value
        return np.where((value < 0) & (unlisted > 0), 0, value).astype(np.int8)

    @cached_property
    def _asks(self) -> frozenset[str]:
        return frozenset(" ".join(tokens(attribute.ask)) for attribute in self.kb.attributes)

    def _unlisted(self, text: str) -> Truth:
        """Answer a question that no attribute answers by the features of the objects."""
        if states_amount(tuple(text.split())):
            return np.zeros(len(self), dtype=np.int8)  # no feature is an amount
        value = self._answered.get(text)
        if value is None:
            if len(self._answered) >= 4096:
                self._answered.clear()
            value = self._answered[text] = self._features.truth(text)
        return value

    @property
    def _nouns(self) -> Mapping[tuple[str, ...], Formula]:
        return self.lexicon.tables["noun"]

    def _noun(self, key: tuple[str, ...]) -> Truth:
        named = self._named.get(key)
        attribute = self._nouns.get(key)
        value = np.full(len(self), -1, dtype=np.int8)
        if key in self._more_nouns:
            value = np.maximum(value, self._more_nouns[key])
        if attribute is not None:
            value = np.maximum(value, evaluate(attribute, self))
        if key in self.kb.kinds:
            value = np.maximum(value, self.kb.kinds[key])
        return value if named is None else np.where(named, 1, value).astype(np.int8)

    def _bulk(self, atom: BulkCompare) -> Truth:
        """Compare bulk with that of a thing: by size rank, and by length if the ranks are adjacent."""
        rank, cm = self.kb.size_rank, self.kb.measures["length"]
        step = rank - atom.rank
        with np.errstate(invalid="ignore"):
            unmeasured = np.isnan(cm) & (np.abs(step) >= 0.5)  # then the rank alone decides
            longer = (cm > atom.cm * BULK_MARGIN) | unmeasured
            shorter = (cm * BULK_MARGIN < atom.cm) | unmeasured
            half = atom.rank % 1 != 0  # a rank between two ranks divides all objects
            bigger = (step >= 2) | ((step > 0) & (half | longer)) | ((step == 0) & (cm > atom.cm * 1.6))
            smaller = (step <= -2) | ((step < 0) & (half | shorter)) | ((step == 0) & (cm * 1.6 < atom.cm))
        if atom.comparison == "=":
            with np.errstate(invalid="ignore"):
                ratio = np.maximum(cm, atom.cm) / np.minimum(cm, atom.cm)
                like = (np.abs(step) < 0.9) & (ratio <= LIKE_RATIO)
                unlike = (np.abs(step) >= 1.9) | (ratio >= UNLIKE_RATIO)
            return np.where(like, 1, np.where(unlike, -1, 0)).astype(np.int8)
        yes, no = (bigger, smaller) if atom.comparison == ">" else (smaller, bigger)
        same = (step == 0) & (np.abs(cm - atom.cm) <= 0.01 * atom.cm)  # an object is not bigger than itself
        value = np.where(yes, 1, np.where(no | same, -1, 0))
        least, most = self._rank_bounds
        if yes is bigger:
            bounded = np.where(most <= atom.rank, -1, np.where(least > atom.rank, 1, 0))
        else:
            bounded = np.where(most < atom.rank, 1, np.where(least >= atom.rank, -1, 0))
        return np.where(np.isnan(rank), bounded, value).astype(np.int8)

    def _by_bounds(self, atom: Compare) -> Truth:
        """Compare a measure that is not known with a number, by its bounds."""
        if atom.measure not in self.kb.bounds:
            return np.zeros(len(self), dtype=np.int8)
        least, most = self.kb.bounds[atom.measure]
        above, below = least > atom.number, most < atom.number
        if atom.comparison == "=":
            return np.where(above | below, -1, 0).astype(np.int8)
        yes, no = (above, below) if atom.comparison == ">" else (below, above)
        return np.where(yes, 1, np.where(no, -1, 0)).astype(np.int8)

    @cached_property
    def _rank_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the minimal and maximal size rank of each object, from its attributes of size."""
        least, most = np.zeros(len(self)), np.full(len(self), np.inf)
        for attribute, rank in _LARGER_THAN_RANK.items():
            known = self.kb.cells[self.kb.row[attribute]]
            least[known > 0] = np.maximum(least[known > 0], rank + 1)
            most[known < 0] = np.minimum(most[known < 0], rank)
        for attribute, rank in _AT_MOST_RANK.items():
            known = self.kb.cells[self.kb.row[attribute]]
            most[known > 0] = np.minimum(most[known > 0], rank)
        return least, most


def _is_choice_of_names(formula: Formula) -> bool:
    if isinstance(formula, Question):
        return _is_choice_of_names(formula.formula)
    return isinstance(formula, Or) and all(isinstance(part, Noun) for part in formula.parts)


def _compare(values: np.ndarray, comparison: str, number: float, margin: float) -> Truth:
    with np.errstate(invalid="ignore"):
        above, below = values > number * margin, values * margin < number
        if comparison == "=":
            ratio = np.maximum(values, number) / np.minimum(values, number)
            return np.where(ratio <= margin, 1, np.where(ratio >= LIKE_RATIO, -1, 0)).astype(np.int8)
        yes, no = (above, below) if comparison == ">" else (below, above)
        no = no | (values == number)
    return np.where(yes, 1, np.where(no, -1, 0)).astype(np.int8)


def _count(between: np.ndarray, comparison: str, number: float) -> Truth:
    """Compare a number of parts ``between`` two bounds (``[2, objects]``, NaN if unknown) with ``number``."""
    fewest, most = between
    if comparison == "=":
        yes, no = (fewest == number) & (most == number), (fewest > number) | (most < number)
    elif comparison == ">":
        yes, no = fewest > number, most <= number
    else:
        yes, no = most < number, fewest >= number
    return np.where(yes, 1, np.where(no, -1, 0)).astype(np.int8)


def embedded_world(data: str = "embedded") -> World:
    """Return the world of the embedded objects; ``data`` must be ``"embedded"`` (unpickling passes it)."""
    return _embedded_world()


@lru_cache(maxsize=1)
def _embedded_world() -> World:
    kb = embedded()
    described = said_about(((name, *aliases) for name, aliases in zip(kb.names, kb.aliases, strict=True)))
    return World(kb, embedded_lexicon(), "embedded", embedded_world, said=described)
