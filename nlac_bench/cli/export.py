"""``nlac-bench export``: what a run played, in the formats of other programs."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from nlac_bench.api.exporting import export_prompts
from nlac_bench.cli.options import with_options
from nlac_bench.cli.output import JsonFlag, console, escape, print_json
from nlac_bench.cli.run import RESUME_HELP
from nlac_bench.harness.runs.configuration import RunConfig


@with_options(RunConfig, RESUME_HELP)
def export(
    kind: Annotated[Literal["prompts"], typer.Argument(help="prompts: rows of prompts as verl takes them.")],
    folder: Annotated[Path, typer.Argument(help="Folder of the run.")],
    *,
    options: dict[str, Any],
    out: Annotated[Path, typer.Option(help="The file (.parquet or .jsonl) to write.")],
    as_json: JsonFlag = False,
) -> None:
    """Write the tasks of a run to a file for other programs.

    The environment prompts plays the file again. The environment of the run is
    made for it, so the command may have to repeat settings as resume does.

    Example:
      nlac-bench export prompts runs/react --out prompts.parquet
    """
    count = export_prompts(folder, out, options)
    if as_json:
        print_json({"path": str(out), "episodes": count})
    else:
        console.print(f"{count} rows: {escape(str(out))}", soft_wrap=True)
