"""Measures intervals, verdicts and power by simulation: ``python -m benchmarks.simulations``.

It prints detailed tables, and with ``--docs`` writes the tables of docs/statistics.md. It measures the
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
    documented,
    sequential_seeds,
)

SECTIONS: dict[str, tuple[Callable[[int], str], int]] = {
    "success": (coverage.success_report, coverage.DRAWS),
    "pass-k": (coverage.pass_k_report, coverage.DRAWS),
    "paired": (coverage_pairs.paired_report, coverage.DRAWS),
    "verdict": (coverage_pairs.verdict_report, coverage.DRAWS),
    "unlike": (coverage_pairs.unlike_report, coverage.DRAWS),
    "power": (coverage_pairs.power_report, coverage.DRAWS),
    "detectable": (detectable.detectable_report, coverage.DRAWS),
    "algorithms": (coverage_algorithms.algorithms_report, coverage.DRAWS),
    "one algorithm": (coverage_algorithms.one_algorithm_report, 4_000),
    "boundary": (coverage_algorithms.boundary_report, 4_000),
    "worlds": (coverage_worlds.worlds_report, 2_000),
    "places": (board_places.models_report, 4_000),
    "places of algorithms": (board_places.algorithms_report, 2_000),
    "floors": (above_floors.floors_report, coverage.DRAWS),
    "sequential": (sequential_seeds.sequential_report, coverage.DRAWS),
}
"""Each section's function, and its number of samples unless ``--draws`` names another."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the sections one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, help="samples per cell (default: by section, 2,000 to 10,000)")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--only", choices=SECTIONS, help="measure only this section")
    chosen.add_argument("--docs", action="store_true", help="write the tables of docs/statistics.md")
    options = parser.parse_args(arguments)
    texts: dict[str, str] = {}
    for name, (report, draws) in SECTIONS.items():
        if options.only in (None, name):
            began = time.perf_counter()
            texts[name] = report(options.draws or draws)
            print(f"<!-- {name}: {time.perf_counter() - began:.0f} s -->\n{texts[name]}\n", flush=True)
    if options.docs:
        documented.write_page(texts)


if __name__ == "__main__":
    main()
