"""Rejection-sampling fine-tuning (RFT; Yuan et al. 2023, "Scaling Relationship"; ReST, Gulcehre et al. 2023):
supervised training on the policy's own successful episodes."""

from collections.abc import Sequence

from torch import Tensor

from nlac_bench.agents.initial_policy import with_kl
from nlac_bench.baselines.config import RftConfig
from nlac_bench.baselines.on_policy import OnPolicy
from nlac_bench.learner.batch import TokenBatch
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs
from nlac_bench.types import Episode


class RFT(OnPolicy[RftConfig]):
    """Minimises −log π(a | s) over the policy's tokens in its successful episodes."""

    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Train on the turns of the successful episodes once; take no step if no episode succeeded."""
        accepted = [e for e in episodes if e.success]
        learned = distinct(accepted) if self.config.distinct else accepted
        sequences = [s for turns in self.turns(learned) for s in turns if s is not None]
        metrics = self.take_steps(iter(self.mini_batches(sequences)), self.loss, max_steps)
        return metrics | {"accepted": len(accepted) / len(episodes)}

    def loss(self, batch: TokenBatch) -> LossFn:
        """Return the mean negative log-likelihood per token, plus the KL penalty."""
        mean = self.token_mean(batch)

        def compute(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            nll = mean(-outputs.logprobs_BT, micro.loss_mask)
            metrics = {"nll": nll}
            return with_kl(nll, self.config, outputs, micro.loss_mask, mean, metrics), metrics

        return compute


def distinct(episodes: Sequence[Episode]) -> list[Episode]:
    """Return the first episode of each task with the same actions (Yuan et al. 2023)."""
    first: dict[tuple[str, ...], Episode] = {}
    for episode in episodes:
        first.setdefault((episode.task_id, *(turn.text for turn in episode.turns)), episode)
    return list(first.values())
