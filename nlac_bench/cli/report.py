"""``nlac-bench report``: one HTML file for a run, a comparison of runs or a sweep."""

from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.cli.output import JsonFlag, console, escape, print_json
from nlac_bench.errors import ConfigError


def report(
    folders: Annotated[
        list[str],
        typer.Argument(metavar="RUN…", help="Runs or a sweep's folder; 'A1,A2' are seeds of one algorithm."),
    ],
    out: Annotated[Path, typer.Option(help="The file (.html) to write; with --format, a folder.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="svg or png: write the figures and their numbers (CSV) to a folder; csv: the numbers only.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write a report: what a run, a comparison of runs or a sweep shows, as one HTML file without network.

    An existing report is replaced. No episode is played, and no file of the runs
    is imported or executed. Unfinished runs are shown as n of m.

    Examples:
      nlac-bench report runs/nlac --out report.html
      nlac-bench report runs/react runs/act --out comparison.html
      nlac-bench report runs/nlac-0,runs/nlac-1 runs/ppo-0,runs/ppo-1 \\
        --out algorithms.html
      nlac-bench report runs/nlac --format svg --out figures
    """
    from nlac_bench.reports.report.build import report_of
    from nlac_bench.reports.report.page import write_files, write_page

    if form not in (None, "svg", "png", "csv"):
        raise ConfigError(f"--format {form}: expected svg, png or csv")
    if form is None and out.suffix != ".html":
        raise ConfigError(f"--out {out}: expected the name of a file that ends with .html, or --format")
    made = report_of(folders)
    result = {"path": str(out), "verdict": made.verdict, "sections": [each.id for each in made.sections]}
    if form is None:
        write_page(made, out)
    else:
        result["files"] = [path.name for path in write_files(made, out, form)]  # type: ignore[arg-type]
    if as_json:
        print_json(result)
    else:
        console.print(escape(made.verdict), soft_wrap=True)
        console.print(f"report: {escape(str(out))}", soft_wrap=True)
