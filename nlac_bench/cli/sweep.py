"""``nlac-bench sweep``: train methods × environments × seeds and compare them."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.cli.exit_codes import incomplete, resumable
from nlac_bench.cli.output import JsonFlag, console, errors, escape, escape_lines, print_json
from nlac_bench.harness.runs.configuration import ConfigError
from nlac_bench.sweep.adaptive import Stage, check_adaptive, chosen_by_verdict, play_adaptively, stage_of
from nlac_bench.sweep.file import read_sweep
from nlac_bench.sweep.play import check_started, complete, play


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
    seeds: Annotated[
        str | None,
        typer.Option(
            help="auto: add seeds in groups of three, up to those of the file, until each verdict is reached "
            "or out of reach."
        ),
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
    curves.svg into the folder. With --seeds auto, the verdicts are those of a
    group-sequential permutation test, which may be looked at after each group.

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
    if seeds not in (None, "auto"):
        raise ConfigError(f"--seeds {seeds}: expected auto; the file lists the seeds")
    if seeds is not None:
        check_adaptive(planned)
        again += " --seeds auto"
    elif report_only and chosen_by_verdict(out) and not complete(planned, out):
        raise ConfigError(
            f"--out {out}: the seeds of these runs were chosen with --seeds auto, so that other verdicts do "
            "not hold; repeat --seeds auto, or leave out --report-only to train the other seeds"
        )
    if report_only and not out.is_dir():
        raise ConfigError(
            f"--out {out}: the folder does not exist; run the sweep without --report-only first"
        )
    if report_only:
        check_started(planned, out)

    def report() -> bool:
        """Write and print the comparison of the finished runs; return whether all runs are finished."""
        from nlac_bench.sweep.report import write  # importing matplotlib takes a second

        stage = Stage(planned, {}) if seeds is None else stage_of(planned, out, against)
        path, counts = write(stage.sweep, out, against, stage.decisions)
        finished = complete(stage.sweep, out) and all(count.reason is None for count in counts)
        if as_json:
            cells = [count.to_json() for count in counts]
            print_json({"folder": str(out), "complete": finished, "comparison": str(path), "cells": cells})
        else:
            console.print(escape_lines(path.read_text()), soft_wrap=True)
        return finished

    if not report_only:
        with resumable(again, report, errors_too=False):

            def say(line: str) -> None:
                errors.print(escape(line), soft_wrap=True)

            if seeds is None:
                play(planned, out, jobs, say)
            else:
                play_adaptively(planned, out, jobs, against, say)
    if not report():
        raise incomplete("some runs have not ended or cannot be read", again)
