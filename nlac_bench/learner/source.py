"""Passes the learner's weights to an engine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from nlac_bench.learner.learner import Learner
from nlac_bench.rollout.engines.engine import Slot, TrainableEngine


@dataclass(frozen=True, slots=True)
class LearnerSource:
    """A source of the policy's weights, or with slot ``target`` of their moving average."""

    learner: Learner
    slot: Slot = "policy"

    @property
    def exact(self) -> bool:
        """Whether log-probabilities are computed in float32."""
        return self.learner.config.precision == "fp32"

    def named_tensors(self) -> Iterable[tuple[str, Tensor]]:
        """Return the full parameters with their Hugging Face names."""
        return self.learner.named_tensors(self.slot)

    def logprobs(self, ids: Sequence[int], prompt_len: int) -> Sequence[float]:
        """Return the learner's own log-probabilities of ``ids[prompt_len:]``."""
        if self.slot == "policy":
            return self.learner.text_logprobs(ids, prompt_len)
        with self.learner.averaged():
            return self.learner.text_logprobs(ids, prompt_len)


def push(
    learner: Learner, engine: TrainableEngine, version: int, slots: Sequence[Slot] | None = None
) -> None:
    """Copy the weights of ``slots`` to ``engine``, which checks them.

    Args:
        slots: by default the policy, and its moving average if it exists.

    Raises:
        SyncError: the engine's log-probabilities differ from the learner's.
    """
    kept: tuple[Slot, ...] = ("policy",) if learner.ema is None else ("policy", "target")
    for slot in kept if slots is None else slots:
        engine.sync(LearnerSource(learner, slot), version, slot)
