"""Unbiased estimates of pass^k, the probability that k trials of a task all succeed (Yao et al. 2024)."""

from dataclasses import dataclass
from math import comb

import numpy as np

from nlac_bench.stats.intervals import Floats, Interval, rate_interval


@dataclass(frozen=True, slots=True)
class PassK:
    """pass^k of a run, or the reason why it cannot be estimated."""

    k: int
    value: float | None
    interval: Interval | None
    why_not: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return a plain dict."""
        return {
            "k": self.k,
            "value": self.value,
            "ci": None if self.interval is None else self.interval.to_json(),
            "why_not": self.why_not,
        }


def pass_hat_k(success: Floats) -> list[PassK]:
    """Return pass^1 to pass^n of ``success`` ``[tasks, n]`` (1, 0, or NaN if not scored) for n planned
    trials.

    A task with c successes in n scored trials contributes C(c, k) / C(n, k), which is unbiased for p^k.
    pass^k is estimated only if every task has k scored trials: leaving out tasks with fewer would bias it
    upwards (a run whose failures crashed would reach 100 %).
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
        # pass^n of n trials has one draw per task; for smaller k the values lie between 0 and 1.
        trials = 1.0 if success.shape[1] == k else float("inf")
        results.append(PassK(k, float(per_task.mean()), rate_interval(per_task, trials)))
    return results
