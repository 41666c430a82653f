"""Saves and restores the checkpoints of a training run: the last one and the best one."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from nlac_bench.agents.algorithm import Algorithm
from nlac_bench.eval.training.progress import Progress
from nlac_bench.train import checkpoint
from nlac_bench.train.learner import Learner


class Checkpoints:
    """Saves and restores the state of learner, algorithm and progress together.

    Args:
        folder: contains ``last``, from which training resumes (weights, optimizer, random generators, state
            of the algorithm), and ``best``, the best policy as a Hugging Face folder.
    """

    def __init__(self, folder: Path, learner: Learner, algorithm: Algorithm, tokenizer: Any) -> None:
        self.last, self.best = folder / "last", folder / "best"
        self._learner, self._algorithm, self._tokenizer = learner, algorithm, tokenizer

    def exist(self) -> bool:
        """Whether ``last`` exists."""
        return checkpoint.exists(self.last)

    def save(self, progress: Progress) -> None:
        """Write ``last``."""
        checkpoint.save(
            self._learner,
            self.last,
            lambda folder: {"progress": asdict(progress), "algorithm": self._algorithm.save(folder)},
        )

    def restore(self) -> Progress:
        """Load ``last`` into learner and algorithm, and return its progress."""
        state = checkpoint.load(self._learner, self.last)
        self._algorithm.load(self.last, state["algorithm"])
        return Progress(**state["progress"])

    def export_best(self) -> None:
        """Export the current policy to ``best``."""
        checkpoint.export(self._learner, self.best, self._tokenizer)
