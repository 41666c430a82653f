"""Counts how often the critic of a run on ``shop_worlds`` names the procedure that the run's world requires.

``python -m workshop.named_procedures RUN … [--svg FILE]`` prints and draws for each iteration the share of
right futures among those that name one of the kind's four procedures, as those of ``tiny-worlds`` do
("right: cancel, mistake, at once"). A critic that guesses is right in .25.
"""

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nlac_bench.envs.shop_worlds.procedures import KINDS, Procedure
from nlac_bench.envs.shop_worlds.worlds import procedures_of
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.critiques import read_critiques
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.reports.figures.figure import GREY, WIDTH, Cell, Figure, Table, label
from nlac_bench.reports.figures.labels import EndLabel, label_ends
from nlac_bench.reports.pages.svg import PALETTE
from nlac_bench.training.curve import rows_of
from workshop.worlds_corpus import procedures_by_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

GUESSING = 0.25


@dataclass(frozen=True)
class Named:
    """The futures of an iteration: how many name a procedure, and how many of those the right one."""

    steps: float
    """Gradient steps at the end of the iteration."""
    futures: int
    right: int


def procedure_in(text: str | None, part: Literal["right", "by"]) -> tuple[str, Procedure] | None:
    """Return the kind of request and the procedure that a part of a future names; None if it names none.

    The part ``right`` is the procedure that the critic believes in, ``by`` the one that the agent follows.
    """
    match = re.search(rf"\b{part}: ([^;\n]*)", text or "")
    words = "" if match is None else match[1].strip()
    for kind in KINDS:
        procedure = procedures_by_words(kind).get(words)
        if procedure is not None:
            return kind, procedure
    return None


def named(world: int, text: str | None, part: Literal["right", "by"] = "right") -> bool | None:
    """Return whether ``text`` names a procedure that ``world`` requires; None if it names none."""
    found = procedure_in(text, part)
    return None if found is None else procedures_of(world)[found[0]] == found[1]


def by_iteration(run: RunFolder) -> list[Named]:
    """Return the counts of each iteration, oldest first; iterations without a named procedure are left out.

    Raises:
        NlacBenchError: no future names a procedure, or the run's world has no fixed ones.
    """
    level = run.conditions["env_args"].get("level")
    if run.conditions["env"] != "shop_worlds" or run.world is None or level == "conditional":
        raise NlacBenchError(f"{run.path} plays no world of shop_worlds with one procedure for each kind")
    naming, right = Counter[int](), Counter[int]()
    for record in read_critiques(run.path):
        result = named(run.world, record.future)
        naming[record.iteration] += result is not None
        right[record.iteration] += result is True
    if not naming.total():
        raise NlacBenchError(
            f"{run.path} has no futures that name a procedure; is its critic one in language?"
        )
    steps = {row["iteration"]: row["gradient_steps_total"] for row in rows_of(run, "iteration")}
    return [Named(steps[i], naming[i], right[i]) for i in sorted(naming) if naming[i] and i in steps]


def drawn(counts: Mapping[tuple[str, str], Sequence[Named]]) -> Figure:
    """Return the shares of right futures against gradient steps: a line for each world, in the colour of its
    method, whose label is at the mean of the ends."""
    methods = list(dict.fromkeys(method for method, _ in counts))

    def draw(new: "type[Canvas]") -> "Canvas":
        figure = new(figsize=(WIDTH, 3.2))
        panel = figure.subplots(gridspec_kw={"left": 0.07, "right": 0.8, "bottom": 0.15, "top": 0.95})
        panel.set_ylim(0, 1)
        panel.set(xlabel="gradient steps", ylabel="futures with the right procedure")
        panel.axhline(GUESSING, color=GREY, linestyle="--", linewidth=0.8)
        ends = []
        for method, colour in zip(methods, cycle(PALETTE), strict=False):
            runs = [run for (name, _), run in counts.items() if name == method]
            for run in runs:
                shares = [each.right / each.futures for each in run]
                panel.plot([each.steps for each in run], shares, color=colour, linewidth=1)
            last = [run[-1] for run in runs]
            height = sum(each.right / each.futures for each in last) / len(last)
            ends.append(EndLabel(label(method), max(each.steps for each in last), height, colour))
        panel.set_xlim(0, max(end.x for end in ends))
        ends.append(EndLabel("guessing", panel.get_xlim()[1], GUESSING, GREY))
        label_ends(figure, {panel: ends})
        return figure

    rows: list[tuple[Cell, ...]] = [
        (*cell, each.steps, each.futures, each.right / each.futures)
        for cell, run in counts.items()
        for each in run
    ]
    header = ("method", "world", "gradient steps", "futures", "right")
    return Figure("critic", "Futures that name the world's procedure", Table(header, tuple(rows)), draw)


def method_of(run: RunFolder) -> str:
    """Return the name that a sweep gave to the method: its folder is ``<method>-<seed>``."""
    return run.path.name.rpartition("-")[0] or run.label


def main(words: Sequence[str] | None = None) -> None:
    """Print the table of the runs that are named on the command line, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--svg", type=Path, help="the file for the drawing")
    arguments = parser.parse_args(words)
    try:
        runs = [RunFolder.open(path) for path in arguments.runs]
        figure = drawn({(method_of(run), str(run.world)): by_iteration(run) for run in runs})
    except NlacBenchError as error:
        parser.error(str(error))
    print(figure.table)
    if arguments.svg is not None:
        figure.save(arguments.svg, "svg")


if __name__ == "__main__":
    main()
