"""Grades one mathematical answer."""

from nlac_bench.simulators.math_grader import Grade, default_grader


def grade(pred: str, gold: str) -> Grade:
    """Grade the answer in ``pred``, a model's whole reply, against ``gold``, in a process with limits.

    ``nlac-bench grade`` grades files; ``docs/grading.md`` has the rules.

    Returns:
        The verdict: ``correct`` is True, False, or None if the case was not decided, and ``reason`` says why.

    Raises:
        EnvInfraError: the grader does not work.
    """
    return default_grader().grade(str(gold), str(pred))
