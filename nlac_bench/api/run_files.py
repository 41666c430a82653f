"""Writes the learning curve and the report of a run that ends. A failure does not fail the run."""

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path

from nlac_bench.api.console import errors, escape
from nlac_bench.harness.measure.prepare import Prepared

REPORT = "report.html"


def write_run_files(prepared: Prepared, folder: Path, *, curve: bool = False) -> dict[str, str | None]:
    """Play the floors and the oracle, and write ``report.html`` and, with ``curve``, ``curve.svg``.

    Modules are imported inside the blocks whose errors are caught.

    Returns:
        The paths by the names ``report`` and ``curve``; None for a file that could not be written; standard
        error gives the reason.
    """
    written: dict[str, str | None] = {"curve": None} if curve else {}
    written["report"] = None
    path = folder / REPORT
    again = shlex.join(["nlac-bench", "report", str(folder), "--out", str(path)])
    with _forgiven("the floors and the oracle were not played"):
        from nlac_bench.reports.report.references import play_references

        play_references(prepared, folder)
    if curve:
        with _forgiven("curve.svg was not written"):
            from nlac_bench.reports.figures.training_curve import draw
            from nlac_bench.reports.report.training import stored_reference_lines

            written["curve"] = str(draw(folder, stored_reference_lines(folder)))
    with _forgiven(f"{REPORT} was not written", f"; to write it: {again}"):
        from nlac_bench.reports.report.build import run_report
        from nlac_bench.reports.report.page import write_page

        write_page(run_report(folder), path)
        written["report"] = str(path)
    return written


@contextlib.contextmanager
def _forgiven(what: str, advice: str = "") -> Iterator[None]:
    """Print an error inside the block on standard error; the results of the run are on disk already."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        why = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error) or type(error).__name__
        errors.print(escape(f"{what}: {why}{advice}"), soft_wrap=True)
