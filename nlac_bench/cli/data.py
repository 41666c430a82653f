"""``nlac-bench data``: which data there are, getting them, checking them."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from nlac_bench.cli.exit_codes import resumable
from nlac_bench.cli.output import JsonFlag, console, errors, escape, print_json, table
from nlac_bench.envs import fetch as fetching
from nlac_bench.envs.datasets import DATASETS, official_folder
from nlac_bench.errors import DataError

app = typer.Typer(no_args_is_help=True, help="Public data sets: list them, fetch them, verify them.")
Name = Annotated[str, typer.Argument(help="math, tau or twenty_questions")]


def _folder_or_none(name: str) -> Path | None:
    try:
        return official_folder(name)
    except DataError:
        return None


@app.command("list")
def list_(as_json: JsonFlag = False) -> None:
    """List the data sets, their licences, and whether they are here.

    Every environment also has embedded data, which need no download.
    """
    rows: list[dict[str, Any]] = []
    for spec in DATASETS.values():
        folder = _folder_or_none(spec.name)
        rows.append(
            {
                "name": spec.name,
                "title": spec.title,
                "licence": spec.licence,
                "source": spec.source,
                "note": spec.note,
                "folder": str(folder) if folder else None,
                "files": dict(spec.files),
            }
        )
    if as_json:
        print_json({"datasets": rows})
        return
    console.print(
        table(
            "data sets",
            ["name", "what", "licence", "here"],
            [[r["name"], r["title"], r["licence"], r["folder"] or f"no: {r['note']}"] for r in rows],
        )
    )


@app.command()
def fetch(
    name: Name,
    origin: Annotated[
        str | None,
        typer.Option("--from", help="A folder or http(s) address with the files; for tau also 'installed'."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Put a data set into the cache: hashes checked, resumable, all or nothing.

    Examples:

      nlac-bench data fetch tau                          from its repository, at a pinned commit

      nlac-bench data fetch tau --from installed         from an installed tau_bench, read as data

      nlac-bench data fetch math --from ~/data/math      from a folder
    """
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=errors, disable=not sys.stderr.isatty()) as bar:
        tasks: dict[str, Any] = {}

        def progress(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bar.add_task(file, total=total)
            bar.update(tasks[file], completed=done, total=total)

        again = f"nlac-bench data fetch {name}" + (f" --from {shlex.quote(origin)}" if origin else "")
        with resumable(again, errors_too=False):
            folder = fetching.fetch(name, origin, progress)
    if as_json:
        print_json({"name": name, "folder": str(folder)})
    else:
        console.print(f"{name}: {folder}", soft_wrap=True)


@app.command()
def verify(
    name: Name,
    data: Annotated[
        Path | None, typer.Option(help="The data set's folder; default: where 'official' is found.")
    ] = None,
    expected: Annotated[
        Path | None, typer.Option(help="tau: recorded calls (.jsonl or .jsonl.gz) to replay and compare.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="tau: 'installed' plays the installed tau_bench beside this engine.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check a data set; exit status 0 only when all of it is as it should be.

    Examples:

      nlac-bench data verify math                                      hashes

      nlac-bench data verify tau --expected expected_sample.jsonl      observations, hashes, rewards

      nlac-bench data verify tau --against installed                   both engines side by side
    """
    folder = data or official_folder(name)
    if expected is None and against is None:
        _verify_hashes(name, folder, as_json)
        return
    if name != "tau":
        raise typer.BadParameter(f"--expected and --against are for data set 'tau', not {name!r}")
    if expected is not None and against is not None:
        raise typer.BadParameter("--expected and --against are two different checks; pass one of them")
    report: Any
    if expected is not None:
        from nlac_bench.envs.tau.verification.recorded import verify_expected

        report = verify_expected(folder, expected)
    elif against == "installed":
        from nlac_bench.envs.tau.verification.side_by_side import verify_against_installed

        report = verify_against_installed(folder)
    else:
        raise typer.BadParameter(f"--against takes 'installed', not {against!r}")
    result = report.as_dict()
    if as_json:
        print_json(result)
    else:
        counts = [(what, c["matched"], c["total"]) for what, c in result.items() if isinstance(c, dict)]
        console.print(table("τ-bench replay", ["what", "matched", "total"], [list(row) for row in counts]))
        for difference in result.get("differences", []):
            console.print(escape(str(difference)), soft_wrap=True)
    raise typer.Exit(0 if report.ok else 1)


def _verify_hashes(name: str, folder: Path, as_json: bool) -> None:
    rows = fetching.verify(name, folder)
    ok = all(row["ok"] for row in rows)
    if as_json:
        print_json({"name": name, "folder": str(folder), "ok": ok, "files": rows})
    else:
        lines = [
            [r["file"], "ok" if r["ok"] else f"altered: {r['found']}" if r["found"] else "missing"]
            for r in rows
        ]
        console.print(table(f"{name} in {folder}", ["file", "sha256"], lines))
    raise typer.Exit(0 if ok else 1)
