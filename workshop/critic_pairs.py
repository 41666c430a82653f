"""Prints what the critic of a run on ``shop_worlds`` said about the same states before and after training.

``python -m workshop.critic_pairs RUN [--count N] [--wrong N]`` draws probe states (``probe_states``) at
random: by default three whose last future names the procedure that the world requires, and two whose last
future names another.
"""

import argparse
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from nlac_bench.agents.nlac.records import ProbeRecord
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.critiques import read_probes
from nlac_bench.harness.runs.folder import RunFolder
from workshop.named_procedures import named

SEED = 0
"""The seed of the draw."""

Pair = tuple[ProbeRecord, ProbeRecord]


def pairs_of(records: Iterable[ProbeRecord]) -> list[Pair]:
    """Return each state's records of the first and of the last validation, in the order of the states."""
    by_state: dict[int, list[ProbeRecord]] = {}
    for record in records:
        if record.state is not None:
            by_state.setdefault(record.state, []).append(record)
    return [(each[0], each[-1]) for _, each in sorted(by_state.items()) if len(each) > 1]


def drawn(world: int, pairs: Sequence[Pair], right: int, wrong: int) -> list[Pair]:
    """Draw ``right`` pairs whose last future names the world's procedure, and ``wrong`` that name another.

    Fewer are returned if there are fewer; pairs whose last future names no procedure are left out.
    """
    rng = random.Random(SEED)
    found: list[Pair] = []
    for which, count in ((True, right), (False, wrong)):
        group = [pair for pair in pairs if named(world, pair[1].future) is which]
        found += rng.sample(group, min(count, len(group)))
    return found


def to_text(world: int, pair: Pair) -> str:
    """Return the action, what the critic said of it at both times, and the truth."""
    last = pair[1]
    lines = [f"{last.task}, step {last.step}", f"  heard: {last.heard[:300]}", f"  action: {last.played}"]
    for record in pair:
        lines += [
            f"  iteration {record.iteration}",
            f"    future: {record.future or '(not readable)'}",
            f"    critique: {record.critique or '(not readable)'}",
            f"    procedure: {_worded(named(world, record.future))}",
        ]
    outcome = {True: "success", False: "failure", None: "unknown"}[last.success]
    return "\n".join([*lines, f"  the episode ended in: {outcome}"])


def _worded(right: bool | None) -> str:
    return {True: "that of the world", False: "another than the world's", None: "none named"}[right]


def main(words: Sequence[str] | None = None) -> None:
    """Print the pairs of the run that is named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--count", type=int, default=3, help="pairs with the right procedure (default: 3)")
    parser.add_argument("--wrong", type=int, default=2, help="pairs with another one (default: 2)")
    arguments = parser.parse_args(words)
    try:
        run = RunFolder.open(arguments.run)
        if run.world is None:
            raise NlacBenchError(f"{arguments.run} was not played in a world of shop_worlds")
        pairs = pairs_of(read_probes(run.path))
    except NlacBenchError as error:
        parser.error(str(error))
    print(
        "\n\n".join(to_text(run.world, p) for p in drawn(run.world, pairs, arguments.count, arguments.wrong))
    )


if __name__ == "__main__":
    main()
