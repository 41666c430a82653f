"""Measures the coverage of the confidence intervals by simulation: ``python -m benchmarks.simulations``.

It prints the Markdown tables of docs/statistics.md and takes a few minutes on one core. It measures the
functions that runs use; only the samples are simulated (``task_models.py``).
"""

import argparse
import time
from collections.abc import Callable, Sequence

from benchmarks.simulations import (
    above_floors,
    board_places,
    coverage,
    coverage_algorithms,
    coverage_pairs,
    coverage_worlds,
    detectable,
    sequential_seeds,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the sections one after the other."""
    sections: dict[str, Callable[[int], str]] = {
        "success": coverage.success_report,
        "pass-k": coverage.pass_k_report,
        "paired": coverage_pairs.paired_report,
        "verdict": coverage_pairs.verdict_report,
        "unlike": coverage_pairs.unlike_report,
        "power": coverage_pairs.power_report,
        "detectable": detectable.detectable_report,
        "algorithms": coverage_algorithms.algorithms_report,
        "one algorithm": coverage_algorithms.one_algorithm_report,
        "boundary": coverage_algorithms.boundary_report,
        "worlds": coverage_worlds.worlds_report,
        "places": board_places.models_report,
        "places of algorithms": board_places.algorithms_report,
        "floors": above_floors.floors_report,
        "sequential": sequential_seeds.sequential_report,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--draws", type=int, default=coverage.DRAWS, help="samples per cell (default %(default)s)"
    )
    parser.add_argument("--only", choices=sections, help="measure only this section")
    chosen = parser.parse_args(arguments)
    for name, report in sections.items():
        if chosen.only in (None, name):
            began = time.perf_counter()
            text = report(chosen.draws)
            print(f"<!-- {name}: {time.perf_counter() - began:.0f} s -->\n{text}\n", flush=True)


if __name__ == "__main__":
    main()
