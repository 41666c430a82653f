"""Looks up what people say about an object in lists of features, for questions that no attribute answers.

The lists, in ``kb/features/``, are like semantic feature norms (McRae et al. 2005,
doi:10.3758/BF03192726): for each object short phrases such as "comes back, throw, Australia, curved".
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from nlac_bench.errors import DataError
from nlac_bench.simulators.oracle20.find.words import tokens, verb_key, word_set
from nlac_bench.simulators.oracle20.know.knowledge import KB

_TURNS = word_set(
    """not n't non no never nor neither without than but except rather instead only fake less least fewer if
    unless too hardly rarely seldom best worst better worse favorite before"""
)
"""Words that reverse or restrict the meaning of a phrase, so that its other words do not answer it."""
_REQUIRES = re.compile(r"\bit (?:need|require)s?\b")
"""A question about what an object needs; associations do not answer it: a cactus needs little water."""
_EMPTY = frozenset(
    verb_key(word)
    for word in word_set(
        """it its you a is are was were be been being am do does did can could would will may might
        must should shall have has had having i me my they them this that these those there one ones
        thing something anything someone and or , ( ) % & of in on at to for from with by as into
        onto over under up down out off about around near through during along within while when
        after before which who whose what where how so then also too very really even ever still yet
        just both either each every all any some many most more much several few lot lots other
        another same such kind type sort form part piece example use used using user useful find
        found see seen know known need needed want get got come comes go goes put make made contain
        containing say look associated association related connected considered called like likely typical
        typically usual often common commonly usually normally generally sometimes mostly mainly
        primarily primary main popular average person people human able possible way purpose
        activity object item product tool device involve involved involving feature take give given
        help helps let owner own place famous well good include including"""
    )
)
"""Stems without a meaning of their own in a question."""


def content(text: str | Iterable[str]) -> frozenset[str]:
    """Return the stems of the words of ``text`` (a text or its tokens) that carry meaning."""
    words = tokens(text) if isinstance(text, str) else text
    return frozenset(key for key in map(verb_key, words) if key not in _EMPTY)


@lru_cache(maxsize=1)
def feature_lists() -> dict[str, frozenset[str]]:
    """Return the stems of the features of each object, by its name or its id in THINGS with spaces for ``_``.

    Raises:
        DataError: a line has no colon, or two lines are about one object.
    """
    lists: dict[str, frozenset[str]] = {}
    for path in sorted((KB / "features").glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            names, colon, features = line.partition(":")
            for name in (n.strip().replace("_", " ") for n in names.split(",")):
                if not colon or name in lists:
                    raise DataError(f"{path.name}: {line[:60]!r} has no ':' or repeats an object")
                lists[name] = content(features)
    return lists


def said_about(names: Iterable[Sequence[str]]) -> list[frozenset[str]]:
    """Return the stems of the features of each object, given by its names; the first listed name counts."""
    lists = feature_lists()
    return [next((lists[n] for n in own if n in lists), frozenset()) for own in names]


class Features:
    """The features of each object.

    Args:
        said: the stems of what is said about each object.
        implied: the stems of its attributes and of the names of its kinds; a phrase may contain them, but at
            least one of its stems must be said of the object.
    """

    def __init__(self, said: Sequence[frozenset[str]], implied: Sequence[frozenset[str]]) -> None:
        self.said = said
        self._having: dict[str, set[int]] = {}
        """The objects that have each stem."""
        for i, stems in enumerate(a | b for a, b in zip(said, implied, strict=True)):
            for stem in stems:
                self._having.setdefault(stem, set()).add(i)

    def truth(self, text: str) -> np.ndarray:
        """Return +1 for each object whose features contain all of ``text``, else 0 (``int8 [objects]``)."""
        value = np.zeros(len(self.said), dtype=np.int8)
        words = text.split()
        stems = content(words)
        if not stems or _TURNS & set(words) or _REQUIRES.search(text):
            return value
        having = sorted((self._having.get(stem, set()) for stem in stems), key=len)
        value[[i for i in set.intersection(*having) if not stems.isdisjoint(self.said[i])]] = 1
        return value
