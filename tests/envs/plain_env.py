"""Plain Gymnasium environments with text spaces, for tests of the adapter."""

import threading
from typing import Any

import gymnasium
from gymnasium.spaces import Text


class Echo(gymnasium.Env[str, str]):
    """Say the colour that you are shown.

    ## Action Space
    One word.

    ## Starting State
    A colour drawn at random.

    ## Reward
    1 for the colour, 0 for another word.
    """

    def __init__(
        self, steps: int = 3, reports: bool = True, strict: bool = False, locked: bool = False
    ) -> None:
        self.observation_space = Text(100, charset="abcdefghijklmnopqrstuvwxyz 0123456789")
        self.action_space = Text(20, charset="abcdefghijklmnopqrstuvwxyz")
        self.steps, self.reports, self.strict = steps, reports, strict
        self.lock = threading.Lock() if locked else None
        self.closed = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.colour = str(self.np_random.choice(["red", "blue", "green", "brown", "grey"]))
        self.left = self.steps
        return self.colour, {"palette": 5}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.strict and not action.isalpha():
            raise ValueError(f"{action!r} is not a word")
        if action == "crash":
            raise RuntimeError("a bug of the environment")
        self.left -= 1
        right = action == self.colour
        ended = right or self.left == 0
        info = {"success": right} if ended and self.reports else {}
        noise = int(self.np_random.integers(1000))
        return f"no {noise}", float(right), ended, False, info

    def close(self) -> None:
        self.closed = True


gymnasium.register("nlac_bench_test/Echo-v0", "tests.envs.plain_env:Echo")
gymnasium.register(
    "nlac_bench_test/EchoCut-v0", "tests.envs.plain_env:Echo", kwargs={"steps": 100}, max_episode_steps=2
)
gymnasium.register(
    "nlac_bench_test/EchoUnreported-v0", "tests.envs.plain_env:Echo", kwargs={"reports": False}
)
gymnasium.register("nlac_bench_test/EchoLocked-v0", "tests.envs.plain_env:Echo", kwargs={"locked": True})
