"""Which tasks a training run plays, in which order and with which seeds."""

from collections.abc import Sequence

import numpy as np

from nlac_bench.eval.runs.seeds import plan_episodes
from nlac_bench.eval.training.tasks import split_tasks
from nlac_bench.rollout.driver import EpisodeSpec
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.train.config import TrainConfig


class Schedule:
    """The training tasks, split once into those that are learned from and those that validate.

    Args:
        env: the environment's name.
        task_ids: all tasks of its training split.
        config: sizes of iterations and of the validation.
        seed: decides the split, the order of tasks in each epoch, and the seeds of episodes.
    """

    def __init__(self, env: str, task_ids: Sequence[str], config: TrainConfig, seed: int) -> None:
        self._env, self._seed, self._repeats = env, seed, config.rollouts_per_task
        self._tasks_per_iteration = config.train_batch_size // config.rollouts_per_task
        validation, self.task_ids = split_tasks(task_ids, config.val_tasks, seed)
        planned = plan_episodes(validation, 1, seed)
        self.validation = [EpisodeSpec(env, p.task_id, p.trial, p.seed) for p in planned]
        """The episodes of a validation: each task that was set aside, once."""

    def iteration(self, number: int) -> list[EpisodeSpec]:
        """The training episodes of iteration ``number`` (from 0).

        Every task comes once in each epoch, in an order that the seed decides.
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
        """Passes over the training tasks in so many ``iterations``."""
        return iterations * self._tasks_per_iteration / max(1, len(self.task_ids))
