"""Entries for boards: ordinary ones, and ones in which every text is hostile."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from nlac_bench.leaderboards.entry import (
    BoardKey,
    Cost,
    Curve,
    CurvePoint,
    Entry,
    Provenance,
    RunOutcomes,
    RunProvenance,
    Simulator,
    Source,
    TaskOutcome,
)
from nlac_bench.leaderboards.entry_file import sealed
from nlac_bench.leaderboards.numbers import numbers_of, stated_numbers
from nlac_bench.leaderboards.subject import Subject, Tokens, Training, TrainingCost
from tests.leaderboards.factory import KEY, entry

RATES = {"nlac": 0.8, "ppo": 0.75, "grpo": 0.5, "rft": 0.3}


def ordinary() -> list[Entry]:
    """A board of algorithms (one partial, an oracle, a floor) with three seeds, and a board of two models."""
    trained = [algorithm(name, rate) for name, rate in RATES.items()]
    pinned = [entry(name, [won] * 30) for name, won in (("oracle", True), ("constant", False))]
    models = [entry("react", [i % 3 == 0 for i in range(30)]), entry("act", [i % 4 == 0 for i in range(30)])]
    return [*trained, algorithm("sac", 0.2, partial=True), *pinned, *models]


def algorithm(name: str, rate: float, texts: Sequence[str] = (), **fields: Any) -> Entry:
    """An algorithm with three seeds, curves and costs. ``texts`` are put into every field that takes text."""
    rng = np.random.default_rng(sum(map(ord, name)))
    every = "  ".join(texts)
    ids = [f"task {i} {text}".strip()[:500] for i, text in enumerate([*texts, *[""] * (30 - len(texts))])]
    word = texts[0] if texts else "words"
    outcomes = [
        RunOutcomes(seed=seed, tasks={task: _task(bool(rng.random() < rate), word) for task in ids})
        for seed in range(3)
    ]
    calls = 10**15 if texts else 9
    spent = Tokens(calls=calls, prompt_tokens=9_000, completion_tokens=1_234, cost=0.0, seconds=12.0)
    others = {f"role {text}"[:500]: spent for text in texts} or {"evaluator": spent}
    roles = {"policy": spent, **others}
    runs = [
        TrainingCost(
            seed=seed, gradient_steps=40, environment_steps=1_300, generated_tokens=140_000, seconds=360.0,
            tokens_by_role=roles, chosen_step=20, base_success=0.2,
        )
        for seed in range(3)
    ]  # fmt: skip
    points = [
        CurvePoint(gradient_steps=20 * i, environment_steps=650 * i, tokens=70_000 * i, seconds=180.0 * i,
                   success=rate * i / 2, ci=None, tasks=16, best=True)
        for i in range(3)
    ]  # fmt: skip
    settings: dict[str, Any] = {f"setting {text}"[:500]: text for text in texts} or {"k": 1}
    if texts:
        settings["large"] = 10**400 + int(10 * rate)
    provenance = [
        RunProvenance(
            started=(every or "2026-11-01")[:500], nlac_bench=word, python="3.11", commit=every[:500] or None,
            dirty=True, packages_sha256="0" * 64, manifest_sha256="1" * 64,
            episodes_sha256=hashlib.sha256(f"{name} {seed}".encode()).hexdigest(),
        )
        for seed in range(3)
    ]  # fmt: skip
    return sealed(
        {
            "kind": "algorithms",
            "board": KEY,
            "subject": Subject(
                agent=name, model=every[:500] or "tiny", revision=every[:500] or None, engine=word,
                prompts={f"role {text}"[:500]: text for text in texts},
                training=Training(method=(every or name)[:500], budget=word, settings=settings, runs=runs),
            ),
            "outcomes": outcomes,
            "numbers": numbers_of(outcomes),
            "curves": [Curve(seed=seed, points=points) for seed in range(3)],
            "cost": Cost(tokens_by_role=roles, seconds=30.0),
            "provenance": Provenance(runs=provenance, submitter=every[:500] or None),
            "warnings": list(texts) or ["A commit with local changes."],
            "reproduce": every[:4000] or f"nlac-bench run --agent {name}",
            "level": "recomputed",
            **fields,
        }
    )  # fmt: skip


def hostile(texts: Sequence[str]) -> list[Entry]:
    """Entries in which ``texts`` are in every field, their board's conditions and a source included."""
    key = KEY.model_copy(
        update={
            "env": texts[0],
            "env_version": texts[1],
            "split": texts[2],
            "data_source": texts[3],
            "reward": texts[4],
            "arguments": {f"argument {text}": text for text in texts},
            "rules": {f"rule {text}": [text] for text in texts} | {"long": "x" * 25_000},
            "simulator": Simulator(model=texts[5], temperature=0.0, max_tokens=9),
        }
    )
    key = BoardKey.model_validate(key.model_dump())
    ranked = [algorithm(f"{rate} {'  '.join(texts)}"[:500], rate, texts, board=key) for rate in (0.9, 0.3)]
    source = Source(title=texts[0], url="https://example.org/?q=%22%3E", where="  ".join(texts)[:500])
    cited = entry(
        "cited", key=key, level="reported", kind="models", numbers=stated_numbers(0.4), source=source,
        subject=Subject(agent="  ".join(texts)[:500]), warnings=list(texts),
    )  # fmt: skip
    return [*ranked, algorithm("partial", 0.4, texts, board=key, partial=True), cited]


def _task(won: bool, reason: str) -> TaskOutcome:
    return TaskOutcome(
        state=["scored"], success=[won], reward=[float(won)], end_reason=[reason[:500]], truncated=[False]
    )
