"""A signal is answered at once, whatever the main thread computes."""

import asyncio
import hashlib
import os
import signal

import pytest

from nlac_bench.rollout.interrupts import on_interrupt


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
