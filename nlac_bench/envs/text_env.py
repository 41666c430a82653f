"""Defines TextEnv, the base class of all text environments."""

import copy
from abc import abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias, TypeVar, get_args

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.docstring import own_docstring, rules
from nlac_bench.envs.episode_guard import EpisodeGuard
from nlac_bench.envs.returned import check_action, check_actions, check_reward
from nlac_bench.envs.spaces import UnicodeText
from nlac_bench.envs.waiting import run_in_background, run_without_waiting
from nlac_bench.errors import UnknownIdError
from nlac_bench.types import Info, Message, StepResult, ToolSchema, Usage

ActionKind: TypeAlias = Literal["message", "tool", "invalid"]
EndReason: TypeAlias = Literal[
    "success", "failure", "max_steps", "user_stop", "agent_stop", "context_overflow"
]
END_REASONS: tuple[EndReason, ...] = get_args(EndReason)

MAX_ACTION_CHARS = 100_000
"""A longer action is a counted invalid step, so that the time to parse an action is bounded."""
MAX_OBSERVATION_CHARS = 10_000_000

DRAWN_ACTIONS = 20
"""Number of random actions that the floor ``constant`` tries by default."""

T = TypeVar("T")


@dataclass(slots=True)
class Outcome:
    """The result of one action, which a subclass returns to ``TextEnv.step``.

    ``end_reason`` is None while the episode continues; ``success`` and ``reward_parts`` are used only when it
    ends. ``usage`` is the cost of model calls by role, ``extra`` is added to ``info``.
    """

    observation: str
    reward: float = 0.0
    end_reason: EndReason | None = None
    success: bool = False
    reward_parts: dict[str, float] = field(default_factory=dict)
    action_kind: ActionKind = "message"
    tool_name: str | None = None
    tool_error: str | None = None
    usage: dict[str, Usage] = field(default_factory=dict)
    extra: Info = field(default_factory=dict)


CopyKind: TypeAlias = Literal["expression", "number", "gold form"]


class RepeatsMessages(Protocol):
    """A simulated user that says ``next``."""

    next: str


class TextEnv(gymnasium.Env[str, str]):
    """A Gymnasium environment whose observations and actions are text.

    The observation is the newest message, the action is the agent's raw text. A subclass sets ``name``,
    ``env_version`` and ``max_steps``, passes its tasks to ``__init__`` and implements ``_begin``,
    ``_respond`` and ``oracle_action``. This class implements seeding, limits, ``info`` and forks.

    Everything that changes during an episode must be in ``self._state``, an object whose ``copy()`` shares
    nothing mutable with the original. Everything else must be read-only after construction. ``fork()`` relies
    on this.

    A task's own limit is part of the task: reaching ``max_steps`` returns ``terminated=True`` with
    ``end_reason="max_steps"``. This class never sets ``truncated``, which is reserved for administrative cuts
    (token, context, time budget) by the rollout driver.

    Args:
        task_ids: the playable tasks of this split, in a fixed order.
        split: which part of the data is played.
        source: origin and hash of the data; by default ``custom`` with the hash of the task ids.
        render_mode: ``"ansi"`` makes ``render()`` return the conversation so far.

    Raises:
        UnknownIdError: ``reset`` with a ``task_id`` that this split does not have.
        TypeError: ``_respond`` returned no ``Outcome``.
        ValueError: ``_respond`` returned a reward that is no finite number, or an unknown ``end_reason``.
        EnvInfraError: a simulator, oracle or grader could not be reached; such an episode is never scored.
        gymnasium.error.ResetNeeded: ``step`` before ``reset`` or after the end.
        NlacBenchError: two threads play at the same time, so that one would act in the other's episode.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 1}  # type: ignore[misc]
    name: ClassVar[str]
    """CLI name, such as ``tau_retail``."""
    env_version: ClassVar[str] = "0"
    """Must change whenever the same actions could earn another reward."""
    prompts: ClassVar[Path | None] = None
    """Folder of text files that replace the packaged prompts (``nlac_bench/agents/prompts``) of the same
    names, for an environment with its own wording; None replaces no prompt."""
    one_line: ClassVar[bool] = False
    """Whether an action is one line of text. A refined action then ends with its first line, so that a small
    model, which seldom ends its text by itself, writes one."""
    has_oracle: bool = True
    """Whether ``oracle_action`` knows an action; else it raises ``NlacBenchError``. Set per instance."""
    splits: Sequence[str] = ("train", "test")
    """The values that the argument ``split`` may have, with the other arguments of this instance. A training
    run validates on the split ``validation`` if it is one of them, else on tasks held out of ``train``."""
    max_steps: int
    """Number of steps after which an episode ends with ``end_reason="max_steps"``."""
    played_world: int | None = None
    """Which of several worlds with the same tasks is played; None if the environment has no worlds."""
    worlds: ClassVar[Mapping[str, Sequence[int]]] = {}
    """The worlds of runs with the seeds 0, 1, 2, …, by the value of the constructor's argument ``worlds``."""
    max_concurrency: int | None = None
    """Largest number of episodes that one process can play at the same time; None for no limit."""
    remote: bool = False
    """Whether ``_begin`` or ``_respond`` may suspend, for instance for a model server. Set per instance."""

    def __init__(
        self,
        *,
        task_ids: Sequence[str],
        split: str = "test",
        source: DataSource | None = None,
        render_mode: str | None = None,
    ) -> None:
        if not task_ids:
            raise ValueError(f"{type(self).__name__}: there is no task to play in split {split!r}")
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode must be None or 'ansi', got {render_mode!r}")
        self.task_ids = tuple(task_ids)
        for task_id in self.task_ids:
            if not isinstance(task_id, str) or not _is_unicode(task_id):
                raise ValueError(
                    f"{type(self).__name__}: task_ids must be texts without lone surrogates, got "
                    f"{task_id!r:.80}"
                )
        self.observation_space = UnicodeText(MAX_OBSERVATION_CHARS)
        # Larger than MAX_ACTION_CHARS, so that an action that is too long reaches the environment and becomes
        # a counted step with a message, and is not rejected by a check of the space.
        self.action_space = UnicodeText(100_000_000)
        self.render_mode = render_mode
        self.split = split
        self.source = source or DataSource("custom", sha256("\n".join(self.task_ids).encode()).hexdigest())
        self._task_index = {task_id: i for i, task_id in enumerate(self.task_ids)}
        self._state: Any = None
        self._conversation: list[Message] = []
        self._steps = 0
        self._ended = True
        self._guard = EpisodeGuard()

    # --- what a subclass implements -------------------------------------------------------------

    @abstractmethod
    async def _begin(self, task_id: str) -> str:
        """Set ``self._state`` for a new episode of ``task_id`` and return the first observation.

        Use no source of randomness other than ``self.np_random``.
        """

    @abstractmethod
    async def _respond(self, action: str) -> Outcome:
        """Apply one action, which has at most ``MAX_ACTION_CHARS`` and no lone surrogates."""

    @abstractmethod
    def oracle_action(self) -> str:
        """Return the action that a player who knows the answer takes now.

        No other method but ``copied_actions`` and no entry of ``info`` may depend on the gold answer.
        """

    def random_action(self, rng: np.random.Generator) -> str:
        """Return a random well-formed action, drawn with ``rng`` and not with the environment's generator.

        By default it is one of ``constant_actions()``.
        """
        candidates = check_actions(self.constant_actions(), self.name) or ("yes", "no")
        return candidates[int(rng.integers(len(candidates)))]

    def constant_actions(self) -> Sequence[str]:
        """Return candidate actions of a constant policy, chosen without knowledge of any task's answer.

        The floor agent ``constant`` plays each of them on the training split and keeps the best. By default,
        they are ``DRAWN_ACTIONS`` random actions at the start of episodes if the class defines
        ``random_action``; otherwise there are none.
        """
        return () if type(self).random_action is TextEnv.random_action else self._drawn_actions()

    def _drawn_actions(self) -> Sequence[str]:
        """Return distinct random actions at the start of episodes; none if a model plays in the episodes."""
        if self.remote:
            return ()
        env, rng = self if self._ended else self.fork(), np.random.default_rng(0)
        actions = []
        for seed in range(DRAWN_ACTIONS):
            env.reset(seed=seed)
            actions.append(check_action(env.random_action(rng), "random_action", self.name))
        env._ended = True  # the next step needs a reset, as before
        return tuple(dict.fromkeys(actions))

    def copied_actions(self) -> Sequence[tuple[CopyKind, str]]:
        """Return actions that answer the running task with a part of its own statement, and their kinds.

        The floor agent ``copy`` tries them. An ``expression`` holds an operator and is not the gold answer as
        it is written, which is a ``gold form``; a ``number`` holds no operator. By default there are none.
        """
        return ()

    def policy(self) -> str:
        """Return the rules that the agent is told, as part of its prompt.

        The default is taken from the class docstring: the text before its first heading and the sections
        Description, Action Space, Observation Space, Reward and Episode End. If the class has no docstring,
        the docstring of the nearest base class other than ``TextEnv`` is used. Override this method to give
        other rules.
        """
        return rules(own_docstring(type(self), TextEnv))

    def examples(self) -> Sequence[Message]:
        """Return a conversation that shows the form of answers, put before the first observation.

        User and assistant messages alternate, beginning with a user message; by default there are none. It
        may depend on the running task, but not on its gold answer.
        """
        return ()

    def tools(self) -> Sequence[ToolSchema]:
        """Return the schemas of the tools that the agent may call, in OpenAI's function format."""
        return ()

    def conditions(self) -> dict[str, Any]:
        """Return what else determines a score: rules, simulators and hashes of their prompts.

        Only runs with equal conditions can be compared.
        """
        return {}

    def describe_world(self) -> dict[str, Any]:
        """Return what distinguishes the world that is played from others; empty without worlds.

        It is for people: agents must not see it.
        """
        return {}

    def describe_state(self) -> dict[str, Any]:
        """Return what a viewer shows of the episode's state beside the conversation, as JSON.

        It is for people: agents must not see it. The value shares nothing with the state, so that two of them
        can be compared. By default it is empty.
        """
        return {}

    def repeat_user(self) -> RepeatsMessages | None:
        """Let the simulated user of the following episodes say what it is given as ``next`` before each call.

        Recorded episodes are then played again quickly and without a model. By default there is no such user.
        """
        return None

    # --- Gymnasium ------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        """Start an episode of task ``options["task_id"]``, or of a random one where no task is given."""
        with self._guard.reset(self.name, running=lambda: not self._ended):
            return self._run(self.areset(seed=seed, options=options))

    def step(self, action: str) -> StepResult:
        """Run ``astep`` to completion and return its result."""
        with self._guard.step(self.name):
            return self._run(self.astep(action))

    async def areset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        """Reset the environment asynchronously, for callers that run an event loop."""
        super().reset(seed=seed)
        unknown = set(options or {}) - {"task_id"}
        if unknown:
            raise ValueError(f"unknown reset options {sorted(unknown)}; this environment accepts 'task_id'")
        task_id = (options or {}).get("task_id")
        if task_id is None:
            task_id = self.task_ids[int(self.np_random.integers(len(self.task_ids)))]
        elif task_id not in self._task_index:
            raise UnknownIdError(
                f"{self.name} has no task {task_id!r} in split {self.split!r} of its {self.source.kind} "
                f"data; it has {len(self.task_ids)}, from {self.task_ids[0]!r} to {self.task_ids[-1]!r}"
            )
        self._steps, self._ended = 0, True  # if _begin raises, step() must not run
        observation = await self._begin(task_id)
        self.task_id = task_id
        self._ended = False
        self._conversation = [{"role": "user", "content": observation}]
        policy = self.policy()
        system: list[Message] = [{"role": "system", "content": policy}] if policy else []
        examples = list(self.examples())
        info: Info = {
            "task_id": task_id,
            "split": self.split,
            "messages": [*system, *examples, {"role": "user", "content": observation}],
            "tools": list(self.tools()),
            "policy": policy,
            "env_version": self.env_version,
            "data_source": self.source.kind,
            "data_sha256": self.source.sha256,
        }
        if examples:
            info["examples"] = examples
        return observation, info

    async def astep(self, action: str) -> StepResult:
        """Take a step asynchronously, for callers that run an event loop, such as the rollout driver.

        After an ``EnvInfraError`` the episode cannot continue and must be played again.
        """
        if self._ended:
            raise ResetNeeded(f"{self.name}: call reset() before step(); no episode is running")
        self._steps += 1
        problem = _unusable(action)
        if problem is None:
            outcome = await self._respond(action)
        else:
            outcome = self._invalid(problem)
        if not isinstance(outcome, Outcome):
            raise TypeError(f"_respond of {self.name} returned {outcome!r:.80}; it must be an Outcome")
        if outcome.end_reason is None and self._steps >= self.max_steps:
            outcome = self._out_of_steps(outcome)
        reward = check_reward(outcome.reward)
        if outcome.end_reason not in (None, *END_REASONS):
            raise ValueError(
                f"{self.name} returned the end_reason {outcome.end_reason!r:.80}; it must be None or one of "
                f"{', '.join(END_REASONS)}"
            )
        self._ended = outcome.end_reason is not None
        self._conversation += [
            {"role": "assistant", "content": action if problem is None else f"[{problem}]"},
            {"role": "user", "content": outcome.observation},
        ]
        info: Info = {
            "action_kind": outcome.action_kind,
            "tool_name": outcome.tool_name,
            "tool_error": outcome.tool_error,
            "usage": {
                role: {"calls": u.calls, "prompt_tokens": u.prompt_tokens,
                       "completion_tokens": u.completion_tokens, "cost": u.cost, "seconds": u.seconds}
                for role, u in outcome.usage.items()
            },
            **outcome.extra,
        }  # fmt: skip
        if self._ended:
            info["success"] = outcome.success
            info["reward_parts"] = outcome.reward_parts
            info["end_reason"] = outcome.end_reason
        return outcome.observation, reward, self._ended, False, info

    def render(self) -> str | None:
        """Return the conversation so far as text, in render mode ``ansi``."""
        if self.render_mode is None:
            return None
        return "\n".join(f"[{m['role']}] {m['content']}" for m in self._conversation)

    # --- beyond Gymnasium -----------------------------------------------------------------------

    def fork(self) -> Self:
        """Return an independent copy of the running episode: state, step count and random generator.

        Read-only data are shared, so the cost is that of ``self._state.copy()``.
        """
        twin = copy.copy(self)
        twin._guard = EpisodeGuard()
        twin._state = None if self._state is None else self._state.copy()
        twin._conversation = list(self._conversation)
        twin._np_random = copy.deepcopy(self._np_random)
        return twin

    def _invalid(self, problem: str) -> Outcome:
        """Return the outcome of a malformed action: a counted step whose observation explains the problem."""
        return Outcome(observation=problem, action_kind="invalid")

    def _out_of_steps(self, outcome: Outcome) -> Outcome:
        """Turn ``outcome`` of the last allowed step into an end by ``max_steps``."""
        outcome.end_reason = "max_steps"
        return outcome

    def _run(self, coroutine: Coroutine[object, None, T]) -> T:
        if self.remote:
            return run_in_background([coroutine])[0]
        return run_without_waiting(coroutine)


def _unusable(action: object) -> str | None:
    """Return why ``action`` cannot be played by any environment, or None."""
    if not isinstance(action, str):
        return f"Invalid action: it must be a string, not {type(action).__name__}."
    if len(action) > MAX_ACTION_CHARS:
        return f"Invalid action: {len(action):,} characters; at most {MAX_ACTION_CHARS:,} are read."
    if not _is_unicode(action):
        return "Invalid action: it holds lone surrogates, which are not valid Unicode text."
    return None


def _is_unicode(text: str) -> bool:
    """Return whether ``text`` holds no lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
