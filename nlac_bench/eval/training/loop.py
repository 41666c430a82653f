"""A training run: base measured, policy trained, the best checkpoint measured on the same tasks.

The folder is a run like any other, whose episodes are the test episodes of the trained policy. Beside them::

    base/              the same tasks and seeds, played before training: a run of its own
    rollouts.jsonl     every training episode, in the order in which it was learned from; what was played
                       again after a crash is there twice
    metrics.jsonl      one line an iteration, one a validation
    checkpoints/last   to resume from; checkpoints/best: a Hugging Face folder
"""

import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import EnvInfraError, NlacBenchError
from nlac_bench.eval.runs.seeds import plan_episodes
from nlac_bench.eval.statistics.distributions import Z95
from nlac_bench.eval.statistics.intervals import wilson_bounds
from nlac_bench.eval.training.tasks import split_tasks
from nlac_bench.rollout.agent import Agent
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.rollout.limits import Limits
from nlac_bench.rollout.meter import MeteredEngine, spending_on, spent_from_row, spent_to_row
from nlac_bench.train import checkpoint
from nlac_bench.train.config import Budget, TrainConfig
from nlac_bench.train.learner import Learner
from nlac_bench.train.outputs import Metrics
from nlac_bench.types import Episode

MAX_IDLE = 50


class Algorithm(Protocol):
    """What learns. One ``update`` is one iteration of its paper's loop."""

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Learn from new episodes (none: from old ones alone) and hand the new weights to the engine."""

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """Measure what it believes against ``episodes``; ``deep`` where that takes episodes of its own."""

    def sync(self) -> None:
        """Hand the learner's weights to the engine."""

    def save(self, folder: Path) -> dict[str, Any]:
        """Write what it must remember into ``folder``; small things as JSON."""

    def load(self, folder: Path, state: dict[str, Any]) -> None:
        """Go back to what ``save`` wrote."""


@dataclass
class Progress:
    """Where training stands; part of every checkpoint."""

    iteration: int = 0
    gradient_steps: int = 0
    env_steps: int = 0
    tokens: int = 0
    seconds: float = 0.0
    idle: int = 0
    """Iterations in a row that made no gradient step."""
    best: float = -1.0
    best_iteration: int = 0
    usage: dict[str, dict[str, Any]] = field(default_factory=dict)

    def spent(self, budget: Budget) -> int:
        """In the budget's unit."""
        return {"steps": self.gradient_steps, "env_steps": self.env_steps, "tokens": self.tokens}[budget.unit]


class Training:
    """The loop around an algorithm.

    Args:
        folder: of the run.
        make_env: makes the environment's training split.
        learn_agent: plays training episodes; ``judge_agent``: validation, as the test is played, under
            the test's ``limits``.
        log: takes each metrics row; ``keep`` each training episode.
        offline: episodes to learn from; then none is played.
        on_phase: called with what begins: ``validating``, ``playing``, ``learning`` or ``probing``.
    """

    def __init__(
        self,
        folder: Path,
        config: TrainConfig,
        algorithm: Algorithm,
        learner: Learner,
        engine: MeteredEngine,
        tokenizer: Any,
        make_env: Callable[[], TextEnv],
        learn_agent: Agent,
        judge_agent: Agent,
        *,
        limits: Limits,
        seed: int,
        concurrency: int,
        log: Callable[[dict[str, Any]], None],
        keep: Callable[[Episode], None],
        offline: Sequence[Episode] | None = None,
        on_phase: Callable[[str], None] = lambda phase: None,
    ) -> None:
        self.folder, self.config, self.algorithm = folder, config, algorithm
        self.learner, self.engine, self.tokenizer = learner, engine, tokenizer
        self.make_env, self.learn_agent, self.judge_agent = make_env, learn_agent, judge_agent
        self.seed, self.concurrency, self.log, self.keep = seed, concurrency, log, keep
        self.limits, self.offline, self.on_phase = limits, offline, on_phase
        self.budget = Budget.parse(config.budget)
        self.progress = Progress()
        self.stopped = False
        """Set from a signal handler: the running iteration is finished and kept."""
        validation, self.train_ids = split_tasks(make_env().task_ids, config.val_tasks, seed)
        self.val_plan = plan_episodes(validation, 1, seed)

    @property
    def tasks_per_iteration(self) -> int:
        """Different tasks that an iteration plays."""
        return self.config.train_batch_size // self.config.rollouts_per_task

    @property
    def checkpoints(self) -> Path:
        """Where they are."""
        return self.folder / "checkpoints"

    async def run(self) -> None:
        """Train until the budget is spent or ``stopped`` is set; goes on from ``checkpoints/last``."""
        fresh = not checkpoint.exists(self.checkpoints / "last")
        if fresh:
            self.algorithm.sync()
            await self.validate()
        else:
            self.restore()
        while not self.finished() and not self.stopped:
            began = time.monotonic()
            episodes = await self.play(self.next_specs()) if self.offline is None else []
            left = self.budget.amount - self.progress.spent(self.budget)
            self.on_phase("learning")
            metrics = await self.algorithm.update(episodes, left if self.budget.unit == "steps" else None)
            before = self.progress.gradient_steps
            self.count(episodes, metrics, time.monotonic() - began)
            deep = self.finished() or self.passed(self.config.test_freq, before)
            metrics |= await self.measured(episodes, deep)
            self.log({"kind": "iteration", **self.where(), **metrics})
            best = deep and await self.validate()
            # A best that `last` does not know of could not be told from a better one after a crash.
            if best or self.stopped or self.finished() or self.passed(self.config.save_freq, before):
                self.save()

    def finished(self) -> bool:
        """Whether the budget is spent, or the training tasks were passed often enough."""
        epochs = self.config.total_epochs
        passed = self.progress.iteration * self.tasks_per_iteration / max(1, len(self.train_ids))
        return self.progress.spent(self.budget) >= self.budget.amount or (
            epochs is not None and passed >= epochs
        )

    def passed(self, freq: int, before: int) -> bool:
        """Whether the newest iteration, which began after ``before`` gradient steps, passed a multiple of
        ``freq``. Counted in steps, so that methods whose iterations differ are validated alike."""
        return self.progress.gradient_steps // freq > before // freq

    # --- episodes -------------------------------------------------------------------------------

    def next_specs(self) -> list[EpisodeSpec]:
        """The next training episodes: every task once in each epoch, in an order that the seed decides."""
        size, count, env = self.tasks_per_iteration, len(self.train_ids), self.make_env().name
        specs = []
        for position in range(self.progress.iteration * size, (self.progress.iteration + 1) * size):
            epoch, place = divmod(position, count)
            order = np.random.default_rng(derive_seed(self.seed, "epoch", epoch)).permutation(count)
            task = self.train_ids[order[place]]
            for repeat in range(self.config.rollouts_per_task):
                trial = epoch * self.config.rollouts_per_task + repeat
                specs.append(EpisodeSpec(env, task, trial, derive_seed(self.seed, task, trial) % 2**31))
        return specs

    async def play(self, specs: Sequence[EpisodeSpec]) -> list[Episode]:
        """Training episodes in planned order, whatever order they end in.

        Raises:
            EnvInfraError: more than half of them failed for a reason that is not the policy's.
        """
        self.on_phase("playing")
        limits = Limits(turns=self.config.max_turn_length)
        driver = Driver(self.learn_agent, self.make_env, concurrency=self.concurrency, limits=limits)
        played, failures = await _results(driver, specs)
        _most_played(played, failures)
        for episode in played:
            self.keep(episode)
        return played

    async def validate(self) -> bool:
        """Play the validation tasks; the best policy so far is exported to ``checkpoints/best``.

        Returns:
            Whether this is the best.

        Raises:
            EnvInfraError: as ``play``.
        """
        self.on_phase("validating")
        driver = Driver(self.judge_agent, self.make_env, concurrency=self.concurrency, limits=self.limits)
        env = self.make_env().name
        specs = [EpisodeSpec(env, p.task_id, p.trial, p.seed) for p in self.val_plan]
        with spending_on("validation"):
            episodes, failures = await _results(driver, specs)
        _most_played(episodes, failures)
        success = float(np.mean([bool(e.success) for e in episodes]))
        low, high = wilson_bounds(np.asarray(success), len(episodes), Z95)
        # A success on fewer tasks is none that could be compared.
        better = success > self.progress.best and not failures
        if better:
            self.progress.best, self.progress.best_iteration = success, self.progress.iteration
            checkpoint.export(self.learner, self.checkpoints / "best", self.tokenizer)
        row = {"success": success, "ci": [float(low), float(high)], "best": better}
        counts = {"tasks": len(episodes), "planned": len(specs), "infra_failed": len(failures)}
        self.log({"kind": "validation", **self.where(), **row, **counts})
        return better

    async def measured(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """The training episodes' success, and the algorithm's own probes (their tokens are booked apart)."""
        metrics: Metrics = {}
        if episodes:
            metrics["train_success"] = float(np.mean([bool(e.success) for e in episodes]))
            metrics["train_turns"] = float(np.mean([len(e.turns) for e in episodes]))
        self.on_phase("probing")
        with spending_on("probe"):
            metrics |= await self.algorithm.probe(episodes, deep)
        return metrics

    # --- counting and keeping -------------------------------------------------------------------

    def count(self, episodes: Sequence[Episode], metrics: Metrics, seconds: float) -> None:
        """Book an iteration."""
        p = self.progress
        p.iteration += 1
        p.gradient_steps += int(metrics.get("gradient_steps", 0))
        p.env_steps += sum(len(e.turns) for e in episodes) + int(metrics.get("extra_env_steps", 0))
        p.idle = 0 if metrics.get("gradient_steps") else p.idle + 1
        if p.idle == MAX_IDLE and self.budget.unit == "steps":  # which it would never have spent
            raise NlacBenchError(
                f"{MAX_IDLE} iterations in a row taught nothing: no episode succeeded, or none differed from "
                "another of its task. Take easier tasks or a stronger model"
            )
        p.tokens = self.engine.generated_tokens()
        p.seconds += seconds

    def where(self) -> dict[str, Any]:
        """What a row of metrics begins with."""
        p = self.progress
        return {
            "iteration": p.iteration,
            "gradient_steps_total": p.gradient_steps,
            "env_steps": p.env_steps,
            "tokens": p.tokens,
            "seconds": p.seconds,
            "usage": spent_to_row(self.engine.usage),
        }

    def save(self) -> None:
        """Write ``checkpoints/last``."""
        self.progress.usage = self.where()["usage"]
        checkpoint.save(
            self.learner,
            self.checkpoints / "last",
            lambda folder: {"progress": asdict(self.progress), "algorithm": self.algorithm.save(folder)},
        )

    def restore(self) -> None:
        """Go back to ``checkpoints/last``."""
        last = self.checkpoints / "last"
        state = checkpoint.load(self.learner, last)
        self.progress = Progress(**state["progress"])
        self.engine.usage = spent_from_row(self.progress.usage)
        self.algorithm.load(last, state["algorithm"])


def _most_played(episodes: Sequence[Episode], failures: Sequence[Failure]) -> None:
    if len(failures) > len(episodes):
        planned = len(failures) + len(episodes)
        raise EnvInfraError(f"{len(failures)} of {planned} episodes failed: {failures[0].message}")


async def _results(driver: Driver, specs: Sequence[EpisodeSpec]) -> tuple[list[Episode], list[Failure]]:
    """Episodes in planned order, and what failed."""
    found: dict[tuple[str | None, int], Episode] = {}
    failures = []
    async with aclosing(driver.run(specs)) as results:
        async for result in results:
            if isinstance(result, Failure):
                failures.append(result)
            else:
                found[result.task_id, result.trial] = result
    keys = [(spec.task_id, spec.trial) for spec in specs]
    return [found[key] for key in keys if key in found], failures
