"""Plays the training and validation episodes of a training run."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import EnvInfraError
from nlac_bench.rollout.agent import Agent
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.limits import Limits
from nlac_bench.types import Episode


@dataclass(frozen=True)
class TrainingPlayer:
    """Plays training and validation episodes.

    Args:
        make_env: makes the environment's training split.
        make_validation_env: makes the environment with the validation tasks.
        learner: the agent that plays training episodes.
        judge: the agent that plays validation episodes; it has the settings of the test.
        learner_limits, judge_limits: limits at which their episodes are truncated.
        concurrency: number of episodes played at the same time.
        keep: called with each training episode, in planned order.
    """

    make_env: Callable[[], TextEnv]
    make_validation_env: Callable[[], TextEnv]
    learner: Agent
    judge: Agent
    learner_limits: Limits
    judge_limits: Limits
    concurrency: int
    keep: Callable[[Episode], None]

    async def train(self, specs: Sequence[EpisodeSpec]) -> list[Episode]:
        """Return the training episodes of ``specs`` in planned order, without those that failed or that a
        content filter stopped.

        Raises:
            EnvInfraError: more than half of them failed for reasons outside the policy, or were stopped.
        """
        played, _ = await self._play(self.make_env, self.learner, self.learner_limits, specs)
        for episode in played:
            self.keep(episode)
        return played

    async def validate(self, specs: Sequence[EpisodeSpec]) -> tuple[list[Episode], list[Failure]]:
        """Return the validation episodes of ``specs`` that have a result, in planned order, and the failures.

        Raises:
            EnvInfraError: as ``train``.
        """
        return await self._play(self.make_validation_env, self.judge, self.judge_limits, specs)

    async def _play(
        self, make_env: Callable[[], TextEnv], agent: Agent, limits: Limits, specs: Sequence[EpisodeSpec]
    ) -> tuple[list[Episode], list[Failure]]:
        driver = Driver(agent, make_env, concurrency=self.concurrency, limits=limits)
        items: dict[tuple[str | None, int], Episode] = {}
        failures, filtered = [], 0
        async with aclosing(driver.run(specs)) as results:
            async for result in results:
                if isinstance(result, Failure):
                    failures.append(result)
                elif result.filtered:
                    filtered += 1
                else:
                    items[result.task_id, result.trial] = result
        lost = len(failures) + filtered
        if lost > len(items):
            first = (
                f"the first failure was: {failures[0].message}" if failures else "check the model's server"
            )
            raise EnvInfraError(
                f"{len(failures)} of {lost + len(items)} episodes failed and a content filter stopped "
                f"{filtered}; {first}"
            )
        keys = [(spec.task_id, spec.trial) for spec in specs]
        return [items[key] for key in keys if key in items], failures
