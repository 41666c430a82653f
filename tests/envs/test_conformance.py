"""The conformance suite: every built-in environment passes it, and each of its checks can fail."""

import functools
import os
import random
import re
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete, Text

from nlac_bench.envs import Outcome, TextEnv, conformance, registry
from nlac_bench.envs.adapter import PlainEnv
from nlac_bench.envs.conformance import CHECKS, CheckResult, advise, check
from nlac_bench.envs.conformance.play import CheckedEnv
from nlac_bench.envs.docstring import own_docstring, sections
from nlac_bench.envs.text_env import MAX_ACTION_CHARS


def failed(results: list[CheckResult]) -> dict[str, str]:
    return {result.name: result.detail for result in results if result.passed is False}


@pytest.mark.parametrize("name", registry.BUILTIN)
def test_built_in_environments_conform(name: str) -> None:
    entry = registry.find(name)
    results = check(entry.make, env_id=entry.env_id)
    assert not failed(results)
    assert [result.name for result in results] == list(CHECKS)
    assert all(result.passed for result in results), "no check is inapplicable to a built-in environment"


@pytest.mark.parametrize("name", registry.BUILTIN)
def test_built_in_training_splits_conform(name: str) -> None:
    entry = registry.find(name)

    def make_env(**kwargs: Any) -> gymnasium.Env[str, str]:
        return entry.make(split="train", **kwargs)

    subject = CheckedEnv(make_env, entry.env_id, {"split": "train"})
    for which in ("info", "gold answers stay hidden", "tasks", "oracle", "make_vec"):
        CHECKS[which](subject)


SECTIONS = (
    "Action Space",
    "Observation Space",
    "Starting State",
    "Reward",
    "Episode End",
    "Information",
    "Arguments",
    "Version History",
)
"""The headings of a complete environment docstring, in order; each is written as ``## Action Space``."""


@pytest.mark.parametrize("name", registry.BUILTIN)
def test_class_docstrings_have_gymnasiums_sections(name: str) -> None:
    text = own_docstring(type(registry.make(name).unwrapped), TextEnv)
    headings = re.findall(r"^#+ .*", text, flags=re.MULTILINE)
    assert [h for h in headings if h[3:] in SECTIONS] == [f"## {section}" for section in SECTIONS]
    assert all(re.fullmatch(r"## [A-Z][A-Za-z ]+", h) for h in headings) and "**" not in text
    assert all(sections(text)[section] for section in SECTIONS)


# --- an environment that conforms, and one for each way not to -------------------------------------------


class Word:
    """Everything that changes in an episode of ``Guess``."""

    def __init__(self, word: str, heard: list[str]) -> None:
        self.word, self.heard = word, heard

    def copy(self) -> "Word":
        return Word(self.word, list(self.heard))


class Guess(TextEnv):
    """Say the word that the task names; replies carry a random number and what was heard so far."""

    name = "guess"
    max_steps = 4

    def __init__(self, render_mode: str | None = None) -> None:
        words = ("a plum from the garden", "a pear from the market", "an apple from the shop")
        super().__init__(task_ids=words, render_mode=render_mode)

    async def _begin(self, task_id: str) -> str:
        self._state = Word(task_id, [])
        return f"Which fruit? {int(self.np_random.integers(1000))}"

    async def _respond(self, action: str) -> Outcome:
        self._state.heard.append(action)
        if action == self.oracle_action():
            return Outcome("Yes.", reward=1.0, end_reason="success", success=True)
        return Outcome(f"No. {int(self.np_random.integers(1000))} {len(self._state.heard)}")

    def oracle_action(self) -> str:
        return f"It must be {self._state.word}!"

    def random_action(self, rng: np.random.Generator) -> str:
        return f"Is it fruit number {int(rng.integers(100))}?"


def test_an_environment_of_ones_own_conforms() -> None:
    results = check(Guess)
    assert not failed(results)
    assert [result.name for result in results if result.passed is None] == ["make_vec"]  # it has no id


def test_numbers_of_numpy_are_numbers() -> None:
    class NumpyBools(Foreign):
        def step(self, action: str) -> Any:
            observation, reward, *ends, info = super().step(action)
            return np.str_(observation), np.float64(reward), *map(np.bool_, ends), info

    assert not failed(check(NumpyNumbers)) and not failed(check(NumpyBools))


class NumberActions(Guess):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.action_space = Discrete(3)  # type: ignore[assignment]


class ForgetsInfo(Guess):
    def reset(self, **kwargs: Any) -> Any:
        return super().reset(**kwargs)[0]


class OwnRandomness(Guess):
    async def _begin(self, task_id: str) -> str:
        await super()._begin(task_id)
        return f"Which fruit? {os.urandom(8).hex()}"


class UsesGlobalRandom(Guess):
    async def _respond(self, action: str) -> Outcome:
        outcome = await super()._respond(action)
        outcome.observation += f" {random.random()}"
        return outcome


class SeedsGlobalRandom(Guess):
    async def _begin(self, task_id: str) -> str:
        np.random.seed(0)
        return await super()._begin(task_id)


class LacksAKey(Guess):
    async def areset(self, **kwargs: Any) -> Any:
        observation, info = await super().areset(**kwargs)
        return observation, {k: v for k, v in info.items() if k != "data_sha256"}


class InfoIsNotJson(Guess):
    async def _respond(self, action: str) -> Outcome:
        outcome = await super()._respond(action)
        outcome.extra["heard"] = [open]
        return outcome


class NumpyNumbers(Guess):
    async def _respond(self, action: str) -> Outcome:
        outcome = await super()._respond(action)
        outcome.reward, outcome.success = np.float32(outcome.reward), np.bool_(outcome.success)  # type: ignore[assignment]
        outcome.extra |= {"seen": np.arange(2), "heard": np.float64(0.5)}
        return outcome


class TextReward(Guess):
    async def _respond(self, action: str) -> Outcome:
        outcome = await super()._respond(action)
        outcome.reward = "1"  # type: ignore[assignment]
        return outcome


class OwnEndReason(Guess):
    async def _respond(self, action: str) -> Outcome:
        outcome = await super()._respond(action)
        outcome.end_reason = outcome.end_reason and "won"  # type: ignore[assignment]
        return outcome


class TellsGold(Guess):
    async def areset(self, **kwargs: Any) -> Any:
        observation, info = await super().areset(**kwargs)
        return observation, {**info, "task": {"gold": "secret"}}


class QuotesGold(Guess):
    async def _respond(self, action: str) -> Outcome:
        outcome = await super()._respond(action)
        outcome.extra["hint"] = [f"You should have said: {self.oracle_action()}"]
        return outcome

    async def areset(self, **kwargs: Any) -> Any:
        observation, info = await super().areset(**kwargs)
        return observation, {**info, "note": f"(wanted: {self.oracle_action()})"}


class Truncates(Guess):
    async def astep(self, action: str) -> Any:
        observation, reward, terminated, _, info = await super().astep(action)
        return observation, reward, terminated, terminated, info


class TruncatesAtOnce(Guess):
    async def astep(self, action: str) -> Any:
        observation, reward, terminated, _, info = await super().astep(action)
        return observation, reward, terminated, np.True_, info


class NeverEnds(Guess):
    def _out_of_steps(self, outcome: Outcome) -> Outcome:
        return outcome


class StepsAnyway(Guess):
    async def astep(self, action: str) -> Any:
        if self._ended:
            return "It is over.", 0.0, True, False, {}
        return await super().astep(action)


class TakesAnyTask(Guess):
    async def areset(self, *, seed: Any = None, options: Any = None) -> Any:
        known = options if (options or {}).get("task_id") in self.task_ids else None
        return await super().areset(seed=seed, options=known)


class CrashesOnNul(Guess):
    async def _respond(self, action: str) -> Outcome:
        if "\x00" in action:
            raise ValueError("embedded null byte")
        return await super()._respond(action)


class IgnoresEmptyActions(Guess):
    async def _respond(self, action: str) -> Outcome:
        if not action:
            self._steps -= 1
        return await super()._respond(action)


class SharesState(Guess):
    def fork(self) -> "SharesState":
        twin = super().fork()
        twin._state = self._state
        return twin


class SharesRandomStream(Guess):
    def fork(self) -> "SharesRandomStream":
        twin = super().fork()
        twin._np_random = self._np_random
        return twin


class DoesNotPickle(Guess):
    async def _begin(self, task_id: str) -> str:
        observation = await super()._begin(task_id)
        self.hear = lambda text: text
        return observation


class PickleForgets(Guess):
    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_steps": 0}


class WrongOracle(Guess):
    async def _respond(self, action: str) -> Outcome:
        outcome = await super()._respond(action)
        outcome.success = False
        return outcome


class EvaluatesActions(Guess):
    async def _respond(self, action: str) -> Outcome:
        if "{" in action and action.count("{") != action.count("}") and "9" in action:
            raise RecursionError("unbalanced")
        return await super()._respond(action)


class DependsOnProcess(Guess):
    async def _begin(self, task_id: str) -> str:
        return f"{await super()._begin(task_id)} {os.getpid()}"


class CountsItself(Guess):
    async def astep(self, action: str) -> Any:
        observation, reward, terminated, truncated, info = await super().astep(action)
        return observation, reward, terminated, truncated, {**info, "episode": 1}


class RendersNothing(Guess):
    def render(self) -> str | None:
        return None


@pytest.mark.parametrize(
    ("env_class", "name", "message"),
    [
        (NumberActions, "spaces", "not a text space"),
        (TruncatesAtOnce, "gymnasium check_env", "truncates after 1 step"),
        (ForgetsInfo, "gymnasium check_env", ""),
        (OwnRandomness, "seeding", "seed 0 in two environments"),
        (UsesGlobalRandom, "global random state", "changes global random state"),
        (SeedsGlobalRandom, "global random state", "changes global random state"),
        (LacksAKey, "info", "data_sha256"),
        (InfoIsNotJson, "info", "info.heard[0] is a builtin_function_or_method, which JSON cannot store"),
        (TextReward, "info", "returned the reward '1'; it must be a finite number"),
        (OwnEndReason, "info", "returned the end_reason 'won'; it must be None or one of success, failure"),
        (TellsGold, "gold answers stay hidden", "has the key 'gold'"),
        (QuotesGold, "gold answers stay hidden", "contains the oracle's action"),
        (Truncates, "ends", "reserved for cuts by the harness"),
        (NeverEnds, "ends", "does not end at its limit of 4 steps"),
        (StepsAnyway, "reset needed", "must raise gymnasium.error.ResetNeeded"),
        (TakesAnyTask, "tasks", "must raise UnknownIdError"),
        (WrongOracle, "oracle", "the oracle fails task"),
        (CrashesOnNul, "malformed actions", "embedded null byte"),
        (IgnoresEmptyActions, "malformed actions", "the empty string: 4 such actions do not end the episode"),
        (SharesState, "fork", "returned"),
        (SharesRandomStream, "fork", "returned"),
        (DoesNotPickle, "pickle", ""),
        (PickleForgets, "pickle", "steps"),
        (EvaluatesActions, "fuzz", "raises RecursionError"),
        (DependsOnProcess, "AsyncVectorEnv", "row with seed 4"),
        (CountsItself, "RecordEpisodeStatistics", ""),
        (RendersNothing, "render", "render() returns None"),
    ],
)
def test_a_broken_environment_fails_its_check(
    env_class: type[Guess], name: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance, "CHECKS", {name: CHECKS[name]})  # the other checks take most of the time
    problems = failed(check(env_class))
    assert name in problems and message in problems[name]


def test_every_check_is_known_to_fail_somewhere() -> None:
    marks = test_a_broken_environment_fails_its_check.pytestmark  # type: ignore[attr-defined]
    covered = {case[1] for case in marks[0].args[1]}
    assert covered | {"make_vec"} == set(CHECKS)


def test_a_broken_vector_environment_fails_make_vec() -> None:
    class Upside(gymnasium.vector.SyncVectorEnv):
        """Rows come in another order than asked for."""

        def __init__(self, num_envs: int = 1) -> None:
            super().__init__([Guess] * num_envs)

        def reset(self, **kwargs: Any) -> Any:
            observations, info = super().reset(**kwargs)
            return observations[::-1], info

    env_id = "nlac_bench_test/Upside-v0"
    gymnasium.register(env_id, entry_point=Guess, vector_entry_point=Upside)  # type: ignore[arg-type]
    try:
        assert "row with seed 4" in failed(check(Guess, env_id=env_id))["make_vec"]
    finally:
        del gymnasium.registry[env_id]


# --- environments of others -----------------------------------------------------------------------------


class Foreign(gymnasium.Env[str, str]):
    """A plain Gymnasium environment: the answer to every letter is the next one."""

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space = Text(10)
        self.action_space = Text(10)
        self.render_mode = render_mode
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return f"go{int(self.np_random.integers(1000))}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return f"n{int(self.np_random.integers(1000))}", 0.5, self.steps == 3, False, {}


def test_a_plain_gymnasium_environment_is_checked_for_what_it_promises() -> None:
    results = check(Foreign)
    assert not failed(results)
    applicable = [result.name for result in results if result.passed]
    assert applicable == ["spaces", "gymnasium check_env", "seeding", "global random state", "info", "fuzz",
                          "AsyncVectorEnv", "RecordEpisodeStatistics"]  # fmt: skip


class Returns(Foreign):
    """Its last step returns ``ended`` and ``info``."""

    ended: Any = True
    info: Any = None

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, reward, ended, truncated, info = super().step(action)
        return observation, reward, self.ended if ended else False, truncated, self.info if ended else info


def checked(names: list[str], monkeypatch: pytest.MonkeyPatch, *returned: Any) -> dict[str, CheckResult]:
    """Make the checks ``names`` of an environment whose last step returns ``returned``."""
    monkeypatch.setattr(conformance, "CHECKS", {name: CHECKS[name] for name in names})
    ended, info = returned
    return {each.name: each for each in check(type("Env", (Returns,), {"ended": ended, "info": info}))}


@pytest.mark.parametrize(
    ("ended", "info", "said"),
    [
        ("yes", {}, "terminated='yes'; it must be True or False"),
        (1, {}, "terminated=1; it must be True or False"),
        (True, None, "returned the info None; it must be a dict"),
        (True, {"success": "yes"}, "info['success'] must be True, False or None"),
        (True, {"reward_parts": {"a": "high"}}, "info['reward_parts'] must be a dict of names and finite"),
        (True, {"reward_parts": {"a": float("nan")}}, "info['reward_parts']"),
        (True, {"reward_parts": {"a": 10**400}}, "info['reward_parts']"),
        (True, {"reward_parts": {1: 1.0}}, "info['reward_parts']"),
        (True, {"reward_parts": [1.0]}, "info['reward_parts']"),
        (True, {"tools": [{"function": "get"}]}, "info['tools'] must be a list of tools"),
        (True, {"policy": None}, "info['policy'] must be a str, got None"),
        (True, {"examples": ["hi"]}, "info['examples'] must be a list of messages"),
        (True, {"usage": {"user": {"tokens": 3}}}, "info['usage'] must be a dict of roles"),
        (np.True_, {3: 1, ("a", 1): [{4: 2}], "tools": ({"name": "get"},)}, None),
        (True, {"reward_parts": {"a": 1, "b": np.float32(0.5)}, "usage": {"user": {"calls": 1}}}, None),
        (True, {"reward_parts": None, "success": None, "policy": "Say it.", "examples": []}, None),
    ],
)
def test_values_of_a_wrong_type_are_refused(
    ended: Any, info: Any, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = checked(["seeding", "info"], monkeypatch, ended, info)
    assert found["info"].passed is (said is None) and (said or "") in found["info"].detail
    assert said is not None or found["seeding"].passed


class Endless(Foreign):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "on", 0.0, False, False, {}


def test_an_episode_that_never_ends_is_a_warning_and_a_short_one_is_none() -> None:
    (warning,) = [each for each in advise(Endless) if "did not end within 1,000 steps" in each]
    assert "max_episode_steps" in warning and "--max-turns" in warning
    assert not [each for each in advise(Foreign) if "did not end" in each]
    limited = functools.partial(gymnasium.wrappers.TimeLimit, max_episode_steps=7)
    assert not [each for each in advise(lambda **_: limited(Endless())) if "did not end" in each]


@pytest.mark.parametrize(
    ("reward", "said"),
    [
        (np.float32(0.5), None),
        (np.int64(1), None),
        (True, None),
        ("1", "returned the reward '1'; it must be a finite number"),
        (b"1", "the reward b'1'; it"),
        (None, "the reward None; it"),
        (float("-inf"), "the reward -inf; it"),
        pytest.param(10**5000, "the reward int with too many digits to be shown; it", id="long"),
    ],
)
def test_a_reward_is_a_finite_number(reward: Any, said: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Rewards(Foreign):
        def step(self, action: str) -> Any:
            observation, _, *rest = super().step(action)
            return observation, reward, *rest

    monkeypatch.setattr(conformance, "CHECKS", {"info": CHECKS["info"]})
    (result,) = check(Rewards)
    assert result.passed is (said is None) and (said or "") in result.detail
    adapted = PlainEnv(Rewards(), "rewards")
    adapted.reset(seed=0)
    if said is None:
        assert adapted.step("a")[1] == float(reward)
    else:
        with pytest.raises(ValueError, match=re.escape(said)):
            adapted.step("a")


NESTED: dict[str, Any] = {}
NESTED["itself"] = NESTED


@pytest.mark.parametrize(
    ("info", "said"),
    [(None, "AttributeError"), ({"n": 10**400}, "OverflowError"), (NESTED, "RecursionError")],
)
def test_a_vector_that_fails_is_closed_and_the_next_check_is_made(
    info: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance, "CHECK_S", 100.0)  # ends a check that waits for ever
    found = checked(["AsyncVectorEnv", "render"], monkeypatch, True, info)
    assert found["AsyncVectorEnv"].passed is False and said in found["AsyncVectorEnv"].detail
    assert found["render"].detail == "the environment has no render mode 'ansi'"


def test_a_plain_gymnasium_environment_can_fail() -> None:
    class Unseeded(Foreign):
        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
            return super().reset(seed=None, options=options)

    assert "seeding" in failed(check(Unseeded))


def test_what_cannot_be_made_fails_every_check_with_the_reason() -> None:
    def broken(**kwargs: Any) -> gymnasium.Env[str, str]:
        raise OSError("no such server")

    problems = failed(check(broken))
    assert set(problems) == set(CHECKS) - {"make_vec"}
    assert all("no such server" in detail or name == "AsyncVectorEnv" for name, detail in problems.items())


def test_a_check_leaves_global_random_state_alone() -> None:
    random.seed(3)
    np.random.seed(3)
    before = random.getstate(), repr(np.random.get_state())
    checked: Callable[[CheckedEnv], str] = CHECKS["global random state"]
    checked(CheckedEnv(Guess, None, {}))
    assert (random.getstate(), repr(np.random.get_state())) == before


def test_the_limit_on_actions_is_below_the_malformed_ones() -> None:
    from nlac_bench.envs.conformance.robustness import MALFORMED

    assert len(MALFORMED["10 MB of text"]) == 10_000_000 > MAX_ACTION_CHARS
