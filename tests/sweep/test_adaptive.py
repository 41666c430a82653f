"""``sweep --seeds auto``: groups of seeds are added until each verdict is reached or out of reach.

The runs are written by hand in place of trainings, which take minutes each.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nlac_bench.cli import app
from nlac_bench.errors import ConfigError
from nlac_bench.sweep import adaptive
from nlac_bench.sweep.adaptive import check_adaptive, chosen_by_verdict, play_adaptively, stage_of
from nlac_bench.sweep.plan import FLOORS, Cell, Sweep, base_folder, floor_folder
from nlac_bench.sweep.report import write
from tests.sweep.test_sweep_failures import make_run

ENV = "tau_retail"
PLAN = Sweep(("nlac", "ppo", "rft"), {ENV: tuple(range(12))})
SUCCESS = {"nlac": 0.75, "ppo": 0.25, "rft": 0.75}
"""ppo is clearly worse; rft varies like nlac."""

Trained = Callable[[Cell], bool]


def success_of(cell: Cell) -> float:
    """Success that varies with the seed by one or two of 32 tasks."""
    turn = cell.seed if cell.method == "nlac" else cell.seed + 1
    return SUCCESS[cell.method] + (turn % 3) / 32


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Let runs be written instead of trained; return the (method, seed) in the order of their training."""
    order: list[tuple[str, int]] = []

    def play(sweep: Sweep, out: Path, jobs: int, say: Any) -> None:
        for env, seeds in sweep.seeds_by_env().items():
            floors = [floor_folder(out, env, name) for name in FLOORS]
            for folder in [*(base_folder(out, env, seed) for seed in seeds), *floors]:
                if not folder.exists():
                    make_run(folder, env, 0.25, tasks=32)
        for cell in sweep.cells():
            if not cell.folder(out).exists():
                order.append((cell.method, cell.seed))
                make_run(cell.folder(out), cell.env, success_of(cell), tasks=32, gradient_steps=4)

    monkeypatch.setattr(adaptive, "play", play)
    return order


def seeds_of(trained: list[tuple[str, int]], method: str) -> list[int]:
    return [seed for name, seed in trained if name == method]


def test_seeds_stop_where_the_verdict_is_reached_or_out_of_reach(
    tmp_path: Path, trained: list[tuple[str, int]]
) -> None:
    said: list[str] = []
    play_adaptively(PLAN, tmp_path, 1, "nlac", said.append)
    assert seeds_of(trained, "ppo") == list(range(6)) == seeds_of(trained, "rft") == seeds_of(trained, "nlac")
    assert said == [
        "tau_retail, nlac − ppo: A better after 6 seeds",
        "tau_retail, nlac − rft: not distinguishable after 6 seeds, another verdict is out of reach",
    ]
    stage = stage_of(PLAN, tmp_path, "nlac")
    found = stage.decisions[ENV]
    assert (found["ppo"].verdict, found["ppo"].seeds) == ("A better", 6)
    assert found["rft"].verdict == "not distinguishable" and found["rft"].out_of_reach
    path, counts = write(stage.sweep, tmp_path, "nlac", stage.decisions)
    text, data = path.read_text(), json.loads((tmp_path / "comparison.json").read_text())
    assert "group-sequential permutation test" in text
    assert "tau_retail, nlac − ppo: A better after 6 seeds" in text
    assert {row["method"]: row["versus"] and row["versus"]["verdict"] for row in data["rows"]} == {
        "nlac": None, "ppo": "A better", "rft": "not distinguishable",
    }  # fmt: skip
    assert all(row["p_holm"] is None for row in data["rows"])
    assert data["decisions"][ENV]["rft"] == {
        "verdict": "not distinguishable", "seeds": 6, "out_of_reach": True,
    }  # fmt: skip
    assert all((each.planned, each.finished) == (6, 6) for each in counts)


def test_only_undecided_methods_and_the_reference_get_more_seeds(
    tmp_path: Path, trained: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SUCCESS, "rft", 0.75 - 1 / 32)
    said: list[str] = []
    play_adaptively(PLAN, tmp_path, 1, "nlac", said.append)
    assert seeds_of(trained, "ppo") == list(range(6))
    assert len(seeds_of(trained, "rft")) == len(seeds_of(trained, "nlac")) > 6
    assert said[0] == "tau_retail, nlac − ppo: A better after 6 seeds"
    assert trained[:6] == [(method, seed) for seed in (0, 1) for method in PLAN.methods]
    assert len([f for f in (tmp_path / ENV).glob("base-*") if f.is_dir()]) == len(seeds_of(trained, "rft"))


def test_a_seed_that_fails_ends_the_seeds_of_its_method(
    tmp_path: Path, trained: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = adaptive.play

    def play(sweep: Sweep, *rest: Any) -> None:
        whole(sweep, *rest)
        (folder,) = [c.folder(tmp_path) for c in PLAN.cells() if (c.method, c.seed) == ("rft", 1)]
        (folder / "manifest.json").unlink(missing_ok=True)

    monkeypatch.setattr(adaptive, "play", play)
    play_adaptively(PLAN, tmp_path, 1, "nlac", lambda line: None)
    found = stage_of(PLAN, tmp_path, "nlac")
    assert found.decisions[ENV]["rft"].verdict is None and seeds_of(trained, "rft") == [0, 1, 2]
    assert found.decisions[ENV]["ppo"].verdict == "A better"
    text = write(found.sweep, tmp_path, "nlac", found.decisions)[0].read_text()
    assert "nlac − rft is not measured: undecided after 0 seeds" in text


SPEC = """
methods = ["nlac", "ppo", "rft"]
[seeds]
tau_retail = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
[run]
model = "tiny"
"""


def test_the_command_reports_the_stage_and_refuses_another_verdict(
    tmp_path: Path, trained: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nlac_bench.cli.sweep.check_started", lambda *_: None)  # no run was configured
    config, out = tmp_path / "sweep.toml", tmp_path / "out"
    config.write_text(SPEC)
    play_adaptively(PLAN, out, 1, "nlac", lambda line: None)
    arguments = ["sweep", str(config), "--out", str(out), "--report-only", "--json"]
    done = CliRunner().invoke(app, [*arguments, "--seeds", "auto"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["complete"] is True and chosen_by_verdict(out)
    fixed = CliRunner().invoke(app, arguments)
    assert fixed.exit_code == 2 and "were chosen with --seeds auto" in fixed.output
    other = CliRunner().invoke(app, [*arguments, "--seeds", "five"])
    assert other.exit_code == 2 and "expected auto" in other.output


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        (Sweep(("a", "b"), {"x": (0, 1, 2)}), "has 3 seeds"),
        (Sweep(("a", "b"), {"x": tuple(range(7))}), "has 7 seeds"),
        (Sweep(("a",), {"x": tuple(range(6))}), "at least two"),
        (Sweep(("a", "b"), {"x": tuple(range(6))}, transfer={"y": "x"}), "transfer"),
    ],
)
def test_sweeps_whose_seeds_cannot_be_added_in_groups(sweep: Sweep, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check_adaptive(sweep)
