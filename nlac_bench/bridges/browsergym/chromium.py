"""Runs one Chromium for all episodes of a process, in one thread: Playwright's objects belong to a thread.

BrowserGym starts two browsers for each episode. Here it gets the one browser and opens a context in it, which
has its own cookies and pages; the context is closed when the episode ends.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar
from unittest import mock

from nlac_bench.errors import EnvInfraError, MissingError

CALL_S = 120.0
"""Seconds that one call may take; then the browser and its driver are killed, which ends the call."""
RESERVE_BYTES, EPISODE_BYTES = 2**30, 128 * 2**20
"""Memory that is left for everything else, and what an open page may take: one of MiniWoB++ takes 62 MB."""
SYSTEM_NAMES = ("chromium", "chromium-browser", "google-chrome")

T = TypeVar("T")


class Closable(Protocol):
    """An open page."""

    busy: bool
    """Whether a step is being taken in it."""

    def close(self) -> None:
        """Close it; called in the browser's thread."""


class Chromium:
    """A browser that is started when it is first needed, and again after it died.

    Its methods ``call``, ``max_pages`` and ``forget`` may be called from any thread, the others only in the
    browser's.
    """

    def __init__(self) -> None:
        self._jobs = ThreadPoolExecutor(1, thread_name_prefix="nlac-bench-browser")
        self._ending = threading.Lock()
        self._manager: Any = None
        self._playwright: Any = None
        self._browser: Any = None
        self._blocked: re.Pattern[str] | None = None
        self._pages: OrderedDict[int, Closable] = OrderedDict()
        self._most = 0
        self.process_id = 0
        """Of the running browser."""

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call ``function`` in the browser's thread and return its result.

        Raises:
            EnvInfraError: it raised any exception, for instance since the browser died or did not answer for
                ``CALL_S`` seconds.
            MissingError: there is no Chromium.
        """
        return await asyncio.wrap_future(self._jobs.submit(self._bounded, function, *args))

    def forget(self, page: Closable) -> "Future[None]":
        """Close ``page`` soon."""
        return self._jobs.submit(self._bounded, self._close, page)

    def max_pages(self) -> int:
        """Return how many pages may be open: the memory that was free when this was first asked decides."""
        if not self._most:
            self._most = max(1, (_free_bytes() - RESERVE_BYTES) // EPISODE_BYTES)
        return self._most

    def use(self, page: Closable) -> None:
        """Note that ``page`` is used now; if too many are open, close those that were unused for longest.

        Pages of copies that nobody plays to the end are closed so.
        """
        self._pages[id(page)] = page
        self._pages.move_to_end(id(page))
        idle = [each for each in self._pages.values() if each is not page and not each.busy]
        for each in idle[: max(0, len(self._pages) - self.max_pages())]:
            self._close(each)

    def lend(self, blocked: str) -> None:
        """Give BrowserGym the browser; its next context refuses requests whose URL matches ``blocked``."""
        from browsergym import core

        self._blocked = re.compile(blocked)
        if not self._runs():
            self._start()
        # BrowserGym launches a browser for each episode with this object, and closes it.
        browser = SimpleNamespace(new_context=self._new_context, close=lambda: None)
        chromium = SimpleNamespace(launch=lambda **_: browser)
        core._set_global_playwright(SimpleNamespace(chromium=chromium, selectors=self._playwright.selectors))

    def _runs(self) -> bool:
        try:
            self._browser.new_browser_cdp_session().detach()  # needs both processes
        except Exception:
            return False
        return True

    def _driver(self) -> Any:
        return self._manager._connection._transport._proc

    def _start(self) -> None:
        from browsergym.core import env
        from playwright.sync_api import sync_playwright

        self._pages.clear()
        env.Chat = _Chat
        env.extract_screenshot = lambda page: None  # one is taken when it is asked for
        if self._playwright is not None:
            with contextlib.suppress(Exception):  # its own process may have died too
                self._playwright.stop()
        self._browser = None
        self._manager = sync_playwright()
        with _driver_may_die():
            self._playwright = self._manager.start()
        own = self._playwright.chromium.executable_path
        browser = self._playwright.chromium.launch(
            executable_path=None if Path(own).exists() else system_chromium(),
            args=["--disable-features=OverlayScrollbars,ExtendedOverlayScrollbars"],
            ignore_default_args=["--hide-scrollbars"],  # scrollbars are seen in screenshots, as in BrowserGym
            handle_sigint=False, handle_sigterm=False, handle_sighup=False,  # a run ends its episodes first
        )  # fmt: skip
        processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
        self.process_id = next(int(each["id"]) for each in processes if each["type"] == "browser")
        self._browser = browser

    def _new_context(self, **options: Any) -> Any:
        context = self._browser.new_context(**options)
        assert self._blocked is not None
        context.route(self._blocked, lambda route: route.abort())
        return context

    def _bounded(self, function: Callable[..., T], *args: Any) -> T:
        def too_late() -> None:
            with self._ending:
                if not alarm.finished.is_set():  # else this would kill what the next call uses
                    self.kill()

        alarm = threading.Timer(CALL_S, too_late)
        alarm.daemon = True
        alarm.start()
        try:
            return function(*args)
        except (EnvInfraError, MissingError):
            raise
        except Exception as error:
            what = str(error).strip().partition("\n")[0][:300]
            raise EnvInfraError(f"the browser failed: {type(error).__name__}: {what}") from error
        finally:
            with self._ending:
                alarm.cancel()

    def kill(self) -> None:
        """Kill the browser and Playwright's driver; calls that wait for them then raise an ``EnvInfraError``.

        The driver may hang as well, and while a browser starts, only the driver knows its process.
        """
        browser, self._browser = self._browser, None
        with contextlib.suppress(AttributeError, ProcessLookupError):  # it is not started yet, or has ended
            self._driver().kill()
        if browser is not None and browser.is_connected():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process_id, signal.SIGKILL)

    def _close(self, page: Closable) -> None:
        self._pages.pop(id(page), None)
        with contextlib.suppress(Exception):  # of a browser that died
            page.close()


@contextlib.contextmanager
def _driver_may_die() -> Iterator[None]:
    """Let calls raise after the driver that is started here has died.

    Playwright's event loop ends with the driver. A call that waits for an answer then repeats for ever. With
    this, the event loop goes on until it is stopped, and the call raises.
    """
    from playwright._impl._transport import PipeTransport

    run = PipeTransport.run

    async def run_until_stopped(transport: Any) -> None:
        await run(transport)
        while not transport._stopped:
            await asyncio.sleep(0.1)

    with mock.patch.object(PipeTransport, "run", run_until_stopped):
        yield


class _Chat:
    """The messages between user and agent; BrowserGym's also draws them in another browser."""

    def __init__(self, **_: Any) -> None:
        self.messages: list[dict[str, Any]] = []

    def add_message(self, role: str, msg: str) -> None:
        self.messages.append({"role": role, "timestamp": 0.0, "message": msg})

    def close(self) -> None:
        """Do nothing."""


def system_chromium() -> str:
    """Return the path of the system's Chromium, for machines without Playwright's own build.

    Raises:
        MissingError: there is none.
    """
    path = next(filter(None, map(shutil.which, SYSTEM_NAMES)), None)
    if path is None:
        raise MissingError("there is no Chromium", "apt-get install chromium, or playwright install chromium")
    return path


def _free_bytes() -> int:
    """Return the memory that can be used; 4 GiB where the system does not say."""
    try:
        meminfo = Path("/proc/meminfo").read_text()
    except OSError:
        return 4 * 2**30
    match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo)
    free = int(match[1]) * 1024 if match else 4 * 2**30
    with contextlib.suppress(OSError, ValueError):  # the limit of a container
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text())
        free = min(free, limit - int((group / "memory.current").read_text()))
    return free


_chromium: Chromium | None = None
_lock = threading.Lock()


def shared_chromium() -> Chromium:
    """Return this process's browser."""
    global _chromium  # noqa: PLW0603
    with _lock:
        if _chromium is None:
            _chromium = Chromium()
        return _chromium


def _forget_chromium() -> None:
    global _chromium, _lock
    _chromium, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_chromium)  # a forked child has not the thread
