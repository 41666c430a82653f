"""Grades mathematical answers in worker processes with resource limits. ``README.md`` describes the steps."""

from nlac_bench.simulators.math_grader import copies
from nlac_bench.simulators.math_grader.extract.boxes import boxed
from nlac_bench.simulators.math_grader.grade_file import grade_file
from nlac_bench.simulators.math_grader.grader import Grade, default_grader

__all__ = ["Grade", "boxed", "copies", "default_grader", "grade_file"]
