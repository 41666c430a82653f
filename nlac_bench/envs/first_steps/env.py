"""Defines the environment first_steps: tasks that a chat model of 135 million parameters sometimes solves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np

from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.first_steps.tasks import FAMILIES, SIZES, Step, compared, example, matches, tasks
from nlac_bench.envs.text_env import Outcome, TextEnv
from nlac_bench.types import Message

POLICY = "Answer the question exactly in the form that it asks for, without any other word."


@dataclass(frozen=True, slots=True)
class _Guesses:
    step: Step
    guesses: int = 0

    def copy(self) -> "_Guesses":
        """Return this object, which is immutable."""
        return self


class FirstStepsEnv(TextEnv):
    """Small tasks with exact answers, for comparing training methods with small language models.

    A chat model of 135 million parameters solves some of them, so that it can learn from rewards on a laptop.
    There are five families: the larger of two numbers, three words in alphabetical order, guessing one of
    three numbers, the date that a sentence names, and the call of one of two tools that answers a question.
    The prompts of ``react`` and ``act`` are the same here and do not ask for thoughts.

    ## Action Space
    Any text: the answer and nothing else, apart from case, spaces around it and a full stop at its end.

    ## Observation Space
    Text: the question; after a wrong guess "Higher." or "Lower."; at the end whether the answer was right.

    ## Starting State
    A question, after an example of its family with its answer, which is in no split.

    ## Reward
    1 for the right answer, else 0.

    ## Episode End
    Guesses end with the right one or the third, other tasks with their first step.

    ## Information
    As of every ``TextEnv``; ``info["examples"]`` of ``reset`` holds the example as chat messages.

    ## Arguments
    * ``split``: ``"test"`` (default, 50 tasks of each family), ``"validation"`` (20) or ``"train"`` (400).
      No task is in two splits.
    * ``family``: one of ``"larger"``, ``"sort"``, ``"guess"``, ``"date"`` and ``"call"``; None for all.
    * ``render_mode``: None or ``"ansi"``.

    ## Version History
    * v0: first version; its ``env_version`` is "1".
    """

    prompts = Path(__file__).parent / "prompts"
    name = "first_steps"
    env_version = "1"
    one_line = True
    max_steps = 3
    splits = tuple(SIZES)

    def __init__(
        self, *, split: str = "test", family: str | None = None, render_mode: str | None = None
    ) -> None:
        if split not in SIZES:
            raise ValueError(f"split must be {', '.join(map(repr, SIZES))}, got {split!r:.80}")
        if family is not None and family not in FAMILIES:
            raise ValueError(
                f"family must be one of {', '.join(map(repr, FAMILIES))}, or None for all, got {family!r:.80}"
            )
        self._tasks = _tasks(split, tuple(FAMILIES) if family is None else (family,))
        source = DataSource("embedded", _hash(split, tuple(FAMILIES)))
        super().__init__(task_ids=list(self._tasks), split=split, source=source, render_mode=render_mode)

    def policy(self) -> str:
        """Return the one rule of the answers."""
        return POLICY

    def examples(self) -> Sequence[Message]:
        """Return a task of the running task's family with its answer, which is in no split."""
        return _example(self._state.step.family)

    async def _begin(self, task_id: str) -> str:
        self._state = _Guesses(self._tasks[task_id])
        return self._state.step.statement

    async def _respond(self, action: str) -> Outcome:
        step = self._state.step
        self._state = replace(self._state, guesses=self._state.guesses + 1)
        if matches(action, step.answer):
            return Outcome("Right.", 1.0, "success", success=True)
        if step.family != "guess":
            return Outcome("Wrong.", 0.0, "failure")
        if self._state.guesses == self.max_steps:
            return Outcome(f"Wrong. It was {step.answer}.", 0.0, "failure")
        guess = action.strip().removesuffix(".").strip()
        if guess not in step.candidates:
            return Outcome(f"Answer with one of {', '.join(step.candidates)} only.", action_kind="invalid")
        return Outcome(compared(step.answer, guess))

    def oracle_action(self) -> str:
        """Return the answer."""
        return str(self._state.step.answer)

    def constant_actions(self) -> Sequence[str]:
        """Return answers that fit some tasks."""
        return ("99", "97", "95", "clock(Paris)", "weather(Oslo)")

    def random_action(self, rng: np.random.Generator) -> str:
        """Return a random answer of the form that the question asks for, such as one of its two numbers."""
        candidates = self._state.step.candidates
        return str(candidates[int(rng.integers(len(candidates)))])


@lru_cache
def _tasks(split: str, families: tuple[str, ...]) -> dict[str, Step]:
    return tasks(split, families)


@lru_cache
def _example(family: str) -> Sequence[Message]:
    return example(family)


@lru_cache
def _hash(split: str, families: tuple[str, ...]) -> str:
    rows = (f"{key}\t{step.statement}\t{step.answer}\n" for key, step in _tasks(split, families).items())
    return sha256("".join(rows).encode()).hexdigest()
