"""``nlac-bench sweep``: methods × environments × seeds, and one comparison."""

from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.cli.output import JsonFlag, console, errors, escape, print_json
from nlac_bench.eval.runs.configuration import ConfigError
from nlac_bench.eval.sweep.file import read_sweep
from nlac_bench.eval.sweep.play import complete, play


def sweep(
    config: Annotated[Path, typer.Argument(help="A TOML file; configs/sweeps has examples.")],
    out: Annotated[Path, typer.Option(help="Folder of all runs.")],
    jobs: Annotated[int, typer.Option(min=1, help="Runs at once; they share the cores.")] = 1,
    against: Annotated[str, typer.Option(help="The method that every other one is compared with.")] = "nlac",
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Play nothing; compare what is finished.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Train several methods on several environments with several seeds, and compare them.

    First one seed of everything, then the next. The same command goes on with what was interrupted; finished
    runs are left alone. Writes comparison.md, comparison.json and curves.svg into the folder.

    Examples:

      nlac-bench sweep configs/sweeps/miniature.toml --out runs/miniature --jobs 2

      nlac-bench sweep configs/sweeps/miniature.toml --out runs/miniature --report-only
    """
    planned = read_sweep(config)
    if against not in planned.methods:
        raise ConfigError(f"--against {against}: not among the methods {', '.join(planned.methods)}")
    if not report_only:
        play(planned, out, jobs, lambda line: errors.print(escape(line), soft_wrap=True))
    elif not out.is_dir():
        raise ConfigError(f"--out {out}: there is no such folder to report of; play the sweep first")
    from nlac_bench.eval.sweep.report import write  # matplotlib takes a second

    path = write(planned, out, against)
    finished = complete(planned, out)
    if as_json:
        print_json({"folder": str(out), "complete": finished, "comparison": str(path)})
    else:
        console.print(escape(path.read_text()), soft_wrap=True)
    raise typer.Exit(0 if finished else 3)
