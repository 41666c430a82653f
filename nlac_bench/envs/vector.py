"""Defines TextVectorEnv, which steps several text environments; observations are a tuple of strings."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from nlac_bench.envs.text_env import TextEnv
from nlac_bench.envs.waiting import run_in_background, run_without_waiting
from nlac_bench.types import Info, StepResult

T = TypeVar("T")


class TextVectorEnv(VectorEnv[tuple[str, ...], Sequence[str], np.ndarray]):
    """``num_envs`` copies of a text environment, stepped together.

    Rows with remote simulators are awaited concurrently, so a step takes as long as its slowest row, as
    Gymnasium's interface requires. The rollout driver has no such barrier.

    Autoreset mode is ``NEXT_STEP``: the step after a row's last one ignores its action, resets the row
    and returns its first observation with reward 0.

    Args:
        num_envs: number of rows.
        kwargs: passed to each row's environment.

    Raises:
        ValueError: ``num_envs`` is not positive, or a batch has another length.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["ansi"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    env_class: ClassVar[Callable[..., TextEnv]]

    def __init__(self, num_envs: int = 1, **kwargs: object) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, got {num_envs}")
        self.num_envs = num_envs
        self.envs = [type(self).env_class(**kwargs) for _ in range(num_envs)]
        self.render_mode = self.envs[0].render_mode
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._ended = np.zeros(num_envs, dtype=np.bool_)
        self._observations = ("",) * num_envs

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Info | None = None,
    ) -> tuple[tuple[str, ...], Info]:
        """Reset all rows; row i is seeded with ``seed + i`` or ``seed[i]``.

        ``options["reset_mask"]``, a boolean array, resets only its true rows; the observations of the others
        are their last ones. The rows get the other options.
        """
        options = None if options is None else dict(options)
        mask = self._reset_mask((options or {}).pop("reset_mask", None))
        if seed is None or isinstance(seed, (int, np.integer)):
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
            self._check_length("seeds", seeds)
        rows = np.flatnonzero(mask).tolist()
        results = self._gather([self.envs[row].areset(seed=seeds[row], options=options) for row in rows])
        self._ended[mask] = False
        infos: Info = {}
        observations = list(self._observations)
        for row, (observation, info) in zip(rows, results, strict=True):
            observations[row] = observation
            infos = self._add_info(infos, info, row)
        self._observations = tuple(observations)
        return self._observations, infos

    def step(
        self, actions: Sequence[str]
    ) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray, Info]:
        """Step all rows together. A row whose episode ended in the previous step is reset instead."""
        self._check_length("actions", actions)
        results = self._gather([
            _reset_row(env) if ended else env.astep(action)
            for env, ended, action in zip(self.envs, self._ended, actions, strict=True)
        ])  # fmt: skip
        observations, rewards, terminated, truncated, row_infos = zip(*results, strict=True)
        infos: Info = {}
        for row, info in enumerate(row_infos):
            infos = self._add_info(infos, info, row)
        terminations, truncations = np.array(terminated), np.array(truncated)
        self._ended = terminations | truncations
        self._observations = observations
        return observations, np.array(rewards, dtype=np.float64), terminations, truncations, infos

    def render(self) -> tuple[str | None, ...]:  # type: ignore[override]
        """Return each row's conversation so far."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: object) -> None:
        """Close every row."""
        for env in self.envs:
            env.close()

    def _check_length(self, what: str, values: Sequence[object]) -> None:
        if isinstance(values, str) or len(values) != self.num_envs:
            raise ValueError(f"expected {self.num_envs} {what}, one per row, got {values!r:.200}")

    def _reset_mask(self, mask: object) -> np.ndarray:
        """Return which rows are to be reset: all if ``mask`` is None; raises Gymnasium's errors."""
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            kind = mask.dtype if isinstance(mask, np.ndarray) else type(mask).__name__
            raise TypeError(f"options['reset_mask'] must be a NumPy array of dtype bool, got {kind}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"options['reset_mask'] must have shape ({self.num_envs},) and a true row, got {mask}"
            )
        return mask

    def _gather(self, coroutines: list[Coroutine[object, None, T]]) -> list[T]:
        if not any(env.remote for env in self.envs):
            return [run_without_waiting(coroutine) for coroutine in coroutines]
        return run_in_background(coroutines)


async def _reset_row(env: TextEnv) -> StepResult:
    observation, info = await env.areset()
    return observation, 0.0, False, False, info


def vectorized(env_class: type[TextEnv]) -> type[TextVectorEnv]:
    """Return the vector environment class of ``env_class``, to be registered as ``vector_entry_point``."""
    return type(
        f"{env_class.__name__}Vector",
        (TextVectorEnv,),
        {"env_class": env_class, "__module__": env_class.__module__},
    )
