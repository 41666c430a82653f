"""Defines a mathematics problem of any source."""

from dataclasses import dataclass

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
