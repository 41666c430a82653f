"""The comparison of the engine's log-probabilities with the learner's."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nlac_bench.learner.config import TrainConfig
from nlac_bench.rollout.meter import MeteredEngine
from nlac_bench.training.mismatch import MismatchError, mismatch
from nlac_bench.types import Episode, Turn


def played(version: int, logprobs: Sequence[float]) -> Episode:
    turn = Turn("a", prompt_ids=[1, 2], output_ids=[3] * len(logprobs), logprobs=list(logprobs))
    turn.weight_version = version
    return Episode("e", "t", 0, 0, "", [turn])


def test_only_episodes_of_the_newest_weights_are_compared() -> None:
    """Those that were played ahead differ by an update, which may be large in a training that is in order."""
    learner: Any = SimpleNamespace(logprobs=lambda batch: torch.zeros(batch.loss_mask.shape))
    source: Any = None
    wrapped: Any = SimpleNamespace(sync=lambda source, version, slot: None)
    engine = MeteredEngine(wrapped)
    engine.sync(source, 3)
    engine.sync(source, 9, "target")
    compare = mismatch(learner, engine, TrainConfig(row_tokens=64), limit=0.1)
    old, new = played(2, [-0.3, -0.3]), played(3, [-0.05, -0.05])
    assert compare([old]) is None
    assert compare([old, new]) == pytest.approx(0.05) == compare([new])
    with pytest.raises(MismatchError, match=r"by 0\.3 on average; at most 0\.1 is allowed"):
        compare([new, played(3, [-0.55, -0.55])])
