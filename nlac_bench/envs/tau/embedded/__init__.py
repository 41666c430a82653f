"""Makes the embedded τ domains on first use: a shop and an airline written for this project."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.tau.database import Tables
from nlac_bench.envs.tau.domain import Domain, DomainName, Task
from nlac_bench.envs.tau.embedded.airline_tables import make_airline_tables
from nlac_bench.envs.tau.embedded.airline_tasks import make_airline_tasks
from nlac_bench.envs.tau.embedded.retail_tables import DATABASES, make_retail_tables
from nlac_bench.envs.tau.embedded.retail_tasks import make_retail_tasks
from nlac_bench.errors import UnknownIdError

__all__ = ["SPLITS", "load_embedded"]

SPLITS = ("train", "validation", "test")
"""The splits, which have no user, order or reservation in common."""


def load_embedded(name: str, split: str = "test") -> Domain:
    """Return the embedded domain ``retail`` or ``airline`` with the tasks of ``split``.

    ``train`` and ``test`` are in the same domain. ``validation`` is in another one, with the same policy,
    tools, and products or flights. A domain is the same on every machine and Python version, and is made once
    per process. Its source has the sha256 of its canonical JSON.

    Raises:
        UnknownIdError: ``name`` is neither ``retail`` nor ``airline``, or there is no such split.
    """
    if split not in SPLITS:
        raise UnknownIdError(f"embedded {name} has no split {split!r}; it has {', '.join(SPLITS)}")
    return next(domain for domain in domains(name) if split in domain.tasks)


@cache
def domains(name: str) -> tuple[Domain, ...]:
    """Return the domain ``name`` of each database; raises the errors of ``load_embedded``."""
    if name == "retail":
        shops = make_retail_tables()
        return _domains("retail", [shop.tables for shop in shops], make_retail_tasks(shops))
    if name == "airline":
        airlines = make_airline_tables()
        return _domains("airline", [airline.tables for airline in airlines], make_airline_tasks(airlines))
    raise UnknownIdError(f"unknown τ-bench domain {name!r}; the domains are airline and retail")


def _domains(
    name: DomainName, databases: Sequence[Tables], tasks: Mapping[str, tuple[Task, ...]]
) -> tuple[Domain, ...]:
    return tuple(
        _domain(name, tables, {split: tasks[split] for split in splits})
        for tables, splits in zip(databases, DATABASES, strict=True)
    )


def _domain(name: DomainName, tables: Tables, tasks: Mapping[str, tuple[Task, ...]]) -> Domain:
    here = Path(__file__).parent
    policy = (here / f"{name}_policy.md").read_text(encoding="utf-8")
    tools = json.loads((here / f"{name}_tools.json").read_text(encoding="utf-8"))
    rows = [
        [task.task_id, task.user_id, task.instruction, list(task.outputs),
         [[call.name, call.kwargs] for call in task.actions]]
        for split in tasks.values() for task in split
    ]  # fmt: skip
    canonical = json.dumps([tables, rows, policy, tools], separators=(",", ":"))
    source = DataSource("embedded", hashlib.sha256(canonical.encode()).hexdigest())
    origin = partial(load_embedded, name, next(iter(tasks)))
    return Domain(name, tables, policy, tuple(tools), tasks, source, origin)
