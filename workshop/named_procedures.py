"""Counts how often the critic of a run on ``shop_worlds`` names the procedure that the run's world requires.

``python -m workshop.named_procedures RUN …`` prints for each iteration the share of right futures among those
that name one of the kind's four procedures, as those of ``tiny-worlds`` do ("right: cancel, mistake, at
once"). A critic that guesses is right in .25.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nlac_bench.envs.shop_worlds.procedures import KINDS, described
from nlac_bench.envs.shop_worlds.worlds import procedures_of
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.critiques import read_critiques
from nlac_bench.harness.runs.folder import RunFolder

_NAMED = re.compile(r"\bright: ([^;\n]*)")


def named(world: int, text: str | None) -> bool | None:
    """Return whether ``text`` names a procedure that ``world`` requires; None if it names none."""
    match = _NAMED.search(text or "")
    required = procedures_of(world)
    for kind, about in KINDS.items():
        for procedure in about.procedures:
            if match is not None and match[1].strip() == described(kind, procedure):
                return procedure == required[kind]
    return None


def by_iteration(run: RunFolder) -> Iterator[tuple[int, int, int]]:
    """Yield for each iteration its number and how many futures name a procedure and the right one.

    Raises:
        NlacBenchError: the run has no critiques, or its world has no fixed procedures.
    """
    level = run.conditions["env_args"].get("level")
    if run.conditions["env"] != "shop_worlds" or run.world is None or level == "conditional":
        raise NlacBenchError(f"{run.path} plays no world of shop_worlds with one procedure for each kind")
    naming, right = Counter[int](), Counter[int]()
    for record in read_critiques(run.path):
        result = named(run.world, record.future)
        naming[record.iteration] += result is not None
        right[record.iteration] += result is True
    if not naming:
        raise NlacBenchError(f"{run.path} has no critiques; its method has no critic in language")
    yield from ((iteration, naming[iteration], right[iteration]) for iteration in sorted(naming))


def main() -> None:
    """Print the table of each run that is named on the command line."""
    for name in sys.argv[1:]:
        run = RunFolder.open(Path(name))
        print(f"{name}, world {run.world}\n\n| iteration | futures | right |\n| --- | --- | --- |")
        for iteration, naming, right in by_iteration(run):
            print(f"| {iteration} | {naming} | {f'{right / naming:.2f}' if naming else '–'} |")
        print()


if __name__ == "__main__":
    main()
