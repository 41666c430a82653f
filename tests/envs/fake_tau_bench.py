"""Writes a stand-in for the package ``tau_bench``: its interface, over this project's own engine.

It lets the comparison of the two engines be tested where the original is not installed: what it returns must
match, and what it returns wrongly on purpose must be found.
"""

from pathlib import Path

_TYPES = """
class _Model:
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def model_dump(self):
        return dict(self.__dict__)


class Action(_Model):
    pass


class RewardActionInfo(_Model):
    pass


class RewardOutputInfo(_Model):
    pass


class RewardResult(_Model):
    pass
"""

_ENVS = """
import copy

import litellm
from nlac_bench.envs.tau.database import Database
from nlac_bench.envs.tau.domain import load_official
from nlac_bench.envs.tau.invoke import invoke
from nlac_bench.envs.tau.reward import TOOLS
from tau_bench.types import Action, RewardActionInfo, RewardOutputInfo, RewardResult

assert callable(litellm.completion)


def get_env(name, user_strategy, user_model, split, task_index=None):
    return _Env(load_official(name, DATA), split)


class _Response:
    def __init__(self, observation, done):
        self.observation, self.done = observation, done


class _Env:
    def __init__(self, domain, split):
        self.domain, self.split, self.user = domain, split, None

    def reset(self, index):
        self.task = self.domain.task(self.split, index)
        self.data = copy.deepcopy(dict(self.domain.tables))
        self.actions = []
        self.user.reset(instruction=self.task.instruction)

    def step(self, action):
        self.actions.append(action)
        if action.name == "respond":
            return _Response(self.user.step(action.kwargs["content"]), False)
        db = Database(self.data)
        result = invoke(TOOLS[self.domain.name], db, action.name, action.kwargs)
        for (table, row_id), row in db._rows.items():
            self.data[table][row_id] = row
        if result.raises:
            raise type(result.raises, (Exception,), {})()
        if result.done:
            self.calculate_reward()
        return _Response(result.observation.replace(WRONG, "?") if WRONG else result.observation, result.done)

    def get_data_hash(self):
        return Database(self.data).hash()

    def calculate_reward(self):
        found = self.get_data_hash()
        self.data = copy.deepcopy(dict(self.domain.tables))
        for call in self.task.actions:
            if call.name != "transfer_to_human_agents":
                self.step(Action(name=call.name, kwargs=call.kwargs))
        gold = self.get_data_hash()
        said = [a.kwargs["content"].lower().replace(",", "") for a in self.actions if a.name == "respond"]
        outputs = {o: any(o.lower() in text for text in said) for o in self.task.outputs}
        info = RewardActionInfo(r_actions=float(found == gold), gt_data_hash=gold)
        reward = float(found == gold and all(outputs.values()))
        if outputs:
            info = RewardOutputInfo(r_outputs=float(all(outputs.values())), outputs=outputs)
        return RewardResult(reward=reward, info=info, actions=[])
"""


def write_fake(folder: Path, data: Path, wrong: str = "") -> Path:
    """Write the package, which reads ``data`` and garbles ``wrong`` in observations, under ``folder``."""
    package = folder / "tau_bench"
    (package / "envs").mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "types.py").write_text(_TYPES, encoding="utf-8")
    (package / "envs" / "__init__.py").write_text(
        f"DATA = {str(data)!r}\nWRONG = {wrong!r}\n{_ENVS}", encoding="utf-8"
    )
    return package
