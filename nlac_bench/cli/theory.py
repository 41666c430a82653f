"""``nlac-bench theory``: check language policy iteration against value iteration."""

import time
from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from nlac_bench.cli.output import JsonFlag, console, errors, print_json

_PLAIN_EVERY_S = 10.0


class _Progress:
    """Shows iterations and wall time left: a live line in a terminal, a line every ten seconds elsewhere."""

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
        """Show that iteration ``number`` of ``count`` is done."""
        status = f"optimal action in {optimal:.1%} of the cells"
        self._bar.update(self._task, completed=number, total=count, description=status)
        now = time.monotonic()
        if not self._live and (now - self._said > _PLAIN_EVERY_S or number == count):
            self._said = now
            left = (now - self._began) / number * (count - number)
            errors.print(f"iteration {number} of {count}: {status}, {left:.0f} s left", soft_wrap=True)


def theory(
    seed: Annotated[int, typer.Option(help="Seed of the random walks and of the first policy.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Check NLAC's theory on a gridworld whose states are described exactly, with random walks as data.

    Language policy iteration must reach the optimal policy, and the critic must
    order actions as Q* does. The exit code is 0 if both hold, else 1.

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
        console.print(f"pairs of actions that the critic orders like Q*: {report.order_agreement:.1%}")
        console.print(f"largest error of a value read from the critic's words: {report.largest_error:.1e}")
        console.print("the theory holds" if report.holds else "the theory does NOT hold")
    raise typer.Exit(0 if report.holds else 1)
