"""pass^k: the chance that k trials of a task all succeed (Yao et al. 2024), estimated without bias."""

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from nlac_bench.eval.statistics.intervals import Floats, Interval, rate_interval


@dataclass(frozen=True, slots=True)
class PassK:
    """pass^k of a run, or why it cannot be said."""

    k: int
    value: float | None
    interval: Interval | None
    why_not: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As a plain dict."""
        return {
            "k": self.k,
            "value": self.value,
            "ci": None if self.interval is None else self.interval.to_json(),
            "why_not": self.why_not,
        }


def pass_hat_k(success: Floats) -> list[PassK]:
    """pass^1 … pass^k of ``success`` ``[tasks, trials]`` (1, 0, NaN where not scored), k the planned trials.

    A task with c successes in n scored trials contributes C(c, k) / C(n, k), which is unbiased for p^k. Only
    where every task has k scored trials: leaving out those that have fewer would flatter (a run whose
    failures crashed would reach 100 %).
    """
    if not success.size:
        return []
    scored = np.count_nonzero(~np.isnan(success), axis=1)
    successes = np.nansum(success, axis=1).astype(int)
    results = []
    for k in range(1, success.shape[1] + 1):
        short = int(np.count_nonzero(scored < k))
        if short:
            why = f"{short} of {len(scored)} tasks have fewer than {k} scored trials"
            results.append(PassK(k, None, None, why))
            continue
        per_task = np.array(
            [comb(int(c), k) / comb(int(n), k) for c, n in zip(successes, scored, strict=True)]
        )
        # pass^n of n trials is one draw a task; below that the values lie between 0 and 1.
        trials = 1.0 if success.shape[1] == k else float("inf")
        results.append(PassK(k, float(per_task.mean()), rate_interval(per_task, trials)))
    return results
