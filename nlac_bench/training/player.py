"""Plays the training and validation episodes of a training run."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from nlac_bench.errors import EnvInfraError
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.types import Episode


@dataclass(frozen=True)
class TrainingPlayer:
    """Plays training and validation episodes.

    Args:
        learner: plays training episodes.
        judge: plays validation episodes, with the settings of the test.
        keep: called with each training episode, in planned order.
    """

    learner: Driver
    judge: Driver
    keep: Callable[[Episode], None]

    async def train(self, specs: Sequence[EpisodeSpec]) -> list[Episode]:
        """Return the training episodes of ``specs`` in planned order, without those that failed or that a
        content filter stopped.

        Raises:
            EnvInfraError: more than half of them failed for reasons outside the policy, or were stopped.
        """
        played, _ = await self._play(self.learner, specs)
        for episode in played:
            self.keep(episode)
        return played

    async def validate(self, specs: Sequence[EpisodeSpec]) -> tuple[list[Episode], list[Failure]]:
        """Return the validation episodes of ``specs`` that have a result, in planned order, and the failures.

        Raises:
            EnvInfraError: as ``train``.
        """
        return await self._play(self.judge, specs)

    async def _play(
        self, driver: Driver, specs: Sequence[EpisodeSpec]
    ) -> tuple[list[Episode], list[Failure]]:
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
