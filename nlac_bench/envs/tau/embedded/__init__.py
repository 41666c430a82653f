"""Makes the embedded τ domains on first use: a shop and an airline written for this project."""

import hashlib
import json
from functools import cache, partial
from pathlib import Path

from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.tau.domain import Domain, DomainName, Tables, Task
from nlac_bench.envs.tau.embedded.airline_tables import make_airline_tables
from nlac_bench.envs.tau.embedded.airline_tasks import make_airline_tasks
from nlac_bench.envs.tau.embedded.retail_tables import make_retail_tables
from nlac_bench.envs.tau.embedded.retail_tasks import make_retail_tasks
from nlac_bench.errors import UnknownIdError

__all__ = ["load_embedded"]


@cache
def load_embedded(name: str) -> Domain:
    """Return the embedded domain ``retail`` or ``airline``, with splits ``train`` and ``test``.

    It is the same on every machine and Python version, and is made once per process. Its source has the
    sha256 of its canonical JSON. The splits have no user, order or reservation in common.

    Raises:
        UnknownIdError: ``name`` is neither ``retail`` nor ``airline``.
    """
    if name == "retail":
        shop = make_retail_tables()
        return _domain("retail", shop.tables, make_retail_tasks(shop))
    if name == "airline":
        airline = make_airline_tables()
        return _domain("airline", airline.tables, make_airline_tasks(airline))
    raise UnknownIdError(f"unknown τ-bench domain {name!r}; the domains are airline and retail")


def _domain(name: DomainName, tables: Tables, tasks: dict[str, tuple[Task, ...]]) -> Domain:
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
    return Domain(name, tables, policy, tuple(tools), tasks, source, origin=partial(load_embedded, name))
