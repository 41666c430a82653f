"""``nlac-bench theory``: does the language Bellman backup do what the theory says?"""

import time
from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from nlac_bench.cli.output import JsonFlag, console, errors, print_json

_PLAIN_EVERY_S = 10.0


class _Progress:
    """Iterations done and wall time left: a live line in a terminal, a line every ten seconds elsewhere."""

    def __init__(self) -> None:
        columns = (
            TextColumn("iteration"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"),
            TimeRemainingColumn(),
        )  # fmt: skip
        self._live = errors.is_terminal
        self._bar = Progress(*columns, console=errors, disable=not self._live, transient=True)
        self._task = self._bar.add_task("")
        self._began = self._said = time.monotonic()

    def __enter__(self) -> "_Progress":
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()

    def __call__(self, number: int, count: int, optimal: float) -> None:
        """Iteration ``number`` of ``count`` is done."""
        status = f"optimal action in {optimal:.1%} of the cells"
        self._bar.update(self._task, completed=number, total=count, description=status)
        now = time.monotonic()
        if not self._live and (now - self._said > _PLAIN_EVERY_S or number == count):
            self._said = now
            left = (now - self._began) / number * (count - number)
            errors.print(f"iteration {number} of {count}: {status}, {left:.0f} s left", soft_wrap=True)


def theory(
    seed: Annotated[int, typer.Option(help="Of the random walks and the first policy.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Check NLAC's theory where texts can be exact: a gridworld, a perfect describer, random walks as data.

    Language policy iteration must reach the optimal policy, and the critic must order actions as Q* does.
    Exits 0 only where both hold.

    Example:

      nlac-bench theory
    """
    from nlac_bench.agents.nlac.theory import check

    with _Progress() as progress:
        report = check(seed, on_iteration=progress)
    if as_json:
        print_json({**asdict(report), "holds": report.holds})
    else:
        console.print(
            f"gridworld of {report.cells} cells, {report.transitions:,} transitions of random walks"
        )
        for iteration in range(0, report.iterations, max(1, report.iterations // 10)):
            share = report.history[iteration]
            console.print(f"  iteration {iteration + 1:3d}: optimal action in {share:6.1%} of the cells")
        console.print(f"at the end: optimal action in {report.optimal_cells:.1%} of the cells")
        console.print(f"pairs of actions that the critic orders as Q* does: {report.order_agreement:.1%}")
        console.print(f"largest error of a value read from the critic's words: {report.largest_error:.1e}")
        console.print("the theory holds here" if report.holds else "the theory does NOT hold here")
    raise typer.Exit(0 if report.holds else 1)
