"""Plays the training and validation episodes of a training run."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeAlias

from nlac_bench.errors import EnvInfraError
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.types import Episode

Play: TypeAlias = Callable[[Sequence[EpisodeSpec]], Awaitable[int]]
"""Plays episodes and returns their number of environment steps."""


async def whole(specs: Sequence[EpisodeSpec], play: Play) -> int:
    """Play ``specs`` at once; return their number."""
    await play(specs)
    return len(specs)


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

    async def train(
        self,
        specs: Sequence[EpisodeSpec],
        in_parts: Callable[[Sequence[EpisodeSpec], Play], Awaitable[int]] = whole,
    ) -> list[Episode]:
        """Return the training episodes of ``specs`` in planned order, without those that failed or that a
        content filter stopped.

        An episode that reaches ``max_turn_length`` has terminated as a failure. If it were cut, its return
        would be bootstrapped, and a policy that stalls would keep the value of its start.

        Args:
            in_parts: called with ``specs`` and the function that plays a part of them; it may play only the
                first ones.

        Raises:
            EnvInfraError: more than half of them failed for reasons outside the policy, or were stopped.
        """
        played, _ = await self._play(self.learner, specs, in_parts)
        for episode in played:
            if episode.end_reason == "turn_limit":
                episode.terminated, episode.truncated = True, False
            self.keep(episode)
        return played

    async def validate(self, specs: Sequence[EpisodeSpec]) -> tuple[list[Episode], list[Failure]]:
        """Return the validation episodes of ``specs`` that have a result, in planned order, and the failures.

        Raises:
            EnvInfraError: as ``train``.
        """
        return await self._play(self.judge, specs, whole)

    async def _play(
        self,
        driver: Driver,
        specs: Sequence[EpisodeSpec],
        in_parts: Callable[[Sequence[EpisodeSpec], Play], Awaitable[int]],
    ) -> tuple[list[Episode], list[Failure]]:
        items: dict[tuple[str | None, int], Episode] = {}
        failures, filtered = [], 0

        async def play(part: Sequence[EpisodeSpec]) -> int:
            nonlocal filtered
            steps = 0
            async with aclosing(driver.run(part)) as results:
                async for result in results:
                    if isinstance(result, Failure):
                        failures.append(result)
                        continue
                    steps += len(result.turns)
                    if result.filtered:
                        filtered += 1
                    else:
                        items[result.task_id, result.trial] = result
            return steps

        await in_parts(specs, play)
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
