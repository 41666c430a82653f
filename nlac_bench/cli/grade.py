"""``nlac-bench grade``: grade mathematical answers against gold answers."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.cli.output import JsonFlag, console, print_json, table


def grade(
    file: Annotated[
        Path, typer.Argument(help="JSON lines with the fields 'gold' and 'pred'; other fields are copied.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="File for the graded rows; default: FILE with the suffix .graded.jsonl."),
    ] = None,
    timeout: Annotated[float, typer.Option(help="CPU seconds after which a case counts as ungraded.")] = 3.0,
    workers: Annotated[int, typer.Option(help="Worker processes.", min=1)] = 1,
    as_json: JsonFlag = False,
) -> None:
    """Grade mathematical answers: true, false, or null (ungraded) with the reason.

    If the rows have a field 'expected' (true or false), the accuracy, the false
    positives and the false negatives of the grader are printed too; an ungraded
    case counts as false.

    Example:
      nlac-bench grade answers.jsonl --out graded.jsonl
    """
    from nlac_bench.simulators.math_grader import grade_file

    out = out or file.with_suffix(".graded.jsonl")
    summary = grade_file(file, out, workers=workers, timeout_s=timeout)
    if as_json:
        print_json({**summary, "out": str(out)})
        return
    rows = [[key, round(value, 4) if isinstance(value, float) else value] for key, value in summary.items()]
    console.print(table(f"{file} → {out}", ["", "figure"], rows))
    sys.stdout.flush()
