"""Begins or continues a run of 200 episodes; test_rundir.py starts it as a process and kills it."""

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nlac_bench.harness.runs.seeds import Planned, plan_episodes
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.types import Episode, Turn, Usage

CONDITIONS = {"env": "toy", "data_sha256": "abc"}
SUBJECT = {"agent": "dice"}
PLAN = plan_episodes([f"task-{i}" for i in range(50)], trials=4, base_seed=7)


def play(item: Planned) -> Episode:
    """An episode that its seed decides; some have lines of 300 kB, so that a kill can tear them."""
    dice = random.Random(item.seed)
    text = "π\ud800" + "x" * dice.choice([10, 1_000, 300_000])
    turns = [
        Turn(
            text=text,
            output_ids=[dice.randrange(9)],
            logprobs=[-dice.random()],
            usage=Usage(1, 2, 3, 0.5, 0.1),
        )
        for _ in range(dice.randint(1, 3))
    ]
    return Episode("toy", item.task_id, item.trial, item.seed, "go", turns, True, False, dice.random() < 0.4)


def main(path: str, delay: float) -> None:
    """Play what is owed with four threads."""
    if (Path(path) / "manifest.json").exists():
        writer = RunWriter.resume(path, conditions=CONDITIONS, subject=SUBJECT, plan=PLAN)
    else:
        writer = RunWriter.create(path, config={"seed": 7}, conditions=CONDITIONS, subject=SUBJECT, plan=PLAN)

    def work(item: Planned) -> None:
        time.sleep(random.random() * delay)
        writer.append(play(item))

    with writer, ThreadPoolExecutor(4) as pool:
        print("ready", flush=True)
        for _ in pool.map(work, writer.owed()):
            pass


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
