"""Episodes in a real browser: rewards, copies, isolation, and a browser that dies or hangs."""

import asyncio
import os
import pickle
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("browsergym.core", reason="BrowserGym is not installed", exc_type=ImportError)

from nlac_bench.agents.floors import OracleAgent
from nlac_bench.bridges.browsergym import chromium as chromium_module
from nlac_bench.bridges.browsergym.chromium import Chromium, shared_chromium
from nlac_bench.bridges.browsergym.page import Page, functions, miniwob_folder
from nlac_bench.envs import registry
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import EnvInfraError
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.types import Episode

pytestmark = [
    pytest.mark.bridge,
    pytest.mark.skipif(
        not any(map(shutil.which, chromium_module.SYSTEM_NAMES)) and "CI" not in os.environ,
        reason="there is no Chromium",
    ),
]

BUTTONS = 'browsergym@{"task": "miniwob.click-test-2"}'
SEQUENCE = 'browsergym@{"task": "miniwob.click-button-sequence"}'


@pytest.fixture
def env() -> Iterator[TextEnv]:
    made = registry.make_text_env(SEQUENCE)
    yield made
    made.close()


def solve(env: TextEnv) -> dict[str, Any]:
    """Play the oracle's actions to the end; return ``info`` of the last step."""
    for _ in range(env.max_steps):
        _, reward, ended, _, info = env.step(env.oracle_action())
        if ended:
            return {**info, "reward": reward}
    raise AssertionError("the episode does not end")


def test_right_actions_earn_the_reward_and_wrong_ones_do_not(env: TextEnv) -> None:
    observation, info = env.reset(seed=0, options={"task_id": "miniwob.click-button-sequence/3"})
    assert observation.startswith("Goal: Click button ONE, then click button TWO.\n\nRootWebArea ")
    assert "file:" not in observation, "the folder of the pages differs between machines"
    assert "button 'ONE'" in observation and ", clickable" in observation
    assert "click(bid: str" in info["policy"]

    first = env.oracle_action()
    _, reward, ended, truncated, info = env.step(first)
    assert (reward, ended, truncated, info["action_kind"], info["tool_name"]) == (
        0,
        False,
        False,
        "tool",
        "click",
    )
    info = solve(env)
    assert (info["success"], info["reward"], info["end_reason"]) == (True, 1.0, "success")

    env.reset(seed=0, options={"task_id": "miniwob.click-button-sequence/3"})
    one, two = clicks(env)
    assert first == one
    assert env.step(two)[1:3] == (0, False)
    _, reward, ended, _, info = env.step(one)
    assert (reward, ended, info["success"], info["end_reason"]) == (0, True, False, "failure")


def clicks(env: TextEnv) -> list[str]:
    """Clicks on the buttons ONE and TWO."""
    return ["click('12')", "click('13')"]


def test_actions_that_cannot_be_played_are_explained_and_counted(env: TextEnv) -> None:
    env.reset(seed=1)
    for action, kind, said in (
        ("__import__('os').getcwd()", "invalid", "Invalid action: "),
        ("page.goto('http://example.com')", "invalid", "Invalid action: "),
        ("upload_file('12', '/etc/passwd')", "invalid", "no function 'upload_file'"),
        ("click('9999')", "tool", 'The action failed: ValueError: Could not find element with bid "9999"'),
        ("click(12)", "tool", "The action failed: ValueError: expected a string, got 12"),
    ):
        answer, reward, ended, _, info = env.step(action)
        assert said in answer and (reward, ended, info["action_kind"]) == (0, False, kind)
        assert (info["tool_error"] is not None) is (kind == "tool")
    assert solve(env)["success"], "the page is as it was"


def test_no_function_reads_a_file_or_runs_code() -> None:
    for benchmark in ("miniwob", "webarena", "workarena", "anything"):
        assert "click" in functions(benchmark)
        assert not {
            name for name in functions(benchmark) if "upload" in name or "eval" in name or "python" in name
        }


def test_copies_play_on_independently(env: TextEnv) -> None:
    env.reset(seed=2)
    env.step(env.oracle_action())
    twin, stored = env.fork(), pickle.loads(pickle.dumps(env))
    assert solve(env)["success"]
    wrong = twin.fork()
    assert wrong.step(clicks(wrong)[0])[4]["success"] is False, "ONE was clicked before"
    assert solve(twin)["success"] and solve(stored)["success"]
    for each in (twin, stored, wrong):
        each.close()


def test_a_page_that_was_closed_to_make_place_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = shared_chromium()
    monkeypatch.setattr(browser, "_most", 1)
    envs = [registry.make_text_env(SEQUENCE) for _ in range(2)]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    assert [env._state.page.is_open for env in envs] == [False, True]
    for env in envs:
        env.step(env.oracle_action())
    assert [env._state.page.is_open for env in envs] == [False, True]
    assert all(solve(env)["success"] for env in envs)
    assert len(browser._pages) <= 1


def test_a_page_that_behaves_differently_the_second_time_is_an_infrastructure_error(env: TextEnv) -> None:
    env.reset(seed=0)
    twin = env.fork()
    twin._state.seed += 1  # as a page would that depends on time
    with pytest.raises(EnvInfraError, match="do not lead to the same page again"):
        twin.step("noop(0)")
    twin.close()


def play(specs: list[EpisodeSpec], concurrency: int, disturb: Any = None) -> tuple[list[Any], int]:
    """Play with the oracle; return the results and the largest number of episodes at the same time."""
    driver = Driver(OracleAgent(), lambda: registry.make_text_env(SEQUENCE), concurrency=concurrency)
    most = 0

    async def run() -> list[Any]:
        nonlocal most

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, driver.running)
                if disturb is not None:
                    disturb()
                await asyncio.sleep(0.01)

        watcher = asyncio.create_task(watch())
        results = [result async for result in driver.run(specs)]
        watcher.cancel()
        return results

    return asyncio.run(run()), most


def specs(count: int) -> list[EpisodeSpec]:
    return [EpisodeSpec(SEQUENCE, f"miniwob.click-button-sequence/{i}", 0, i) for i in range(count)]


def test_a_browser_that_is_killed_fails_its_episodes_and_the_next_ones_get_a_new_one() -> None:
    results, _ = play(specs(1), 1)
    first = shared_chromium().process_id
    killed: list[Any] = []
    assert isinstance(results[0], Episode) and results[0].success

    def kill_in_the_middle() -> None:
        pages = list(shared_chromium()._pages.values())
        if not killed and len(pages) == 2 and all(page.is_open for page in pages):  # type: ignore[attr-defined]
            killed.append(first)
            os.kill(first, signal.SIGKILL)

    results, _ = play(specs(4), 2, kill_in_the_middle)
    failures = [each for each in results if isinstance(each, Failure)]
    assert killed and {failure.kind for failure in failures} == {"infra"}
    assert {failure.error for failure in failures} == {"EnvInfraError"} and len(failures) == 2
    played = [each for each in results if isinstance(each, Episode)]
    assert len(played) == 2 and all(each.success and each.total_reward == 1 for each in played)
    assert shared_chromium().process_id != first


@pytest.mark.skipif(not Path("/proc").exists(), reason="the parent of the browser is read from /proc")
def test_the_first_ctrl_c_leaves_the_browser_to_the_running_episodes(env: TextEnv) -> None:
    env.reset(seed=0)
    browser = shared_chromium().process_id
    driver = int(Path(f"/proc/{browser}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(driver, signal.SIGINT)  # a terminal sends it to all processes of the command
    assert solve(env)["success"] and shared_chromium().process_id == browser


def test_a_page_that_does_not_answer_is_an_infrastructure_error(
    env: TextEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.reset(seed=0)
    page, first = env._state.page, shared_chromium().process_id
    monkeypatch.setattr(chromium_module, "CALL_S", 3.0)

    async def hang() -> None:
        await page.chromium.call(lambda: page._env.page.evaluate("() => { while (true) {} }"))

    with pytest.raises(EnvInfraError, match="the browser failed"):
        asyncio.run(hang())
    monkeypatch.undo()
    with pytest.raises(EnvInfraError):
        env.step(env.oracle_action())
    env.reset(seed=0)
    assert solve(env)["success"] and shared_chromium().process_id != first


@pytest.mark.parametrize("stop_signal", [signal.SIGSTOP, signal.SIGKILL])
@pytest.mark.parametrize("which", ["browser", "driver"])
def test_a_process_that_hangs_or_dies_is_replaced(
    which: str, stop_signal: signal.Signals, env: TextEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    for use in ("step", "close"):
        env.reset(seed=0)
        browser = shared_chromium()
        first = browser.process_id
        monkeypatch.setattr(chromium_module, "CALL_S", 3.0)
        os.kill(first if which == "browser" else browser._driver().pid, stop_signal)
        if use == "step":
            with pytest.raises(EnvInfraError, match="the browser failed"):
                env.step(env.oracle_action())
        else:
            page = env._state.page
            env.close()
            browser.forget(page).result()  # jobs are done in turn, so the page is closed now, or given up
        monkeypatch.undo()
        env.reset(seed=0)
        assert solve(env)["success"] and browser.process_id != first


def test_a_browser_that_does_not_start_is_an_infrastructure_error(
    env: TextEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = tmp_path / "chromium"
    hangs.write_text("#!/bin/sh\nexec sleep 600\n")
    hangs.chmod(0o700)
    shared_chromium().kill()
    monkeypatch.setattr(chromium_module, "system_chromium", lambda: str(hangs))
    monkeypatch.setattr(chromium_module, "CALL_S", 3.0)
    with pytest.raises(EnvInfraError, match="the browser failed"):
        env.reset(seed=0)
    monkeypatch.undo()
    env.reset(seed=0)
    assert solve(env)["success"]


def test_memory_limits_how_many_episodes_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_chromium(), "_most", 2)
    results, most = play(specs(5), 5)
    assert most == 2 and [each.success for each in results] == [True] * 5


def test_the_number_of_pages_follows_from_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, most in ((2**30 + 10 * chromium_module.EPISODE_BYTES, 10), (2**30, 1), (0, 1)):
        monkeypatch.setattr(chromium_module, "_free_bytes", lambda free=free: free)
        assert Chromium().max_pages() == most


@pytest.fixture
def server() -> Iterator[tuple[int, list[bytes]]]:
    """A server on this machine that notes what it receives."""
    listening, received = socket.create_server(("127.0.0.1", 0)), []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            received.append(b"connected")
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    yield listening.getsockname()[1], received
    listening.close()


def test_a_page_reaches_nothing_but_the_files_of_the_package(
    env: TextEnv, server: tuple[int, list[bytes]]
) -> None:
    port, received = server
    env.reset(seed=0)
    page: Page = env._state.page

    def tried() -> dict[str, Any]:
        tab = page._env.page
        fetched = """url => fetch(url).then(() => 'reached', error => String(error))"""
        script = """url => new Promise(done => {
            const element = document.createElement('script'); element.src = url;
            element.onload = () => done('reached'); element.onerror = () => done('refused');
            document.head.append(element); })"""
        socket_ = """url => new Promise(done => {
            const opened = new WebSocket(url);
            opened.onopen = () => done('reached'); opened.onerror = () => done('refused'); })"""
        outside = (miniwob_folder().parent / "registration.py").as_uri()
        results = {
            "fetch": tab.evaluate(fetched, f"http://127.0.0.1:{port}/"),
            "websocket": tab.evaluate(socket_, f"ws://127.0.0.1:{port}/"),
            "script": tab.evaluate(script, f"http://127.0.0.1:{port}/a.js"),
            "file": tab.evaluate(script, outside),
            "own file": tab.evaluate(script, (miniwob_folder() / "core" / "core.js").as_uri()),
        }
        for url in (f"http://127.0.0.1:{port}/", "file:///etc/passwd", outside):
            try:
                tab.goto(url)
                results[url] = "reached"
            except Exception as error:
                results[url] = str(error)
        return results

    results = asyncio.run(page.chromium.call(tried))
    assert results.pop("own file") == "reached", "the test can reach what is allowed"
    assert not [what for what, said in results.items() if said == "reached"] and len(results) == 7
    assert not received


def test_a_page_that_loads_something_is_closed(env: TextEnv) -> None:
    for _ in range(10):
        env.reset(seed=0)
        page: Page = env._state.page

        def leave(page: Page = page) -> None:
            for url in ("file:///etc/passwd", "file:///etc/hosts"):
                with pytest.raises(Exception, match="ERR_FAILED"):
                    page._env.page.goto(url)

        asyncio.run(page.chromium.call(leave))
        first = page.chromium.process_id
    env.reset(seed=0)
    assert shared_chromium().process_id == first, "no page hung until the browser was killed"


def test_a_screenshot_shows_the_page(env: TextEnv) -> None:
    env.reset(seed=0)
    png = env.screenshot()  # type: ignore[attr-defined]
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20], "big") == 332
