"""Implements the lexicon: maps phrases, by their role in a question, to tests of attributes."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from nlac_bench.simulators.oracle20.find.words import (
    cache_of_short_texts,
    noun_key,
    tokens,
    verb_key,
    word_set,
)
from nlac_bench.simulators.oracle20.know.knowledge import ROLES, Attribute, KnowledgeBase, embedded
from nlac_bench.simulators.oracle20.read.formula import Attr, Formula, Not, Or

NOUN_ROLES = frozenset({"noun", "have", "material", "place", "by", "power", "colour"})
"""Roles whose phrases are nouns: "wings" has the key of "wing", but "painting" not that of "paint"."""

SKIPPED = frozenset({"a", "its", "it"})
"""Tokens that do not distinguish two phrases of one role: determiners, and the pronoun of the hidden object,
which can be anywhere in a phrase ("put it on", "put on") or absent ("something you put on")."""


LOOSE_ROLES = ("do", "done", "use", "adj")
SMALL_WORDS = word_set(
    "in on at of up out off when while if be is are ar that you and as it a its then so such one thing"
)


class Lexicon:
    """Tables of phrases by role. Read-only after construction.

    Args:
        attributes: the attributes and their phrases.
        extra_nouns: further nouns for "is it a …" (objects, their names, WordNet ancestors).
        extra_parts: further nouns for "does it have …", each with the id of its attribute.
        kinds: nouns of kinds that hold some objects whether or not the rest of the lexicon says so.
    """

    def __init__(
        self,
        attributes: Iterable[Attribute],
        extra_nouns: Iterable[tuple[str, ...]],
        extra_parts: Mapping[tuple[str, ...], str] | None = None,
        kinds: Iterable[tuple[str, ...]] = (),
    ) -> None:
        self.kinds = frozenset(kinds)
        self.tables: dict[str, dict[tuple[str, ...], Formula]] = {role: {} for role in ROLES}
        self.nouns = set(extra_nouns)
        self.loose: dict[str, dict[frozenset[str], Formula | None]] = {role: {} for role in LOOSE_ROLES}
        for attribute in attributes:
            for role, phrases in attribute.phrases.items():
                for phrase in phrases:
                    self._add(role, phrase, attribute.id)
        for key, attribute_id in (extra_parts or {}).items():
            self._join("have", key, Attr(attribute_id))
        for role in LOOSE_ROLES:
            for key, formula in self.tables[role].items():
                content = self._content(key)
                if len(content) > 1:
                    present = self.loose[role].setdefault(content, formula)
                    if present != formula:
                        self.loose[role][content] = None  # only function words distinguish two attributes

    def find(self, role: str, words: Iterable[str]) -> Formula | None:
        """Return the tests that ``words`` name in ``role``, or None."""
        return self.tables[role].get(self.key(role, words))

    def find_loosely(self, role: str, words: Iterable[str]) -> Formula | None:
        """Return the tests that ``words`` name in ``role``, ignoring order and function words ("on", "of").

        Applies only to phrases of two or more content words that name one attribute in any order.
        """
        if role not in self.loose:
            return None
        return self.loose[role].get(self._content(self.key(role, words)))

    @staticmethod
    def _content(key: tuple[str, ...]) -> frozenset[str]:
        return frozenset(word for word in key if word not in SMALL_WORDS)

    def key(self, role: str, words: Iterable[str]) -> tuple[str, ...]:
        """Return the key of ``words`` in ``role``'s table."""
        to_key = noun_key if role in NOUN_ROLES else verb_key
        return tuple(to_key(w) for w in words if w not in SKIPPED)

    def _add(self, role: str, phrase: str, attribute_id: str) -> None:
        formula: Formula = Attr(attribute_id)
        if phrase.startswith("!"):
            formula = Not(formula)
        key = self.key(role, tokens(phrase.lstrip("!")))
        if key:
            self._join(role, key, formula)

    def _join(self, role: str, key: tuple[str, ...], formula: Formula) -> None:
        """Add a reading; a phrase with several readings is true if one of them is."""
        present = self.tables[role].get(key)
        if present is None:
            self.tables[role][key] = formula
        elif present != formula and not (isinstance(present, Or) and formula in present.parts):
            parts = present.parts if isinstance(present, Or) else (present,)
            self.tables[role][key] = Or((*parts, formula))


def object_nouns(kb: KnowledgeBase) -> set[tuple[str, ...]]:
    """Return the keys of all names of ``kb``'s objects, and of nouns that are known to name no object."""
    named = {name_key(name) for names in ((*kb.names,), *kb.aliases) for name in names}
    return named | kb.foreign


@cache_of_short_texts
def name_key(name: str) -> tuple[str, ...]:
    """Return the key of an object's name: whole words in the singular, without articles."""
    return tuple(noun_key(t) for t in tokens(name) if t not in ("a", "its"))


@lru_cache(maxsize=1)
def embedded_lexicon() -> Lexicon:
    """Return the lexicon of the embedded knowledge base."""
    kb = embedded()
    return Lexicon(kb.attributes, object_nouns(kb), kinds=kb.kinds)
