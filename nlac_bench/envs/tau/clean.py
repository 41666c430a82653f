"""Official tasks whose gold answer is known to be wrong: what ``tasks="clean"`` leaves out.

Two sources, both facts about sierra-research/tau-bench 59a200c: gold writes that fail when they are run
(found by replay, and held by a test), and tasks whose gold writes the authors changed in the corrected
benchmark (τ³-bench, sierra-research/tau2-bench a2c0247). Gold look-ups that fail (retail test 2, 3, 4 and 21)
change nothing that is graded, so those tasks stay; so do the twins 93 and 95, which are the same task twice.
"""

from collections.abc import Mapping

from nlac_bench.envs.tau.domain import Task

FAILING_GOLD: Mapping[str, frozenset[int]] = {
    "retail/test": frozenset({12, 13, 64, 106}),
}
"""``domain/split`` → indices of tasks with a gold write that returns an error."""

CORRECTED_GOLD: Mapping[str, frozenset[int]] = {
    "retail/test": frozenset({12, 13, 18, 91, 99, 105, 108}),
    "airline/test": frozenset({9, 10, 15, 16, 19, 23, 25, 26, 27, 31, 33, 34, 45, 46}),
}
"""``domain/split`` → indices of tasks whose gold writes differ from those of the corrected benchmark."""


def is_clean(task: Task) -> bool:
    """Whether nothing is known against the gold of an official task."""
    part = task.task_id.rpartition("/")[0]
    return task.index not in FAILING_GOLD.get(part, ()) and task.index not in CORRECTED_GOLD.get(part, ())
