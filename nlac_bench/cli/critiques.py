"""``nlac-bench critiques``: print critiques of a training run and the actions that they changed."""

import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from nlac_bench.agents import methods
from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.cli.output import JsonFlag, console, escape, print_json
from nlac_bench.errors import DataError
from nlac_bench.eval.runs.critiques import CRITIQUES, read_critiques

_LINES = {
    "played": "action", "answered": "answer", "target": "backup target", "proposed": "new action",
    "future": "predicted future", "critique": "critique", "refined": "refined action",
}  # fmt: skip
_ENDS = {True: "the episode ended in success", False: "the episode ended in failure", None: "no outcome"}
_WIDTH = 400
_METHODS = " or ".join(name for name, method in methods.BUILT_IN.items() if method.keeps_critiques)


def critiques(
    folder: Annotated[Path, typer.Argument(help=f"Folder of a training run of {_METHODS}.")],
    count: Annotated[int, typer.Option(min=1, help="Number of critiques to print.")] = 5,
    iteration: Annotated[
        int | None, typer.Option(min=1, help="Print critiques of this training iteration only.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="Print critiques of this task only.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Include critiques that call the action optimal.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random choice of critiques.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Print critiques of a training run, each with its action and the refined action.

    A run stores the texts of at most kept_critiques lessons of each iteration. For nlrl, which has no
    critiques, lessons are printed in which the language values changed the action.

    Example:
      nlac-bench critiques runs/tau_retail-nlac-20260101-120000 --count 10
    """
    lessons = _selected(folder, iteration, task)
    found = [x for x in lessons if (_judges(x) if every else _objects(x))]
    drawn = random.Random(seed).sample(found, min(count, len(found)))
    if as_json:
        print_json({"critiques": len(found), "shown": [_as_dict(x) for x in drawn]})
        return
    kind = "a critique" if every else "a critique that objects to the action"
    console.print(f"{len(found)} of {len(lessons)} lessons have {kind}")
    for lesson in drawn:
        console.print(
            f"\n[bold]task {escape(lesson.task)}, trial {lesson.trial}, step {lesson.step}, "
            f"iteration {lesson.iteration}[/bold] ({_ENDS[lesson.success]})",
            soft_wrap=True,
        )
        console.print(f"  observation: {escape(_short(lesson.heard))}", soft_wrap=True)
        for name, label in _LINES.items():
            if text := getattr(lesson, name):
                console.print(f"  {label}: {escape(_short(text))}", soft_wrap=True)


def _selected(folder: Path, iteration: int | None, task: str | None) -> Sequence[CritiqueRecord]:
    """Return the stored lessons of ``iteration`` and ``task``, where they are given.

    Raises:
        DataError: there are none.
    """
    path = folder / CRITIQUES
    if not path.exists():
        raise DataError(
            f"no critiques in {folder}: {path} does not exist. Pass the folder of a run trained with "
            f"{_METHODS}; runs of earlier versions of nlac-bench do not have the file"
        )
    lessons = list(read_critiques(folder))
    if iteration is not None:
        last = max((x.iteration for x in lessons), default=0)
        lessons = [x for x in lessons if x.iteration == iteration]
        if not lessons:
            raise DataError(
                f"no critiques of --iteration {iteration} in {path}, which ends with iteration {last}"
            )
    if task is not None:
        lessons = [x for x in lessons if x.task == task]
        if not lessons:
            raise DataError(f"no critiques of --task {task!r} in {path}; leave it out to see other tasks")
    return lessons


def _judges(lesson: CritiqueRecord) -> bool:
    """Return whether the critic's answers about the action could be parsed."""
    return lesson.critique is not None or lesson.refined is not None


def _objects(lesson: CritiqueRecord) -> bool:
    """Return whether the critic preferred another action."""
    if lesson.critique is None:  # NLRL
        return lesson.refined not in (None, lesson.proposed)
    return lesson.optimal is False


def _as_dict(lesson: CritiqueRecord) -> dict[str, Any]:
    """Return the fields of ``lesson`` without the texts that it does not have."""
    return {k: v for k, v in asdict(lesson).items() if v is not None or k == "success"}


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
