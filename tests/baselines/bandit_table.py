"""Prints the table of all methods on the bandit: ``python -m tests.baselines.bandit_table [METHOD ...]``.

Each method is trained with three seeds from its rewards, and with each seed for as many gradient steps from
shuffled rewards, with the settings of ``test_learning``. Each line is printed when it is measured; all
of them take about an hour of one core.
"""

import sys
from typing import Any

import torch

from nlac_bench.agents.methods import BUILT_IN
from tests.baselines import signal_env
from tests.baselines.test_learning import SPEAKING, STEPS, learned

SEEDS = (0, 1, 2)


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    warm: Any = signal_env.warm_start()
    print("| method | before | from rewards | gradient steps | from shuffled rewards |")
    print("| --- | --- | --- | --- | --- |")
    for name in names or sorted(BUILT_IN):
        model = warm if name in SPEAKING else signal_env.random_model()
        runs = [learned(BUILT_IN[name], model, STEPS.get(name, 60), seed=seed) for seed in SEEDS]
        controls = [
            learned(BUILT_IN[name], model, run.steps, shuffled=True, seed=seed)
            for run, seed in zip(runs, SEEDS, strict=True)
        ]
        cells = [
            f"{sum(run.before for run in runs) / len(runs):.2f}",
            " ".join(f"{run.best:.2f}" for run in runs),
            " ".join(str(run.steps) for run in runs),
            " ".join(f"{control.best:.2f}" for control in controls),
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
