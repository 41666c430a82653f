"""``nlac-bench theory``: does the language Bellman backup do what the theory says?"""

from dataclasses import asdict
from typing import Annotated

import typer

from nlac_bench.cli.output import JsonFlag, console, print_json


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

    report = check(seed)
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
