"""Makes the speakers of an iteration, and samples answers for many transitions at the same time."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from nlac_bench.agents.roles.answers import RoleAnswers
from nlac_bench.agents.roles.role_prompts import RolePrompts
from nlac_bench.agents.roles.speaker import Speaker
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.rollout.engines.engine import Engine, Sampling, derive_seed
from nlac_bench.rollout.engines.routing import Conversation, within
from nlac_bench.types import Role

ROLES: tuple[Role, ...] = (
    "policy", "successor", "backup", "evaluator", "refiner", "aggregator", "picker",
)  # fmt: skip


class About(Protocol):
    """Something that answers are sampled for."""

    @property
    def transition(self) -> Transition:
        """The transition that the answers are about."""


A = TypeVar("A", bound=About)


@dataclass
class Speaking:
    """The engine and the prompts of all roles, with what their requests have in common.

    Args:
        sampling: sampling parameters of policy, successor, backup and aggregator.
        improvement: sampling parameters of evaluator, refiner and picker.
        seed: of all answers.
        concurrency: number of transitions for which the roles are sampled at the same time.
        speaker_type: makes the speakers.
    """

    engine: Engine
    prompts: RolePrompts
    sampling: Sampling
    improvement: Sampling
    seed: int
    concurrency: int
    speaker_type: type[Speaker] = Speaker
    counts: RoleAnswers = field(default_factory=RoleAnswers)
    """The answers since the last ``shares``."""

    def speaker(self, *key: object) -> Speaker:
        """Return a speaker whose random numbers are determined by ``key``."""
        return self.speaker_type(
            self.engine, self.prompts, self.sampling, self.improvement, derive_seed(self.seed, *key),
            self.counts,
        )  # fmt: skip

    async def each(self, items: Sequence[A], *steps: Callable[[A], Awaitable[None]]) -> None:
        """Run ``steps`` in turn on every item, ``concurrency`` items at a time.

        The prompts of an item have the same beginning, and so do those of neighbouring steps of an episode.
        Items are sorted, and those of an episode are one conversation, so that an engine with a key/value
        cache can reuse these beginnings.
        """
        places = asyncio.Semaphore(self.concurrency)
        episodes: defaultdict[tuple[str, int], Conversation] = defaultdict(Conversation)

        async def one(item: A) -> None:
            async with places:
                with within(episodes[item.transition.task_id, item.transition.seed]):
                    for step in steps:
                        await step(item)

        ordered = sorted(items, key=lambda x: (x.transition.task_id, x.transition.seed, x.transition.step))
        await asyncio.gather(*(one(item) for item in ordered))

    def shares(self) -> dict[str, float]:
        """Return the numbers of answers since the last call and the shares that could not be parsed, by role,
        and the share of backups that stated another outcome than the next future."""
        metrics: dict[str, float] = {}
        for role in ROLES:
            if count := self.counts[role]:
                metrics[f"answers_{role}"] = float(count)
                metrics[f"unparseable_{role}"] = self.counts[f"{role}/unparseable"] / count
        if self.counts["backup"]:
            metrics["backup_outcome_changed"] = self.counts["backup/changed"] / self.counts["backup"]
        self.counts.clear()
        return metrics
