"""Counts what the critic of runs on ``shop_worlds`` says of calls whose own argument it can judge.

``python -m workshop.kept_mistakes RUN …`` reads the calls that the policy proposed whose own arguments
follow or break the world's procedure: the reason of a cancellation, or the payment method of a return, an
exchange or a change of items. It counts the futures that name a procedure of the call's kind as followed, and
those of them that state the call's own option; the calls that were played in a successful episode, and the
wrong ones, each with the objections to it. A mistake is found if in addition the future names the world's
procedure; of those, it counts the refined actions that mend the argument, keep it (with an advice in the
critique, or without), or are another action (or cannot be read).
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.envs.shop_worlds.procedures import DIFFERENCE, KIND_OF_TOOL, KINDS, REASON, REFUND, Evidence
from nlac_bench.envs.shop_worlds.worlds import procedures_of
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.critiques import read_critiques
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.rollout.engines.tool_calls import parse_tool_calls
from nlac_bench.stats.tables import render_table
from workshop.named_procedures import method_of, named, procedure_in

ITERATIONS = 5
"""Number of iterations at the start and at the end of a run that are counted."""
NO_ADVICE = "instead: nothing"
"""The end of a critique that advises no other action."""
Found: TypeAlias = Literal[
    "right argument", "not found", "mended", "kept", "kept without advice", "other action"
]
SAID = ("futures", "stated", "successful", "successful, objection", "wrong", "wrong, objection")


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


def found(world: int, record: CritiqueRecord, argument: tuple[str, str]) -> Found:
    """Return what became of a proposed call, whose arguments take the option ``argument``."""
    kind, option = argument
    if option == procedures_of(world)[kind][0]:
        return "right argument"
    if named(world, record.future) is not True or record.optimal is not False:
        return "not found"
    refined = argument_of(record.refined)
    if refined is None or refined[0] != kind:
        return "other action"
    if refined[1] != option:
        return "mended"
    return "kept without advice" if (record.critique or "").endswith(NO_ADVICE) else "kept"


def said(record: CritiqueRecord, argument: tuple[str, str], result: Found) -> list[str]:
    """Return which of ``SAID`` a proposed call counts for; ``result`` is what became of it."""
    labels, future = [], procedure_in(record.future, "by")
    if future is not None and future[0] == argument[0]:
        labels = ["futures", "stated"] if future[1][0] == argument[1] else ["futures"]
    if result != "right argument":
        judged = "wrong"
    elif record.success and record.proposed == record.played:
        judged = "successful"
    else:
        return labels
    return [*labels, judged, f"{judged}, objection"] if record.optimal is False else [*labels, judged]


def counts_of(world: int, records: Iterable[CritiqueRecord]) -> Counter[tuple[str, str, str]]:
    """Return how often each result occurs in the first and last iterations, by the kind of argument."""
    calls = [(record, taken) for record in records if (taken := argument_of(record.proposed))]
    iterations = sorted({record.iteration for record, _ in calls})
    counts: Counter[tuple[str, str, str]] = Counter()
    for name, chosen in (("first", iterations[:ITERATIONS]), ("last", iterations[-ITERATIONS:])):
        for record, argument in calls:
            if record.iteration in chosen:
                words = "reason" if KINDS[argument[0]].choices[0] is REASON else "payment method"
                result = found(world, record, argument)
                counts.update((name, words, each) for each in (result, *said(record, argument, result)))
    return counts


def table(runs: Sequence[RunFolder]) -> str:
    """Return the counts of each method, summed over its runs.

    Raises:
        NlacBenchError: a run was not played in a world of ``shop_worlds``, or has no critiques.
    """
    by_method: dict[str, Counter[tuple[str, str, str]]] = {}
    for run in runs:
        if run.world is None:
            raise NlacBenchError(f"{run.path} was not played in a world of shop_worlds")
        by_method.setdefault(method_of(run), Counter()).update(counts_of(run.world, read_critiques(run.path)))
    lines = []
    for method, counts in by_method.items():
        for name, words in product(("first", "last"), ("reason", "payment method")):
            became = [counts[name, words, each] for each in get_args(Found)[2:]]
            calls = [counts[name, words, each] for each in SAID]
            lines.append([method, name, words, *map(str, [*calls, sum(became), *became])])
    header = ["method", "iterations", "argument", *SAID, "found", "mended", "kept"]
    return render_table([*header, "kept without advice", "other action"], lines)


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
