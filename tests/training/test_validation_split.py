"""A training run validates on the environment's validation split, or else on held-out training tasks."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.transition import Transition, first_state
from nlac_bench.envs.env_string import join
from nlac_bench.envs.tau.env import TauRetailEnv
from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.harness.measure.estimate import estimate_of
from nlac_bench.harness.measure.model_defaults import EASY
from nlac_bench.harness.measure.prepare import Outline, Prepared, outline, prepare
from nlac_bench.harness.measure.training_tasks import VALIDATION_SPLIT, split_tasks
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.leaderboards.from_run import subject_of
from nlac_bench.training.schedule import Schedule
from nlac_bench.types import ChatReply, Episode, Messages, Role

SPLIT = "tests.envs.split_env:nlac_bench_test/Split-v0"
UNSPLIT = "examples.register_env:CountDown-v0"
OTHER_LEVEL = {"math500_hard": 2, "shop_worlds": "hard"}
USER = {"user_model": "u", "user_base_url": "http://127.0.0.1:9/v1"}
WITH_A_SPLIT = ("tau_retail", "tau_airline", "math500_hard", "shop_worlds")


def config(env: str, **changes: Any) -> RunConfig:
    settings = {
        "env": env,
        "agent": "nlac",
        "model": "tiny",
        "limit": 2,
        "train": {"val_tasks": 4},
        **changes,
    }
    return RunConfig.from_mapping(settings, "test")


def easy(name: str) -> str:
    return join(name, EASY[name])


def schedule_of(planned: Outline) -> Schedule:
    settings = planned.config.train
    assert settings is not None
    training, validation = planned.environments.training, planned.environments.validation
    return Schedule(training.name, training.task_ids, validation.task_ids, settings, planned.config.seed)


def test_tasks_of_a_validation_split_are_drawn_and_all_training_tasks_are_kept() -> None:
    training, held_out = [f"t{i}" for i in range(10)], [f"v{i}" for i in range(6)]
    drawn, kept = split_tasks(training, held_out, 4, seed=0)
    assert len(set(drawn)) == 4 and set(drawn) <= set(held_out) and kept == training
    assert split_tasks(training, held_out, 4, seed=0) == (drawn, kept)
    assert {tuple(split_tasks(training, held_out, 4, seed)[0]) for seed in range(9)} != {tuple(drawn)}
    assert sorted(split_tasks(training, held_out, 50, seed=0)[0]) == held_out


def test_without_a_validation_split_tasks_are_held_out_as_before() -> None:
    """The lists are those that the function returned before there were validation splits."""
    tasks = [f"t{i}" for i in range(10)]
    assert split_tasks(tasks, tasks, 3, seed=0) == (
        ["t8", "t1", "t7"], ["t9", "t4", "t5", "t3", "t0", "t2", "t6"],
    )  # fmt: skip
    drawn, kept = split_tasks(tasks, tasks, 50, seed=0)
    assert len(drawn) == len(kept) == 5 and sorted(drawn + kept) == tasks
    assert split_tasks(["only"], ["only"], 4, seed=0) == (["only"], ["only"])


@pytest.mark.parametrize("name", WITH_A_SPLIT)
def test_embedded_environments_validate_on_their_split(name: str) -> None:
    planned = outline(config(easy(name)))
    schedule = schedule_of(planned)
    validated = [str(spec.task_id) for spec in schedule.validation]
    assert len(set(validated)) == 4 and all("validation/" in task_id for task_id in validated)
    assert set(validated) <= set(planned.environments.validation.task_ids)
    assert schedule.task_ids == list(planned.environments.training.task_ids)
    levels = {task_id.split("/")[-2] for task_id in validated}
    assert levels == {"1" if name == "math500_hard" else "easy"}


def test_all_levels_validate_on_all_levels() -> None:
    planned = outline(config(easy("math500_hard"), train={"levels": "all", "val_tasks": 500}))
    validated = [str(spec.task_id) for spec in schedule_of(planned).validation]
    assert len(validated) == 500 and {task_id.split("/")[-2] for task_id in validated} == set("12345")


def test_own_environments_with_and_without_a_validation_split() -> None:
    apart = schedule_of(outline(config(SPLIT)))
    assert sorted(str(spec.task_id) for spec in apart.validation) == ["5", "6", "7"]
    assert sorted(apart.task_ids) == ["1", "2", "3", "4"]
    together = schedule_of(outline(config(UNSPLIT)))
    validated = [str(spec.task_id) for spec in together.validation]
    assert len(validated) == 3 and sorted([*validated, *together.task_ids], key=int) == [
        str(number) for number in range(5, 11)
    ]


def test_a_validation_split_that_shares_tasks_is_refused() -> None:
    with pytest.raises(ConfigError, match="the task '1' is in split 'train' and in split 'validation'"):
        outline(config(join(SPLIT, {"shared": True})))


@pytest.mark.official
def test_official_data_without_a_validation_split_hold_training_tasks_out() -> None:
    retail = schedule_of(outline(config("tau_retail", data="official", **USER)))
    assert all(str(spec.task_id).startswith("retail/train/") for spec in retail.validation)
    assert len(retail.task_ids) == 500 - 4
    math = schedule_of(outline(config("math500_hard", data="official")))
    assert not {str(spec.task_id) for spec in math.validation} & set(math.task_ids)
    airline = schedule_of(outline(config("tau_airline", data="official", **USER)))
    assert all(str(spec.task_id).startswith("airline/validation/") for spec in airline.validation)
    assert len(airline.task_ids) == 1_200  # the embedded training split


def test_a_dry_run_counts_the_validation_tasks() -> None:
    train = {"val_tasks": 64, "budget": "steps=8", "test_freq": 4}
    found = {name: estimate_of(config(easy(name), train=train)) for name in ("shop_worlds", "tau_retail")}
    for name, each in (("shop_worlds", 48), ("tau_retail", 64)):
        assert found[name].training is not None
        assert found[name].episodes["validation"] == each * found[name].training.validations  # type: ignore[union-attr]


def recorded(folder: Path, split: str, **settings: Any) -> str:
    """Record an episode of the last planned task of a run on ``split``; return the folder."""
    planned = outline(config(train=None, limit=None, split=split, **settings))
    item, subject = planned.plan[-1], {"agent": "silent", "world": planned.environments.measured.played_world}
    with RunWriter.create(
        folder, config={}, conditions=planned.conditions, subject=subject, plan=(item,)
    ) as writer:
        episode = Episode(planned.config.env, item.task_id, item.trial, item.seed, first_observation="x")
        episode.terminated, episode.success = True, False
        writer.append(episode)
    return str(folder)


@pytest.mark.parametrize("name", ["math500_hard", "shop_worlds"])
def test_offline_episodes_of_the_validation_split_are_refused(name: str, tmp_path: Path) -> None:
    own = recorded(tmp_path / "own", "validation", env=easy(name))
    other = recorded(tmp_path / "other", "validation", env=join(name, {"level": OTHER_LEVEL[name]}))
    for folder in (own, other):
        with pytest.raises(NlacBenchError, match="of the validation split, which must not be trained on"):
            outline(config(easy(name), offline=folder))
    (tmp_path / "copy").mkdir()  # training episodes, whose tasks alone tell
    text = (tmp_path / "own" / "episodes.jsonl").read_text()
    (tmp_path / "copy" / "rollouts.jsonl").write_text(text)
    with pytest.raises(NlacBenchError, match="of the validation split, which must not be trained on"):
        outline(config(easy(name), offline=str(tmp_path / "copy")))
    train = recorded(tmp_path / "train", "train", env=easy(name))
    assert outline(config(easy(name), offline=train, train={"val_tasks": 1_000})).plan


def begun(folder: Path, prepared: Prepared, subject: dict[str, Any]) -> None:
    stated: dict[str, Any] = {"conditions": prepared.conditions, "subject": subject, "plan": prepared.plan}
    RunWriter.create(folder, config=prepared.config.as_dict(), **stated).close()


def test_a_run_that_held_tasks_out_is_not_continued_with_the_validation_split(tmp_path: Path) -> None:
    now = prepare(config(easy("math500_hard")))
    assert now.subject[VALIDATION_SPLIT] == "validation"
    earlier = {key: value for key, value in now.subject.items() if key != VALIDATION_SPLIT}
    begun(tmp_path / "earlier", now, earlier)
    stated: dict[str, Any] = {"conditions": now.conditions, "plan": now.plan}
    with pytest.raises(RunFolderError, match=r"validation_split: None against .* start a new run"):
        RunWriter.resume(tmp_path / "earlier", subject=now.subject, **stated)
    begun(tmp_path / "now", now, now.subject)
    RunWriter.resume(tmp_path / "now", subject=now.subject, **stated).close()
    training = subject_of([RunFolder.open(tmp_path / "now")]).training
    assert training is not None and training.settings[VALIDATION_SPLIT] == "validation"
    unsplit = prepare(config(UNSPLIT))
    measured = prepare(config(easy("math500_hard"), agent="act", train=None))
    assert VALIDATION_SPLIT not in unsplit.subject and VALIDATION_SPLIT not in measured.subject


def test_states_of_training_and_of_validation_episodes_are_reached() -> None:
    planned = outline(config(easy("tau_retail")))
    nothing: Any = None
    resources: Resources[Any] = Resources(
        nothing, nothing, nothing, CompactPrompts(), nothing, planned.environments.training.fork, 0, 1,
        make_validation_env=planned.environments.validation.fork,
    )  # fmt: skip
    for env in (planned.environments.make_training_env(), planned.environments.make_validation_env()):
        task_id = env.task_ids[3]
        observation, info = env.reset(seed=5, options={"task_id": task_id})
        state = first_state(env.name, observation, info)
        reached = asyncio.run(
            resources.reached(Transition(state, "", 0.0, None, True, None, task_id, 5, 0, 0))
        )
        assert reached is not None and reached.task_id == task_id and reached.split == env.split


async def absent(messages: Messages, role: Role) -> ChatReply:
    raise AssertionError("the user's model was called")


def test_rules_and_tools_of_a_recorded_episode_are_read_without_the_user() -> None:
    env = TauRetailEnv(split="train", user="llm", chat=absent)
    nothing: Any = None
    resources: Resources[Any] = Resources(nothing, nothing, nothing, nothing, nothing, env.fork, 0, 1)
    episode = Episode("tau_retail", env.task_ids[3], 0, 5, "Hello.")
    assert resources.beginning(episode) == {"policy": env.policy(), "tools": list(env.tools())}
    assert env.user_kind == "llm"
