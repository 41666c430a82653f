"""Adds seeds to a sweep only until each verdict is reached or out of reach (``--seeds auto``).

The seeds of the sweep's file are the most that are trained. They are added in groups of ``GROUP``; after each
group the reference method is tested against each other method (``stats/sequential.py``).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nlac_bench.errors import ConfigError
from nlac_bench.stats.sequential import FEWEST_LOOKS, GROUP, Decision, decide
from nlac_bench.sweep.plan import Sweep
from nlac_bench.sweep.play import Say, play
from nlac_bench.sweep.results import Results
from nlac_bench.sweep.rows import mean_success


@dataclass(frozen=True)
class Stage:
    """A sweep with the seeds to train next, and the decisions of the finished runs.

    ``decisions`` compare the reference method with each other method, by environment and method.
    """

    sweep: Sweep
    decisions: Mapping[str, Mapping[str, Decision]]


def check_adaptive(sweep: Sweep) -> None:
    """Check that the seeds of a sweep can be added in groups.

    Raises:
        ConfigError: an environment has too few seeds, or not whole groups of them; there is one method; or
            checkpoints are measured on another environment, for which the seeds are not chosen.
    """
    for env, seeds in sweep.seeds.items():
        if len(seeds) % GROUP or len(seeds) < FEWEST_LOOKS * GROUP:
            raise ConfigError(
                f"seeds.{env} has {len(seeds)} seeds; --seeds auto adds them in groups of {GROUP}, so list "
                f"a multiple of {GROUP} from {FEWEST_LOOKS * GROUP} on: the most that may be trained"
            )
    if len(sweep.methods) < 2:
        raise ConfigError("methods: --seeds auto compares methods, so it needs at least two")
    if sweep.transfer:
        raise ConfigError("transfer: --seeds auto does not choose seeds for it; remove it, or --seeds auto")


def chosen_by_verdict(out: Path) -> bool:
    """Return whether the comparison in ``out`` has seeds that were chosen by their verdicts."""
    try:
        comparison = json.loads((out / "comparison.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(comparison, dict) and "decisions" in comparison


def stage_of(sweep: Sweep, out: Path, against: str) -> Stage:
    """Return the stage that follows from the finished runs in ``out``.

    A method gets a further group of seeds while its comparison is undecided, the reference method while any
    of its comparisons is. A seed that has not finished ends its method's seeds, in the order of the file.
    """
    results = Results.read(sweep, out)
    counts: dict[tuple[str, str], int] = {}
    decisions: dict[str, Mapping[str, Decision]] = {}
    others = [method for method in sweep.methods if method != against]
    for env, seeds in sweep.seeds.items():
        rates = {method: _rates(results, env, method, seeds) for method in sweep.methods}
        looks = len(seeds) // GROUP
        decided = decide(rates[against], {method: rates[method] for method in others}, looks)
        wanted = {
            method: d.seeds if d.verdict is not None else min(d.seeds + GROUP, len(seeds))
            for method, d in decided.items()
        }
        counts |= {(env, method): number for method, number in wanted.items()}
        counts[env, against] = max(wanted.values())
        decisions[env] = decided
    return Stage(replace(sweep, counts=counts), decisions)


def play_adaptively(sweep: Sweep, out: Path, jobs: int, against: str, say: Say) -> None:
    """Play a sweep stage by stage, until no stage adds a seed; arguments and errors are those of ``play``.

    Raises:
        ConfigError: also as ``check_adaptive``.
    """
    check_adaptive(sweep)
    stage = stage_of(sweep, out, against)
    said: set[tuple[str, str]] = set()
    while True:
        play(stage.sweep, out, jobs, say)
        after = stage_of(sweep, out, against)
        for env, decided in after.decisions.items():
            for method, decision in decided.items():
                if decision.verdict is not None and (env, method) not in said:
                    said.add((env, method))
                    say(f"{env}, {against} − {method}: {decision}")
        if after.sweep.counts == stage.sweep.counts:
            return
        stage = after


def _rates(results: Results, env: str, method: str, seeds: tuple[int, ...]) -> list[float]:
    """Return the success of the seeds in their order, up to the first that has none."""
    runs = results.measured(env, method)
    rates: list[float] = []
    for seed in seeds:
        rate = mean_success(runs[seed]) if seed in runs else None
        if rate is None:
            break
        rates.append(rate)
    return rates
