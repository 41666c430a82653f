"""Every algorithm learns a bandit from its rewards, and nothing from shuffled ones."""

import asyncio
import copy
from typing import Any

import pytest

from nlac_bench.agents.nlac.agent import NlacAgent
from nlac_bench.agents.nlac.compact import CompactPrompts
from nlac_bench.baselines.registry import METHODS
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.engine import Sampling, derive_seed
from nlac_bench.rollout.hf import HFEngine
from nlac_bench.rollout.meter import MeteredEngine
from nlac_bench.train.learner import Learner
from nlac_bench.types import Episode
from tests.baselines import signal_env
from tests.baselines.signal_env import BUTTONS, COLOURS, Signal

SHARED: dict[str, Any] = {
    "train_batch_size": 32,
    "max_prompt_length": 48,
    "max_response_length": 8,
    "row_tokens": 64,
    "micro_rows": 32,
    "precision": "fp32",
    "kl_coef": 0.0,
}
SCALAR: dict[str, dict[str, Any]] = {
    "rft": {"lr": 3e-3, "mini_batch_size": 32},
    "ppo": {"lr": 3e-3, "mini_batch_size": 32},
    "grpo": {"lr": 3e-3, "mini_batch_size": 32},
    "sac": {"lr": 2e-3, "mini_batch_size": 64, "replay_ratio": 4, "num_refinement_steps": 3,
            "critic_coef": 20.0, "ema_tau": 0.2},
}  # fmt: skip
"""These begin with random weights."""
WORDS: dict[str, Any] = {"lr": 5e-4, "mini_batch_size": 64, "replay_ratio": 2, "probes": 4, "ema_tau": 0.2}
OWN: dict[str, dict[str, Any]] = {"nlql": {"num_candidates": 3, "policy_coef": 0.1}}
"""What is only ever proposed by the policy must not be given up before the critic has seen it."""
STEPS = {"rft": 80, "ppo": 120, "grpo": 120, "sac": 320, "nlrl": 320, "nlql": 240}
"""Gradient steps; the others have 160."""


@pytest.fixture(scope="module")
def warm() -> Any:
    return signal_env.warm_start()


def learned(name: str, model: Any, shuffled: bool) -> tuple[float, float]:
    """Share of right buttons among actions drawn at temperature 1, before and after training."""
    method = METHODS[name]
    config: Any = method.config({**SHARED, **SCALAR.get(name, WORDS), **OWN.get(name, {})})
    hf = HFEngine(copy.deepcopy(model), signal_env.tokenizer())
    engine = MeteredEngine(hf)
    prompts = CompactPrompts()
    agent = NlacAgent(engine, prompts, Sampling(max_tokens=config.max_response_length))
    learner = Learner(copy.deepcopy(model), config.learner(0, **method.learner))

    def make_env() -> Signal:
        return Signal(shuffled=shuffled)

    algorithm = method.algorithm()(
        config, engine, learner, prompts, signal_env.tokenizer(), agent, make_env, seed=0, concurrency=64
    )

    async def play(env: Any, iteration: int) -> list[Episode]:
        repeats = config.rollouts_per_task
        tasks = env().task_ids[: config.train_batch_size // repeats]
        specs = [
            EpisodeSpec("signal", task, k, derive_seed(iteration, task, k) % 2**31)
            for task in tasks
            for k in range(repeats)
        ]
        driver = Driver(agent, env, concurrency=64)
        return [e async for e in driver.run(specs) if isinstance(e, Episode)]

    async def measure(iteration: int) -> float:
        episodes = [e for k in range(3) for e in await play(Signal, 10_000 * iteration + k)]
        return signal_env.share_right([(e.first_observation, e.turns[0].text) for e in episodes])

    async def train() -> tuple[float, float]:
        algorithm.sync()
        before, left = await measure(1), STEPS.get(name, 160)
        for iteration in range(1, 1 + left):  # what has nothing left to learn makes no more steps
            if left > 0:
                metrics = await algorithm.update(await play(make_env, iteration), left)
                left -= int(metrics["gradient_steps"])
        return before, await measure(2)

    try:
        return asyncio.run(train())
    finally:
        hf.close()


def test_the_bandit() -> None:
    env = Signal()
    first, _ = env.reset(seed=0, options={"task_id": "blue-1"})
    assert first == "blue"
    assert env.step("blue-1 please")[1] == 1.0
    assert len(COLOURS) == len(BUTTONS)


@pytest.mark.slow(reason="a hundred or more gradient steps")
@pytest.mark.parametrize("shuffled", [False, True], ids=["rewards", "shuffled"])
@pytest.mark.parametrize("name", sorted(METHODS))
def test_it_learns_from_rewards_and_only_from_them(name: str, shuffled: bool, warm: Any) -> None:
    model = signal_env.random_model() if name in SCALAR else warm
    before, after = learned(name, model, shuffled)
    assert before < 0.45, "it must not begin with the answer"
    if shuffled:
        assert after < 0.6
    else:
        assert after >= 0.9
