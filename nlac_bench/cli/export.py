"""``nlac-bench export``: what a run played, in the formats of other programs."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from nlac_bench.api.exporting import export_prompts
from nlac_bench.cli.options import with_options
from nlac_bench.cli.output import JsonFlag, console, escape, print_json
from nlac_bench.cli.run import RESUME_HELP
from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.configuration import RunConfig

Kind = Literal["prompts", "inspect", "atif", "eee", "csv", "parquet"]


@with_options(RunConfig, RESUME_HELP)
def export(
    kind: Annotated[Kind, typer.Argument(help="The format, described above.")],
    folder: Annotated[Path, typer.Argument(help="Folder of the run.")],
    *,
    options: dict[str, Any],
    out: Annotated[Path, typer.Option(help="The file or folder to write; files there are replaced.")],
    as_json: JsonFlag = False,
) -> None:
    """Write what a run played in the format of another program.

    inspect      a log of Inspect (--out FILE.eval or .json), for inspect view
    atif         a folder of trajectories (ATIF 1.8), one file an episode
    eee          a folder of records of Every Eval Ever
    csv, parquet a folder of tables: episodes, turns, metrics, critiques
    prompts      the tasks as rows of prompts (--out FILE.parquet or .jsonl),
                 which the environment prompts plays again

    Of a training run, inspect and atif have the episodes that nlac-bench view
    shows, with the critic's texts beside the actions: untrained, trained,
    training and validation. eee and the tables have untrained and trained.

    For prompts the environment of the run is made, so that settings may have to
    be repeated as resume does; the other kinds take no such options.

    Examples:
      nlac-bench export inspect runs/nlac --out nlac.eval
      nlac-bench export prompts runs/react --out prompts.parquet
    """
    if kind == "prompts":
        count = export_prompts(folder, out, options)
    elif given := [name for name, value in options.items() if value is not None]:
        raise ConfigError(f"--{given[0].replace('_', '-')} is an option of export prompts; leave it out")
    else:
        count = _export(kind, folder, out)
    if as_json:
        print_json({"path": str(out), "episodes": count})
    else:
        what = "rows" if kind == "prompts" else "episodes"
        console.print(f"{count} {what}: {escape(str(out))}", soft_wrap=True)


def _export(kind: Kind, folder: Path, out: Path) -> int:
    if kind == "inspect":
        from nlac_bench.bridges.exports.inspect_log import export_inspect

        return export_inspect(folder, out)
    if kind == "atif":
        from nlac_bench.bridges.exports.atif import export_atif

        return export_atif(folder, out)
    if kind == "eee":
        from nlac_bench.bridges.exports.eee import export_eee

        return export_eee(folder, out)
    from nlac_bench.bridges.exports.tables import export_tables

    return export_tables(folder, out, "csv" if kind == "csv" else "parquet")
