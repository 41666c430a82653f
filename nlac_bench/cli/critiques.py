"""``nlac-bench critiques``: print critiques of a training run and the actions that they changed."""

import heapq
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.agents import methods
from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.cli.output import JsonFlag, console, escape, print_json
from nlac_bench.errors import DataError
from nlac_bench.harness.runs.critiques import CRITIQUES, read_critiques

_LINES = {
    "played": "action", "answered": "answer", "target": "backup target", "proposed": "new action",
    "future": "predicted future", "critique": "critique", "refined": "refined action",
}  # fmt: skip
_ENDS = {True: "the episode ended in success", False: "the episode ended in failure", None: "no outcome"}
_WIDTH = 400
*_FIRST, _LAST = (name for name, method in methods.BUILT_IN.items() if method.keeps_critiques)
_METHODS = f"{', '.join(_FIRST)} or {_LAST}"


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

    A run stores the texts of at most kept_critiques lessons of each iteration.
    For nlrl, which has no critiques, lessons are printed in which the language
    values changed the action.

    Example:
      nlac-bench critiques runs/tau_retail-nlac-20260101-120000 --count 10
    """
    path = folder / CRITIQUES
    if not path.exists():
        raise DataError(
            f"no critiques in {folder}: {path} does not exist. Pass the folder of a run trained with "
            f"{_METHODS}; runs of earlier versions of nlac-bench do not have the file"
        )
    selection = _Selection(iteration, task, _judges if every else _objects)
    rng = random.Random(seed)
    selected = filter(selection.includes, read_critiques(folder))
    drawn = heapq.nsmallest(count, selected, key=lambda lesson: rng.random())  # the file may be large
    selection.check(path)
    if as_json:
        print_json({"critiques": selection.selected, "shown": [_as_dict(x) for x in drawn]})
        return
    kind = "a critique" if every else "a critique that objects to the action"
    console.print(f"{selection.selected} of {selection.lessons} lessons have {kind}")
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


@dataclass
class _Selection:
    """Selects lessons and counts them."""

    iteration: int | None
    task: str | None
    wanted: Callable[[CritiqueRecord], bool]
    lessons: int = 0
    """Number of lessons of the iteration and task."""
    selected: int = 0
    """Number of those that are wanted."""
    last: int = 0
    """The newest iteration of the file."""

    def includes(self, lesson: CritiqueRecord) -> bool:
        """Return whether ``lesson`` is selected."""
        self.last = max(self.last, lesson.iteration)
        if self.iteration not in (None, lesson.iteration) or self.task not in (None, lesson.task):
            return False
        self.lessons += 1
        self.selected += self.wanted(lesson)
        return self.wanted(lesson)

    def check(self, path: Path) -> None:
        """Raise DataError if the file has no lesson of the iteration and task."""
        given = [f"--iteration {self.iteration}"] if self.iteration is not None else []
        given += [f"--task {self.task!r}"] if self.task is not None else []
        if given and not self.lessons:
            raise DataError(
                f"no critiques of {' and '.join(given)} in {path}, whose last iteration is {self.last}; "
                "choose another value, or leave out the option"
            )


def _judges(lesson: CritiqueRecord) -> bool:
    """Return whether the critic's answers about the action could be parsed."""
    return lesson.critique is not None or lesson.refined is not None


def _objects(lesson: CritiqueRecord) -> bool:
    """Return whether the critic preferred another action."""
    if lesson.critique is None:  # NLRL
        return lesson.refined not in (None, lesson.proposed)
    return lesson.optimal is False


def _as_dict(lesson: CritiqueRecord) -> dict[str, object]:
    """Return the fields of ``lesson`` without the texts that it does not have."""
    return {k: v for k, v in asdict(lesson).items() if v is not None or k == "success"}


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
