"""Defines the environment reasoning_gym: a generated question, answered in one step."""

import asyncio
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from nlac_bench.bridges.reasoning_gym.client import client
from nlac_bench.bridges.reasoning_gym.worker import SPLITS
from nlac_bench.bridges.require import require
from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.text_env import EndReason, Outcome, TextEnv
from nlac_bench.envs.vector import vectorized
from nlac_bench.errors import ConfigError

EXTRA = "reasoning-gym"
MOST_TASKS = 1_000_000

POLICY = (
    "Answer the question. Write the final answer once, in the form that the question asks for and with "
    "nothing else, between <answer> and </answer>."
)
_GUESSES = ("0", "1", "yes", "no", "True", "False", "A", "[]", "nan", "I do not know.")
_PROBED = 6
"""Number of tasks on which the scorer of a dataset is checked."""


@dataclass(frozen=True, slots=True)
class _GymTask:
    question: str
    answer: str | None
    seed: int

    def copy(self) -> "_GymTask":
        """Return this object, which is immutable."""
        return self


class ReasoningGymEnv(TextEnv):
    """A task of a dataset of reasoning-gym (Stojanovski et al. 2025, arXiv 2505.24760).

    ## Action Space
    Any text: the reply. Its answer is what follows the last ``<answer>``, or without one all of it.

    ## Observation Space
    Text: the question; after the step one sentence that says whether the answer was correct.

    ## Starting State
    A task of the split.

    ## Reward
    1 if the dataset's own scorer gives the answer the full score of 1, else 0.

    ## Episode End
    The first step. An answer that takes 5 seconds of CPU time to score, or ends the process that scores it,
    is not correct.

    ## Information
    As of every ``TextEnv``; ``score`` at the step is that of the dataset, from 0 to 1.

    ## Arguments
    * ``dataset``: the name of a dataset, such as ``"chain_sum"``.
    * ``seed``: selects other tasks (default 0).
    * ``size``: the number of tasks of the split (default 500).
    * ``split``: ``"test"`` (default), ``"validation"`` or ``"train"``; no question is in two of them.
    * ``render_mode``: None or ``"ansi"``.

    ## Version History
    * v0: first version; its ``env_version`` is "1".
    """

    name = "reasoning_gym"
    env_version = "1"
    remote = True  # another process makes and scores tasks
    max_steps = 1
    splits = SPLITS

    def __init__(
        self,
        *,
        dataset: str | None = None,
        seed: int = 0,
        size: int = 500,
        split: str = "test",
        render_mode: str | None = None,
    ) -> None:
        if dataset is None:
            raise ConfigError('reasoning_gym plays a dataset: set reasoning_gym@{"dataset": "chain_sum"}')
        if type(seed) is not int or type(size) is not int or not 1 <= size <= MOST_TASKS:
            raise ValueError(
                f"seed must be a whole number, and size one from 1 to {MOST_TASKS:,}; got {seed!r:.80} and "
                f"{size!r:.80}"
            )
        if split not in SPLITS:
            raise ValueError(f"split must be {', '.join(map(repr, SPLITS))}, got {split!r:.80}")
        if reason := _unusable(dataset):
            raise ConfigError(reason)
        self._dataset, self._seed = dataset, seed
        facts = [version("reasoning-gym"), dataset, seed, size]
        super().__init__(
            task_ids=tuple(f"{split}/{number:06d}" for number in range(size)),
            split=split,
            source=DataSource("custom", sha256(repr(facts).encode()).hexdigest()),
            render_mode=render_mode,
        )

    def policy(self) -> str:
        """Return how to mark the answer."""
        return POLICY

    def conditions(self) -> dict[str, Any]:
        """Return the package's version, of which tasks and scores depend."""
        return {"reasoning_gym": version("reasoning-gym")}

    def constant_actions(self) -> Sequence[str]:
        """Return guesses that suit many datasets."""
        return tuple(f"<answer>{guess}</answer>" for guess in _GUESSES)

    def oracle_action(self) -> str:
        """Return the task's own answer.

        Raises:
            ConfigError: the dataset states none.
        """
        if self._state.answer is None:
            raise ConfigError(f"{self._dataset} states no answers, so there is no oracle")
        return f"<answer>{self._state.answer}</answer>"

    async def _begin(self, task_id: str) -> str:
        number = int(task_id.rpartition("/")[2])
        made = await asyncio.to_thread(client().task, self._dataset, self._seed, self.split, number)
        self._state = _GymTask(**made)
        return self._state.question

    async def _respond(self, action: str) -> Outcome:
        answer = action.rpartition("<answer>")[2].partition("</answer>")[0].strip()
        score = await asyncio.to_thread(client().score, self._dataset, self._state.seed, answer)
        success = score >= 1
        observation = "Your answer is correct." if success else "Your answer is not correct."
        end: EndReason = "success" if success else "failure"
        return Outcome(observation, float(success), end, success, {"score": score}, extra={"score": score})


@functools.cache
def _unusable(dataset: str) -> str | None:
    """Return why a dataset is not played, or None.

    A scorer that gives the full score to the same guess on half of the probed tasks, although their own
    answers differ, also accepts wrong answers.
    """
    gym: Any = require("reasoning_gym", EXTRA)
    known = sorted(gym.factory.DATASETS.keys() - {"composite"})  # a mixture, which needs a list of others
    if dataset not in known:
        return f"reasoning-gym has no dataset {dataset!r:.80}; the datasets are {', '.join(known)}"
    probes = [gym.create_dataset(dataset, seed=seed, size=1) for seed in range(_PROBED)]
    for guess in _GUESSES:
        accepted = [probe[0]["answer"] for probe in probes if _score(probe, guess) >= 1]
        if len(accepted) >= _PROBED / 2 and len(set(accepted)) > 1:
            return f"{dataset} is not played, because its scorer accepts {guess!r} for different answers"
    return None


def _score(dataset: Any, answer: str) -> float:
    try:
        return float(dataset.score_answer(answer, dataset[0]))
    except Exception:
        return 0.0


ReasoningGymEnvVector = vectorized(ReasoningGymEnv)
