"""The replay buffer: transitions, drawn with a probability that grows with the critic's loss."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nlac_bench.agents.nlac import replay_file
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.errors import DataError

DECAY = 0.5
"""Factor of the loss of a transition that was drawn without being learned from."""


class Replay:
    """Proportional prioritised replay (Schaul et al. 2016, section 3.3).

    A transition's priority is its critic loss (mean over the target's tokens) to the power ``alpha``. New
    transitions get the largest priority so far, so that each is drawn soon. If a transition was drawn but
    could not be learned from, its loss is halved, so that it does not keep its priority.

    Importance weights correct the bias of the draw: w_i = (N · P(i))^(−β), divided by the largest weight of
    the batch. β grows linearly from ``beta`` to 1 over the training (section 3.4), because the bias matters
    most near convergence.

    Args:
        capacity: largest number of transitions; the oldest are removed first.
        alpha: exponent of the priorities; 0 draws uniformly.
        beta: exponent of the importance weights at the beginning; 1 corrects the bias fully.
        seed: of the draws.

    Raises:
        ValueError: ``capacity`` is below 1.
    """

    def __init__(self, capacity: int = 100_000, alpha: float = 0.6, beta: float = 0.4, seed: int = 0) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity}")
        self.capacity, self.alpha, self.beta = capacity, alpha, beta
        self.items: list[Transition] = []
        self.losses: list[float] = []
        """The critic's mean token loss of each transition, in the order of ``items``."""
        self._born: list[int] = []
        self.iteration = 0
        """The number of the training iteration; ages of transitions are measured in iterations."""
        self._drawn: set[int] = set()
        """The transitions that were drawn but not learned from afterwards."""
        self._learned = False
        self._rng = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self.items)

    def add(self, transitions: Sequence[Transition]) -> None:
        """Append ``transitions`` and remove the oldest ones beyond the capacity."""
        self._decay()
        largest = max(self.losses, default=1.0)
        for transition in transitions:
            self.items.append(transition)
            self.losses.append(largest)
            self._born.append(self.iteration)
        surplus = len(self.items) - self.capacity
        if surplus > 0:
            del self.items[:surplus], self.losses[:surplus], self._born[:surplus]

    def draw(self, count: int, done: float = 0.0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw ``count`` transitions; return their indices and importance weights, ``[count]`` each.

        They are drawn without replacement, unless ``count`` exceeds the size of the buffer.

        Args:
            done: the share of the training that is over, from 0 to 1.

        Raises:
            ValueError: the buffer is empty.
        """
        if not self.items:
            raise ValueError("the replay buffer is empty; add transitions before drawing")
        self._decay()
        priorities = np.maximum(np.asarray(self.losses), 1e-6) ** self.alpha
        chances = priorities / priorities.sum()
        indices = self._rng.choice(len(self), size=count, replace=count > len(self), p=chances)
        weights = (len(self) * chances[indices]) ** -(self.beta + (1 - self.beta) * done)
        self._drawn |= set(indices.tolist())
        return indices, weights / weights.max()

    def newest(self, count: int) -> NDArray[np.int64]:
        """Return the indices of the last ``count`` transitions, in a random order."""
        return self._rng.permutation(np.arange(max(0, len(self) - count), len(self)))

    def since(self, iteration: int) -> list[int]:
        """Return the indices of the transitions that were added in ``iteration`` or later."""
        return [i for i, born in enumerate(self._born) if born >= iteration]

    def update(self, indices: Sequence[int], losses: Sequence[float]) -> None:
        """Set the critic losses of transitions that were trained on; non-finite losses are skipped."""
        for index, loss in zip(indices, losses, strict=True):
            if np.isfinite(loss):
                self.losses[int(index)] = float(loss)
                self._drawn.discard(int(index))
        self._learned = True

    def _decay(self) -> None:
        """Halve the losses of the transitions that were drawn without being learned from."""
        if self._learned:
            for index in self._drawn:
                self.losses[index] *= DECAY
            self._drawn, self._learned = set(), False

    def mean_age(self, indices: Sequence[int]) -> float:
        """Return the mean number of iterations since the drawn transitions were added; 0 without any."""
        return float(np.mean([self.iteration - self._born[int(i)] for i in indices])) if len(indices) else 0.0

    def save(self, path: Path) -> None:
        """Write the buffer, including the random generator's state; see ``replay_file``."""
        self._decay()
        header = {
            "rng": self._rng.bit_generator.state,
            "iteration": self.iteration,
            "losses": self.losses,
            "born": self._born,
        }
        replay_file.write(path, header, self.items)

    def load(self, path: Path) -> None:
        """Restore the buffer that ``save`` wrote.

        Raises:
            DataError: the file cannot be read.
        """
        header, items = replay_file.read(path)
        try:
            losses, born = list(map(float, header["losses"])), list(map(int, header["born"]))
            if not len(items) == len(losses) == len(born):
                raise ValueError("transitions, losses and iterations of origin have different lengths")
            iteration = int(header["iteration"])
            self._rng.bit_generator.state = header["rng"]
        except (ValueError, LookupError, TypeError, ArithmeticError) as error:
            raise DataError(f"{path} cannot be read as a replay buffer: {error}") from error
        self.iteration, self.losses, self._born = iteration, losses, born
        self.items, self._drawn, self._learned = items, set(), False
