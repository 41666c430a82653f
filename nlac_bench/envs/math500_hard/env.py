"""Defines the environment MATH500-Hard: one problem, solved in one step and graded by its boxed answer."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.math500_hard.official import load_problems
from nlac_bench.envs.math500_hard.problem import GENERATED, LEVELS, Problem, Split
from nlac_bench.envs.text_env import CopyKind, Outcome, TextEnv
from nlac_bench.envs.vector import vectorized
from nlac_bench.errors import DataError
from nlac_bench.simulators.math_grader import boxed, copies, default_grader
from nlac_bench.types import Info

MAX_TASKS = 1_000_000
MAX_PROBLEM_SEED = 10**12 - 1
"""The largest seed. Task identifiers have at most 18 digits, and those of a larger seed would exceed this."""

POLICY = (
    "Solve the mathematics problem. Show your reasoning briefly, then give the final answer once, in "
    r"simplest form, inside \boxed{}."
)
NO_BOX = (
    r"Invalid action: the solution has no \boxed{} with an answer in it. Write the final answer as "
    r"\boxed{answer}. The problem is over."
)


@dataclass(frozen=True, slots=True)
class _State:
    problem: Problem
    reason: str = ""
    """The grader's reason, after the step."""

    def copy(self) -> "_State":
        """Return this object, which is immutable."""
        return self


class Math500HardEnv(TextEnv):
    r"""A mathematics problem in one step; level 5 is MATH's with official data, our own with embedded data.

    The problems are MATH's (Hendrycks et al. 2021, arXiv 2103.03874) or generated here. MATH500-Hard is the
    set of the 134 level-5 problems of MATH-500, the 500 test problems that Lightman et
    al. (2023, arXiv 2305.20050) drew from MATH; the other 12,000 problems are for training.

    ## Action Space
    Any text: a solution whose final answer is in ``\boxed{}``. The last box is graded. Reasoning before it is
    not graded.

    ## Observation Space
    Text: the problem in LaTeX; after the step one sentence that says whether the answer was correct.

    ## Starting State
    A problem of the split and level, drawn uniformly with the environment's generator, or the one that
    ``options={"task_id": …}`` names.

    ## Reward
    1 for an answer that is mathematically equal to the gold answer and is a value, else 0: a sum, an integral
    or a power of the question is no answer unless the gold answer has this form (docs/grading.md). Neither is
    an expression of the statement that only its evaluation makes equal to the gold answer, alone or as
    ``x = …``, nor an angle of the statement in degrees if the gold answer is in radians.

    ## Episode End
    Every episode ends with its first step, with ``terminated=True`` and ``end_reason`` ``"success"`` or
    ``"failure"``. An action without a box, or one that cannot be read, is an invalid action and a failure. An
    answer that the grader cannot decide is also a failure and is marked: ``reward_parts["ungraded"]`` is 1
    and ``info["ungraded"]`` has the reason. The reason is a limit of the answer's own (CPU time, memory,
    length, size of numbers, nesting), or begins with ``ungraded: grader_crash:`` if the answer twice ended or
    stopped the grader's worker while a control answer was graded correctly. A worker that is killed, stopped
    or slow for another reason does not change the score: the answer is graded again in a new worker.
    ``EnvInfraError`` is raised if the grader does not grade the control answer either.

    ## Information
    The keys of every ``TextEnv``; at reset also ``subject`` and ``level``; at the step also ``ungraded``
    (the reason, or None) and ``reward_parts`` with ``correct`` and ``ungraded``, each 0 or 1.

    ## Arguments
    * ``split``: ``"test"`` (default), ``"train"`` or, with embedded data, ``"validation"`` or ``"test_new"``,
      whose families or wordings no other split has.
    * ``data``: ``"embedded"`` (default; problems that this project generates and solves), ``"official"``
      (MATH-500 and its training problems, see ``nlac-bench data``) or a folder in the same format.
    * ``level``: 1 to 5 (default 5, the hard set), or None for all levels. Embedded levels are not MATH's:
      by our reading, levels 1 to 4 are about as hard as MATH's levels 1 to 3. Of the 52 families of level 5,
      30 (one idea, larger numbers) are about as hard as MATH's levels 2 to 4, and 22 (several ideas in one
      problem) as its level 5. Embedded level 1 is meant for models of a few million parameters: short
      statements, small numbers.
    * ``num_tasks``: how many problems to generate (embedded data only), at most 1,000,000; by default 2,000
      train, 100 validation or 500 test problems per level. All of them are different problems.
    * ``problem_seed``: 0 or more, selects other problems of the same families (embedded data only). Train is
      disjoint from validation and test for all seeds, and validation from test for the same seed.
    * ``render_mode``: None or ``"ansi"``.

    ## Version History
    * v0: first release.
    * ``env_version`` 1: answers that name the asked quantity (``u+v = 9``) are accepted; connectives,
      negations, currencies and words beside a value count. docs/grading.md has the rules.
    * ``env_version`` 4: expressions of the statement are also refused as ``x = …``, in brackets and with
      words, and so are its degrees if the gold answer is in radians.
    * ``env_version`` 3: answers that are equal but not evaluated are refused, and other forms are accepted
      (ordinals, ``aligned``). Of the embedded problems, whole templates are only in ``test_new``.
    * ``env_version`` 2: other embedded problems (22 new families at level 5, fixed wordings, no trivial
      draws). Problems and grading of the official data are those of version 1.
    """

    name = "math500_hard"
    env_version = "4"
    max_steps = 1
    remote = True  # grading waits for a worker process

    def __init__(
        self,
        *,
        split: str = "test",
        data: str | os.PathLike[str] = "embedded",
        level: int | None = 5,
        num_tasks: int | None = None,
        problem_seed: int = 0,
        render_mode: str | None = None,
    ) -> None:
        if data == "embedded":
            self.splits = tuple(GENERATED)
        if split not in self.splits:  # of any type, hashable or not
            raise ValueError(
                f"split must be {' or '.join(map(repr, self.splits))} with data={str(data)!r:.80}, got "
                f"{split!r:.80}"
            )
        if level is not None and not (_is_count(level, least=1) and level in LEVELS):
            raise ValueError(f"level must be 1 to 5, or None for all, got {level!r}")
        if not _is_count(problem_seed, least=0) or problem_seed > MAX_PROBLEM_SEED:
            raise ValueError(
                f"problem_seed must be an int from 0 to {MAX_PROBLEM_SEED:,}, got {problem_seed!r:.80}"
            )
        if num_tasks is not None and not _is_count(num_tasks, least=1):
            raise ValueError(f"num_tasks must be a positive int, got {num_tasks!r:.80}")
        if num_tasks is not None and num_tasks > MAX_TASKS:
            raise ValueError(f"num_tasks must be at most {MAX_TASKS:,}, got {num_tasks!r:.80}")
        self._problems: Mapping[str, Problem] | None = None
        self._training = (os.fspath(data), level, problem_seed)
        if data == "embedded":
            from nlac_bench.envs.math500_hard.generator import CONTENT_SHA256

            source = DataSource("embedded", CONTENT_SHA256)
            task_ids: Sequence[str] = _embedded_ids(split, level, num_tasks, problem_seed)
        else:
            if num_tasks is not None or problem_seed:
                raise ValueError(
                    "num_tasks and problem_seed apply to generated problems only; use data='embedded'"
                )
            problems, source = load_problems(split, data)
            self._problems = {p.task_id: p for p in problems if level in (None, p.level)}
            task_ids = tuple(self._problems)
            if not task_ids:
                raise DataError(f"{source.path} has no {split} problem of level {level}")
        super().__init__(task_ids=task_ids, split=split, source=source, render_mode=render_mode)
        self.level = level

    def policy(self) -> str:
        """Return the task's instruction and the required form of the answer."""
        return POLICY

    def conditions(self) -> dict[str, Any]:
        """Return the level."""
        return {"level": self.level}

    def describe_state(self) -> dict[str, Any]:
        """Return the gold answer, and the grader's reason once the answer was graded."""
        state = self._state
        return {"gold answer": state.problem.answer} | ({"grader": state.reason} if state.reason else {})

    def oracle_action(self) -> str:
        """Return the gold answer in a box, after a worked solution where the data have one."""
        problem = self._state.problem
        work = f"{problem.work}\n\n" if problem.work else ""
        return rf"{work}The answer is $\boxed{{{problem.answer}}}$."

    def random_action(self, rng: np.random.Generator) -> str:
        """Return a random integer or fraction in a box."""
        top = int(rng.integers(-20, 101))
        if rng.random() < 0.3:
            return rf"\boxed{{\frac{{{top}}}{{{int(rng.integers(2, 13))}}}}}"
        return rf"\boxed{{{top}}}"

    def constant_actions(self) -> Sequence[str]:
        """Return the five most frequent answers of this level's training problems, in boxes.

        Raises:
            DataError: when the data folder has no training problems.
        """
        return _commonest_answers(*self._training)

    def copied_actions(self) -> Sequence[tuple[CopyKind, str]]:
        """Return boxes with the expressions of the statement, also as the value of a letter."""
        problem, actions = self._state.problem, list[tuple[CopyKind, str]]()
        for text in copies.parts(problem.statement):
            kind: CopyKind = "expression" if copies.holds_operator(text) else "number"
            if kind == "expression":
                grade = default_grader().grade(problem.answer, rf"\boxed{{{text}}}")
                kind = "gold form" if grade.correct and not grade.in_another_form else kind
            actions += [(kind, rf"\boxed{{{text}}}"), (kind, rf"\boxed{{V = {text}}}")]
        return actions

    async def areset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        """Reset as ``TextEnv.areset`` does; ``info`` also has the problem's subject and level."""
        observation, info = await super().areset(seed=seed, options=options)
        problem = self._state.problem
        return observation, {**info, "subject": problem.subject, "level": problem.level}

    async def _begin(self, task_id: str) -> str:
        if self._problems is None:
            from nlac_bench.envs.math500_hard.generator import generate

            problem = generate(task_id)
        else:
            problem = self._problems[task_id]
        self._state = _State(problem)
        return problem.statement

    async def _respond(self, action: str) -> Outcome:
        if not (boxed(action) or "").strip("{} "):  # empty, or only braces
            return self._invalid(NO_BOX)
        grade = await default_grader().agrade(self._state.problem.answer, action)
        self._state = replace(self._state, reason=grade.reason)
        if grade.correct is None:
            outcome = _end(f"Your answer could not be graded: {grade.reason}.", ungraded=grade.reason)
        elif grade.in_another_form and self._is_copy(action):
            outcome = _end("Your answer is not correct: it repeats the problem.")
        elif grade.correct:
            outcome = _end("Your answer is correct.", correct=True)
        else:
            outcome = _end("Your answer is not correct.")
        return outcome

    def _is_copy(self, action: str) -> bool:
        problem = self._state.problem
        return copies.is_copy(action, problem.statement, problem.answer)

    def _invalid(self, problem: str) -> Outcome:
        outcome = _end(problem)
        outcome.action_kind = "invalid"
        return outcome


def _end(observation: str, *, correct: bool = False, ungraded: str | None = None) -> Outcome:
    """Return the outcome of the only step."""
    return Outcome(
        observation=observation,
        reward=float(correct),
        end_reason="success" if correct else "failure",
        success=correct,
        reward_parts={"correct": float(correct), "ungraded": float(ungraded is not None)},
        extra={"ungraded": ungraded},
    )


def _is_count(value: object, *, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _embedded_ids(split: str, level: int | None, num_tasks: int | None, problem_seed: int) -> list[str]:
    from nlac_bench.envs.math500_hard.generator import task_ids

    levels = LEVELS if level is None else (level,)
    of = cast("Split", split)  # the constructor has checked it
    count = GENERATED[of] * len(levels) if num_tasks is None else num_tasks
    return task_ids(of, levels, count, problem_seed)


@lru_cache(maxsize=16)
def _commonest_answers(data: str | os.PathLike[str], level: int | None, problem_seed: int) -> tuple[str, ...]:
    if data == "embedded":
        from nlac_bench.envs.math500_hard.generator import generate

        answers = (generate(task_id).answer for task_id in _embedded_ids("train", level, None, problem_seed))
    else:
        answers = (p.answer for p in load_problems("train", data)[0] if level in (None, p.level))
    return tuple(rf"\boxed{{{answer}}}" for answer, _ in Counter(answers).most_common(5))


Math500HardEnvVector = vectorized(Math500HardEnv)
