"""Prints what the plan of ``leaderboards/worlds`` asks of a sweep and ``comparison.md`` does not have.

``python -m workshop.world_criteria FILE.toml OUT`` prints for each world the AUC of NLAC's critic at the
first and the last validation (criterion 2), the environment steps of NLAC and PPO (criterion 3), each
method's validation success at equal environment steps beside that at the end, and its test success by kind of
request.
"""

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from nlac_bench.agents.nlac.records import ProbeRecord
from nlac_bench.agents.roles.auc import auc, auc_interval
from nlac_bench.envs.shop_worlds.office import ON_HOLD
from nlac_bench.envs.shop_worlds.procedures import KINDS
from nlac_bench.envs.shop_worlds.tasks import case_of
from nlac_bench.envs.tau.writes import WRITES
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.critiques import read_probes
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.rollout.engines.tool_calls import parse_tool_calls
from nlac_bench.stats.pairing import MeasuredRun
from nlac_bench.stats.tables import number, render_table
from nlac_bench.sweep.file import read_sweep
from nlac_bench.sweep.plan import Cell, Sweep
from nlac_bench.sweep.results import Played, Results
from nlac_bench.sweep.rows import Difference, difference
from nlac_bench.training.curve import success_of_planned
from nlac_bench.training.untrained import BASE
from workshop.named_procedures import named

SHARE = 1 / 3
"""The largest share of PPO's environment steps that NLAC may need."""


def changes_data(record: ProbeRecord) -> bool:
    """Return whether the played action calls a tool that changes the shop."""
    _, calls = parse_tool_calls(record.played)
    return any(call.name in WRITES["retail"] for call in calls)


def outcome_unreported(record: ProbeRecord) -> bool:
    """Return whether the newest message before the action does not say that the order is on hold."""
    return ON_HOLD not in record.heard


def critic_row(world: int, iteration: int, records: Iterable[ProbeRecord]) -> list[str]:
    """Return the AUCs of one validation: of the verdicts, and of a critic that knows the world's procedures.

    The latter predicts success if the procedure that the critic reads from the conversation is the world's.
    """
    known = [r for r in records if r.success is not None and r.optimal is not None]
    follows = [named(world, record.future, "by") for record in known]
    return [
        str(world), str(iteration), str(len(known)), _area(known, [bool(r.optimal) for r in known]),
        _area(known, [right is True for right in follows]),
    ]  # fmt: skip


def _area(records: Sequence[ProbeRecord], said: Sequence[bool]) -> str:
    labels = [bool(record.success) for record in records]
    interval = auc_interval(list(map(float, said)), labels, [record.task for record in records])
    if interval is None:
        return "–"
    return f"{number(auc(said, labels))} [{', '.join(map(number, interval))}]"


def critic_table(runs: Sequence[RunFolder]) -> str:
    """Return the rows of the first and the last validation of each run: on all states, on those whose newest
    message does not report the failure, and on the calls that change the shop."""
    lines, probes = [], [(run, list(read_probes(run.path))) for run in runs]
    selections = {
        "all states": lambda record: True,
        "outcome unreported": outcome_unreported,
        "changing calls": changes_data,
    }
    for which, chosen in selections.items():
        for run, records in probes:
            for iteration in dict.fromkeys((records[0].iteration, records[-1].iteration)) if records else ():
                here = [r for r in records if r.iteration == iteration and chosen(r)]
                lines.append([which, *critic_row(run.world or 0, iteration, here)])
    header = ["probes", "world", "iteration", "states", "evaluator AUC", "AUC with the world's procedures"]
    return render_table(header, lines)


def steps_row(world: int, nlac: Played, ppo: Played, gains: tuple[Difference, Difference]) -> list[str]:
    """Return the environment steps of NLAC to its own and to PPO's best validation, and whether each is at
    most a third of PPO's total."""
    total = ppo.spent.env_steps
    as_good = (v["env_steps"] for v in nlac.validations if v["best"] and success_of_planned(v) >= ppo.best)
    cells = []
    for steps in (nlac.chosen["env_steps"], next(as_good, None)):
        if not _shown(gains[1]):
            met = "not testable"
        else:
            met = "yes" if _shown(gains[0]) and steps is not None and steps <= SHARE * total else "no"
        cells += ["never" if steps is None else f"{steps:,.0f}", met]
    return [str(world), *(gain.estimate.to_text(sign=True) for gain in gains), f"{total:,.0f}", *cells]


def _shown(gain: Difference) -> bool:
    return gain.estimate.low is not None and gain.estimate.low > 0


def steps_table(sweep: Sweep, results: Results) -> str:
    """Return the rows of the worlds in which NLAC, PPO and the untrained model are finished."""
    lines = []
    for env in sweep.seeds:
        nlac, ppo, bases = results.by_seed(env, "nlac"), results.by_seed(env, "ppo"), results.bases[env]
        for seed in sorted(nlac.keys() & ppo.keys() & bases.keys()):
            base, runs = {seed: bases[seed]}, (nlac[seed], ppo[seed])
            first, second = (difference({seed: run.measured}, base) for run in runs)
            lines.append(steps_row(runs[0].measured.world or 0, *runs, (first, second)))
    header = ["world", "gain of nlac", "gain of ppo", "env steps of ppo", "of nlac to its best", "a third"]
    return render_table([*header, "of nlac to ppo's best", "a third"], lines)


def success_rows(world: int, runs: Mapping[str, Played]) -> list[list[str]]:
    """Return each method's validation success in a world: before training, the last one within the smallest
    total of environment steps, and the last one.

    A run that ended early does not set the smallest total; its last success holds at any higher cost.
    """
    most = min((run.spent.env_steps for run in runs.values() if not run.spent.ended_early), default=0.0)
    lines = []
    for method, run in runs.items():
        within = [v for v in run.validations if v["env_steps"] <= most]
        cells = [
            f"{number(success_of_planned(v))} (step {v['gradient_steps_total']})"
            for v in (run.validations[0], within[-1], run.validations[-1])
        ]
        lines.append([str(world), f"{most:,.0f}", method, *cells])
    return lines


def success_table(sweep: Sweep, results: Results) -> str:
    """Return the rows of the methods that are finished in each world."""
    lines = []
    for env, seeds in sweep.seeds.items():
        found = {method: results.by_seed(env, method) for method in sweep.methods}
        for seed in seeds:
            runs = {method: by_seed[seed] for method, by_seed in found.items() if seed in by_seed}
            worlds = {run.measured.world or 0 for run in runs.values()}
            lines += [row for world in worlds for row in success_rows(world, runs)]
    return render_table(["world", "env steps", "method", "before", "within them", "last"], lines)


def by_kind(runs: Iterable[MeasuredRun]) -> list[float]:
    """Return the mean test success of each kind of request, in the order of ``KINDS``; NaN without tasks."""
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for run in runs:
        for task, success_T in zip(run.outcomes.tasks, run.outcomes.success.tolist(), strict=True):
            found[case_of(task).requests[0].goal.kind] += success_T
    return [sum(each) / len(each) if each else math.nan for each in found.values()]


def kinds_table(sweep: Sweep, results: Results) -> str:
    """Return each method's test success by kind of request, over its finished worlds."""
    lines = []
    for env in sweep.seeds:
        for method in (BASE, *sweep.methods):
            found = results.bases[env] if method == BASE else results.measured(env, method)
            if found:
                lines.append([method, str(len(found)), *map(number, by_kind(found.values()))])
    return render_table(["method", "worlds", *KINDS], lines)


def main(words: Sequence[str] | None = None) -> None:
    """Print the tables of the sweep that is named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE.toml")
    parser.add_argument("out", type=Path, metavar="OUT")
    arguments = parser.parse_args(words)
    try:
        sweep = read_sweep(arguments.file)
        results = Results.read(sweep, arguments.out)
        folders = [
            Cell("nlac", env, s).folder(arguments.out)
            for env in sweep.seeds
            for s in results.by_seed(env, "nlac")
        ]
        print(critic_table([RunFolder.open(folder) for folder in folders]))
        print(steps_table(sweep, results))
        print(success_table(sweep, results))
        print(kinds_table(sweep, results))
    except NlacBenchError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
