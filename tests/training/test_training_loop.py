"""The training loop's own decisions, without a model: which tasks are held out, what counts as the best."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nlac_bench.errors import EnvInfraError, NlacBenchError
from nlac_bench.learner.config import Budget, TrainConfig
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.training.ahead import Ahead
from nlac_bench.training.checkpoints import Checkpoints
from nlac_bench.training.loop import TrainingLoop
from nlac_bench.training.metrics_row import fault_of
from nlac_bench.training.player import TrainingPlayer
from nlac_bench.training.progress import MAX_HOPELESS, MAX_IDLE, NO_SIGNAL, Progress
from nlac_bench.training.run import interruptible
from nlac_bench.training.schedule import Schedule
from nlac_bench.types import Episode, Turn


def bare_schedule(tasks: Sequence[str]) -> Schedule:
    return Schedule("e", tasks, tasks, TrainConfig(val_tasks=4), seed=0)


def bare_training(
    folder: Path, log: Callable[[dict[str, Any]], None] = print, **settings: Any
) -> TrainingLoop:
    """A loop over eight tasks that nothing is played or learned in."""
    nobody: Any = None
    engine: Any = SimpleNamespace(label="", usage={}, generated_tokens=lambda: 0, metrics=dict)
    player = TrainingPlayer(Driver(nobody, nobody), Driver(nobody, nobody), nobody)
    return TrainingLoop(
        TrainConfig(val_tasks=4, **settings), nobody, engine, bare_schedule("abcdefgh"), player,
        Checkpoints(folder / "checkpoints", nobody, nobody, nobody), log,
    )  # fmt: skip


def test_an_only_task_serves_for_training_and_validation() -> None:
    schedule = bare_schedule(["only"])
    assert [spec.task_id for spec in schedule.validation] == ["only"] == list(schedule.task_ids)


def test_every_task_comes_once_in_each_epoch() -> None:
    config = TrainConfig(val_tasks=2, train_batch_size=4, rollouts_per_task=2)
    schedule = Schedule("e", "abcdefgh", "abcdefgh", config, seed=0)
    assert not set(schedule.task_ids) & {spec.task_id for spec in schedule.validation}
    epochs = [[spec for i in range(3) for spec in schedule.iteration(3 * epoch + i)] for epoch in range(2)]
    for number, specs in enumerate(epochs):
        assert sorted((s.task_id, s.trial) for s in specs) == [
            (task, 2 * number + repeat) for task in sorted(schedule.task_ids) for repeat in range(2)
        ]
    orders = [[spec.task_id for spec in specs] for specs in epochs]
    assert orders[0] != orders[1] and schedule.epochs(3) == 1.0
    assert len({spec.seed for specs in epochs for spec in specs}) == 24


@pytest.mark.parametrize(
    ("settings", "progress", "done"),
    [
        ({"budget": "steps=40"}, {"gradient_steps": 10, "env_steps": 99, "tokens": 99}, 0.25),
        ({"budget": "env_steps=40"}, {"gradient_steps": 99, "env_steps": 30, "tokens": 99}, 0.75),
        ({"budget": "tokens=40"}, {"gradient_steps": 99, "env_steps": 99, "tokens": 50}, 1.0),
        ({"budget": "steps=40", "total_epochs": 16}, {"gradient_steps": 10, "iteration": 1}, 0.5),
        ({"budget": "steps=40", "total_epochs": 16}, {"gradient_steps": 30, "iteration": 1}, 0.75),
    ],
)
def test_the_share_of_the_training_that_is_over(
    tmp_path: Path, settings: dict[str, Any], progress: dict[str, Any], done: float
) -> None:
    """An iteration has 32 tasks, 8 passes over the four training tasks."""
    training = bare_training(tmp_path, **settings)
    assert training.done() == 0.0
    training.progress = Progress(**progress)
    training.allowance.tokens = lambda: int(progress.get("tokens", 0))
    assert training.done() == done and training.finished() == (done == 1.0)


@pytest.mark.parametrize(("failed", "logged"), [(1, True), (3, False)])
def test_a_validation_with_failures_is_never_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: int, logged: bool
) -> None:
    rows: list[dict[str, Any]] = []
    training = bare_training(tmp_path, rows.append)

    async def run(driver: Any, specs: Sequence[EpisodeSpec]) -> Any:
        for spec in reversed(specs[failed:]):
            yield Episode("e", str(spec.task_id), 0, 0, "", success=True)
        for spec in specs[:failed]:
            yield Failure(spec, "infra", "server", "refused", 1)

    monkeypatch.setattr(Driver, "run", run)
    if not logged:
        with pytest.raises(EnvInfraError, match="3 of 4"):
            asyncio.run(training.validate())
        return
    asyncio.run(training.validate())
    assert rows[0]["success"] == 1.0 and rows[0]["best"] is False
    assert (rows[0]["tasks"], rows[0]["planned"], rows[0]["infra_failed"]) == (3, 4, 1)
    assert training.progress.best == -1 and not training.checkpoints.best.exists()


@pytest.mark.parametrize(("stopped", "logged"), [(1, True), (2, True), (3, False)])
def test_episodes_that_a_content_filter_stopped_are_no_failures_and_nothing_is_learned_from_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: int, logged: bool
) -> None:
    rows: list[dict[str, Any]] = []
    training = bare_training(tmp_path, rows.append)
    specs = training.schedule.validation

    async def run(driver: Any, specs: Sequence[EpisodeSpec]) -> Any:
        for i, spec in enumerate(specs):
            episode = Episode("e", str(spec.task_id), 0, 0, "", success=True)
            if i < stopped:
                episode.success, episode.end_reason = None, "content_filter"
            yield episode

    monkeypatch.setattr(Driver, "run", run)
    monkeypatch.setattr(Checkpoints, "export_best", lambda self: None)
    kept: list[Episode] = []
    player = replace(training.player, keep=kept.append)
    if not logged:
        with pytest.raises(EnvInfraError, match="0 of 4 episodes failed and a content filter stopped 3"):
            asyncio.run(training.validate())
        return
    asyncio.run(training.validate())
    row = rows[0]
    assert (row["success"], row["tasks"], row["content_filter"], row["infra_failed"]) == (
        1.0, 4 - stopped, stopped, 0,
    )  # fmt: skip
    assert row["best"] and training.progress.best == (4 - stopped) / 4
    assert asyncio.run(player.train(specs)) == kept and len(kept) == 4 - stopped


def test_episodes_are_learned_from_in_planned_order(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Episode] = []
    nobody: Any = None
    player = TrainingPlayer(Driver(nobody, nobody), Driver(nobody, nobody), kept.append)
    specs = bare_schedule("abcdefgh").validation

    async def run(driver: Any, specs: Sequence[EpisodeSpec]) -> Any:
        for spec in reversed(specs):
            yield Episode("e", str(spec.task_id), spec.trial, 0, "")

    monkeypatch.setattr(Driver, "run", run)
    played = asyncio.run(player.train(specs))
    assert [e.task_id for e in played] == [s.task_id for s in specs] and kept == played


@pytest.mark.parametrize(("reason", "fails"), [("turn_limit", True), ("context_overflow", False)])
def test_a_policy_that_reaches_the_limit_of_turns_in_training_has_failed(
    reason: str, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A validation, like a test, only records the cut."""
    kept: list[Episode] = []
    nobody: Any = None
    player = TrainingPlayer(Driver(nobody, nobody), Driver(nobody, nobody), kept.append)

    async def run(driver: Any, specs: Sequence[EpisodeSpec]) -> Any:
        for spec in specs:
            cut = Episode("e", str(spec.task_id), spec.trial, 0, "", truncated=True, success=False)
            yield replace(cut, end_reason=reason)

    monkeypatch.setattr(Driver, "run", run)
    specs = bare_schedule("abcdefgh").validation
    for episode in (*asyncio.run(player.train(specs)), *kept):
        assert (episode.terminated, episode.truncated) == (fails, not fails) and episode.success is False
    validated, _ = asyncio.run(player.validate(specs))
    assert all(episode.truncated and not episode.terminated for episode in validated)


def without_models(
    training: TrainingLoop, monkeypatch: pytest.MonkeyPatch, update: Any, episodes: Sequence[Episode] = ()
) -> None:
    """Let ``training`` call ``update`` with ``episodes``, and play and measure nothing."""

    async def play(*_: Any) -> list[Episode]:
        return list(episodes)

    async def validate() -> tuple[list[Episode], list[Failure]]:
        return [], []

    async def nothing(*_: Any) -> Any:
        return {}

    algorithm: Any = SimpleNamespace(sync=lambda: None, update=update)
    training.algorithm = algorithm
    monkeypatch.setattr(TrainingPlayer, "train", play)
    monkeypatch.setattr(training, "play_validation", validate)
    monkeypatch.setattr(training, "measured", nothing)


def test_a_new_best_is_known_to_the_checkpoint_that_a_resume_goes_back_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = bare_training(tmp_path, test_freq=1, save_freq=1000, budget="steps=4")
    bests = iter([0.2, 0.5, 0.4, 0.6, 0.1])
    done: list[int] = []

    async def update(episodes: Any, left: Any) -> dict[str, float]:
        return {"gradient_steps": 1.0}

    def judge(*_: Any) -> bool:
        return training.progress.is_best(next(bests))

    without_models(training, monkeypatch, update)
    monkeypatch.setattr(training, "judge", judge)
    monkeypatch.setattr(training, "save", lambda: done.append(training.progress.gradient_steps))
    asyncio.run(training.run())
    assert done == [1, 3, 4], "after 0.5, after 0.6 and at the end"


@pytest.mark.parametrize("turns", [0, 7])
def test_a_resumed_budget_knows_the_steps_that_were_played_ahead(
    turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = bare_training(tmp_path, budget="env_steps=100")
    ahead = [Episode("e", "t", 0, 0, "", [Turn("a")] * turns)] if turns else []
    monkeypatch.setattr(Checkpoints, "restore", lambda self: (Progress(env_steps=60), ahead))

    async def play(iteration: int) -> list[Episode]:
        return []

    async def resume() -> int:
        training.ahead = Ahead(play, torch.device("cpu"))
        training.restore()
        return training.allowance.left()

    assert asyncio.run(resume()) == 40 - turns


@pytest.mark.parametrize("budget", ["steps=4", "env_steps=200", "tokens=200"])
@pytest.mark.parametrize("learned", [False, True])
def test_a_training_that_takes_no_gradient_step_is_stopped(budget: str, learned: bool) -> None:
    progress, limit = Progress(gradient_steps=int(learned)), Budget.parse(budget)
    for number in range(MAX_IDLE):
        assert progress.idle_reason(limit) is None
        progress.count([], {"gradient_steps": 0.0}, number, 0.1)
    said = "50 successive iterations took no gradient step"
    if learned and limit.unit != "steps":
        assert progress.idle_reason(limit) is None, "the rest of the budget may be spent without learning"
        return
    assert said in str(progress.idle_reason(limit))
    if learned:
        progress.check_learned(limit)  # the training ends and is tested
        return
    with pytest.raises(NlacBenchError, match=said):
        progress.check_learned(limit)


@pytest.mark.parametrize("keep_going", [False, True])
def test_a_training_whose_policy_collapses_ends_and_says_why(
    keep_going: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The episodes are cut before their end, so no outcome is known."""
    training = bare_training(tmp_path, test_freq=1000, save_freq=1000, budget="steps=4")
    training.keep_going = keep_going
    rows: list[dict[str, Any]] = []
    steps = iter([1.0])

    async def update(episodes: Any, left: Any) -> dict[str, float]:
        return {"gradient_steps": next(steps, 0.0)}

    without_models(training, monkeypatch, update, [Episode("e", "t", 0, 0, "", [Turn("a")], truncated=True)])
    monkeypatch.setattr(training, "judge", lambda *_: False)
    monkeypatch.setattr(training, "save", lambda: None)
    monkeypatch.setattr(training, "log", rows.append)
    asyncio.run(training.run())
    assert training.finished() and not training.stopped
    assert len(rows) == 1 + (MAX_IDLE if keep_going else MAX_HOPELESS)
    assert not any("ended_early" in row for row in rows[:-1])
    assert "episodes were cut before their end" in rows[-1]["ended_early"]
    assert fault_of(rows[-1], "iteration") is None
    assert fault_of({**rows[-1], "ended_early": "\x1b[2J"}, "iteration")


@pytest.mark.parametrize("budget", ["steps=400", "env_steps=4000", "tokens=4000"])
def test_a_training_that_stops_without_signal_says_so(
    budget: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = bare_training(
        tmp_path, test_freq=1000, save_freq=1000, budget=budget, stop_without_signal=True
    )
    rows: list[dict[str, Any]] = []
    norms = iter([1.0, 0.0, 1.0])

    async def update(episodes: Any, left: Any) -> dict[str, float]:
        return {"gradient_steps": 1.0, "grad_norm": next(norms, 0.0)}

    without_models(training, monkeypatch, update)
    monkeypatch.setattr(training, "judge", lambda *_: False)
    monkeypatch.setattr(training, "save", lambda: None)
    monkeypatch.setattr(training, "log", rows.append)
    asyncio.run(training.run())
    assert [row.get("ended_early") for row in rows[-2:]] == [None, "3 successive iterations had no gradient"]
    assert len(rows) == 3 + NO_SIGNAL


def test_a_training_that_has_spent_its_budget_did_not_end_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = bare_training(tmp_path, test_freq=1000, budget=f"steps={NO_SIGNAL}", stop_without_signal=True)
    rows: list[dict[str, Any]] = []

    async def update(episodes: Any, left: Any) -> dict[str, float]:
        return {"gradient_steps": 1.0, "grad_norm": 0.0}

    without_models(training, monkeypatch, update)
    monkeypatch.setattr(training, "judge", lambda *_: False)
    monkeypatch.setattr(training, "save", lambda: None)
    monkeypatch.setattr(training, "log", rows.append)
    asyncio.run(training.run())
    assert len(rows) == NO_SIGNAL and "ended_early" not in rows[-1]


@pytest.mark.parametrize("budget", ["steps=400", "env_steps=400", "tokens=400"])
def test_no_budget_is_spent_without_a_gradient_step(
    budget: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = bare_training(tmp_path, budget=budget)

    async def nothing(*_: Any) -> Any:
        return []

    async def measured(*_: Any) -> Any:
        return {}

    async def update(*_: Any) -> Any:
        return {"gradient_steps": 0.0, "extra_env_steps": 2.0}

    algorithm: Any = SimpleNamespace(sync=lambda: None, update=update)
    loop.algorithm = algorithm
    monkeypatch.setattr(TrainingPlayer, "train", nothing)
    monkeypatch.setattr(loop, "validate", measured)
    monkeypatch.setattr(loop, "measured", measured)
    monkeypatch.setattr(loop, "save", lambda: None)
    with pytest.raises(NlacBenchError, match="took no gradient step"):
        asyncio.run(loop.run())
    assert loop.progress.iteration == MAX_IDLE


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_gradients_block_the_event_loop_stops_after_that_iteration(
    sent: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = bare_training(tmp_path, budget="steps=4")

    async def nothing(*_: Any) -> Any:
        return {}

    async def update(*_: Any) -> Any:
        if not loop.progress.iteration:
            os.kill(os.getpid(), sent)
            while not loop.stopped:  # nothing is awaited, as between gradient steps
                time.sleep(0.01)
        return {"gradient_steps": 1.0}

    async def run() -> None:
        with interruptible(loop):
            await loop.run()

    algorithm: Any = SimpleNamespace(sync=lambda: None, update=update)
    loop.algorithm = algorithm
    monkeypatch.setattr(TrainingPlayer, "train", nothing)
    monkeypatch.setattr(loop, "validate", nothing)
    monkeypatch.setattr(loop, "measured", nothing)
    saved: list[int] = []
    monkeypatch.setattr(loop, "save", lambda: saved.append(loop.progress.iteration))
    asyncio.run(run())
    assert saved == [1] == [loop.progress.iteration]
