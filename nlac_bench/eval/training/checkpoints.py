"""The checkpoints of a training run: the last one, to resume from, and the best one, to be used."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from nlac_bench.agents.algorithm import Algorithm
from nlac_bench.eval.training.progress import Progress
from nlac_bench.train import checkpoint
from nlac_bench.train.learner import Learner


class Checkpoints:
    """Writes and restores learner, algorithm and progress together.

    Args:
        folder: has ``last`` (weights, optimizer, generators, what the algorithm keeps) and ``best`` (a
            Hugging Face folder).
    """

    def __init__(self, folder: Path, learner: Learner, algorithm: Algorithm, tokenizer: Any) -> None:
        self.last, self.best = folder / "last", folder / "best"
        self._learner, self._algorithm, self._tokenizer = learner, algorithm, tokenizer

    def exist(self) -> bool:
        """Whether there is one to resume from."""
        return checkpoint.exists(self.last)

    def save(self, progress: Progress) -> None:
        """Write ``last``."""
        checkpoint.save(
            self._learner,
            self.last,
            lambda folder: {"progress": asdict(progress), "algorithm": self._algorithm.save(folder)},
        )

    def restore(self) -> Progress:
        """Put learner and algorithm back into the state of ``last``; returns its progress."""
        state = checkpoint.load(self._learner, self.last)
        self._algorithm.load(self.last, state["algorithm"])
        return Progress(**state["progress"])

    def export_best(self) -> None:
        """Write the policy as it is now to ``best``."""
        checkpoint.export(self._learner, self.best, self._tokenizer)
