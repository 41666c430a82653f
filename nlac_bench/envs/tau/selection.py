"""Selects the tasks to play, and lists the official tasks whose gold answer is known to be wrong.

``tasks="clean"`` leaves out the tasks in these lists.

The lists refer to sierra-research/tau-bench 59a200c and have two sources: gold writes that fail when they are
run (found by replay, checked by a test), and tasks whose gold writes differ in the authors' corrected
benchmark (τ³-bench, sierra-research/tau2-bench a2c0247). A gold look-up that fails does not affect the
grade, so tasks with one are kept. Tasks 93 and 95 are the same task, and both are kept.
"""

from collections.abc import Mapping, Sequence

from nlac_bench.envs.tau.domain import Domain, Task
from nlac_bench.errors import UnknownIdError

FAILING_GOLD: Mapping[str, frozenset[int]] = {
    "retail/test": frozenset({12, 13, 64, 106}),
    "retail/train": frozenset(
        {24, 27, 81, 148, 161, 214, 229, 252, 253, 288, 314, 349, 351, 369, 376, 427, 431, 441, 469}
    ),
}
"""``domain/split`` → indices of tasks with a gold write that returns an error."""

CORRECTED_GOLD: Mapping[str, frozenset[int]] = {
    "retail/test": frozenset({12, 13, 18, 91, 99, 105, 108}),
    "airline/test": frozenset({9, 10, 15, 16, 19, 23, 25, 26, 27, 31, 33, 34, 45, 46}),
}
"""``domain/split`` → indices of tasks whose gold writes differ from those of the corrected benchmark."""


def is_clean(task: Task) -> bool:
    """Return False if the gold answer of an official task is known to be wrong, else True."""
    part = task.task_id.rpartition("/")[0]
    return task.index not in FAILING_GOLD.get(part, ()) and task.index not in CORRECTED_GOLD.get(part, ())


def selected_tasks(
    domain: Domain, split: str, level: str | None, tasks: str | Sequence[str | int] | None
) -> Sequence[Task]:
    """Return the tasks to play, in file order or in that of ``tasks``: None, ``"clean"``, or ids and indices.

    Raises:
        UnknownIdError: there is no such split, level or task.
        ValueError: ``tasks`` is a string other than ``"clean"``.
    """
    if split not in domain.tasks:
        raise UnknownIdError(
            f"{domain.source.kind} {domain.name} has no split {split!r}; it has {', '.join(domain.tasks)}"
        )
    selected: Sequence[Task] = domain.tasks[split]
    if level is not None:
        levels = sorted({task.level for task in selected if task.level})
        if level not in levels:
            raise UnknownIdError(
                f"{domain.source.kind} {domain.name} has no level {level!r}; it has "
                f"{', '.join(levels) or 'none'}"
            )
        selected = [task for task in selected if task.level == level]
    if tasks is None:
        return selected
    if tasks == "clean":
        return selected if domain.source.kind == "embedded" else [task for task in selected if is_clean(task)]
    if isinstance(tasks, str):
        raise ValueError(f"tasks must be 'clean', a sequence of task ids or None, got {tasks!r}")
    by_id: dict[str | int, Task] = {task.task_id: task for task in selected}
    by_id |= {task.index: task for task in selected}
    unknown = [task_id for task_id in tasks if task_id not in by_id]
    if unknown:
        raise UnknownIdError(
            f"{domain.name} has no task {unknown[0]!r} in split {split!r} of its {domain.source.kind} data"
            f"{f' at level {level}' if level else ''}; ids look like {selected[0].task_id!r}"
        )
    return list({by_id[task_id].task_id: by_id[task_id] for task_id in tasks}.values())
