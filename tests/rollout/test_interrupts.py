"""A signal is answered at once, whatever the main thread computes."""

import asyncio
import hashlib
import os
import signal
import time
from typing import Any

import gymnasium
import pytest
from gymnasium.spaces import Text

from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.interrupts import graceful_interrupt, on_interrupt
from nlac_bench.types import Turn


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_answered_while_the_main_thread_computes(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    order: list[str] = []
    before = signal.getsignal(number)

    def answer(count: int) -> str:
        order.append(f"answer {count}")
        return f"answer {count}"

    async def computing() -> None:
        handled = asyncio.Event()

        def handle() -> None:
            order.append("handled")
            handled.set()

        with on_interrupt(handle, answer):
            os.kill(os.getpid(), number)
            hashlib.pbkdf2_hmac("sha256", b"", b"", 1_000_000)  # one call in C, during which no handler runs
            order.append("computed")
            await handled.wait()

    asyncio.run(computing())
    assert order == ["answer 1", "computed", "handled"]
    assert capsys.readouterr().err == "answer 1\n"
    assert signal.getsignal(number) is before and signal.set_wakeup_fd(-1) == -1


def test_each_signal_has_its_answer_and_others_none() -> None:
    answers: list[int] = []

    async def two() -> None:
        handled: asyncio.Queue[None] = asyncio.Queue()
        earlier = signal.signal(signal.SIGUSR1, lambda *_: None)
        try:
            with on_interrupt(lambda: handled.put_nowait(None), answers.append):
                for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
                    os.kill(os.getpid(), number)
                    if number != signal.SIGUSR1:
                        await handled.get()
        finally:
            signal.signal(signal.SIGUSR1, earlier)

    asyncio.run(two())
    assert answers == [1, 2]


class Blocks(gymnasium.Env[str, str]):
    """An environment whose third step is interrupted twice; all steps are plain calls."""

    observation_space = action_space = Text(10, min_length=0)
    steps = 0

    def __init__(self, driver: list[Driver]) -> None:
        self.driver = driver

    def reset(self, **options: Any) -> tuple[str, dict[str, Any]]:
        return "", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        Blocks.steps += 1
        while Blocks.steps == 3 and not self.driver[0].aborting:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        return "", 0.0, Blocks.steps > 1_000, False, {}


def test_the_second_signal_drops_episodes_whose_steps_block(capsys: pytest.CaptureFixture[str]) -> None:
    drivers: list[Driver] = []

    class Waits:
        def begin(self, env: Any, seed: int) -> "Waits":
            return self

        async def act(self, observation: str, info: Any) -> Turn:
            return Turn("a")

    async def play() -> list[Any]:
        drivers.append(Driver(Waits(), lambda: Blocks(drivers), concurrency=16))  # type: ignore[arg-type]
        with graceful_interrupt(drivers[0]):
            return [r async for r in drivers[0].run([EpisodeSpec("blocks", None, 0, i) for i in range(20)])]

    Blocks.steps = 0
    assert asyncio.run(play()) == [] and Blocks.steps == 3
    assert len(drivers[0].owed) == 20
    assert "stopping now" in capsys.readouterr().err
