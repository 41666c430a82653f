"""``nlac-bench score`` and ``compare``: summaries and comparisons of finished runs."""

from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.api.comparing import compare_sides
from nlac_bench.api.gating import gate_sides
from nlac_bench.cli.exit_codes import GATE_CODES
from nlac_bench.cli.output import JsonFlag, show
from nlac_bench.harness.runs.folder import RunFolder, folders_of
from nlac_bench.stats.score import PARTS, ScoreByParts, rescore
from nlac_bench.stats.summary import summarise, summary_of


def score(
    folder: Annotated[Path, typer.Argument(help="Folder of the run.")],
    by: Annotated[
        str | None,
        typer.Option(
            help="A reward part to score by, such as 'strict' (τ), or 'parts' for the mean of each; default: "
            "that of the run."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Summarise a run, or score its saved episodes by another rule.

    No episode is played, and the run's folder is not changed.

    Examples:
      nlac-bench score runs/tau_retail-react-20260101-120000 --by strict
      nlac-bench score runs/tau_retail-react-20260101-120000 --by parts
    """
    run_folder = RunFolder.open(folder)
    if by == PARTS:
        show(ScoreByParts.read(run_folder), as_json)
        return
    if by is None:
        show(summarise(run_folder), as_json)
        return
    env = f"{run_folder.conditions['env']} ({by})"
    rescored = summary_of(rescore(run_folder, by), str(folder), env, run_folder.label)
    show(rescored, as_json)


def compare(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN…", help="Runs on the same tasks; 'A1,A2,A3' are seeds of one algorithm."
        ),
    ],
    metric: Annotated[str, typer.Option(help="What is compared: success or reward.")] = "success",
    common: Annotated[
        bool,
        typer.Option(
            "--common", help="Compare the tasks that all runs have; default: refuse runs whose tasks differ."
        ),
    ] = False,
    gate: Annotated[
        Path | None,
        typer.Option(
            help="TOML file of the largest loss allowed, or smallest gain required, of A against B."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare runs task by task: print the difference with its 95 % interval, and a verdict.

    Each pair of more than two runs is compared, with Holm's correction over the
    table. To compare algorithms, give the runs of several seeds for each side,
    separated by commas; seeds and tasks are then resampled.

    --gate FILE decides by the interval of A − B whether A may replace B, in each
    environment of the runs: pass (exit code 0), fail (1) or undecided (4). FILE
    has a table \\[default], or one for each environment, with largest_loss = 0.02
    or smallest_gain = 0.05.

    Examples:
      nlac-bench compare runs/react runs/act
      nlac-bench compare runs/nlac-0,runs/nlac-1 runs/ppo-0,runs/ppo-1
    """
    sides = [folders_of(side) for side in folders]
    if gate is not None:
        report = gate_sides(sides, gate, metric=metric, common=common)
        show(report, as_json)
        raise typer.Exit(GATE_CODES[report.verdict])
    show(compare_sides(sides, metric=metric, common=common), as_json)
