"""Generates and solves problems: families of problems for MATH's seven subjects, on five levels of our own.

Levels 1 to 4 are about as hard as MATH's levels 1 to 3. At level 5, the families of the modules ``hard_*``
need several ideas in one problem, as MATH's level 5 does; the others are about as hard as its levels 2 to 4.

A task identifier such as ``train/algebra/quadratic_roots/3/000123`` determines its problem completely:
the split, the family, the level and a number seed the draws. Train is disjoint from validation and test by
construction (see ``family.py``), validation leaves out the problems of the tests (see ``task_ids``), and
every answer is confirmed by a second method. Only ``test_new`` has the held-out families and wordings.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TypeAlias

from nlac_bench.envs.math500_hard.generator import (
    algebra_equations,
    algebra_functions,
    counting,
    geometry_circles,
    geometry_polygons,
    hard_algebra,
    hard_counting,
    hard_numbers,
    hard_shapes,
    intermediate_polynomials,
    intermediate_series,
    number_congruences,
    number_divisors,
    prealgebra_arithmetic,
    prealgebra_quantities,
    precalculus_trigonometry,
    precalculus_vectors,
    probability,
)
from nlac_bench.envs.math500_hard.generator.family import (
    FAMILIES,
    NEW_FAMILIES,
    ClaimedError,
    Draft,
    Draw,
    Family,
    RedrawError,
    Side,
    side_of,
)
from nlac_bench.envs.math500_hard.generator.latex import show
from nlac_bench.envs.math500_hard.problem import GENERATED, LEVELS, SUBJECTS, Problem, Split
from nlac_bench.errors import UnknownIdError

__all__ = [
    "CONTENT_SHA256", "FAMILIES", "Draft", "Family", "draft", "generate", "side_of", "task_ids",
]  # fmt: skip

_MODULES = (
    algebra_equations,
    algebra_functions,
    counting,
    geometry_circles,
    geometry_polygons,
    hard_algebra,
    hard_counting,
    hard_numbers,
    hard_shapes,
    intermediate_polynomials,
    intermediate_series,
    number_congruences,
    number_divisors,
    prealgebra_arithmetic,
    prealgebra_quantities,
    precalculus_trigonometry,
    precalculus_vectors,
    probability,
)
"""Importing them registers their families."""

CONTENT_SHA256 = "6c55ba66084eb6858990496a6fed4b252a7cf3814495938c9cf1ffb16b75b273"
"""sha256 of a sample of generated problems (the tests compute it); identifies this data in every result."""

SEED_STRIDE = 1_000_000
"""Number range of a seed: seed s has the tasks s·10⁶ to (s+1)·10⁶ − 1 of each family and level."""

_TASK_ID = re.compile(
    r"(train|validation|test|test_new)/([a-z_]{1,40})/([a-z_]{1,40})/([1-5])/([0-9]{6,18})", re.ASCII
)
_SIDES: Mapping[str, Side] = {"train": "train", "validation": "test", "test": "test", "test_new": "test"}
"""The side of the problems of each split."""
_Key: TypeAlias = tuple[str, tuple[object, ...]]
"""A problem: its family and its canonical parameters."""
_MAX_DRAWS = 100_000
_MAX_REPEATS = 40


def task_ids(split: Split, levels: tuple[int, ...], count: int, seed: int = 0) -> list[str]:
    """Return ``count`` task identifiers of different problems, with subjects and levels in turn.

    A family that has no further distinct problems (some have only a few hundred on a level) is then left out.
    Problems of validation are not in the splits test and test_new of the same seed: neither among the
    ``count`` problems of ``levels`` nor among the default number of problems of any level, or of all levels
    together.

    Raises:
        ValueError: the levels have fewer than ``count`` distinct problems.
    """
    return list(_listed(split, levels, count, seed))


@lru_cache(maxsize=16)
def _listed(split: Split, levels: tuple[int, ...], count: int, seed: int) -> Mapping[str, _Key]:
    """Return the listed problems by task identifier."""
    places = []  # subjects and levels in turn, so that the first few tasks are a mixture of them
    rank: dict[tuple[str, int], int] = {}
    for f in FAMILIES.values():
        if split != "test_new" and f.name in NEW_FAMILIES:
            continue
        for level in levels:
            if level in f.levels:
                rank[f.subject, level] = rank.get((f.subject, level), -1) + 1
                places.append((rank[f.subject, level], f, level))
    ordered = [
        (f, level) for _, f, level in sorted(places, key=lambda place: (place[0], place[1].subject, place[2]))
    ]
    keys: dict[str, _Key] = {}
    seen = _tested(levels, count, seed) if split == "validation" else set()
    repeats = dict.fromkeys(ordered, 0)
    for number in range(seed * SEED_STRIDE, (seed + 1) * SEED_STRIDE):
        for family, level in list(repeats):
            task_id = f"{split}/{family.subject}/{family.name}/{level}/{number:06d}"
            key = _claim(task_id, family, level)
            if key in seen:
                repeats[family, level] += 1
                if repeats[family, level] > _MAX_REPEATS:
                    del repeats[family, level]
                continue
            repeats[family, level] = 0
            seen.add(key)
            keys[task_id] = key
            if len(keys) == count:
                return keys
        if not repeats:
            break
    raise ValueError(
        f"num_tasks must be at most {len(keys):,} for levels {levels} of split {split!r}, got {count:,}"
    )


def _tested(levels: tuple[int, ...], count: int, seed: int) -> set[_Key]:
    """Return the problems of the tests that validation leaves out."""
    sizes = {each: GENERATED["test"] * len(each) for each in (LEVELS, *((level,) for level in LEVELS))}
    sizes[levels] = max(count, GENERATED["test"] * len(levels))
    tests: tuple[Split, ...] = ("test", "test_new")
    return {
        key for split in tests for each, size in sizes.items()
        for key in _listed(split, each, size, seed).values()
    }  # fmt: skip


def _side(task_id: str) -> Side:
    return _SIDES[task_id.partition("/")[0]]


def _is_new(task_id: str) -> bool:
    return task_id.startswith("test_new/")


@lru_cache(maxsize=2**16)  # a list of all levels and those of single levels share most of their problems
def _claim(task_id: str, family: Family, level: int) -> _Key:
    """Return the family and the canonical parameters of ``task_id``, without solving it."""
    draw = Draw(family.name, _side(task_id), seed=task_id, key_only=True, new=_is_new(task_id))
    for _ in range(_MAX_DRAWS):
        with suppress(RedrawError):
            try:
                family.make(draw, level)
            except ClaimedError:
                assert draw.key is not None
                return family.name, draw.key
    raise RuntimeError(f"{task_id}: {_MAX_DRAWS:,} draws produced no valid problem")


def draft(task_id: str) -> tuple[Draft, tuple[object, ...], Family, int]:
    """Return the draft of ``task_id``, its canonical parameters, its family and its level.

    Raises:
        UnknownIdError: no task can have that identifier.
    """
    match = _TASK_ID.fullmatch(task_id)
    family = FAMILIES.get(match[3]) if match else None
    held_out = match is not None and match[1] != "test_new" and match[3] in NEW_FAMILIES
    if (
        match is None
        or family is None
        or held_out
        or family.subject != match[2]
        or int(match[4]) not in family.levels
    ):
        raise UnknownIdError(
            f"no generated problem has the task id {task_id!r}; ids look like "
            "train/algebra/linear_equation/1/000042"
        )
    level = int(match[4])
    draw = Draw(family.name, _side(task_id), seed=task_id, new=_is_new(task_id))
    for _ in range(_MAX_DRAWS):
        try:
            made = family.make(draw, level)
        except RedrawError:
            continue
        assert draw.key is not None, f"{family.name} does not claim its parameters"
        return made, draw.key, family, level
    raise RuntimeError(f"{task_id}: {_MAX_DRAWS:,} draws produced no valid problem")


@lru_cache(maxsize=8192)
def generate(task_id: str) -> Problem:
    """Return the problem of ``task_id``.

    Raises:
        UnknownIdError: no task can have that identifier.
        RuntimeError: the second method contradicts the answer (a mistake in the family).
    """
    made, key, family, level = draft(task_id)
    if not made.check:
        raise RuntimeError(f"{task_id}: the answer {show(made.value)} fails its check (parameters {key})")
    return Problem(task_id, made.statement, show(made.value), SUBJECTS[family.subject], level, made.work)
