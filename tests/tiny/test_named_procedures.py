"""The share of futures that name the procedure of the run's world."""

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.envs.shop_worlds.procedures import KINDS, described
from nlac_bench.envs.shop_worlds.worlds import SPARE, procedures_of
from nlac_bench.errors import NlacBenchError
from workshop.named_procedures import by_iteration, named

WORLD = SPARE[0]


@pytest.mark.parametrize("kind", KINDS)
def test_one_procedure_of_each_kind_is_right(kind: str) -> None:
    for procedure in KINDS[kind].procedures:
        words = described(kind, procedure)
        right = procedure == procedures_of(WORLD)[kind]
        for text in (f"by: no change; right: {words}; end: failure", f"right: {words}"):
            assert named(WORLD, text) is right
        assert named(WORLD, f"by: {words}; end: success") is None
        assert named(WORLD, f"right: {words}, at once and again") is None
    assert named(WORLD, None) is None and named(WORLD, "right: ") is None


def record(iteration: int, future: str | None) -> CritiqueRecord:
    texts: dict[str, Any] = dict.fromkeys(
        ("predicted", "critique", "optimal", "refined", "target", "proposed"), None
    )
    return CritiqueRecord(
        iteration=iteration, weight_version=1, task="worlds/train/easy/001", trial=0, seed=0, step=0,
        heard="Hi", played="Hello", answered="Yes", success=False, future=future, lesson=1,
        played_weight_version=1, **texts,
    )  # fmt: skip


def run(folder: Path, **conditions: Any) -> Any:
    return SimpleNamespace(
        path=folder, world=WORLD, conditions={"env": "shop_worlds", "env_args": {}} | conditions
    )


def test_futures_are_counted_by_iteration(tmp_path: Path) -> None:
    right, wrong = (
        f"right: {described('cancel', each)}; end: failure"
        for each in sorted(
            KINDS["cancel"].procedures, key=lambda each: each != procedures_of(WORLD)["cancel"]
        )[:2]
    )
    futures = [(1, wrong), (1, right), (1, None), (2, right), (2, "nothing"), (3, None)]
    lines = [json.dumps(asdict(record(*each))) for each in futures]
    (tmp_path / "critiques.jsonl").write_text("\n".join(lines) + "\n")
    assert list(by_iteration(run(tmp_path))) == [(1, 2, 1), (2, 1, 1), (3, 0, 0)]


@pytest.mark.parametrize("conditions", [{}, {"env": "tau_retail"}, {"env_args": {"level": "conditional"}}])
def test_runs_without_critiques_or_fixed_procedures_are_refused(conditions: Any, tmp_path: Path) -> None:
    with pytest.raises(NlacBenchError, match=str(tmp_path)):
        list(by_iteration(run(tmp_path, **conditions)))
