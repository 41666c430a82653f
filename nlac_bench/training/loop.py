"""Runs the training loop: play, update, log, validate and save until the budget is spent."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from nlac_bench.agents.algorithm import Algorithm
from nlac_bench.harness.runs.iteration_log import IterationLog
from nlac_bench.learner.config import Budget, TrainConfig
from nlac_bench.learner.outputs import Metrics
from nlac_bench.rollout.driver import Failure
from nlac_bench.rollout.meter import MeteredEngine, StepMeter, spending_on, spent_from_row, spent_to_row
from nlac_bench.rollout.recorded_calls import phase_scope
from nlac_bench.stats.distributions import Z95
from nlac_bench.stats.intervals import wilson_bounds
from nlac_bench.training.ahead import Ahead
from nlac_bench.training.allowance import Allowance
from nlac_bench.training.checkpoints import Checkpoints
from nlac_bench.training.mismatch import Mismatch
from nlac_bench.training.player import TrainingPlayer
from nlac_bench.training.probe_set import ProbeSet
from nlac_bench.training.progress import NO_SIGNAL, Progress
from nlac_bench.training.readable import check_readable
from nlac_bench.training.schedule import Schedule
from nlac_bench.types import Episode

A = TypeVar("A")
B = TypeVar("B")


class TrainingLoop:
    """Runs a training algorithm until its budget is spent.

    Args:
        config: budget, and how often to validate and to save.
        algorithm: updates the policy.
        engine: counts the tokens that each role generates.
        schedule: selects the episodes to play.
        player: plays them.
        checkpoints: saves and restores the state.
        log: called with each row of ``metrics.jsonl``.
        on_phase: called with the name of each phase that starts: ``validating``, ``playing``, ``learning`` or
            ``probing``.
        stop_requested: called after each update; whether another rank has received a signal to stop.
        plays: False if the algorithm learns only from remembered episodes, so that none are played.
        mismatch: compares the engine's log-probabilities of the training episodes with the learner's, before
            this learns from them.
        logs: files that are kept in step with the checkpoints.
        probe_set: is read at every validation; None if the algorithm has no language critic.
        ahead: plays one iteration ahead; None to play after each update.
        learned: returns the number of tokens that the learner has computed so far, and whether it computes.
        passes: returns the numbers of tokens and examples that the learner has computed so far, by name (see
            ``Learner.passes``).
        allowance: keeps iterations within the budget; by default one for ``config.budget``.
        steps: counts the environment steps that the algorithm takes itself.
        keep_going: go on if the critic is unreadable at the start, or nothing can be learned.
    """

    def __init__(
        self,
        config: TrainConfig,
        algorithm: Algorithm,
        engine: MeteredEngine,
        schedule: Schedule,
        player: TrainingPlayer,
        checkpoints: Checkpoints,
        log: Callable[[dict[str, Any]], None],
        *,
        on_phase: Callable[[str], None] = lambda phase: None,
        stop_requested: Callable[[], bool] = lambda: False,
        plays: bool = True,
        mismatch: Mismatch = lambda episodes: None,
        logs: Sequence[IterationLog] = (),
        probe_set: ProbeSet | None = None,
        ahead: Ahead | None = None,
        allowance: Allowance | None = None,
        steps: StepMeter | None = None,
        learned: Callable[[], tuple[int, bool]] = lambda: (0, False),
        passes: Callable[[], Mapping[str, int]] = dict,
        keep_going: bool = False,
    ) -> None:
        self.config, self.algorithm, self.engine, self.plays = config, algorithm, engine, plays
        self.schedule, self.player, self.checkpoints = schedule, player, checkpoints
        self.log, self.on_phase = log, on_phase
        self.stop_requested, self.mismatch = stop_requested, mismatch
        self.logs, self.probe_set, self.ahead = logs, probe_set, ahead
        self.learned, self.passes = learned, passes
        self.keep_going = keep_going
        self.budget = Budget.parse(config.budget)
        self.steps = steps or StepMeter()
        self.allowance = allowance or Allowance(self.budget, engine.generated_tokens)
        self.stopped = False
        """Set by a signal handler; the running iteration is then finished and saved."""

    @property
    def progress(self) -> Progress:
        """What has been spent."""
        return self.allowance.progress

    @progress.setter
    def progress(self, progress: Progress) -> None:
        self.allowance.progress = progress

    async def run(self) -> None:
        """Train until the budget is spent or ``stopped`` is set; resumes from the last checkpoint."""
        if self.checkpoints.exist():
            self.restore()
        else:
            self._restart_logs_after(-1)
            self.algorithm.sync()
            await self.validate()
        try:
            while not self.finished() and not self.stopped:
                await self.iterate()
        finally:
            if self.ahead is not None:
                await self.ahead.close()

    async def iterate(self) -> None:
        """Run and log one iteration; validate and save if they are due."""
        began, before = time.monotonic(), self.progress.gradient_steps
        self.engine.metrics()  # this resets the counters, which included the last validation
        self.on_phase("playing")
        episodes = await (self.ahead.episodes if self.ahead else self.play)(self.progress.iteration)
        self.on_phase("learning")
        gap, computed = self.mismatch(episodes), self.passes()
        metrics = await self.algorithm.update(episodes, self.progress.steps_left(self.budget))
        metrics |= {name: float(now - computed.get(name, 0)) for name, now in self.passes().items()}
        if own := self.steps.taken():
            metrics["extra_env_steps"] = metrics.get("extra_env_steps", 0.0) + own
        if self.stop_requested():
            self.stopped = True
        self.progress.count(episodes, metrics, self.engine.generated_tokens(), time.monotonic() - began)
        self.allowance.env_steps = self.ahead.unused_steps() if self.ahead else 0
        if self.finished():
            self.progress.env_steps += self.allowance.env_steps
        self.progress.check_learned(self.budget, self.keep_going)
        deep = self.finished() or self.passed(self.config.test_freq, before)
        engine = {**self.engine.metrics(), "logprob_gap": gap}
        played = None
        if deep:  # probes and validation sample from the same weights
            probed, played = await together(self.measured(episodes, deep), self.play_validation())
        else:
            probed = await self.measured(episodes, deep)
        early = None if self.allowance.finished() else self.exhausted()
        ended = {} if early is None else {"ended_early": early}
        self.log({"kind": "iteration", **self.where(), **metrics, **probed, **engine, **ended})
        check_readable(self.progress.first_answers, metrics, self.config, self.keep_going)
        best = played is not None and self.judge(*played)
        # Always save after a new best: `last` must contain the success of `best` after a crash.
        if best or self.stopped or self.finished() or self.passed(self.config.save_freq, before):
            self.save()

    async def play(self, iteration: int) -> list[Episode]:
        """Play the training episodes of ``iteration``, or as many as the budget allows."""
        specs = self.schedule.iteration(iteration) if self.plays else []
        with phase_scope(f"iteration-{iteration}"):
            return await self.player.train(
                specs, lambda items, do: self.allowance.play(items, self.config.rollouts_per_task, do)
            )

    def finished(self) -> bool:
        """Return whether the budget is spent, ``total_epochs`` passes over the training tasks are done, or
        there is nothing more to learn from (``exhausted``)."""
        epochs = self.config.total_epochs
        return (
            self.allowance.finished()
            or (epochs is not None and self.schedule.epochs(self.progress.iteration) >= epochs)
            or self.exhausted() is not None
        )

    def exhausted(self) -> str | None:
        """Return why a training that has taken gradient steps takes no further one, or None.

        With ``stop_without_signal``, ``NO_SIGNAL`` iterations without a gradient are a reason.
        """
        if self.config.stop_without_signal and self.progress.without_signal >= NO_SIGNAL:
            return f"{self.progress.without_signal} successive iterations had no gradient"
        return (
            self.progress.idle_reason(self.budget, self.keep_going) if self.progress.gradient_steps else None
        )

    def done(self) -> float:
        """Return the share of the training that is over, from 0 to 1."""
        spent = self.progress.spent(self.budget) / self.budget.amount
        epochs = self.config.total_epochs
        passes = 0.0 if epochs is None else self.schedule.epochs(self.progress.iteration) / epochs
        return min(1.0, max(spent, passes))

    def passed(self, freq: int, before: int) -> bool:
        """Return whether the newest iteration, which began after ``before`` gradient steps, passed a multiple
        of ``freq``. Gradient steps are counted so that all methods are validated equally often."""
        return self.progress.gradient_steps // freq > before // freq

    async def validate(self) -> bool:
        """Play and judge a validation; see ``play_validation`` and ``judge``."""
        return self.judge(*await self.play_validation())

    async def play_validation(self) -> tuple[list[Episode], list[Failure]]:
        """Play the validation tasks and read the probe set.

        Returns:
            The episodes that have a result, and the failures.

        Raises:
            EnvInfraError: more than half of the episodes failed for reasons outside the policy.
        """
        self.on_phase("validating")

        async def play() -> tuple[list[Episode], list[Failure]]:
            with spending_on("validation"), phase_scope(f"validation-{self.progress.iteration}"):
                return await self.player.validate(self.schedule.validation)

        if self.probe_set is None:
            return await play()
        if self.probe_set.drawn:
            played, _ = await together(play(), self.read_probe_set())
            return played
        played = await play()
        self.probe_set.draw(played[0])
        await self.read_probe_set()
        return played

    async def read_probe_set(self) -> None:
        """Store the critic's texts about the fixed states; their tokens are counted separately."""
        assert self.probe_set is not None
        with spending_on("probe"):
            await self.probe_set.read(self.progress.iteration)

    def judge(self, episodes: Sequence[Episode], failures: Sequence[Failure]) -> bool:
        """Log the result of a validation and export the policy if it is the best so far.

        Returns:
            Whether it is the best so far.
        """
        planned, won = len(self.schedule.validation), sum(bool(e.success) for e in episodes)
        success = won / len(episodes)
        low, high = wilson_bounds(np.asarray(success), len(episodes), Z95)
        # A success on fewer tasks cannot be compared with one on all of them. Tasks that a content filter
        # stopped would be stopped again, so they count as failures in the choice of the best checkpoint.
        better = not failures and self.progress.is_best(won / planned)
        if better:
            self.checkpoints.export_best()
        row = {"success": success, "ci": [float(low), float(high)], "best": better}
        filtered = planned - len(episodes) - len(failures)
        counts = {
            "tasks": len(episodes), "planned": planned, "infra_failed": len(failures),
            "content_filter": filtered,
        }  # fmt: skip
        self.log({"kind": "validation", **self.where(), **row, **counts})
        return better

    async def measured(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """Return the success of the training episodes and the results of the algorithm's probes.

        Tokens of the probes are counted separately.
        """
        metrics: Metrics = {}
        if episodes:
            metrics["train_success"] = float(np.mean([bool(e.success) for e in episodes]))
            metrics["train_turns"] = float(np.mean([len(e.turns) for e in episodes]))
        self.on_phase("probing")
        with spending_on("probe"):
            metrics |= await self.algorithm.probe(episodes, deep)
        return metrics

    def where(self) -> dict[str, object]:
        """Return the fields at the start of every row of metrics."""
        return {**self.progress.row(), "usage": self.usage()}

    def usage(self) -> dict[str, dict[str, Any]]:
        """Return the tokens and calls by role."""
        return spent_to_row(self.engine.usage)

    def save(self) -> None:
        """Write the last checkpoint."""
        for log in self.logs:
            log.sync()
        self.progress.usage = self.usage()
        self.checkpoints.save(self.progress, self.ahead.played() if self.ahead else ())

    def restore(self) -> None:
        """Restore the last checkpoint."""
        self.progress, ahead = self.checkpoints.restore()
        if self.ahead and ahead:
            self.ahead.resume(ahead)
            self.allowance.env_steps = self.ahead.unused_steps()
        self.engine.usage = spent_from_row(self.progress.usage)
        self._restart_logs_after(self.progress.iteration)

    def _restart_logs_after(self, iteration: int) -> None:
        """Remove the lines of an interrupted process about iterations that will be repeated."""
        for log in self.logs:
            log.restart_after(iteration)


async def together(first: Awaitable[A], second: Awaitable[B]) -> tuple[A, B]:
    """Return both results; if one fails, cancel the other one and wait until it has ended."""
    tasks = asyncio.ensure_future(first), asyncio.ensure_future(second)
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
