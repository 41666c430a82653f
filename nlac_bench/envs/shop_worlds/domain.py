"""Makes the shop of a world: tables and tools of the embedded shop, the tasks and rules of the world."""

import hashlib
import json
from functools import lru_cache, partial

from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.shop_worlds.policy import Rules, policy
from nlac_bench.envs.shop_worlds.procedures import KINDS, name_of
from nlac_bench.envs.shop_worlds.tasks import cases
from nlac_bench.envs.shop_worlds.worlds import HELD_OUT, OPEN, procedures_of
from nlac_bench.envs.tau.domain import Domain
from nlac_bench.envs.tau.embedded import load_embedded


@lru_cache(maxsize=64)
def load_world(world: int, rules: Rules) -> Domain:
    """Return the shop of ``world``, with splits ``train``, ``validation`` and ``test``.

    Its source and the sha256 of its data are the same for every world and both ``rules``.

    Raises:
        ValueError: there is no such world.
    """
    procedures, shop = procedures_of(world), load_embedded("retail")
    return Domain(
        name="retail",
        tables=shop.tables,
        policy=policy(rules, procedures),
        tools=shop.tools,
        tasks={
            split: tuple(case.task(index, procedures) for index, case in enumerate(split_cases))
            for split, split_cases in cases().items()
        },
        source=_source(),
        origin=partial(load_world, world, rules),
    )


@lru_cache(maxsize=1)
def _source() -> DataSource:
    drawn = {world: [name_of(p) for p in procedures_of(world).values()] for world in (*OPEN, *HELD_OUT)}
    tasks = [
        [case.task_id, case.user_id, *(repr(request) for request in case.requests)]
        for split in cases().values()
        for case in split
    ]
    stated = [policy("hidden", {}), [repr(kind) for kind in KINDS.values()], drawn, tasks]
    stated.append(load_embedded("retail").source.sha256)
    canonical = json.dumps(stated, separators=(",", ":"))
    return DataSource("embedded", hashlib.sha256(canonical.encode()).hexdigest())
