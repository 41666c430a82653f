"""``nlac-bench sweep``: train methods × environments × seeds and compare them."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.cli.exit_codes import incomplete, resumable
from nlac_bench.cli.output import JsonFlag, console, errors, escape, escape_lines, print_json
from nlac_bench.harness.runs.configuration import ConfigError
from nlac_bench.sweep.file import read_sweep
from nlac_bench.sweep.play import complete, play


def sweep(
    config: Annotated[Path, typer.Argument(help="A TOML file, such as configs/sweeps/miniature.toml.")],
    out: Annotated[Path, typer.Option(help="Folder for all runs and the comparison.")],
    jobs: Annotated[
        int, typer.Option(min=1, help="Number of runs at the same time; they share the cores.")
    ] = 1,
    against: Annotated[
        str | None,
        typer.Option(help="The method that the others are compared with; default: nlac, or the first."),
    ] = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Play nothing; compare the finished runs.")
    ] = False,
    stop_without_signal: Annotated[
        bool,
        typer.Option(
            "--stop-without-signal",
            help="End a training after three successive iterations whose gradients were 0.",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Train several methods on several environments with several seeds, and compare them.

    The first seed of every method and environment is played first, then the
    second, and so on. The same command continues an interrupted sweep; finished
    runs are not repeated. The command writes comparison.md, comparison.json and
    curves.svg into the folder.

    Examples:
      nlac-bench sweep configs/sweeps/miniature.toml --out runs/sweep --jobs 2
      nlac-bench sweep configs/sweeps/miniature.toml --out runs/sweep \\
        --report-only
    """
    planned = read_sweep(config)
    again = f"nlac-bench sweep {shlex.quote(str(config))} --out {shlex.quote(str(out))} --jobs {jobs}"
    if stop_without_signal:
        planned = replace(planned, train={**planned.train, "stop_without_signal": True})
        again += " --stop-without-signal"
    if against is None:
        against = "nlac" if "nlac" in planned.methods else planned.methods[0]
    else:
        again += f" --against {shlex.quote(against)}"
    if against not in planned.methods:
        raise ConfigError(f"--against {against}: the sweep's methods are {', '.join(planned.methods)}")
    if report_only and not out.is_dir():
        raise ConfigError(
            f"--out {out}: the folder does not exist; run the sweep without --report-only first"
        )

    def report() -> bool:
        """Write and print the comparison of the finished runs; return whether all runs are finished."""
        from nlac_bench.sweep.report import write  # importing matplotlib takes a second

        path, counts = write(planned, out, against)
        finished = complete(planned, out)
        if as_json:
            cells = [count.to_json() for count in counts]
            print_json({"folder": str(out), "complete": finished, "comparison": str(path), "cells": cells})
        else:
            console.print(escape_lines(path.read_text()), soft_wrap=True)
        return finished

    if not report_only:
        with resumable(again, report, errors_too=False):
            play(planned, out, jobs, lambda line: errors.print(escape(line), soft_wrap=True))
    if not report():
        raise incomplete("some runs have not ended", again)
