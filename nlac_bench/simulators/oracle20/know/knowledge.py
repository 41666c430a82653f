"""Reads the embedded knowledge base (objects × attributes, no cell unknown) from the files in ``kb/``."""

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from nlac_bench.errors import DataError
from nlac_bench.simulators.oracle20.find.words import noun_key, tokens, word_set

KB = Path(__file__).parent / "kb"
ROLES = ("noun", "adj", "colour", "have", "material", "place", "do", "done", "use", "by", "power", "topic")
"""Roles of a phrase in a question: "is it a …", "is it …", "does it have …", "is it made of …",
"is it found in …", "does it …", "do you … it", "is it used to …", "is it used by …", "does it run on …",
"does it have to do with …"."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One yes/no attribute: its id, the question that tests it, and the phrases that name it, by role.

    A phrase that starts with "!" names the negation.
    """

    id: str
    ask: str
    phrases: Mapping[str, tuple[str, ...]]
    category: bool = False


@dataclass(frozen=True)
class KnowledgeBase:
    """Objects and their known properties.

    ``cells`` is ``int8 [attributes, objects]`` of +1 and -1 (0, not known, occurs only in official data);
    the measures are ``float64 [objects]``, NaN if unknown, and then between ``bounds``. Bounds and counts of
    parts are ``float64 [2, objects]``, the minimal and the maximal number. ``references`` are other things:
    rank, length, weight and height (NaN if unknown). ``kinds`` maps a noun to the least
    value of "is it a …" for each object, ``int8 [objects]``: what a kind above the object is, is no known no.
    """

    names: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...]
    easy: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    cells: np.ndarray
    size_rank: np.ndarray
    measures: Mapping[str, np.ndarray]
    counts: Mapping[str, np.ndarray]
    count_words: Mapping[tuple[str, ...], str]
    count_attributes: Mapping[str, str]
    references: Mapping[tuple[str, ...], tuple[float, float, float, float]]
    foreign: frozenset[tuple[str, ...]]
    categories: tuple[frozenset[str], ...]
    sha256: str
    bounds: Mapping[str, np.ndarray] = field(default_factory=dict)
    kinds: Mapping[tuple[str, ...], np.ndarray] = field(default_factory=dict)
    row: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "row", {a.id: i for i, a in enumerate(self.attributes)})


def phrase_key(phrase: str) -> tuple[str, ...]:
    """Return the key of a noun phrase: its tokens in the singular, without determiners."""
    return tuple(noun_key(t) for t in tokens(phrase) if t not in ("a", "its"))


@lru_cache(maxsize=1)
def embedded() -> KnowledgeBase:
    """Return the knowledge base of the package.

    Raises:
        DataError: a file is malformed (an unknown name, category or field, or a wrong number of columns).
    """
    paths = sorted(KB.rglob("*.txt")) + sorted(KB.rglob("*.toml"))
    raw = {path.relative_to(KB).as_posix(): path.read_bytes() for path in paths}
    text = {name: content.decode("utf-8") for name, content in raw.items()}
    listing = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in raw.items())
    objects = _rows(text["objects.txt"], 7)
    parents, categories = _categories(text["categories.txt"])
    names = tuple(row[0].lstrip("* ") for row in objects)
    own = [_closure(row[1].split(), parents) for row in objects]
    extension = {f.replace(" ", "_"): _mask([i], len(names)) for i, f in enumerate(names)}
    for category in parents:
        extension[category] = np.array([category in cs for cs in own])
    extension["ALL"] = np.ones(len(names), dtype=bool)
    measures = {
        key: np.array([float("nan") if row[column] == "-" else float(row[column]) for row in objects])
        for key, column in (("rank", 2), ("length", 3), ("weight", 4), ("price", 5))
    }
    numbers = tomllib.loads(text["numbers.toml"])
    attributes = list(categories)
    cells = [extension[a.id] for a in categories]
    for name in sorted(n for n in text if n.startswith("attributes/")):
        for key, entry in tomllib.loads(text[name]).items():
            attributes.append(_attribute(key, entry, name))
            cells.append(_select(entry["yes"], extension, measures, f"{name}: {key}"))
    matrix = np.where(np.array(cells), 1, -1).astype(np.int8)
    rows = {a.id: matrix[i] for i, a in enumerate(attributes)}
    counts, count_words = _counts(numbers["counts"], extension, rows, measures)
    height = measures["length"].copy()
    for name, cm in numbers["heights"].items():
        height[extension[name]] = cm
    return KnowledgeBase(
        names=names,
        aliases=tuple(tuple(x.strip() for x in row[6].split(",") if x.strip()) for row in objects),
        easy=tuple(row[0].lstrip("* ") for row in objects if row[0].startswith("*")),
        attributes=tuple(attributes),
        cells=matrix,
        size_rank=measures["rank"],
        measures={**{k: measures[k] for k in ("length", "weight", "price")}, "height": height},
        counts=counts,
        count_words=count_words,
        count_attributes={part: entry["attribute"] for part, entry in numbers["counts"].items()},
        references={phrase_key(k): (float(a), float(b), float(c), float(d[0]) if d else float("nan"))
                    for k, (a, b, c, *d) in numbers["references"].items()},
        kinds=_kinds(text["kinds.txt"], extension),
        foreign=frozenset(phrase_key(line) for line in _lines(text["other_things.txt"])),
        categories=tuple(frozenset(cs) for cs in own),
        sha256=hashlib.sha256(listing.encode()).hexdigest(),
    )  # fmt: skip


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _rows(text: str, columns: int) -> list[list[str]]:
    rows = [[cell.strip() for cell in line.split("|")] for line in _lines(text)]
    for row in rows:
        if len(row) != columns:
            raise DataError(f"knowledge base: {' | '.join(row)!r} has {len(row)} columns, not {columns}")
    return rows


def _categories(text: str) -> tuple[dict[str, list[str]], list[Attribute]]:
    parents: dict[str, list[str]] = {}
    attributes = []
    for key, above, words in _rows(text, 3):
        parents[key] = above.split()
        phrases = tuple(w.strip() for w in words.split(","))
        quiet = phrases[0].startswith("!")  # a group without a natural name; not used in questions
        spoken = phrases[0].lstrip("!")
        attributes.append(
            Attribute(
                id=key,
                ask="" if quiet else f"Is it {_article(spoken)}?",
                phrases={"noun": phrases[1:] if quiet else phrases},
                category=True,
            )
        )
    return parents, attributes


_MASS = word_set(
    """vegetation cutlery silverware footwear headwear neckwear eyewear outerwear furniture bedding
    kitchenware tableware crockery cookware lighting clothing jewelry money equipment gear food transport
    pasta makeup"""
)


def _article(noun: str) -> str:
    """Return ``noun`` with the article that a question needs before it."""
    if noun.rsplit(maxsplit=1)[-1] in _MASS:
        return noun
    return f"an {noun}" if noun[0] in "aeiou" and not noun.startswith(("uten", "unit")) else f"a {noun}"


def _attribute(key: str, entry: Mapping[str, str], file: str) -> Attribute:
    unknown = set(entry) - {"ask", "yes", *ROLES}
    if unknown:
        raise DataError(f"knowledge base: {file}: {key} has unknown fields {sorted(unknown)}")
    phrases = {role: tuple(p.strip() for p in entry[role].split(",")) for role in ROLES if role in entry}
    return Attribute(id=key, ask=entry["ask"], phrases=phrases)


def _closure(categories: Sequence[str], parents: Mapping[str, Sequence[str]]) -> set[str]:
    closure: set[str] = set()
    stack = list(categories)
    while stack:
        category = stack.pop()
        if category not in parents:
            raise DataError(f"knowledge base: unknown category {category!r}")
        if category not in closure:
            closure.add(category)
            stack += parents[category]
    return closure


def _mask(members: Sequence[int], length: int) -> np.ndarray:
    mask = np.zeros(length, dtype=bool)
    mask[list(members)] = True
    return mask


def _kinds(text: str, extension: Mapping[str, np.ndarray]) -> dict[tuple[str, ...], np.ndarray]:
    kinds = {}
    for nouns, yes, maybe in _rows(text, 3):
        value = np.full(len(extension["ALL"]), -1, dtype=np.int8)
        value[_select(maybe, extension, {}, f"kinds.txt: {nouns}")] = 0
        value[_select(yes, extension, {}, f"kinds.txt: {nouns}")] = 1
        kinds.update({phrase_key(noun): value for noun in nouns.split(",")})
    return kinds


_THRESHOLD = re.compile(r"(SIZE|KG|USD)(<=|>=|<|>)([\d.]+)")
_OPERATORS = {"<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater}


def _select(
    rule: str, extension: Mapping[str, np.ndarray], measures: Mapping[str, np.ndarray], where: str
) -> np.ndarray:
    """Return the objects that a rule such as ``"mammal -whale SIZE<=2"`` selects, read left to right."""
    chosen = np.zeros(len(extension["ALL"]), dtype=bool)
    for word in rule.split():
        name = word[1:] if word.startswith("-") else word
        threshold = _THRESHOLD.fullmatch(name)
        if threshold:
            measure = {"SIZE": "rank", "KG": "weight", "USD": "price"}[threshold[1]]
            members = _OPERATORS[threshold[2]](measures[measure], float(threshold[3]))
        elif name in extension:
            members = extension[name]
        else:
            raise DataError(f"knowledge base: {where} names {name!r}, which is not an object or a category")
        chosen = chosen & ~members if word.startswith("-") else chosen | members
    return chosen


def _counts(
    entries: Mapping[str, Mapping[str, str]],
    extension: Mapping[str, np.ndarray],
    rows: Mapping[str, np.ndarray],
    measures: Mapping[str, np.ndarray],
) -> tuple[dict[str, np.ndarray], dict[tuple[str, ...], str]]:
    counts, words = {}, {}
    for part, entry in entries.items():
        has = rows[entry["attribute"]] > 0
        values = np.array([np.where(has, 1.0, 0.0), np.where(has, np.inf, 0.0)])
        for number, rule in entry.items():
            if number.rstrip("+").isdigit():
                chosen = _select(rule, extension, measures, f"numbers.toml: {part}")
                fewest = float(number.rstrip("+"))
                values[:, chosen] = [[fewest], [np.inf if number.endswith("+") else fewest]]
        counts[part] = values
        words.update({phrase_key(word): part for word in entry["words"].split(",")})
    return counts, words
