"""``nlac-bench leaderboard``: render boards from entries; print the schema of an entry."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nlac_bench.cli.exit_codes import REFUSED
from nlac_bench.cli.output import JsonFlag, console, errors, escape, print_json

app = typer.Typer(no_args_is_help=True)

DIFFERS = 1


@app.command()
def build(
    results: Annotated[Path, typer.Option(help="Folder with entries, as `nlac-bench submit` writes them.")],
    out: Annotated[Path, typer.Option(help="Folder that the boards are written to.")],
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if the files in --out differ.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Render all boards: HTML, Markdown and CSV for each, and an index.

    Entries share a board if their conditions and their kind are equal. If any
    file of --results is rejected, nothing is written and the exit code is 2; with
    --json the object is printed all the same, with the reasons.

    Example:
      nlac-bench leaderboard build --results results --out boards
    """
    from nlac_bench.leaderboards.boards import collect
    from nlac_bench.reports.boards.build import board_files, differing, render_boards, write_boards
    from nlac_bench.reports.boards.view import BoardView

    collected = collect(results)
    if not collected.boards and not collected.rejected:
        raise ValueError(f"{results} has no entry; make entries with nlac-bench submit RUN --out {results}")
    rejected = [{"path": str(each.path), "reason": each.reason} for each in collected.rejected]
    views = [BoardView(board) for board in collected.boards]
    files: dict[str, str] = {} if rejected else render_boards(collected.boards)
    changed = differing(files, out) if check and not rejected else []
    if not check and not rejected:
        write_boards(files, out)
    for each in rejected:
        errors.print(escape(f"rejected: {each['path']}: {each['reason']}"), soft_wrap=True)
    for name in changed:
        errors.print(escape(f"differs: {out / name}"), soft_wrap=True)
    if as_json:
        print_json({"boards": [_listed(view, out, board_files(view.stem), bool(rejected)) for view in views],
                    "rejected": rejected})  # fmt: skip
    elif not rejected:
        for view in views:
            console.print(escape(f"{view.title}: {view.summary}"), soft_wrap=True)
            console.print(escape(f"  {out / view.stem}.html"), soft_wrap=True)
    if rejected:
        raise typer.Exit(REFUSED)
    if changed:
        errors.print("run the command without --check to write these files", soft_wrap=True)
        raise typer.Exit(DIFFERS)


@app.command()
def schema() -> None:
    """Print the JSON Schema of an entry."""
    from nlac_bench.leaderboards.entry import Entry

    print_json(Entry.model_json_schema())


def _listed(view: Any, out: Path, names: list[str], rejected: bool) -> dict[str, Any]:
    """Return the JSON object of a board; no files if nothing was rendered."""
    return view.data | {"files": [] if rejected else [str(out / name) for name in names]}
