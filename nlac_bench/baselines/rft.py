"""Rejection-sampling fine-tuning (RFT; Yuan et al. 2023, "Scaling Relationship"; ReST, Gulcehre et al. 2023):
imitate one's own successes."""

from collections.abc import Sequence

from torch import Tensor

from nlac_bench.baselines.config import RftConfig
from nlac_bench.baselines.on_policy import OnPolicy
from nlac_bench.train.batch import TokenBatch
from nlac_bench.train.outputs import LossFn, Metrics, Outputs
from nlac_bench.types import Episode


class RFT(OnPolicy[RftConfig]):
    """Sample, keep what succeeded, maximise its likelihood: −log π(a | s) over the policy's own tokens."""

    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """One pass over the turns of the successful episodes; none of them, no step."""
        accepted = [e for e in episodes if e.success]
        sequences = [s for turns in self.turns(accepted) for s in turns if s is not None]
        metrics = self.take_steps(iter(self.mini_batches(sequences)), self.loss, max_steps)
        return metrics | {"accepted": len(accepted) / len(episodes)}

    def loss(self, batch: TokenBatch) -> LossFn:
        """Mean negative log-likelihood of a token."""
        mean = self.token_mean(batch)

        def compute(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            nll = mean(-outputs.logprobs_BT, micro.loss_mask)
            metrics = {"nll": nll}
            return self.with_kl(nll, outputs, micro, mean, metrics), metrics

        return compute
