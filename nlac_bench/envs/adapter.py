"""Defines PlainEnv, which adapts a plain Gymnasium environment with text spaces to ``TextEnv``."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from nlac_bench.envs.docstring import own_docstring, rules
from nlac_bench.envs.foreign import named
from nlac_bench.envs.returned import check_action, check_actions, check_info, check_observation, check_step
from nlac_bench.envs.text_env import Outcome, TextEnv
from nlac_bench.errors import NlacBenchError
from nlac_bench.types import Info, StepResult

EPISODES = {"test": 100, "train": 1_000}
"""Default number of tasks of each split."""
MAX_EPISODES = 1_000_000
"""Maximal number of tasks; they are listed when the environment is made."""
MAX_STEPS = 1_000
"""Number of steps after which an episode is truncated in an environment that states no limit."""
MAX_INVALID = 10
"""Number of invalid actions after which an episode is truncated, since it may have no limit."""
PROBE_STEPS = 1_000
"""Maximal number of random actions that are taken to find out how an episode ends."""


@dataclass(slots=True)
class _Copied:
    """The wrapped environment as the state of an episode."""

    env: gymnasium.Env[str, str]

    def copy(self) -> "_Copied":
        return _Copied(copy.deepcopy(self.env))


def require_text(env: gymnasium.Env[Any, Any], name: str) -> None:
    """Check that the observations and actions of ``env`` are text; ``name`` is its name in the error.

    Raises:
        NlacBenchError: observations or actions are not text.
    """
    for what, space in (("observation", env.observation_space), ("action", env.action_space)):
        if space.dtype is None or not np.issubdtype(space.dtype, np.str_):
            raise NlacBenchError(
                f"{name} has the {what} space {space!r:.200}; nlac-bench plays environments whose "
                "observations and actions are text: use gymnasium.spaces.Text or "
                "nlac_bench.envs.UnicodeText, or wrap the environment"
            )


class PlainEnv(TextEnv):
    """A plain Gymnasium environment with the interface of a ``TextEnv``.

    A plain environment has no tasks: its seed determines an episode. Tasks are therefore named
    ``episode-0``, ``episode-1``, … In split ``test`` the environment is reset with the seed that ``reset``
    receives. In split ``train`` (``train-0``, ``train-1``, …) it is reset with a seed computed from the
    task's name, so that all rollouts of one training task begin in the same state, which GRPO's groups need.

    - ``policy()`` is the environment's docstring (see ``TextEnv.policy``), or ``info["policy"]`` of its
      reset.
    - ``info["success"]`` at an episode's end is passed on if the environment sets it, else it is absent.
    - An exception that ``step`` raises on an action outside the action space makes the action invalid: a
      counted step with a message; the tenth one truncates the episode. On an action inside the space the
      exception is the environment's own bug and is raised.
    - The limit of steps is ``max_episode_steps`` of the environment's registration. Without it an episode is
      truncated after ``MAX_STEPS`` steps, so that every episode ends.
    - ``fork()`` copies the environment with ``copy.deepcopy``.
    - There is no oracle action. ``random_action(rng)`` and ``constant_actions()`` of the environment are used
      if it defines them; by default random actions are samples of the action space.

    Args:
        env: the environment, with its wrappers.
        name: its name, as the user wrote it, without arguments.
        split: ``test`` or ``train``.
        episodes: number of tasks; by default 100 (test) or 1,000 (train).

    Raises:
        NlacBenchError: the observations or actions of ``env`` are not text.
    """

    has_oracle = False

    def __init__(
        self, env: gymnasium.Env[str, str], name: str, split: str = "test", episodes: int | None = None
    ) -> None:
        require_text(env, name)
        if episodes is not None and episodes > MAX_EPISODES:
            raise ValueError(f"a plain environment has at most {MAX_EPISODES:,} tasks, got {episodes!r:.80}")
        prefix = "train" if split == "train" else "episode"
        super().__init__(
            task_ids=[f"{prefix}-{i}" for i in range(episodes or EPISODES.get(split, EPISODES["test"]))],
            split=split,
            render_mode="ansi" if env.render_mode == "ansi" else None,
        )
        self.name = name  # type: ignore[misc]  # of the instance: one class wraps many environments
        self.observation_space, self.action_space = env.observation_space, env.action_space
        stated = env.spec.max_episode_steps if env.spec else None
        self.max_steps = stated or MAX_STEPS
        self.cut = False
        """Whether the episode was truncated after ``MAX_STEPS``, since the environment states no limit."""
        self._states_limit = bool(stated)
        self._state: _Copied = _Copied(env)
        self._policy = rules(own_docstring(type(env.unwrapped), gymnasium.Env))
        self._seed: int | None = None
        self._invalid_actions = 0
        self._first_info: Info = {}

    @property
    def wrapped(self) -> gymnasium.Env[str, str]:
        """The plain environment, with its wrappers."""
        return self._state.env

    async def areset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        """Reset the wrapped environment; its ``info`` is added to that of every ``TextEnv``."""
        self._seed, self._invalid_actions, self.cut = seed, 0, False
        observation, info = await super().areset(seed=seed, options=options)
        return observation, {**info, **self._first_info}

    async def _begin(self, task_id: str) -> str:
        seed = self._seed
        if self.split == "train":
            seed = int.from_bytes(sha256(task_id.encode()).digest()[:4], "big") // 2
        observation, self._first_info = self.wrapped.reset(seed=seed)
        check_observation(observation)
        check_info(self._first_info)
        self._policy = self._first_info.get("policy", self._policy)
        return observation

    async def astep(self, action: str) -> StepResult:
        """Step the wrapped environment; ``terminated`` and ``truncated`` are its own."""
        if self._ended:
            raise ResetNeeded(f"{self.name}: call reset() before step(); no episode is running")
        self._steps += 1
        kind = "message"
        try:
            observation, reward, terminated, truncated, info = self.wrapped.step(action)
        except Exception as error:
            if self.action_space.contains(action):
                raise
            self._invalid_actions += 1
            kind, observation = "invalid", f"Invalid action: {error}"
            reward, terminated, truncated = 0.0, False, self._invalid_actions >= MAX_INVALID
            info = {"error": f"{type(error).__name__}: {error}"}
        check_step(observation, reward, terminated, truncated, info)
        ended = terminated or truncated
        self.cut = not (ended or self._states_limit) and self._steps >= self.max_steps
        truncated = truncated or self.cut
        self._ended = ended or self.cut
        self._conversation += [
            {"role": "assistant", "content": action},
            {"role": "user", "content": observation},
        ]
        return observation, float(reward), terminated, truncated, {"action_kind": kind, **info}

    async def _respond(self, action: str) -> Outcome:
        raise NotImplementedError("PlainEnv.astep steps the wrapped environment itself")

    def policy(self) -> str:
        """Return the docstring of the environment's class, or ``info["policy"]`` of its reset."""
        return self._policy

    def oracle_action(self) -> str:
        """Raise an error: a plain environment has no oracle action.

        Raises:
            NlacBenchError: always.
        """
        raise NlacBenchError(
            f"{self.name} is a plain Gymnasium environment, which has no oracle action; write it as a "
            "nlac_bench.envs.TextEnv to give it one"
        )

    def random_action(self, rng: np.random.Generator) -> str:
        """Return the environment's own random action, or a sample of the action space, drawn with ``rng``.

        Raises:
            NlacBenchError: the environment's own ``random_action`` fails, or does not return a str.
        """
        own = self._own("random_action")
        if own is not None:
            with named(f"random_action of {self.name}"):
                action = own(rng)
            return check_action(action, "random_action", self.name)
        self.action_space.seed(int(rng.integers(2**31)))
        return self.action_space.sample()

    def constant_actions(self) -> Sequence[str]:
        """Return the environment's own list, or draws of its own random action; empty without either.

        Raises:
            NlacBenchError: the environment fails, or an action is not a str.
        """
        own = self._own("constant_actions")
        if own is not None:
            with named(f"constant_actions of {self.name}"):
                return check_actions(own(), self.name)
        if self._own("random_action") is None:
            return ()
        with named(f"{self.name}: an episode whose random actions the floor 'constant' tries"):
            return self._drawn_actions()

    def close(self) -> None:
        """Close the wrapped environment."""
        self.wrapped.close()

    def _own(self, method: str) -> Any:
        """Return a method of the wrapped environment; None if it has none of that name."""
        own = getattr(self.wrapped.unwrapped, method, None)
        return own if callable(own) else None


def check_trainable(env: PlainEnv) -> None:
    """Raise if a plain environment cannot be used for training.

    Plays random actions until an episode ends, at most 1,000.

    Raises:
        NlacBenchError: the episode ends without ``info["success"]``, or the environment cannot be copied in
            the middle of an episode.
    """
    env.reset(seed=0)
    try:
        twin = env.fork()
    except Exception as error:
        raise NlacBenchError(
            f"{env.name} cannot be trained on: copy.deepcopy of the environment raises "
            f"{type(error).__name__}: {error}. Training continues episodes from copies; create what "
            "cannot be copied (locks, files, clients) outside the environment, or define __deepcopy__"
        ) from error
    if reports_success(twin) is False:
        raise NlacBenchError(
            f"{env.name} cannot be trained on: its episodes end without info['success'], by which the best "
            "checkpoint is chosen. Set info['success'] to True or False in the step that ends an episode"
        )


def reports_success(env: PlainEnv) -> bool | None:
    """Return whether an episode of random actions ends with ``info["success"]``; None if no episode ends."""
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(PROBE_STEPS):
        _, _, terminated, truncated, info = env.step(env.random_action(rng))
        if terminated or truncated:
            # An environment that reports success when it terminates may not do so when it truncates.
            return "success" in info or (None if truncated and not terminated else False)
    return None
