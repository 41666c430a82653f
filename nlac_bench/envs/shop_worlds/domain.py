"""Makes the shop of a world: tables and tools of the embedded shop, the tasks and rules of the world."""

import hashlib
import json
from functools import lru_cache, partial

from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.shop_worlds.policy import Rules, policy
from nlac_bench.envs.shop_worlds.procedures import KINDS
from nlac_bench.envs.shop_worlds.tasks import cases, conditional_cases
from nlac_bench.envs.shop_worlds.worlds import HELD_OUT, OPEN, world_of
from nlac_bench.envs.tau.domain import Domain
from nlac_bench.envs.tau.embedded import load_embedded


@lru_cache(maxsize=64)
def load_world(world: int, rules: Rules, conditional: bool = False) -> Domain:
    """Return the shop of ``world``, with splits ``train``, ``validation`` and ``test``.

    Its tasks are those of the level ``conditional``, or of all other levels. Its source and the sha256 of its
    data are the same for every world and both ``rules``.

    Raises:
        ValueError: there is no such world.
    """
    demands, shop = world_of(world, conditional), load_embedded("retail")
    return Domain(
        name="retail",
        tables=shop.tables,
        policy=policy(rules, demands, conditional),
        tools=shop.tools,
        tasks={
            split: tuple(case.task(index, demands) for index, case in enumerate(split_cases))
            for split, split_cases in (conditional_cases() if conditional else cases()).items()
        },
        source=_source(conditional),
        origin=partial(load_world, world, rules, conditional),
    )


@lru_cache(maxsize=2)
def _source(conditional: bool) -> DataSource:
    worlds = (*OPEN, *HELD_OUT)
    drawn = {world: list(world_of(world, conditional).names().values()) for world in worlds}
    tasks = [
        [case.task_id, case.user_id, *(repr(request) for request in case.requests)]
        for split in (conditional_cases() if conditional else cases()).values()
        for case in split
    ]
    stated = [
        policy("hidden", world_of(OPEN[0], conditional), conditional),
        [repr(kind) for kind in KINDS.values()],
        drawn,
        tasks,
    ]
    stated.append(load_embedded("retail").source.sha256)
    canonical = json.dumps(stated, separators=(",", ":"))
    return DataSource("embedded", hashlib.sha256(canonical.encode()).hexdigest())
