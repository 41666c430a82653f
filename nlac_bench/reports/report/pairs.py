"""The table of all pairs of a comparison."""

from collections.abc import Sequence

from nlac_bench.reports.figures.figure import Cell, Table
from nlac_bench.stats.compare import Comparison
from nlac_bench.stats.compare_seeds import AlgorithmComparison
from nlac_bench.stats.estimates import Estimate
from nlac_bench.stats.tables import number, p_text

HEADER = ("A", "B", "A − B", "95 % low", "95 % high", "p", "p (Holm)", "verdict", "found with 80 %", "tasks",
          "tasks left out")  # fmt: skip


def pairs_table(results: Sequence[Comparison | AlgorithmComparison]) -> Table:
    """Return a row for each comparison: the difference with its interval, p-values and the verdict."""
    rows: list[tuple[Cell, ...]] = []
    for each in results:
        estimate = Estimate.with_interval(each.difference, each.interval)
        names = (
            (each.name_a, each.name_b)
            if isinstance(each, AlgorithmComparison)
            else (each.a.name, each.b.name)
        )
        adjusted = each.p_adjusted if isinstance(each, Comparison) else each.p_value
        rows.append((
            *names, _signed(each.difference), _signed(estimate.low), _signed(estimate.high),
            p_text(each.p_value), p_text(adjusted), each.verdict, number(each.detectable), each.tasks,
            each.left_out,
        ))  # fmt: skip
    return Table(HEADER, tuple(rows))


def _signed(value: float | None) -> str:
    return number(value, sign=True)
