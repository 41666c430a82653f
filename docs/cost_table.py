"""The table "What each costs" of docs/baselines.md. ``python -m docs.cost_table`` prints it.

The predicted costs are those that the settings state (``TrainConfig.cost``), for the mean lengths of each
role's prompts and answers, and the mean turns of an episode, that were measured. ``python -m docs.cost_table
--measure`` measures again: it runs an iteration of each method with the embedded model, and writes
``docs/cost_table.json``. A test compares the table with the page.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlac_bench.agents import methods
from nlac_bench.harness.measure.model_defaults import with_defaults
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.learner.transition_cost import Counts, tokens

ENV = "tau_retail"
EPISODES = 16
STORED = Path(__file__).with_name("cost_table.json")
STAGES: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    "early_experience": {
        ", world model": {"world_model_share": 1.0},
        ", imitation": {"world_model_share": 0.0},
    },
    "critique_rl": {", first stage": {"stage_one": 1.0}, ", second stage": {"stage_one": 0.0}},
}
"""Methods whose stages have a row each, and the settings with which a run has this stage only."""


def rows() -> dict[str, RunConfig]:
    """Return the runs of the table by name: of each method, or of each of its stages."""
    found = {}
    for name in methods.BUILT_IN:
        for stage, settings in STAGES.get(name, {"": {}}).items():
            train = {"train_batch_size": EPISODES, "val_tasks": 1, "test_freq": 1_000_000, **settings}
            run = {"env": ENV, "agent": name, "model": "tiny", "limit": 1, "keep_going": True, "replicas": 1}
            found[name + stage] = RunConfig.from_mapping(with_defaults({**run, "train": train}), "")
    return found


def measure(config: RunConfig, folder: Path) -> dict[str, Any]:
    """Run the first iteration of a training; return its row of ``metrics.jsonl``."""
    from nlac_bench.harness.measure.prepare import prepare
    from nlac_bench.training.prepare import make_training

    found: list[dict[str, Any]] = []
    with make_training(prepare(config), folder, found.append, lambda row: None) as training:
        training.algorithm.sync()
        asyncio.run(training.iterate())
    return found[0]


def kept(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the table needs of a row of metrics; of probes, nothing."""
    usage = {role: used for role, used in row["usage"].items() if ":" not in role}
    names = ("env_steps", "extra_env_steps", "forward_tokens", "backward_tokens", "train_turns")
    return {name: row.get(name, 0.0) for name in names} | {
        # A request may have several answers. The policy also answers in episodes, once for each request.
        "answers": {r: u["calls"] if r == "policy" else row[f"answers_{r}"] for r, u in usage.items()},
        "requests": {role: used["calls"] for role, used in usage.items()},
        "read": {role: used["prompt_tokens"] for role, used in usage.items()},
        "written": {role: used["completion_tokens"] for role, used in usage.items()},
    }


def lengths(row: Mapping[str, Any]) -> tuple[Counts, Counts]:
    """Return the mean lengths of answers, and of prompts with their answers, by role."""
    answers = {role: row["written"][role] / count for role, count in row["answers"].items()}
    return answers, {role: row["read"][role] / row["requests"][role] + own for role, own in answers.items()}


def costs(measured: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table in Markdown; a cell has the predicted and the measured cost of a transition."""
    lines = []
    for name, config in rows().items():
        assert config.train is not None
        row = measured[name]
        answers, sequences = lengths(row)
        cost = config.train.cost(row["train_turns"])
        learned = (row["env_steps"] - row["extra_env_steps"]) / cost.played
        pairs = (
            (tokens(cost.forward, sequences), row["forward_tokens"] / learned),
            (tokens(cost.backward, sequences), row["backward_tokens"] / learned),
            (tokens(cost.answers, answers), sum(row["written"].values()) / learned),
            (cost.env_steps, row["env_steps"] / learned),
        )
        slots = len(methods.find(config.agent).slots(config.train))
        lines.append([name, *(f"{shown(p)}/{shown(m)}" for p, m in pairs), str(slots)])
    header = ["method", "forward", "backward", "generated", "environment steps", "slots"]
    return "\n".join(f"|{'|'.join(cells)}|" for cells in (header, ["---"] * len(header), *lines))


def shown(value: float) -> str:
    """Return ``value`` with three digits, or without decimals from 100 on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main(arguments: list[str]) -> None:
    """Print the table; with ``--measure``, measure it before."""
    if "--measure" in arguments:
        measured = {}
        for name, config in rows().items():
            with tempfile.TemporaryDirectory() as folder:
                measured[name] = kept(measure(config, Path(folder)))
            print(name, json.dumps(measured[name]), file=sys.stderr, flush=True)
        STORED.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    print(costs(json.loads(STORED.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main(sys.argv[1:])
