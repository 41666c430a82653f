"""Computes the cells of the official objects from the tables in ``kb/official/``.

A table assigns an attribute's value to groups of objects (by THINGS category, by WordNet ancestor, or by
another attribute) and to single objects, which are the exceptions.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlac_bench.simulators.oracle20.know.knowledge import KB, KnowledgeBase

TABLES = (
    "kinds",
    "matter",
    "uses",
    "places",
    "parts",
    "rare",
    "looks",
    "features",
    "people",
    "seldom",
    "actions",
    "further",
    "general",
    "animals",
    "foods",
    "narrow",
)
"""Files of ``kb/official/`` in the order in which they are read; an entry may refer to earlier attributes."""
UNKNOWN, YES, NO = 0, 1, -1
COMPOSED = "machine, apparatus, home appliance, electronic device, motor vehicle"
"""What has many parts and materials, which no table lists completely: one that is not listed is not known."""
SIZES = {
    "bigger_than_breadbox": (5, 10), "bigger_than_person": (7, 10), "bigger_than_car": (9, 10),
    "bigger_than_house": (10, 10), "fits_in_pocket": (1, 2), "small": (1, 3), "big": (7, 10), "huge": (9, 10),
    "tiny": (1, 1), "medium": (4, 6),
}  # fmt: skip
"""Attribute → smallest and largest rank; a test compares them with ``kb/attributes/size.toml``."""


@dataclass(frozen=True)
class Groups:
    """Groups of official objects, each a ``bool [objects]``.

    ``categories`` are those of THINGS. ``wordnet`` maps a lemma to the objects below it or of that name.
    ``words`` maps a word or an object's id, with ``_`` for a space, to its objects. ``known`` are the objects
    that have WordNet ancestors.
    """

    categories: Mapping[str, np.ndarray]
    wordnet: Mapping[str, np.ndarray]
    words: Mapping[str, np.ndarray]
    known: np.ndarray


def stand_ins() -> dict[str, str]:
    """Return, for objects without a sense in WordNet, the object whose ancestors they share (ids)."""
    return _toml("stand_ins")


def synonyms() -> dict[str, list[str]]:
    """Return further names of objects (ids)."""
    return {name: words.split(", ") for name, words in _toml("synonyms").items()}


def official_ranks(groups: Groups) -> np.ndarray:
    """Return the rank of bulk of each object, ``float64 [objects]``, NaN if unknown."""
    ranks = np.full(len(groups.known), np.nan)
    sizes = _toml("size")
    for rank, entry in sizes.items():
        ranks[_members(entry["yes"], groups, {})] = float(rank)
    for rank, entry in sizes.items():
        for mask in _words(entry["also"], groups):
            ranks[mask] = float(rank)
    return ranks


def official_bounds(groups: Groups, ranks: np.ndarray) -> dict[str, np.ndarray]:
    """Return measure → the least and the most that each object measures, ``float64 [2, objects]``.

    The bounds are those of the object's rank of bulk, narrowed by those of its group.
    """
    n = len(groups.known)
    result = {}
    for measure, entry in _toml("measures").items():
        by_rank = [[0, np.inf], *entry["ranks"]] if "ranks" in entry else [[0, np.inf]] * 11
        bounds = np.array(by_rank)[np.nan_to_num(ranks).astype(int)].T
        for group in entry["of"]:
            mask = _members(group.get("yes", ""), groups, {})
            for field, value in (("except", False), ("also", True)):
                for words in _words(group.get(field, ""), groups):
                    mask[words] = value
            least, most = group["bounds"]
            narrowed = np.array([np.maximum(bounds[0], least), np.minimum(bounds[1], most)])
            own = np.tile([[least], [most]], n)
            bounds = np.where(mask, np.where(narrowed[0] < narrowed[1], narrowed, own), bounds)
        result[measure] = bounds
    result["height"] = np.array([np.zeros(n), result["length"][1]])  # a long object may lie on its side
    return result


def official_cells(base: KnowledgeBase, groups: Groups, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells that the tables determine, ``int8 [attributes, objects]``, and which are debatable.

    A debatable cell (``bool [attributes, objects]``) is one that a table marks as not known for a single
    object, or an unlisted part or material of a ``COMPOSED`` object.

    In an entry, the groups ``yes`` and ``no`` state the value, and ``maybe`` states that it is not known; an
    object in ``yes`` and ``no`` has the value no, unless it is also in ``maybe``. All other objects have the
    value no, or are not known if the entry is ``open``, or if the attribute is a part or a material and they
    are ``COMPOSED``. Single objects (``also`` yes, ``except`` no, ``unsure`` not known) are stronger than
    groups.
    """
    decided: dict[str, np.ndarray] = {}
    composed = _members(COMPOSED, groups, decided)
    debatable = np.zeros((len(base.attributes), len(groups.known)), dtype=bool)
    for attribute, (least, most) in SIZES.items():
        fits = (ranks >= least) & (ranks <= most)
        decided[attribute] = np.where(np.isnan(ranks), UNKNOWN, np.where(fits, YES, NO))
    for file in TABLES:
        for attribute, entry in _toml(file).items():
            yes, no, maybe = (
                _members(entry.get(field, ""), groups, decided) for field in ("yes", "no", "maybe")
            )
            default = UNKNOWN if entry.get("open") else NO
            value = np.where(groups.known, default, UNKNOWN)
            if {"have", "material"} & set(base.attributes[base.row[attribute]].phrases):
                value[composed] = UNKNOWN
                debatable[base.row[attribute], composed] = True
            value[no] = NO
            value[maybe] = UNKNOWN
            value[yes & ~no] = YES
            for field, single in (("unsure", UNKNOWN), ("except", NO), ("also", YES)):
                for mask in _words(entry.get(field, ""), groups):
                    value[mask] = single
                    debatable[base.row[attribute], mask] = single == UNKNOWN
            decided[attribute] = value
    decided |= _colours(groups)
    cells = np.zeros((len(base.attributes), len(groups.known)), dtype=np.int8)
    for attribute, value in decided.items():
        cells[base.row[attribute]] = value
    return cells, debatable


def close_domains(base: KnowledgeBase, cells: np.ndarray) -> None:
    """Set unknown cells (0) to no, in place, for objects whose kinds cannot have the attribute."""
    for entry in _toml("domains").values():
        outside = np.logical_and.reduce([cells[base.row[kind]] == NO for kind in entry["of"].split()])
        for attribute in entry["only"].split():
            row = cells[base.row[attribute]]
            row[outside & (row == UNKNOWN)] = NO


def _colours(groups: Groups) -> dict[str, np.ndarray]:
    """Return colour → value; an object whose typical colours are listed has no other colours."""
    typical = {}
    for colour, words in _toml("colours").items():
        typical[colour] = np.zeros(len(groups.known), dtype=bool)
        for mask in _words(words, groups):
            typical[colour] |= mask
    listed = np.logical_or.reduce(list(typical.values()))
    return {colour: np.where(mask, YES, np.where(listed, NO, UNKNOWN)) for colour, mask in typical.items()}


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads((KB / "official" / f"{name}.toml").read_text(encoding="utf-8"))


def _members(terms: str, groups: Groups, decided: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the objects of any of ``terms``: ``@category`` of THINGS, ``#attribute``, or WordNet's lemma."""
    members = np.zeros(len(groups.known), dtype=bool)
    for term in filter(None, (" ".join(t.split()) for t in terms.split(","))):
        if term.startswith("@"):
            members |= groups.categories.get(term[1:], False)
        elif term.startswith("#"):
            members |= decided[term[1:]] == YES
        else:
            members |= groups.wordnet.get(term, False)
    return members


def _words(words: str, groups: Groups) -> Iterator[np.ndarray]:
    """Yield the objects of each word; a custom data folder may lack some of them."""
    return (groups.words[word] for word in words.split() if word in groups.words)
