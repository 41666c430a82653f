"""Adds the option ``--short`` to the benchmarks, and prints a table of their ratios at the end.

A benchmark that measures a ratio asks for the fixture ``row`` and calls it once:
``row("`import nlac_bench`", "`import gymnasium`", "1.08 × its time", aim="≤ 1.5 ×")``. The rows have the
columns of README's section "Speed" and are also stored in ``benchmark.extra_info``, so that
``--benchmark-json`` saves them. Aims are printed and not asserted, so that no benchmark fails on a busy
machine.
"""

from collections.abc import Callable
from typing import Any

import pytest

Row = Callable[..., None]
ROWS = pytest.StashKey[list[tuple[str, ...]]]()
HEADER = ("what", "against", "measured", "aim")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--short",
        action="store_true",
        help="benchmarks: use small sizes, so that all of them together take a minute",
    )


@pytest.fixture(scope="session")
def short(request: pytest.FixtureRequest) -> bool:
    """Whether ``--short`` is set."""
    return bool(request.config.getoption("--short"))


@pytest.fixture
def row(request: pytest.FixtureRequest, benchmark: Any) -> Row:
    """Returns a function that adds a row to the table: what is measured, against what, result and aim."""

    def add(what: str, against: str, measured: str, aim: str = "–") -> None:
        cells = (what, against, measured, aim)
        benchmark.extra_info["row"] = dict(zip(HEADER, cells, strict=True))
        request.config.stash.setdefault(ROWS, []).append(cells)

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the rows in the form of README's table."""
    rows = config.stash.get(ROWS, [])
    if not rows:
        return
    terminalreporter.section("speed")
    if config.getoption("--short"):
        terminalreporter.write_line(
            "Sizes are small: these ratios show that the benchmarks work, but not how fast nlac-bench is.\n"
        )
    for cells in (HEADER, ("---",) * len(HEADER), *rows):
        terminalreporter.write_line(f"| {' | '.join(cells)} |")
