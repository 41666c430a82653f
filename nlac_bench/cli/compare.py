"""``nlac-bench score`` and ``compare``: summaries and comparisons of finished runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.cli.output import JsonFlag, console, escape_lines, print_json, show
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.stats.compare import Comparison, compare_all, comparison_table
from nlac_bench.stats.compare import compare as compare_two
from nlac_bench.stats.compare_seeds import AlgorithmComparison, compare_algorithms
from nlac_bench.stats.pairing import MeasuredRun, TaskChoice
from nlac_bench.stats.score import PARTS, ScoreByParts, rescore
from nlac_bench.stats.summary import summarise, summary_of
from nlac_bench.training.costs import CostComparison, RunCost


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
    conditions, subject = run_folder.conditions, run_folder.subject
    rescored = summary_of(
        rescore(run_folder, by), str(folder), f"{conditions['env']} ({by})", subject["agent"]
    )
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
    as_json: JsonFlag = False,
) -> None:
    """Compare runs task by task: print the difference with its 95 % interval, and a verdict.

    Each pair of more than two runs is compared, with Holm's correction over the
    table. To compare algorithms, give the runs of several seeds for each side,
    separated by commas; seeds and tasks are then resampled.

    Examples:
      nlac-bench compare runs/react runs/act
      nlac-bench compare runs/nlac-0,runs/nlac-1 runs/ppo-0,runs/ppo-1
    """
    tasks: TaskChoice = "common" if common else "all"
    if len(folders) < 2:
        raise ValueError(f"a comparison needs at least two runs, got {len(folders)}")
    if any("," in side for side in folders):
        _compare_seeds(folders, metric, tasks, as_json)
        return
    runs = [MeasuredRun.read(folder) for folder in folders]
    if len(runs) == 2:
        comparison = compare_two(*runs, metric=metric, tasks=tasks)  # type: ignore[arg-type]
        _show(comparison, [[run] for run in runs], as_json)
        return
    table = compare_all(runs, metric=metric, tasks=tasks)  # type: ignore[arg-type]
    if as_json:
        print_json({"comparisons": [each.to_json() for each in table]})
    else:
        console.print(escape_lines(comparison_table(table)), soft_wrap=True)


def _compare_seeds(folders: list[str], metric: str, tasks: TaskChoice, as_json: bool) -> None:
    if len(folders) != 2:
        raise ValueError(f"algorithms are compared in pairs: expected two sides, got {len(folders)}")
    sides = [[MeasuredRun.read(folder) for folder in side.split(",") if folder] for side in folders]
    names = [side if len(side) < 60 else f"{side[:57]}…" for side in folders]
    comparison = compare_algorithms(*sides, name_a=names[0], name_b=names[1], metric=metric, tasks=tasks)  # type: ignore[arg-type]
    _show(comparison, sides, as_json)


def _show(
    comparison: Comparison | AlgorithmComparison, sides: Sequence[Sequence[MeasuredRun]], as_json: bool
) -> None:
    """Print a comparison with the costs of both sides."""
    a, b = ([RunCost.read(RunFolder.open(run.name), run.outcomes) for run in side] for side in sides)
    costs = CostComparison(a, b)
    if as_json:
        print_json({**comparison.to_json(), **costs.to_json()})
    else:
        console.print(escape_lines(f"{comparison.to_text()}\n\n{costs.to_text()}"), soft_wrap=True)
