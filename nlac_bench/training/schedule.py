"""Selects the tasks of a training run, their order and their seeds."""

from collections.abc import Sequence

import numpy as np

from nlac_bench.harness.measure.training_tasks import split_tasks
from nlac_bench.harness.runs.seeds import plan_episodes
from nlac_bench.learner.config import TrainConfig
from nlac_bench.rollout.driver import EpisodeSpec
from nlac_bench.rollout.engines.engine import derive_seed


class Schedule:
    """Selects training and validation tasks, and plans the episodes of each iteration.

    Args:
        env: the environment's name.
        training, validation: as for ``split_tasks``.
        config: gives the sizes of iterations and of the validation set.
        seed: determines the validation tasks, the order of tasks in each epoch, and the seeds of episodes.
    """

    def __init__(
        self, env: str, training: Sequence[str], validation: Sequence[str], config: TrainConfig, seed: int
    ) -> None:
        self._env, self._seed, self._repeats = env, seed, config.rollouts_per_task
        self._tasks_per_iteration = config.train_batch_size // config.rollouts_per_task
        validated, self.task_ids = split_tasks(training, validation, config.val_tasks, seed)
        planned = plan_episodes(validated, 1, seed)
        self.validation = [EpisodeSpec(env, p.task_id, p.trial, p.seed) for p in planned]
        """The episodes of a validation: one of each validation task."""

    def iteration(self, number: int) -> list[EpisodeSpec]:
        """Return the training episodes of iteration ``number`` (from 0).

        Each epoch visits every task once, in an order that the seed determines.
        """
        size, count = self._tasks_per_iteration, len(self.task_ids)
        specs = []
        for position in range(number * size, (number + 1) * size):
            epoch, place = divmod(position, count)
            order = np.random.default_rng(derive_seed(self._seed, "epoch", epoch)).permutation(count)
            task = self.task_ids[order[place]]
            for repeat in range(self._repeats):
                trial = epoch * self._repeats + repeat
                seed = derive_seed(self._seed, task, trial) % 2**31
                specs.append(EpisodeSpec(self._env, task, trial, seed))
        return specs

    def epochs(self, iterations: int) -> float:
        """Return the number of passes over the training tasks in ``iterations`` iterations."""
        return iterations * self._tasks_per_iteration / max(1, len(self.task_ids))
