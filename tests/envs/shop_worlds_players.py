"""Players of ``shop_worlds`` that follow given procedures, as an agent does that believes in them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nlac_bench.envs.shop_worlds.env import ShopWorldsEnv
from nlac_bench.envs.shop_worlds.plan import STAYS, plan
from nlac_bench.envs.shop_worlds.procedures import KINDS, Procedure
from nlac_bench.envs.shop_worlds.tasks import case_of
from nlac_bench.envs.tau.actions import CallAction, render_call, render_message


def guessed(rng: np.random.Generator) -> dict[str, Procedure]:
    """Return a random valid procedure for each kind: all that is known without experience."""
    return {name: kind.procedures[int(rng.integers(4))] for name, kind in KINDS.items()}


def follow(
    env: ShopWorldsEnv, task_id: str, procedures: Mapping[str, Procedure]
) -> tuple[list[str], list[dict[str, Any]], float]:
    """Play ``task_id`` by ``procedures``; return what the agent saw, each step's ``info``, and the reward."""
    case = case_of(task_id)
    first, begun = env.reset(seed=0, options={"task_id": task_id})
    seen, infos = [first], [begun]
    actions = plan(case.script.person, case.user_id, case.requests, procedures)
    while True:
        due = next(actions, None)
        if due is None:
            action = STAYS
        elif isinstance(due, CallAction):
            action = render_call(due.name, due.arguments)
        else:
            action = render_message(due.content)
        observation, reward, ended, _, info = env.step(action)
        seen.append(observation)
        infos.append(info)
        if ended:
            return seen, infos, reward
