"""``nlac-bench critiques``: print critiques of a training run and the actions that they changed."""

import random
from pathlib import Path
from typing import Annotated, Any

import typer

from nlac_bench.agents import methods
from nlac_bench.agents.nlac.replay import Replay
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.cli.output import JsonFlag, console, escape, print_json
from nlac_bench.errors import DataError

_LINES = {
    "played": "action", "target": "backup target", "proposed": "new action", "future": "predicted future",
    "critique": "critique", "refined": "refined action",
}  # fmt: skip
_WIDTH = 400
_METHODS = " or ".join(name for name, method in methods.BUILT_IN.items() if method.keeps_critiques)


def critiques(
    folder: Annotated[Path, typer.Argument(help=f"Folder of a training run of {_METHODS}.")],
    count: Annotated[int, typer.Option(min=1, help="Number of critiques to print.")] = 5,
    every: Annotated[
        bool, typer.Option("--all", help="Include critiques that call the action optimal.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random choice of critiques.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Print critiques of a training run, each with its action and the refined action.

    A run stores only the newest critique of each transition.

    Example:
      nlac-bench critiques runs/tau_retail-nlac-20260101-120000 --count 10
    """
    path = folder / "checkpoints" / "last" / "replay.jsonl.gz"
    if not path.exists():
        raise DataError(
            f"no critiques in {folder}: {path} does not exist. Pass the folder of a run trained with "
            f"{_METHODS}"
        )
    replay = Replay()
    replay.load(path)
    found = [t for t in replay.items if "critique" in t.notes and (every or t.notes.get("optimal") is False)]
    drawn = random.Random(seed).sample(found, min(count, len(found)))
    if as_json:
        print_json({"critiques": len(found), "shown": [_as_dict(t) for t in drawn]})
        return
    kind = "a critique" if every else "a critique that objects to the action"
    console.print(f"{len(found)} of {len(replay.items)} transitions have {kind}")
    for transition in drawn:
        shown = _as_dict(transition)
        console.print(
            f"\n[bold]task {escape(shown['task'])}, step {transition.step}[/bold] "
            f"(the episode ended in {'success' if transition.success else 'failure'})",
            soft_wrap=True,
        )
        console.print(f"  observation: {escape(_short(transition.state.observation))}", soft_wrap=True)
        for name, label in _LINES.items():
            if shown.get(name):
                console.print(f"  {label}: {escape(_short(str(shown[name])))}", soft_wrap=True)


def _as_dict(transition: Transition) -> dict[str, Any]:
    return {
        "task": transition.task_id,
        "step": transition.step,
        "success": transition.success,
        "heard": transition.state.observation,
        "played": transition.action,
        **transition.notes,
    }


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
