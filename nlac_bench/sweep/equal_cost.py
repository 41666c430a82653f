"""Compares the methods of a sweep at equal cost: at shares of what the cheapest run spent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from nlac_bench.learner.config import BudgetUnit
from nlac_bench.stats.estimates import Estimate
from nlac_bench.stats.seed_errors import FEWEST_SEEDS
from nlac_bench.stats.tables import render_table
from nlac_bench.training.costs import CostComparison, Matched, RunCost
from nlac_bench.training.curve import AXES
from nlac_bench.training.progress import SPENT_FIELD

SHARES = (0.25, 0.5, 1.0)


@dataclass(frozen=True)
class EqualCost:
    """Validation success at ``SHARES`` of the smallest total of one kind of cost.

    Runs that ended early do not set the smallest total, since their last validation holds at any higher cost.

    ``by_method`` has one ``Matched`` for each share, whose side A is ``against``, by the method of side B.
    ``seeds`` is the number of seeds that both have finished. ``absent`` are the methods that have none, or no
    validations.
    """

    kind: BudgetUnit
    against: str
    smallest: float
    by_method: dict[str, list[Matched]]
    seeds: dict[str, int]
    absent: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the object of ``comparison.json``; it has no verdicts, which many intervals do not allow."""
        matched = {
            name: [{k: v for k, v in each.to_json().items() if k != "verdict"} for each in row]
            for name, row in self.by_method.items()
        }
        return {
            "kind": self.kind, "smallest": self.smallest, "matched": matched, "seeds": self.seeds,
            "absent": self.absent,
        }  # fmt: skip

    def to_text(self) -> str:
        """Return a table with a row for each method and two columns for each share."""
        name = AXES[SPENT_FIELD[self.kind]]
        header = [f"validated within … {name}"]
        for share in SHARES:
            header += [f"{share * self.smallest:,.0f}", f"{self.against} − method"]
        own = [{each.texts()[0] for each in column} for column in zip(*self.by_method.values(), strict=True)]
        lines = [[self.against, *(cell for a in own for cell in ("–" if len(a) > 1 else "".join(a), ""))]]
        for method, row in self.by_method.items():
            lines.append([self._label(method)])
            for each, alike in zip(row, (len(a) == 1 for a in own), strict=True):
                first, second = each.texts()
                lines[-1] += [
                    second,
                    _difference(each) if alike else f"{first} − {second}: {_difference(each)}",
                ]
        lines += [[method, *["–"] * (len(header) - 1)] for method in self.absent]
        seeds = set(self.seeds.values())
        over = "validation episodes of one seed" if seeds == {1} else "seeds and validation episodes"
        notes = f"95 % intervals over {over}, not corrected for their number"
        if seeds != {1} and min(seeds) < FEWEST_SEEDS:
            notes += f"; with fewer than {FEWEST_SEEDS} seeds approximate, with one over episodes only"
        if any(max(each.untrained) for row in self.by_method.values() for each in row):
            notes += "; untrained: no other validation cost so little"
        if any(len(a) > 1 for a in own):
            notes += f"; – for {self.against}: each row compares the seeds that both methods have finished"
        return f"{render_table(header, lines)}\n{notes}"

    def _label(self, method: str) -> str:
        """Return the name of a row, with its number of seeds if not all rows have the same."""
        seeds, alike = self.seeds[method], len(set(self.seeds.values())) == 1
        return method if alike else f"{method} ({seeds} seed{'s' if seeds > 1 else ''})"


def equal_cost(compared: Mapping[str, CostComparison | None], against: str) -> list[EqualCost]:
    """Return the comparison for each kind of cost.

    A kind of which all runs spent the same is left out, since their tests are at equal cost. Nothing is
    returned if no method can be compared, or if all runs ended early.

    Args:
        compared: the costs of ``against`` and of each other method, by the name of the other one.
    """
    pairs = {method: costs for method, costs in compared.items() if costs is not None}
    runs = [run for costs in pairs.values() for side in costs.sides for run in side]
    found = []
    for kind in get_args(BudgetUnit):
        smallest = min((_spent(run, kind) for run in runs if not run.ended_early), default=0.0)
        if not smallest or len({_spent(run, kind) for run in runs}) == 1:
            continue
        rows = {m: [costs.at(kind, share * smallest) for share in SHARES] for m, costs in pairs.items()}
        matched = {
            m: whole for m, row in rows.items() if len(whole := [each for each in row if each]) == len(row)
        }
        if matched:
            absent = tuple(method for method in compared if method not in matched)
            seeds = {method: len(pairs[method].a) for method in matched}
            found.append(EqualCost(kind, against, smallest, matched, seeds, absent))
    return found


def _difference(matched: Matched) -> str:
    if matched.low is None:
        return "not measured"
    return Estimate(matched.a - matched.b, matched.low, matched.high).to_text(sign=True)


def _spent(run: RunCost, kind: BudgetUnit) -> float:
    return {"steps": run.gradient_steps, "env_steps": run.env_steps, "tokens": run.tokens}[kind]
