"""What all tests share: one torch thread a process, hypothesis without clocks, the public data, a browser."""

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from nlac_bench import garbage

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Read when torch is first imported, and by the processes that tests start. Test processes run side by side,
# one a core, and more threads than cores make each of them slower.
os.environ["OMP_NUM_THREADS"] = "1"
# Without compiled files, each of the processes that tests start compiles the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Every HTTP client reads the certificates, for 25 ms. No test speaks TLS; this folder has none.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)

# A busy machine generates examples slowly; that is not a failure.
settings.register_profile("nlac_bench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("nlac_bench")
garbage.collect_rarely()


@pytest.fixture(autouse=True)
def _signal_handlers() -> Iterator[None]:
    """Undo what a command that ends in this process does to signals: it ignores them from then on."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def official_data() -> Path:
    """The folder that NLAC_BENCH_DATA names."""
    return Path(os.environ["NLAC_BENCH_DATA"])


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The folder of the pretrained model; tests that need it are skipped without it, except under CI."""
    from nlac_bench import pretrained
    from nlac_bench.errors import MissingDataError

    try:
        return pretrained.path("smollm2")
    except MissingDataError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.hookimpl(optionalhook=True)  # the environment of vLLM does not have pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores, because some tests wait for time-outs."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """What is imported by now stays until the end; the garbage collector need not look through it again."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """The process ends."""
    garbage.exit_quickly()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option for a second Python version, where more data for the same code would show nothing new."""
    parser.addoption("--cases", type=int, help="run at most so many parameter sets of each test function")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect further parameter sets with ``--cases``; skip tests of public data where these are missing."""
    if cases := config.getoption("cases"):
        counts: Counter[str] = Counter()
        selected: list[pytest.Item] = []
        others: list[pytest.Item] = []
        for item in items:
            function = item.nodeid.partition("[")[0]
            counts[function] += 1
            (selected if counts[function] <= cases else others).append(item)
        items[:] = selected
        config.hook.pytest_deselected(items=others)
    if os.environ.get("NLAC_BENCH_DATA"):
        return
    skip = pytest.mark.skip(reason="NLAC_BENCH_DATA does not name the folder with the public data sets")
    for item in items:
        if "official" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """A running Chromium, for ``tests.browser.opened``.

    Until it ends, Playwright has an event loop running in this thread, so that other tests could not use
    ``asyncio.run``.
    """
    from tests.browser import launched

    yield from launched()
