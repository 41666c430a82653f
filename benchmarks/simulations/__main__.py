"""Do the intervals cover what they claim? By simulation: ``python -m benchmarks.simulations``.

Prints the Markdown tables of docs/statistics.md; takes a few minutes on one core. The functions that are
measured are those that runs use; only the samples are made up (``task_models.py``).
"""

import argparse
import time
from collections.abc import Callable, Sequence

from benchmarks.simulations import coverage, coverage_pairs


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, section by section."""
    sections: dict[str, Callable[[int], str]] = {
        "success": coverage.success_report,
        "pass-k": coverage.pass_k_report,
        "paired": coverage_pairs.paired_report,
        "verdict": coverage_pairs.verdict_report,
        "unlike": coverage_pairs.unlike_report,
        "power": coverage_pairs.power_report,
        "algorithms": coverage_pairs.algorithms_report,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--draws", type=int, default=coverage.DRAWS, help="samples a cell (default %(default)s)"
    )
    parser.add_argument("--only", choices=sections, help="measure one section")
    chosen = parser.parse_args(arguments)
    for name, report in sections.items():
        if chosen.only in (None, name):
            began = time.perf_counter()
            text = report(chosen.draws)
            print(f"<!-- {name}: {time.perf_counter() - began:.0f} s -->\n{text}\n", flush=True)


if __name__ == "__main__":
    main()
