"""The training loop's own decisions, without a model: which tasks are held out, what counts as the best."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nlac_bench.errors import EnvInfraError, NlacBenchError
from nlac_bench.eval.training.loop import MAX_IDLE, Training
from nlac_bench.rollout.driver import EpisodeSpec, Failure
from nlac_bench.rollout.limits import Limits
from nlac_bench.train.config import Budget, TrainConfig
from nlac_bench.types import Episode


def bare_training(
    folder: Path, tasks: Sequence[str], log: Callable[[dict[str, Any]], None] = print
) -> Training:
    """A loop over ``tasks`` that nothing is played or learned in."""
    nobody: Any = None
    engine: Any = SimpleNamespace(label="", usage={})
    env: Any = SimpleNamespace(task_ids=tasks, name="e")
    return Training(
        folder, TrainConfig(val_tasks=4), nobody, nobody, engine, nobody, lambda: env, nobody, nobody,
        limits=Limits(), seed=0, concurrency=1, log=log, keep=nobody,
    )  # fmt: skip


def test_an_only_task_serves_for_training_and_validation(tmp_path: Path) -> None:
    training = bare_training(tmp_path, ["only"])
    assert [item.task_id for item in training.val_plan] == ["only"] == list(training.train_ids)


def test_offline_episodes_of_validation_tasks_are_left_out(tmp_path: Path) -> None:
    training = bare_training(tmp_path, list("abcdef"))
    apart = {item.task_id for item in training.val_plan}
    episodes = [Episode("e", task, 0, 0, "") for task in "abcdef"]
    assert {e.task_id for e in training.learnable(episodes)} == set("abcdef") - apart and apart
    with pytest.raises(NlacBenchError, match="validation tasks"):
        training.learnable([e for e in episodes if e.task_id in apart])


@pytest.mark.parametrize(("failed", "logged"), [(1, True), (3, False)])
def test_a_validation_with_failures_is_never_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: int, logged: bool
) -> None:
    rows: list[dict[str, Any]] = []
    training = bare_training(tmp_path, list("abcdefgh"), rows.append)
    won = [Episode("e", item.task_id, 0, 0, "", success=True) for item in training.val_plan[failed:]]
    spec = EpisodeSpec("e", "a", 0, 0)
    failures = [Failure(spec, "infra", "server", "refused", 1)] * failed

    async def results(*_: Any) -> Any:
        return won, failures

    monkeypatch.setattr("nlac_bench.eval.training.loop._results", results)
    if not logged:
        with pytest.raises(EnvInfraError, match="3 of 4"):
            asyncio.run(training.validate())
        return
    asyncio.run(training.validate())
    assert rows[0]["success"] == 1.0 and rows[0]["best"] is False
    assert (rows[0]["tasks"], rows[0]["planned"], rows[0]["infra_failed"]) == (3, 4, 1)
    assert not (training.checkpoints / "best").exists()


def test_a_new_best_is_known_to_the_checkpoint_that_a_resume_goes_back_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = bare_training(tmp_path, list("abcdefgh"))
    training.config = TrainConfig(val_tasks=4, test_freq=1, save_freq=1000, budget="steps=4")
    training.budget = Budget.parse(training.config.budget)
    bests = iter([0.2, 0.5, 0.4, 0.6, 0.1])
    done: list[int] = []

    async def update(episodes: Any, left: Any) -> dict[str, float]:
        return {"gradient_steps": 1.0}

    async def validate() -> bool:
        success = next(bests)
        better = success > training.progress.best
        training.progress.best = max(success, training.progress.best)
        return better

    async def nothing(*_: Any) -> Any:
        return {}

    training.algorithm = SimpleNamespace(sync=lambda: None, update=update, probe=nothing)
    training.engine = SimpleNamespace(label="", usage={}, generated_tokens=lambda: 0)  # type: ignore[assignment]
    monkeypatch.setattr(training, "validate", validate)
    monkeypatch.setattr(training, "play", nothing)
    monkeypatch.setattr(training, "measured", nothing)
    monkeypatch.setattr(training, "save", lambda: done.append(training.progress.gradient_steps))
    asyncio.run(training.run())
    assert done == [1, 3, 4], "after 0.5, after 0.6 and at the end"


@pytest.mark.parametrize("budget", ["steps=4", "env_steps=200", "tokens=200"])
def test_only_a_budget_of_steps_cannot_be_spent_without_learning(tmp_path: Path, budget: str) -> None:
    training = bare_training(tmp_path, list("abcdefgh"))
    training.budget = Budget.parse(budget)
    training.engine.generated_tokens = lambda: training.progress.iteration  # type: ignore[method-assign]
    for _ in range(MAX_IDLE - 1):
        training.count([], {"gradient_steps": 0.0}, 0.1)
    if training.budget.unit == "steps":
        with pytest.raises(NlacBenchError, match="taught nothing"):
            training.count([], {"gradient_steps": 0.0}, 0.1)
    else:
        training.count([], {"gradient_steps": 0.0}, 0.1)
        assert training.progress.idle == MAX_IDLE
