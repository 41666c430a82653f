"""Which tasks and instances BrowserGym's benchmarks have, and to which split they belong."""

import importlib
import re
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version

from nlac_bench.bridges.require import require
from nlac_bench.errors import MissingError, UnknownIdError

SPLITS = ("train", "validation", "test")
SEEDED = ("miniwob", "workarena")
"""Benchmarks whose tasks have an instance for each seed; a task of the others is one instance."""
INSTANCES = {"train": 100, "validation": 10, "test": 20}
"""Instances of a single task."""
SUITE_INSTANCES = {"train": 10, "validation": 3, "test": 3}
"""Instances of each task of a suite."""
_FIRST = {"test": 0, "validation": 10_000, "train": 20_000}
"""The seed of each split's first instance."""
_NAME = re.compile(r"[a-z0-9_]{1,40}(\.[A-Za-z0-9_.-]{1,200})?")


def benchmark_of(task: str) -> str:
    """Return the benchmark of a task, such as ``miniwob`` of ``miniwob.click-test-2``."""
    return task.partition(".")[0]


def known_tasks(task: str) -> Sequence[str]:
    """Return the tasks that ``task`` names: itself, or all of a benchmark where it is a benchmark's name.

    Raises:
        MissingError: a package is not installed.
        UnknownIdError: the benchmark has no such task.
    """
    import gymnasium

    if not _NAME.fullmatch(task):
        raise UnknownIdError(f"a task is BENCHMARK.TASK, such as miniwob.click-test-2, not {task!r:.80}")
    require("browsergym.core", "browsergym")
    benchmark = benchmark_of(task)
    try:
        importlib.import_module(f"browsergym.{benchmark}")  # registers its tasks
    except ModuleNotFoundError as error:
        if error.name != f"browsergym.{benchmark}":
            raise
        raise MissingError(
            f"the package of the benchmark {benchmark!r} is not installed",
            f"pip install browsergym-{benchmark}",
        ) from None
    if benchmark == "miniwob":
        require("miniwob", "browsergym")
    prefix = "browsergym/"
    tasks = [
        each.removeprefix(prefix) for each in gymnasium.registry if each.startswith(f"{prefix}{benchmark}.")
    ]
    if task == benchmark and tasks:
        return tasks
    if task not in tasks:
        raise UnknownIdError(
            f"{benchmark} has no task {task!r:.80}; it has {', '.join(sorted(tasks)):.300} …"
        )
    return (task,)


def splits_of(task: str) -> Sequence[str]:
    """Return the splits of what ``task`` names; a single task without instances is only measured."""
    return SPLITS if task == benchmark_of(task) or benchmark_of(task) in SEEDED else ("test",)


def instances(task: str, split: str) -> dict[str, tuple[str, int]]:
    """Return the task ids of a split, each with its task and seed.

    No instance is in two splits. A suite's tasks are divided too.
    """
    suite = task == benchmark_of(task)
    count = (SUITE_INSTANCES if suite else INSTANCES)[split] if benchmark_of(task) in SEEDED else 1
    return {
        f"{each}/{seed}": (each, seed)
        for each in known_tasks(task)
        if not suite or split_of(each) == split
        for seed in range(_FIRST[split], _FIRST[split] + count)
    }


def split_of(task: str) -> str:
    """Return the split of a suite's task: tests are a fifth, a tenth validates.

    Variants of a task (``click-tab-2``, ``click-tab-2-hard``) are in one split: the first two words of its
    name decide.
    """
    share = sha256("-".join(task.split("-")[:2]).encode()).digest()[0] / 256
    return "test" if share < 0.2 else "validation" if share < 0.3 else "train"


def versions(benchmark: str) -> str:
    """Return the versions of the packages that determine pages and rewards."""
    packages = [
        "browsergym-core",
        f"browsergym-{benchmark}",
        *(["miniwob"] if benchmark == "miniwob" else []),
    ]
    return " ".join(f"{each}=={version(each)}" for each in packages)
