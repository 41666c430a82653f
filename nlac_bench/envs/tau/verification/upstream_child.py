"""Plays calls on the original engine and records the results. Runs as a script in a separate process.

``python upstream_child.py FOLDER PLAN OUT``: FOLDER contains the package ``tau_bench``; PLAN has one record
per line, as JSON with ``id, kind, domain, split, task, calls``; the same records with what the original
returned are written to OUT, in the format that ``data verify tau --expected`` reads. Does not import
``nlac_bench``.
"""

import copy
import json
import marshal
import sys
import types
from pathlib import Path
from typing import Any


def main(folder: str, plan: str, out: str) -> None:
    sys.path.insert(0, folder)
    # The original imports litellm only for its user simulators, which are not used here. The real one takes
    # seconds to import and requests prices over the network.
    litellm = types.ModuleType("litellm")
    litellm.completion = _no_model  # type: ignore[attr-defined]
    sys.modules["litellm"] = litellm
    from tau_bench.envs import get_env

    envs: dict[tuple[str, str], Any] = {}
    initial_hashes: dict[bytes, str] = {}
    with Path(plan).open(encoding="utf-8") as lines, Path(out).open("w", encoding="utf-8") as results:
        for line in lines:
            record = json.loads(line)
            key = record["domain"], record["split"]
            if key not in envs:
                envs[key] = get_env(key[0], "human", "", key[1], task_index=0)
                envs[key].user = _Listener()
            results.write(json.dumps(_play(envs[key], record, initial_hashes)) + "\n")


def _play(env: Any, record: dict[str, Any], initial_hashes: dict[bytes, str]) -> dict[str, object]:
    env.reset(record["task"])
    image = marshal.dumps(env.data, 2)  # cheaper than the hash
    if image not in initial_hashes:
        initial_hashes[image] = env.get_data_hash()
    initial = before = initial_hashes[image]
    calls = []
    for call in record["calls"]:
        result = dict(call)
        try:
            observation, done = _step(env, call["name"], call["kwargs"])
        except Exception as error:
            result["raises"] = type(error).__name__
        else:
            result["obs"] = observation
            if done:
                result["done"] = True
        now = marshal.dumps(env.data, 2)
        if now != image:
            image = now
            after = env.get_data_hash()
            if after != before:
                result["hash"] = before = after
        calls.append(result)
    played = {**record, "calls": calls, "init_hash": initial, "final_hash": before}
    if record["kind"] == "gt":
        played["reward_gt"] = _reward(env)
        if env.task.outputs:
            _step(env, "respond", {"content": " ".join(env.task.outputs)})
            played["reward_said"] = _reward(env)
    else:
        played["reward_now"] = _reward(env)
    return played


def _step(env: Any, name: str, kwargs: dict[str, object]) -> tuple[str, bool]:
    """Run the original's step without the reward that it computes at the end, which replaces its database."""
    from tau_bench.types import Action, RewardActionInfo, RewardResult

    env.calculate_reward = lambda: RewardResult(
        reward=0.0, info=RewardActionInfo(r_actions=0.0, gt_data_hash=""), actions=[]
    )
    try:
        response = env.step(Action(name=name, kwargs=copy.deepcopy(kwargs)))
    finally:
        del env.calculate_reward
    return response.observation, response.done


def _reward(env: Any) -> dict[str, object]:
    """Return the original's reward now; its database and its record of actions are restored afterwards."""
    data, actions = env.data, list(env.actions)
    result = env.calculate_reward()
    env.data, env.actions = data, actions
    return {"reward": result.reward, "info": result.info.model_dump()}


class _Listener:
    """A user whose replies are not compared."""

    def reset(self, instruction: str | None = None) -> str:
        return ""

    def step(self, content: str) -> str:
        return ""

    def get_total_cost(self) -> float:
        return 0.0


def _no_model(*args: object, **kwargs: object) -> None:
    raise RuntimeError("the original called a model, which is not available here")


if __name__ == "__main__":
    main(*sys.argv[1:])
