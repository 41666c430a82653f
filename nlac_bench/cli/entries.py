"""``nlac-bench submit`` and ``verify``: entries of a leaderboard from run folders."""

from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.cli.output import JsonFlag, console, escape, print_json, show
from nlac_bench.harness.runs.folder import folders_of
from nlac_bench.leaderboards.entry import Relation

Replay = Annotated[
    bool, typer.Option("--replay", help="Play every action of every episode again through the environment.")
]
RepeatedEnv = Annotated[
    str | None, typer.Option(help="Repeats the environment of the runs, where it imports code.")
]


def submit(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN[,RUN…]…", help="Run folders; 'A1,A2' are seeds of one algorithm."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the entries.")],
    partial: Annotated[
        bool, typer.Option("--partial", help="Accept missing episodes or tasks; such an entry has no place.")
    ] = False,
    replay: Replay = False,
    submitter: Annotated[str | None, typer.Option(help="Who submits the entry.")] = None,
    relation: Annotated[Relation | None, typer.Option(help="Relation of the submitter to the model.")] = None,
    env: RepeatedEnv = None,
    as_json: JsonFlag = False,
) -> None:
    """Write an entry of a leaderboard for each argument, with every number derived from the episodes.

    A run is refused if episodes are missing, if its plan is not the whole split,
    if its seeds do not follow the rule, if a test task was trained on, or if its
    conditions are not those of its configuration. --replay checks the
    environment's answers to the recorded actions; it does not prove which model
    acted.

    Examples:
      nlac-bench submit runs/react --out results
      nlac-bench submit runs/nlac-0,runs/nlac-1 runs/ppo-0 --replay --out out
    """
    from nlac_bench.leaderboards.submit import derive, refuse_faults, write_entries

    entries = []
    for argument in runs:
        derived = derive(_folders(argument), replayed=replay, env=env, submitter=submitter, relation=relation)
        refuse_faults(derived, partial=partial)
        entries.append(derived.entry)
    paths = write_entries(entries, out)
    rows = [
        {
            "path": str(path),
            "entry_id": entry.entry_id,
            "board_id": entry.board_id,
            "kind": entry.kind,
            "level": entry.level,
            "warnings": list(entry.warnings),
        }
        for path, entry in zip(paths, entries, strict=True)
    ]
    if as_json:
        print_json({"entries": rows})
        return
    for row in rows:
        console.print(escape(f"{row['path']}: level {row['level']}, board {row['board_id']}"), soft_wrap=True)
        for warning in row["warnings"]:
            console.print(escape(f"  warning: {warning}"), soft_wrap=True)


def verify(
    entry: Annotated[Path, typer.Argument(help="File of the entry.")],
    run: Annotated[str, typer.Option(metavar="RUN[,RUN…]", help="Run folders that it was made from.")],
    replay: Replay = False,
    env: RepeatedEnv = None,
    as_json: JsonFlag = False,
) -> None:
    """Check an entry against the run folders that it was made from; exit with 1 if it does not hold.

    Nothing is written.

    Example:
      nlac-bench verify out/tau_retail-nlac-0a1b2c3d4e5f.json --run runs/nlac-0
    """
    from nlac_bench.leaderboards.verify import verify as verified

    result = verified(entry, _folders(run), replayed=replay, env=env)
    show(result, as_json)
    if not result.holds:
        raise typer.Exit(1)


def _folders(argument: str) -> list[Path]:
    folders = folders_of(argument)
    if not folders:
        raise ValueError(f"{argument!r} names no run folder")
    return folders
