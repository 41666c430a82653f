"""Makes a world of the 1,823 THINGS words from THINGS and Open English WordNet.

The following is known about an object: the 27 THINGS categories and its WordNet ancestors, which answer "is
it a …" with yes or no; its WordNet parts, whose absence is not evidence; every cell of the embedded knowledge
base if the object is in it; what the tables of ``kb/official/`` say of its groups and of itself (see
``official_cells``); what follows from these by ``kb/implications.txt``; and otherwise what all embedded
objects of one of its categories have in common (see ``_by_analogy``).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nlac_bench.simulators.oracle20.answer.world import World
from nlac_bench.simulators.oracle20.know.features import content, said_about
from nlac_bench.simulators.oracle20.know.implications import close
from nlac_bench.simulators.oracle20.know.knowledge import Attribute, KnowledgeBase, embedded, phrase_key
from nlac_bench.simulators.oracle20.know.official_cells import (
    Groups,
    close_domains,
    official_bounds,
    official_cells,
    official_ranks,
    stand_ins,
    synonyms,
)
from nlac_bench.simulators.oracle20.read.formula import Attr
from nlac_bench.simulators.oracle20.read.function_words import GENERIC, THINGS
from nlac_bench.simulators.oracle20.read.lexicon import Lexicon, embedded_lexicon, name_key


def things_world(
    things: list[dict[str, str]],
    senses: dict[str, Any],
    data: str,
    sha256: str,
    reopen: Callable[[str], World],
) -> World:
    """Return the world of the official objects, one per *concept*.

    Homographs (bat the animal, bat the stick) are two concepts with one name.

    Args:
        things: the rows of ``things_objects.tsv``.
        senses: the rows of ``oewn_things.jsonl.gz`` by ``unique_id``.
        data: what ``reopen`` reads the world from again.
        sha256: hash of the data.
        reopen: called with ``data`` to unpickle the world.
    """
    base = embedded()
    n = len(things)
    words = tuple(row["word"] for row in things)
    ancestors: dict[str, np.ndarray] = {}
    own_names: dict[str, np.ndarray] = {}
    parts: dict[tuple[str, str], np.ndarray] = {}
    has_sense = np.zeros(n, dtype=bool)
    named: dict[str, np.ndarray] = {}
    similar = stand_ins()
    for i, row in enumerate(things):
        for name in {row["word"].replace(" ", "_"), row["unique_id"]}:
            named.setdefault(name, np.zeros(n, dtype=bool))[i] = True
        sense = senses.get(row["unique_id"])
        above = sense or senses.get(similar.get(row["unique_id"], ""))
        if above is not None:
            has_sense[i] = True
            for lemma in {lemma for group in above["ancestors"] for lemma in group}:
                ancestors.setdefault(lemma.lower(), np.zeros(n, dtype=bool))[i] = True
        if sense is None:
            continue
        for lemma in sense["members"]:
            own_names.setdefault(lemma.lower(), np.zeros(n, dtype=bool))[i] = True
        for kind, lemma in sense["parts"]:
            role = "material" if kind == "substance" else "have"
            parts.setdefault((role, lemma.lower()), np.zeros(n, dtype=bool))[i] = True
    categories: dict[str, np.ndarray] = {}
    for i, row in enumerate(things):
        for category in filter(None, (c.strip() for c in row["categories"].split(";"))):
            categories.setdefault(category, np.zeros(n, dtype=bool))[i] = True

    nothing = np.zeros(n, dtype=bool)
    wordnet = {k: ancestors.get(k, nothing) | own_names.get(k, nothing) for k in ancestors | own_names}
    groups = Groups(categories, wordnet, named, has_sense)
    ranks = official_ranks(groups)
    cells, debatable = official_cells(base, groups, ranks)
    same = _same_objects(base, things, cells)
    for i, j in same.items():
        cells[:, i] = base.cells[:, j]
    bounds = official_bounds(groups, ranks)
    ranks = np.where(np.isnan(taken := _taken(base.size_rank, same, n)), ranks, taken)
    own_parts = _listed_parts(base, parts, cells)
    close(cells, base.row)
    close_domains(base, cells)
    _by_analogy(base, cells, debatable)
    attributes = list(base.attributes)
    attributes += [Attribute(id=f"part:{p}", ask=f"Does it have {_a(p)}?", phrases={}) for p in own_parts]
    cells = np.concatenate([cells, np.array([m.astype(np.int8) for m in own_parts.values()]).reshape(-1, n)])

    more_nouns: dict[tuple[str, ...], np.ndarray] = {}
    kinds: dict[tuple[str, ...], np.ndarray] = {}
    for lemma, mask in (*ancestors.items(), *categories.items()):
        value = np.where(mask, 1, np.where(has_sense, -1, 0)).astype(np.int8)
        key = phrase_key(lemma)
        if set(key) <= GENERIC | THINGS:
            if key in _WIDE:
                kinds[key] = np.where(mask, 1, -1).astype(np.int8)
            continue  # WordNet's "thing" is a narrow class; in a question it means anything
        more_nouns[key] = np.maximum(more_nouns[key], value) if key in more_nouns else value
    for lemma, mask in own_names.items():  # a synonym that is another object's word, such as "roll" for a bun
        _raise(kinds, phrase_key(lemma), mask)
    wide = [cells[base.row[attribute]] > 0 for attribute in ("tool", "utensil", "machine", "appliance")]
    wide += [ancestors.get(lemma, nothing) for lemma in ("implement", "utensil", "machine", "apparatus")]
    for key in _WIDE:
        _raise(kinds, key, np.logical_or.reduce(wide))
    for noun in ("kitchen utensil", "kitchen tool", "cooking utensil"):
        _raise(kinds, phrase_key(noun), cells[base.row["kitchenware"]] > 0)
    aliases = _aliases(base, things, senses, same)
    kb = KnowledgeBase(
        names=words,
        aliases=aliases,
        easy=_easy(base, words),
        attributes=tuple(attributes),
        cells=cells,
        size_rank=ranks,
        measures={k: _taken(v, same, n) for k, v in base.measures.items()},
        counts=_counts(base, cells, same),
        bounds=bounds,
        count_words=base.count_words,
        count_attributes=base.count_attributes,
        references=base.references,
        kinds=kinds,
        foreign=base.foreign,
        categories=tuple(frozenset() for _ in words),
        sha256=sha256,
    )
    nouns = (
        {name_key(x) for names in (words, *aliases) for x in names}
        | set(more_nouns)
        | set(kinds)
        | base.foreign
    )
    nouns |= {name_key(x) for names in (base.names, *base.aliases) for x in names}
    lexicon = Lexicon(base.attributes, nouns, {phrase_key(p): f"part:{p}" for p in own_parts})
    described = said_about((row["unique_id"].replace("_", " "), row["word"], *names)
                      for row, names in zip(things, aliases, strict=True))  # fmt: skip
    described = [own | content(senses.get(row["unique_id"], {}).get("definition", ""))
            for own, row in zip(described, things, strict=True)]  # fmt: skip
    return World(kb, lexicon, data, reopen, more_nouns, described)


_WIDE = tuple(
    map(phrase_key, ("tool", "implement", "utensil", "device", "gadget", "machine", "apparatus", "equipment"))
)
"""Words for things that people use. They overlap, so that the answer for a tool is never a known no."""


def _raise(kinds: dict[tuple[str, ...], np.ndarray], key: tuple[str, ...], mask: np.ndarray) -> None:
    """Let a noun's least value for the objects of ``mask`` be 0 (not known), in place."""
    kinds[key] = np.maximum(kinds.get(key, np.int8(-1)), np.where(mask, 0, -1)).astype(np.int8)


LIKE_ENOUGH = 10
"""Minimal number of embedded objects of a category whose common value is used for its other objects."""


def _by_analogy(base: KnowledgeBase, cells: np.ndarray, debatable: np.ndarray) -> None:
    """Fill unknown cells (0), in place, by what all embedded objects of a category have in common.

    For example, no embedded animal has a zipper, so no animal has one. Categories of fewer than
    ``LIKE_ENOUGH`` objects, categories of an object that disagree, and colours are not used. Cells that the
    tables call ``debatable`` (``bool [attributes, objects]``) stay unknown. In leave-one-out prediction,
    99.6 % of the embedded objects' cells are right.
    """
    animal = base.row["animal"]
    votes = np.zeros((2, *cells.shape), dtype=bool)
    for category in (a for a in base.attributes if a.category):
        members = base.cells[:, base.cells[base.row[category.id]] > 0]
        if members.shape[1] >= LIKE_ENOUGH:
            here = cells[base.row[category.id]] > 0
            if not (members[animal] > 0).any():
                here &= cells[animal] <= 0  # THINGS classifies a lobster as food, but it is not bread
            votes[0] |= np.outer((members > 0).all(axis=1), here)
            votes[1] |= np.outer((members < 0).all(axis=1), here)
    coloured = np.array(["colour" in a.phrases for a in base.attributes])
    open_ = (cells == 0) & ~coloured[:, None] & ~debatable
    cells[open_ & votes[0] & ~votes[1]] = 1
    cells[open_ & votes[1] & ~votes[0]] = -1


_SENSE_CHECKS = (
    "animal",
    "food",
    "vehicle",
    "furniture",
    "clothing",
    "musical_instrument",
    "weapon",
    "man_made",
)


def _listed_parts(
    base: KnowledgeBase, parts: dict[tuple[str, str], np.ndarray], cells: np.ndarray
) -> dict[str, np.ndarray]:
    """Set the attributes of listed parts and substances; return the parts that are not attributes."""
    lexicon = embedded_lexicon()
    rest = {}
    for (role, lemma), mask in parts.items():
        attribute = lexicon.find(role, phrase_key(lemma))
        if isinstance(attribute, Attr):
            row = cells[base.row[attribute.id]]
            row[mask & (row == 0)] = 1
        elif attribute is None and role == "have":
            rest[lemma] = mask
    return rest


def _same_objects(base: KnowledgeBase, things: list[dict[str, str]], cells: np.ndarray) -> dict[int, int]:
    """Return official concept → embedded object, if they have the same word and agree on the category."""
    by_name = {name: j for j, name in enumerate(base.names)}
    for j, names in enumerate(base.aliases):
        for name in names:
            by_name.setdefault(name, j)
    first_of: dict[int, int] = {}
    for i, row in enumerate(things):
        if row["word"] not in by_name:
            continue
        j = by_name[row["word"]]
        rows = [base.row[a] for a in _SENSE_CHECKS]
        if (cells[rows, i] * base.cells[rows, j] >= 0).all():
            first_of[i] = j
    return first_of


def _aliases(
    base: KnowledgeBase, things: list[dict[str, str]], senses: dict[str, Any], same: dict[int, int]
) -> tuple[tuple[str, ...], ...]:
    """Return the synonyms of each object from WordNet, the tables and the same embedded object.

    A synonym that is the word of another object is left out.
    """
    more = synonyms()
    words = {row["word"].lower() for row in things}
    aliases = []
    for i, row in enumerate(things):
        members = list(senses.get(row["unique_id"], {}).get("members", []))
        members += more.get(row["unique_id"], [])
        if i in same:
            members += [base.names[same[i]], *base.aliases[same[i]]]
        aliases.append(
            tuple(m for m in members if m.lower() not in words and m.lower() != row["word"].lower())
        )
    return tuple(aliases)


def _easy(base: KnowledgeBase, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the embedded easy objects by their word in THINGS."""
    present = set(words)
    chosen = []
    for name in base.easy:
        options = (name, *base.aliases[base.names.index(name)])
        word = next((o for o in options if o in present), None)
        if word is not None and word not in chosen:
            chosen.append(word)
    return tuple(chosen)


COUNTED_KINDS = (
    ("legs", "hoofed_mammal", 4), ("legs", "canine", 4), ("legs", "feline", 4), ("legs", "rodent", 4),
    ("legs", "bird", 2), ("legs", "insect", 6), ("legs", "arachnid", 8),
    ("wings", "bird", 2), ("eyes", "vertebrate", 2),
)  # fmt: skip
"""Number of a part that all objects with an attribute have; a test compares it with the embedded objects."""


def _counts(base: KnowledgeBase, cells: np.ndarray, same: dict[int, int]) -> dict[str, np.ndarray]:
    """Return bounds on the number of parts, ``[2, objects]``: 0, the number of its kind, or at least 1."""
    counts = {}
    for part, attribute in base.count_attributes.items():
        has = cells[base.row[attribute]]
        bounds = np.where(has == 0, np.nan, np.where(has > 0, [[1.0], [np.inf]], 0.0))
        for kind_part, kind, number in COUNTED_KINDS:
            if kind_part == part:
                bounds[:, (has > 0) & (cells[base.row[kind]] > 0)] = number
        for i, j in same.items():
            bounds[:, i] = base.counts[part][:, j]
        counts[part] = bounds
    return counts


def _taken(values: np.ndarray, same: dict[int, int], n: int) -> np.ndarray:
    taken = np.full(n, np.nan)
    for i, j in same.items():
        taken[i] = values[j]
    return taken


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
