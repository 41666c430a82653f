"""Counts how often the refiner of a run on ``shop_worlds`` repeats a mistake that the critic has found.

``python -m workshop.kept_mistakes RUN …`` reads the calls that the policy proposed whose own arguments break
the world's procedure: the reason of a cancellation, or the payment method of a return, an exchange or a
change of items. Of those whose future names the world's procedure and whose critique objects, it counts the
refined actions that mend the argument, keep it, or are another action (or cannot be read).
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.envs.shop_worlds.procedures import DIFFERENCE, KIND_OF_TOOL, KINDS, REASON, REFUND, Evidence
from nlac_bench.envs.shop_worlds.worlds import procedures_of
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.critiques import read_critiques
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.rollout.engines.tool_calls import parse_tool_calls
from nlac_bench.stats.tables import render_table
from workshop.named_procedures import named

ITERATIONS = 5
"""Number of iterations at the start and at the end of a run that are counted."""
Found: TypeAlias = Literal["right argument", "not found", "mended", "kept", "other action"]


def argument_of(action: str | None) -> tuple[str, str] | None:
    """Return the kind of request and the option that the arguments of a call take; None if they take none.

    A payment method that is no gift card is taken for that of the order.
    """
    _, calls = parse_tool_calls(action or "")
    kind = KIND_OF_TOOL.get(calls[0].name) if len(calls) == 1 else None
    if kind is None:
        return None
    choice = KINDS[kind].choices[0]
    try:
        arguments = json.loads(calls[0].arguments)
        taken = choice.taken(Evidence(arguments)) if choice in (REASON, REFUND, DIFFERENCE) else None
    except (ValueError, KeyError, TypeError):
        return None
    if taken is None and choice in (REFUND, DIFFERENCE):
        taken = "original"
    return None if taken is None else (kind, taken)


def found(world: int, record: CritiqueRecord) -> Found | None:
    """Return what became of a proposed call; None if its arguments take no option."""
    argument = argument_of(record.proposed)
    if argument is None:
        return None
    kind, option = argument
    if option == procedures_of(world)[kind][0]:
        return "right argument"
    if named(world, record.future) is not True or record.optimal is not False:
        return "not found"
    refined = argument_of(record.refined)
    if refined is None or refined[0] != kind:
        return "other action"
    return "kept" if refined[1] == option else "mended"


def counts_of(world: int, records: Iterable[CritiqueRecord]) -> Mapping[str, Counter[Found]]:
    """Return the counts of the first and of the last iterations."""
    known = [(record.iteration, result) for record in records if (result := found(world, record))]
    iterations = sorted({iteration for iteration, _ in known})
    return {
        name: Counter(result for iteration, result in known if iteration in chosen)
        for name, chosen in (("first", iterations[:ITERATIONS]), ("last", iterations[-ITERATIONS:]))
    }


def table(runs: Sequence[RunFolder]) -> str:
    """Return the counts of each run.

    Raises:
        NlacBenchError: a run was not played in a world of ``shop_worlds``, or has no critiques.
    """
    lines = []
    for run in runs:
        if run.world is None:
            raise NlacBenchError(f"{run.path} was not played in a world of shop_worlds")
        for name, counts in counts_of(run.world, read_critiques(run.path)).items():
            mended, kept, other = (counts[each] for each in ("mended", "kept", "other action"))
            wrong = counts["not found"] + mended + kept + other
            cells = [counts["right argument"] + wrong, wrong, mended + kept + other, mended, kept, other]
            lines.append([run.path.name, name, *map(str, cells)])
    header = ["run", "iterations", "calls", "wrong argument", "found by the critic", "mended", "kept"]
    return render_table([*header, "other action"], lines)


def main(words: Sequence[str] | None = None) -> None:
    """Print the table of the runs that are named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    arguments = parser.parse_args(words)
    try:
        print(table([RunFolder.open(path) for path in arguments.runs]))
    except NlacBenchError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
