"""Compares runs environment by environment, and judges each comparison by the rules of a gate file."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from nlac_bench.api.comparing import RunsComparison, compare_sides
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.stats.gate import GateResult, GateVerdict, judge, read_gate, rules_for, worst
from nlac_bench.stats.pairing import NotComparableError


@dataclass(frozen=True)
class GateReport:
    """The comparisons and verdicts of all environments."""

    compared: Sequence[RunsComparison]
    results: Sequence[GateResult]

    @property
    def verdict(self) -> GateVerdict:
        """``fail`` if an environment fails, ``pass`` if all pass, else ``undecided``."""
        return worst([each.verdict for each in self.results])

    def to_json(self) -> dict[str, object]:
        """Return the object that ``nlac-bench compare --gate FILE --json`` prints."""
        return {"verdict": self.verdict, "environments": {each.env: each.to_json() for each in self.results}}

    def to_text(self) -> str:
        """Return the comparisons, a line for each environment, and the verdict."""
        verdicts = [*(each.to_text() for each in self.results), f"gate: {self.verdict}"]
        return "\n\n".join([*(each.to_text() for each in self.compared), "\n".join(verdicts)])


def gate_sides(
    sides: Sequence[Sequence[str | PathLike[str]]],
    gate: Path,
    *,
    metric: str = "success",
    common: bool = False,
) -> GateReport:
    """Judge A − B in each environment of the runs.

    Args:
        sides: the folders of A and B; several runs of a side in one environment are seeds of an algorithm.
        gate: the TOML file of rules.
        metric, common: as for ``compare_sides``.

    Raises:
        ConfigError: see ``read_gate`` and ``rules_for``.
        ValueError: there are not two sides.
        NotComparableError: only one side has runs of an environment, or as ``compare_sides``.
        RunFolderError: a folder contains no run, or is damaged.
    """
    rules = read_gate(gate)
    if len(sides) != 2:
        raise ValueError(f"a gate judges run A against run B: expected two sides, got {len(sides)}")
    a, b = (_by_env(side) for side in sides)
    chosen = rules_for(rules, a.keys() | b.keys(), gate)
    for env in chosen:
        if env not in a or env not in b:
            raise NotComparableError(f"only one side has runs of {env}; give runs of it for both")
    compared = [compare_sides([a[env], b[env]], metric=metric, common=common) for env in chosen]
    results = [judge(env, chosen[env], each.results[0]) for env, each in zip(chosen, compared, strict=True)]
    return GateReport(compared, results)


def _by_env(side: Sequence[str | PathLike[str]]) -> dict[str, list[str]]:
    folders: dict[str, list[str]] = {}
    for folder in side:
        folders.setdefault(str(RunFolder.open(fspath(folder)).conditions["env"]), []).append(fspath(folder))
    return folders
