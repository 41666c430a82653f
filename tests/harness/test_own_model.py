"""A user's own model, a Hugging Face folder with a chat template, trains with every method on a user's own
environment: a model of random weights without marks, whose prompts are in words and whose answers are noise,
and a model that has learned the forms of all roles, with which every method takes gradient steps."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents.methods import BUILT_IN
from nlac_bench.harness.measure.prepare import prepare
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.training.run import train_and_test, trained
from tests.baselines import signal_env
from tests.once import made_once
from tests.rollout import tiny_model

SETTINGS = {
    "budget": "env_steps=6", "train_batch_size": 2, "mini_batch_size": 2, "val_tasks": 1,
    "max_response_length": 4, "row_tokens": 512, "precision": "fp32",
}  # fmt: skip
OWN: dict[str, dict[str, Any]] = {
    "grpo": {"rollouts_per_task": 2}, "pacs": {"rollouts_per_task": 2}, "critique_rl": {"stage_one": 0},
}  # fmt: skip
NO_STEP = (
    "grpo", "pacs", "rft", "self_distillation", "nlrl", "nlac", "nlql", "early_experience", "critique_rl",
)  # fmt: skip
"""These may take no gradient step where no episode succeeds and no critique or value can be read or fits."""
METHODS = [
    pytest.param(name, marks=[pytest.mark.slow(reason="most of these together take a minute")])
    if name not in ("nlac", "ppo")
    else name
    for name in sorted(BUILT_IN)
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tiny_model.model(context=8192).save_pretrained(folder)
    tiny_model.tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def speaking_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of the bandit, which writes the form of every role and does not know the right buttons."""

    def make(folder: Path) -> None:
        # For Qwen2 and Llama, transformers ignores the tokenizer.json of a tokenizer of whole words.
        signal_env.warm_start(family="Granite", steps=200, batch=32).save_pretrained(folder)
        signal_env.tokenizer().save_pretrained(folder)

    return made_once(tmp_path_factory, "speaking", make)


@pytest.mark.parametrize("name", METHODS)
def test_it_trains(model: Path, tmp_path: Path, name: str) -> None:
    settings = {
        "env": "examples.register_env:CountDown-v0", "agent": name, "model": str(model), "limit": 2,
        "max_tokens": 4, "max_turns": 3, "concurrency": 4, "train": {**SETTINGS, **OWN.get(name, {})},
        "keep_going": True,  # although no critic of random weights can be read
    }  # fmt: skip
    where = train(settings, tmp_path / "run")
    assert where["env_steps"] >= 6
    assert where["gradient_steps_total"] > 0 or name in NO_STEP


@pytest.mark.slow(reason="the model is pre-trained first; all of these together take a minute")
@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_model_that_writes_the_forms_of_the_roles_takes_gradient_steps(
    speaking_model: Path, tmp_path: Path, name: str
) -> None:
    own = {**SETTINGS, "budget": "steps=2", "train_batch_size": 16, "row_tokens": 64, **OWN.get(name, {})}
    settings = {
        "env": "signal", "agent": name, "model": str(speaking_model),
        "limit": 2, "max_tokens": 8, "concurrency": 16, "train": {**own, "max_response_length": 8},
    }  # fmt: skip
    assert train(settings, tmp_path / "run")["gradient_steps_total"] == 2


def train(settings: Mapping[str, Any], folder: Path) -> Mapping[str, float]:
    """Train as ``nlac-bench run`` does; return what ``progress.json`` counts at the end."""
    config = RunConfig.from_mapping(settings, "test")
    prepared = prepare(config)
    with RunWriter.create(
        folder, config=config.as_dict(), conditions=prepared.conditions,
        subject=prepared.subject, plan=prepared.plan,
    ) as writer:  # fmt: skip
        try:
            assert asyncio.run(train_and_test(prepared, writer, lambda *_: lambda _: None, lambda _: None))
        finally:
            prepared.agent.engine.close()  # type: ignore[attr-defined]
    found = trained(folder)
    assert found is not None
    return found.where
