"""The share of futures that name the procedure of the run's world."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.envs.shop_worlds.procedures import KINDS, described
from nlac_bench.envs.shop_worlds.worlds import SPARE, procedures_of
from nlac_bench.errors import NlacBenchError
from workshop.named_procedures import Named, by_iteration, drawn, main, named

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
    costs = {"env_steps": 9, "tokens": 9, "seconds": 9.0, "usage": {}, "train_success": None}
    rows = [{"kind": "iteration", "iteration": i, "gradient_steps_total": 10 * i, **costs} for i in (1, 2, 3)]
    return SimpleNamespace(
        path=folder, world=WORLD, conditions={"env": "shop_worlds", "env_args": {}} | conditions,
        metrics=lambda: iter(rows),
    )  # fmt: skip


def kept(folder: Path, futures: Sequence[tuple[int, str | None]]) -> None:
    lines = [json.dumps(asdict(record(*each))) for each in futures]
    (folder / "critiques.jsonl").write_text("".join(f"{line}\n" for line in lines))


def test_futures_are_counted_by_iteration_and_drawn(tmp_path: Path) -> None:
    right, wrong = (
        f"right: {described('cancel', each)}; end: failure"
        for each in sorted(
            KINDS["cancel"].procedures, key=lambda each: each != procedures_of(WORLD)["cancel"]
        )[:2]
    )
    kept(tmp_path, [(1, wrong), (1, right), (1, None), (2, right), (2, "nothing"), (3, None)])
    counts = by_iteration(run(tmp_path))
    assert counts == [Named(10, 2, 1), Named(20, 1, 1)]
    figure = drawn({("nlac", "1008"): counts, ("nlac", "1010"): counts, ("<b>", "1009"): counts[:1]})
    assert figure.table.rows == (
        ("nlac", "1008", 10, 2, 0.5), ("nlac", "1008", 20, 1, 1.0), ("nlac", "1010", 10, 2, 0.5),
        ("nlac", "1010", 20, 1, 1.0), ("<b>", "1009", 10, 2, 0.5),
    )  # fmt: skip
    figure.save(tmp_path / "critic.svg", "svg")
    drawing = (tmp_path / "critic.svg").read_text()
    assert drawing.count(">nlac<") == 1 and "&lt;b&gt;" in drawing


@pytest.mark.parametrize("conditions", [{}, {"env": "tau_retail"}, {"env_args": {"level": "conditional"}}])
def test_runs_without_named_or_fixed_procedures_are_refused(conditions: Any, tmp_path: Path) -> None:
    kept(tmp_path, [(1, "next: nothing; end: success")])
    with pytest.raises(NlacBenchError, match=str(tmp_path)):
        by_iteration(run(tmp_path, **conditions))


def test_a_folder_without_a_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([str(tmp_path / "RUN")])
    assert stopped.value.code == 2 and "RUN does not exist" in capsys.readouterr().err
