"""Run folders for the tests of reports, written by the project's own writer without playing episodes."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nlac_bench.agents.nlac.records import CritiqueRecord, ProbeRecord
from nlac_bench.harness.runs.seeds import plan_episodes
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.rollout.driver import EpisodeSpec, Failure
from nlac_bench.training.untrained import BASE
from nlac_bench.types import CONTENT_FILTER, Episode, Turn, Usage

ENV = "tau_retail"
WON, LOST, OWED, INFRA, FILTERED, SILENT, CUT = "won", "lost", "owed", "infra", "filtered", "silent", "cut"


def task(place: int) -> str:
    return f"t{place:02}"


def make_run(
    folder: Path,
    ends: Sequence[str],
    *,
    agent: str = "react",
    env: str = ENV,
    train: dict[str, Any] | None = None,
    rewards: Sequence[float] | None = None,
    message: str = "the server is down",
    tasks: Sequence[str] | None = None,
    seed: int = 0,
) -> Path:
    """Write a run whose episodes ended as ``ends`` says, one trial of one task each."""
    ids = list(tasks or map(task, range(len(ends))))
    plan = plan_episodes(ids, 1, base_seed=zlib.crc32(folder.name.encode()))
    config = {"env": env, "agent": agent, "seed": seed, "train": train}
    with RunWriter.create(
        folder, config=config, conditions={"env": env}, subject={"agent": agent, "train": train}, plan=plan
    ) as writer:
        for place, (item, end) in enumerate(zip(plan, ends, strict=True)):
            spent = {"policy": Usage(2, 100, 10, 0.0, 1.0)}
            if end == INFRA:
                spec = EpisodeSpec(env, item.task_id, 0, item.seed)
                writer.record_failure(item, Failure(spec, "infra", "EnvInfraError", message, 0, spent, 1.0))
            if end in (OWED, INFRA):
                continue
            success = {WON: True, LOST: False, CUT: False}.get(end)
            reasons = {WON: "success", LOST: "max_steps", FILTERED: CONTENT_FILTER, CUT: "turn_limit"}
            reason = reasons.get(end, "ended")
            reward = rewards[place] if rewards else float(bool(success))
            kind = "invalid" if end == LOST and place % 2 else "message"
            turns = [Turn("a", reward=reward, info={"action_kind": kind})]
            writer.append(
                Episode(
                    env,
                    item.task_id,
                    0,
                    item.seed,
                    "hi",
                    turns,
                    end != CUT,
                    end == CUT,
                    success,
                    reason,
                    {},
                    spent,
                    1.0,
                )
            )
    return folder


STEPS = ((0, 0, 0, 0.0, 0.25), (4, 60, 50_000, 20.0, 0.75), (8, 130, 110_000, 45.0, 0.5))
"""Gradient steps, environment steps, tokens, seconds and success of each validation."""


def make_training(
    folder: Path,
    before: Sequence[str],
    after: Sequence[str],
    *,
    agent: str = "nlac",
    steps: Sequence[tuple[int, int, int, float, float]] = STEPS,
    critiques: Sequence[CritiqueRecord] = (),
    probes: Sequence[ProbeRecord] = (),
    **changes: Any,
) -> Path:
    """Write a training run: the untrained model, validations at ``steps``, and the test of the best one."""
    make_run(folder, after, agent=agent, train={"budget": "steps=8"}, **changes)
    make_run(folder / BASE, before, agent=agent, **changes)
    best, rows = -1.0, []
    for iteration, (gradient, env_steps, tokens, seconds, success) in enumerate(steps):
        cost = {
            "gradient_steps_total": gradient,
            "env_steps": env_steps,
            "tokens": tokens,
            "seconds": seconds,
        }
        usage = {
            name: asdict(Usage(iteration, 1000 * iteration, made * iteration))
            for name, made in (
                ("policy", 70),
                ("evaluator", 30),
                ("validation:policy", 9),
                ("probe:evaluator", 2),
            )
        }
        row = {"iteration": iteration, **cost, "usage": usage}
        if iteration:
            rows.append({"kind": "iteration", **row, "train_success": 0.5})
        interval = [max(0.0, success - 0.2), min(1.0, success + 0.2)]
        rows.append({"kind": "validation", **row, "success": success, "ci": interval, "best": success > best})
        best = max(best, success)
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for name, records in (("critiques", critiques), ("probes", probes)):
        if records:
            lines = "".join(f"{json.dumps(asdict(record))}\n" for record in records)
            (folder / f"{name}.jsonl").write_text(lines)
    return folder


def critique(number: int, **texts: Any) -> CritiqueRecord:
    """Return a record of a critique; ``texts`` replace its fields."""
    fields = {
        **_reading(number), "lesson": number, "played_weight_version": 0, "target": "target",
        "proposed": f"proposed {number}",
    }  # fmt: skip
    return CritiqueRecord(**{**fields, **texts})


def probe(number: int, **texts: Any) -> ProbeRecord:
    """Return a record of a state of the probe set; ``texts`` replace its fields."""
    fields = {**_reading(number), "state": number, "played_on": None, "refined_on": None}
    return ProbeRecord(**{**fields, **texts})


def _reading(number: int) -> dict[str, Any]:
    return {
        "iteration": 1, "weight_version": 1, "task": task(number), "trial": 0, "seed": 0, "step": 0,
        "heard": f"heard {number}", "played": f"played {number}", "answered": f"answered {number}",
        "success": False, "future": f"future {number}", "predicted": "success",
        "critique": f"critique {number}", "optimal": False, "refined": f"refined {number}",
    }  # fmt: skip
