"""Training that plays one iteration ahead: what overlaps, which weights play, and what an error does."""

import asyncio
import json
import threading
from pathlib import Path

import pytest
import torch

from nlac_bench.errors import EnvInfraError
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.training.ahead import Ahead
from nlac_bench.training.curve import latest
from nlac_bench.types import Episode
from tests.training.test_training import SMALL, config, play

CPU = torch.device("cpu")


def test_the_next_episodes_are_played_while_the_learner_learns() -> None:
    learning, played = threading.Event(), threading.Event()
    begun: list[int] = []

    async def episodes(iteration: int) -> list[Episode]:
        begun.append(iteration)
        if iteration:
            await asyncio.to_thread(learning.wait, 60)
            played.set()
        return [Episode("e", str(iteration), 0, 0, "")]

    def steps() -> str:
        learning.set()
        assert played.wait(60), "nothing was played while the learner learned"
        return "learned"

    async def run() -> None:
        ahead = Ahead(episodes, CPU)
        assert [e.task_id for e in await ahead.episodes(0)] == ["0"]
        assert await ahead.learn(steps) == "learned" and begun == [0, 1]
        assert [e.task_id for e in await ahead.episodes(1)] == ["1"] and ahead.unused_steps() == 0
        await ahead.close()

    asyncio.run(run())


def test_weights_change_only_after_the_episodes_have_ended() -> None:
    async def run() -> None:
        gate = asyncio.Event()

        async def episodes(iteration: int) -> list[Episode]:
            if iteration:
                await gate.wait()
            return []

        ahead = Ahead(episodes, CPU)
        await ahead.episodes(0)
        learned = asyncio.ensure_future(ahead.learn(lambda: None))
        await asyncio.sleep(0.05)
        assert not learned.done()
        gate.set()
        await learned
        await ahead.close()

    asyncio.run(run())


@pytest.mark.parametrize("fails", ["play", "learn"])
def test_an_error_arrives_where_it_is_awaited(fails: str) -> None:
    async def episodes(iteration: int) -> list[Episode]:
        if iteration and fails == "play":
            raise EnvInfraError("the server is gone")
        return []

    def steps() -> None:
        if fails == "learn":
            raise ValueError("no memory")

    async def run() -> None:
        ahead = Ahead(episodes, CPU)
        try:
            await ahead.episodes(0)
            await ahead.learn(steps)
            await ahead.episodes(1)
        finally:
            await ahead.close()

    with pytest.raises(EnvInfraError if fails == "play" else ValueError):
        asyncio.run(run())


def test_episodes_that_were_played_ahead_are_continued_from() -> None:
    async def run() -> None:
        async def episodes(iteration: int) -> list[Episode]:
            return [Episode("e", str(iteration), 0, 0, "")]

        ahead = Ahead(episodes, CPU)
        assert ahead.played() == []
        await ahead.episodes(0)
        await ahead.learn(lambda: None)
        played = ahead.played()
        assert [e.task_id for e in played] == ["1"]
        await ahead.close()
        resumed = Ahead(lambda iteration: episodes(iteration + 10), CPU)
        resumed.resume(played)
        assert await resumed.episodes(1) == played, "they are not played again"
        await resumed.learn(lambda: None)
        assert [e.task_id for e in await resumed.episodes(2)] == ["12"]
        await resumed.close()

    asyncio.run(run())


@pytest.mark.slow  # trains three times
def test_a_resumed_run_is_bitwise_the_uninterrupted_one(tmp_path: Path) -> None:
    """The episodes that were played ahead of the last checkpoint are not played again with newer weights."""
    wanted = config(steps=6, train={**SMALL, "max_staleness": 1, "budget": "steps=6"})
    assert play(tmp_path / "whole", wanted)
    assert not play(tmp_path / "parts", wanted, stop_after=1)
    assert (tmp_path / "parts" / "checkpoints" / "last" / "ahead.jsonl").exists()
    assert play(tmp_path / "parts", wanted)
    same = ("l1", "l2", "tokens", "env_steps", "train_success", "buffer_age", "kl_to_start")
    ours, others = (
        [[row.get(name) for name in same] for row in latest(list(RunFolder.open(f).metrics()), "iteration")]
        for f in (tmp_path / "parts", tmp_path / "whole")
    )
    assert ours == others and len(ours) > 2


@pytest.mark.slow  # trains
@pytest.mark.parametrize("agent", ["ppo", "nlac"])
def test_episodes_are_one_update_older_than_the_learner(agent: str, tmp_path: Path) -> None:
    train = {name: value for name, value in SMALL.items() if name != "probes"}
    train |= {"max_staleness": 1, "test_freq": 100, "mini_batch_size": 6, "budget": "steps=3"}
    train |= {"train_batch_size": 6, "val_tasks": 4, "max_response_length": 48, "row_tokens": 512}
    wanted = config(steps=3, agent=agent, train=train, max_tokens=48)
    assert play(tmp_path / "run", wanted)
    rows = latest(list(RunFolder.open(tmp_path / "run").metrics()), "iteration")
    played = [json.loads(line) for line in (tmp_path / "run" / "rollouts.jsonl").open()]
    versions = [{turn["weight_version"] for turn in e["turns"]} for e in played]
    size = 6  # episodes an iteration
    by_iteration = [set().union(*versions[i : i + size]) for i in range(0, len(versions), size)]
    expected = [{max(1, i)} for i in range(len(by_iteration))]  # 1, 1, 2, 3 instead of 1, 2, 3, 4
    assert len(by_iteration) >= 3 and by_iteration == expected
    assert [row["logprob_gap"] is None for row in rows] == [False] + [True] * (len(rows) - 1)
    unused = sum(len(e["turns"]) for e in played[size * len(rows) :])
    assert rows[-1]["env_steps"] == sum(len(e["turns"]) for e in played) and unused > 0
