"""Defines a mathematics problem of any source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

SUBJECTS = {
    "prealgebra": "Prealgebra",
    "algebra": "Algebra",
    "intermediate_algebra": "Intermediate Algebra",
    "geometry": "Geometry",
    "number_theory": "Number Theory",
    "counting_and_probability": "Counting & Probability",
    "precalculus": "Precalculus",
}
"""Folder name → name of the seven subjects of MATH (Hendrycks et al. 2021, arXiv 2103.03874)."""

LEVELS = (1, 2, 3, 4, 5)

Split: TypeAlias = Literal["train", "validation", "test", "test_new"]
"""A split of the generated problems; the official ones have only train and test. The problems of ``test_new``
have families or wordings that no other split has."""
GENERATED: Mapping[Split, int] = {"train": 2_000, "validation": 100, "test": 500, "test_new": 500}
"""Default number of generated problems of each level by split."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A statement and its gold answer, both in LaTeX.

    ``level`` is None for the two problems that MATH marks "Level ?". ``work`` is a worked solution without
    the final box, or an empty string if the data have none.
    """

    task_id: str
    statement: str
    answer: str
    subject: str
    level: int | None
    work: str = ""
