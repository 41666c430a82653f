"""The learner as a source of weights for an engine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from nlac_bench.rollout.engines.engine import Slot, TrainableEngine
from nlac_bench.train.learner import Learner


@dataclass(frozen=True, slots=True)
class LearnerSource:
    """The policy's weights, or with slot ``target`` their moving average."""

    learner: Learner
    slot: Slot = "policy"

    def named_tensors(self) -> Iterable[tuple[str, Tensor]]:
        """Full parameters under their Hugging Face names."""
        return self.learner.named_tensors(self.slot)

    def logprobs(self, ids: Sequence[int], prompt_len: int) -> Sequence[float]:
        """The learner's own log-probabilities of ``ids[prompt_len:]``."""
        if self.slot == "policy":
            return self.learner.text_logprobs(ids, prompt_len)
        with self.learner.averaged():
            return self.learner.text_logprobs(ids, prompt_len)


def push(learner: Learner, engine: TrainableEngine, version: int) -> None:
    """Hand the policy, and its moving average where there is one, to ``engine``, which checks them.

    Raises:
        SyncError: the engine computes something else than the learner.
    """
    slots: tuple[Slot, ...] = ("policy",) if learner.ema is None else ("policy", "target")
    for slot in slots:
        engine.sync(LearnerSource(learner, slot), version, slot)
