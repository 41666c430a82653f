"""Rejection-sampling fine-tuning (RFT; Yuan et al. 2023, "Scaling Relationship"; ReST, Gulcehre et al. 2023):
supervised training on the policy's own successful episodes, or on those of an earlier run (``--offline``)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.initial_policy import with_kl
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.baselines.config import RftConfig
from nlac_bench.baselines.on_policy import OnPolicy
from nlac_bench.learner.batch import TokenBatch
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.types import Episode


class RFT(OnPolicy[RftConfig]):
    """Minimises −log π(a | s) over the policy's tokens in its successful episodes."""

    def __init__(self, resources: Resources[Any]) -> None:
        super().__init__(resources)
        self.recorded: list[Transition] = []
        """The steps of an earlier run's successful episodes."""
        self.position = 0
        """How many recorded steps were drawn, in all passes."""

    def remember(self, episodes: Sequence[Episode]) -> int:
        """Keep the steps of the successful ones of ``episodes``, of any policy; return their number.

        Steps with too long prompts are left out.
        """
        played = [t for e in self.accepted(episodes) for t in self.transitions(e)]
        self.recorded = [t for t in played if self.encoder.policy_fits(t)]
        self.encoder.too_long += len(played) - len(self.recorded)
        return len(self.recorded)

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Learn from ``episodes``, or if there are none, from the recorded ones.

        Raises:
            NlacBenchError: there are neither.
        """
        if episodes or not self.recorded:
            return await super().update(episodes, max_steps)
        metrics = await self.resources.learn(lambda: self.imitate_recorded(max_steps))
        self.sync()
        return metrics | self.too_long()

    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Train on the turns of the successful episodes once; take no step if no episode succeeded."""
        sequences = [s for turns in self.turns(self.accepted(episodes)) for s in turns if s is not None]
        metrics = self.take_steps(iter(self.mini_batches(sequences)), self.loss, max_steps)
        return metrics | {"accepted": len(succeeded(episodes)) / len(episodes)}

    def imitate_recorded(self, max_steps: int | None) -> Metrics:
        """Continue the pass over the recorded steps in random order, to its end or the next validation."""
        c = self.config
        steps = c.test_freq if max_steps is None else min(c.test_freq, max_steps)
        number, start = divmod(self.position, len(self.recorded))
        rng = np.random.default_rng(derive_seed(self.resources.seed, number, "recorded"))
        drawn = rng.permutation(len(self.recorded))[start : start + steps * c.mini_batch_size]
        self.position += len(drawn)
        chosen = [self.recorded[i] for i in drawn]
        made = [self.encoder.acted(t.state, t.action, "policy", group=n) for n, t in enumerate(chosen)]
        return self.take_steps(iter(self.mini_batches([s for s in made if s is not None])), self.loss, steps)

    def accepted(self, episodes: Sequence[Episode]) -> list[Episode]:
        """Return the successful episodes; with ``distinct``, equal ones of a task once."""
        successes = succeeded(episodes)
        return distinct(successes) if self.config.distinct else successes

    def save(self, folder: Path) -> dict[str, object]:
        """Return the version of the weights and the position in the recorded steps."""
        return super().save(folder) | {"position": self.position}

    def load(self, folder: Path, state: Mapping[str, Any]) -> None:
        """Restore what ``save`` returned; earlier versions saved no position."""
        super().load(folder, state)
        self.position = int(state.get("position", 0))

    def loss(self, batch: TokenBatch) -> LossFn:
        """Return the mean negative log-likelihood per token, plus the KL penalty."""
        mean = self.token_mean(batch)

        def compute(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            nll = mean(-outputs.logprobs_BT, micro.loss_mask)
            metrics = {"nll": nll}
            return with_kl(nll, self.config, outputs, micro.loss_mask, mean, metrics), metrics

        return compute


def succeeded(episodes: Sequence[Episode]) -> list[Episode]:
    """Return the successful episodes."""
    return [e for e in episodes if e.success]


def distinct(episodes: Sequence[Episode]) -> list[Episode]:
    """Return the first episode of each task with the same actions (Yuan et al. 2023)."""
    first: dict[tuple[str, ...], Episode] = {}
    for episode in episodes:
        first.setdefault((episode.task_id, *(turn.text for turn in episode.turns)), episode)
    return list(first.values())
