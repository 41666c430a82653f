"""Sweeps: what is planned, what is refused, and one that really runs, is interrupted and compared."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from nlac_bench.agents.methods import BUILT_IN
from nlac_bench.cli import app
from nlac_bench.harness.runs.configuration import ConfigError
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.harness.runs.seeds import plan_episodes
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.stats.estimates import Estimate
from nlac_bench.sweep import plan as sweeps
from nlac_bench.sweep import rows as sweep_rows
from nlac_bench.sweep.curves import LABEL_WIDTH, short_names
from nlac_bench.sweep.file import check_sweep, read_sweep
from nlac_bench.sweep.plan import Cell, Sweep
from nlac_bench.sweep.play import SweepJob, training_job
from nlac_bench.sweep.results import Played, Results
from nlac_bench.sweep.rows import Difference
from nlac_bench.training.costs import RunCost
from nlac_bench.training.metrics_row import fault_of

SPEC = """
methods = ["rft"]
[seeds]
tau_retail = [3]
[transfer]
tau_airline = "tau_retail"
[run]
model = "tiny"
replicas = 1
limit = 2
max_turns = 6
max_tokens = 32
[train]
budget = "env_steps=20"
train_batch_size = 4
mini_batch_size = 64
val_tasks = 2
max_turn_length = 6
max_response_length = 32
[methods_train.rft]
lr = 1e-5
"""


def spec(tmp_path: Path, text: str = SPEC) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    return path


def test_one_seed_of_everything_comes_before_the_next() -> None:
    planned = Sweep(("nlac", "ppo"), {"a": (0, 1), "b": (5,)})
    assert [(c.method, c.env, c.seed) for c in planned.cells()] == [
        ("nlac", "a", 0), ("ppo", "a", 0), ("nlac", "b", 5), ("ppo", "b", 5),
        ("nlac", "a", 1), ("ppo", "a", 1),
    ]  # fmt: skip


def test_a_variant_is_its_algorithm_with_settings_of_its_own(tmp_path: Path) -> None:
    text = """methods = ["nlac", "without_l1"]
[seeds]
tau_retail = [3]
[variants]
without_l1 = "nlac"
[run]
model = "tiny"
[methods_train.without_l1]
critic_coef = 0.0
"""
    planned = read_sweep(spec(tmp_path, text))
    check_sweep(planned)
    plain, variant = planned.cells()
    assert planned.settings(plain, None)["agent"] == planned.settings(variant, None)["agent"] == "nlac"
    assert planned.settings(variant, None)["train"] == {"critic_coef": 0.0}
    assert planned.settings(plain, None)["train"] == {}
    assert plain.folder(tmp_path) != variant.folder(tmp_path)


@pytest.mark.parametrize("name", ["worlds", "worlds_pilot", "twenty_questions"])
def test_a_sweep_with_a_control_can_start(name: str) -> None:
    pilot = read_sweep(Path(__file__).parents[2] / f"configs/sweeps/{name}.toml")
    check_sweep(pilot)
    assert pilot.settings(list(pilot.cells())[1], None)["train"]["critic_coef"] == 0.0


def test_both_tiers_of_the_plan_train_alike_in_the_same_worlds() -> None:
    """Together they have all methods that can learn on line; tier 2 has the first two worlds of tier 1."""
    first, second = (
        read_sweep(Path(__file__).parents[2] / f"configs/sweeps/{name}.toml")
        for name in ("worlds", "worlds_others")
    )
    check_sweep(second)
    methods = {sweep.algorithm(method) for sweep in (first, second) for method in sweep.methods}
    assert methods == set(BUILT_IN)
    assert second.train == {**first.train, "lr": 1e-4}
    ((env, worlds),), ((same, fewer),) = first.seeds.items(), second.seeds.items()
    assert env == same and fewer == worlds[:2]


def test_the_miniature_comparison_tunes_every_method_alike() -> None:
    """The same rates, seed, environment and budget, and no rate or KL penalty of its own."""
    planned = read_sweep(Path(__file__).parents[2] / "configs/sweeps/miniature.toml")
    check_sweep(planned)
    assert sorted(planned.methods) == sorted(BUILT_IN)
    rates: dict[str, set[float]] = {}
    for cell in planned.tuning():
        train = planned.settings(cell, cell.lr)["train"]
        rates.setdefault(cell.method, set()).add(train["lr"])
        assert train["budget"] == "steps=20" and BUILT_IN[cell.method].config(train).kl_coef == 0
    assert set(map(frozenset, rates.values())) == {frozenset(planned.learning_rates)}
    assert len(planned.learning_rates) == 3


def test_every_method_is_tuned_alike_and_takes_the_best_validation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = Sweep(
        ("nlac", "ppo"), {"a": (0,)}, train={"budget": "steps=18"}, learning_rates=(1e-4, 1e-5),
        tuning_env="a", tuning_train={"budget": "steps=9", "test_freq": 3},
    )  # fmt: skip
    assert len(list(planned.tuning())) == 4
    scores = {
        "nlac-lr0.0001": 0.3, "nlac-lr1e-05": 0.3, "nlac-lr1e-06": 0.2, "ppo-lr0.0001": 0.5,
        "ppo-lr1e-05": 0.4, "ppo-lr0.001": 0.6,
    }  # fmt: skip
    monkeypatch.setattr(sweeps, "done", lambda folder: folder.name in scores)
    monkeypatch.setattr(sweeps, "best_validation", lambda folder: scores[folder.name])
    assert sweeps.chosen_rates(planned, tmp_path) == {"nlac": 1e-5, "ppo": 1e-3}
    settings = planned.settings(Cell("ppo", "a", 0), 1e-4)
    assert settings["train"] == {"lr": 1e-4, "budget": "steps=18"} and settings["agent"] == "ppo"
    assert "limit" not in settings
    tried = planned.settings(Cell("ppo", "a", 100, lr=1e-4), 1e-4)
    assert tried["limit"] == 1, "tuning plays no test tasks"
    assert tried["train"] == {"lr": 1e-4, "budget": "steps=9", "test_freq": 3}


@pytest.mark.parametrize(
    ("scores", "beyond"),
    [
        ({3e-5: 0.1, 1e-4: 0.3, 3e-4: 0.2}, None),
        ({3e-5: 0.1, 1e-4: 0.3, 3e-4: 0.3}, None),
        ({3e-5: 0.1, 1e-4: 0.2, 3e-4: 0.3}, 9e-4),
        ({3e-5: 0.3, 1e-4: 0.3, 3e-4: 0.3}, 9e-6),
        ({3e-5: 0.3, 1e-4: 0.1}, None),  # one run is not done
    ],
)
def test_one_rate_beyond_a_best_rate_on_the_edge_is_tried(
    scores: dict[float, float], beyond: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = Sweep(("nlac",), {"a": (0,)}, learning_rates=(1e-4, 3e-4, 3e-5), tuning_env="a")
    by_folder = {f"nlac-lr{rate:g}": score for rate, score in scores.items()}
    monkeypatch.setattr(sweeps, "done", lambda folder: folder.name in by_folder)
    monkeypatch.setattr(sweeps, "best_validation", lambda folder: by_folder[folder.name])
    further = [cell.lr for cell in sweeps.further_tuning(planned, tmp_path)]
    assert further == ([] if beyond is None else [beyond])
    assert ("nlac" in sweeps.chosen_rates(planned, tmp_path)) == (len(scores) == 3 and beyond is None)
    if beyond is not None:  # no rate is chosen before the further run has ended; it may win, none follows it
        by_folder[f"nlac-lr{beyond:g}"] = 1.0
        assert sweeps.chosen_rates(planned, tmp_path) == {"nlac": beyond}
        assert len(sweeps.further_tuning(planned, tmp_path)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("methods = [", "is not valid TOML"),
        ("methods = ['nlac']", "set `methods"),
        ("methods = ['dqn']\n[seeds]\na = [0]", "unknown method 'dqn'"),
        ("methods = ['nlac']\nseed = 1\n[seeds]\na = [0]", "unknown setting 'seed'"),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[transfer]\nb = 'c'", "transfer.b = 'c'"),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[tuning]\nlrs = [1]", "tuning: unknown setting 'lrs'"),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[tuning]\nlr = [1e-3]\nseed = 0", "also a seed of a"),
        ("methods = 3", "methods must be a list of texts, got 3"),
        ("methods = [['nlac']]", "methods must be a list of texts"),
        ("methods = ['nlac', 'nlac']\n[seeds]\na = [0]", "methods contains 'nlac' twice"),
        (
            "methods = ['nlac']\nseeds = [0, 1]",
            r"seeds must be a table .* tau_retail = \[0, 1\]; got \[0, 1\]",
        ),
        ("methods = ['nlac']\n[seeds]\na = 0", "seeds.a must be a list of numbers, got 0"),
        ("methods = ['nlac']\n[seeds]\na = '012'", "seeds.a must be a list of numbers, got '012'"),
        ("methods = ['nlac']\n[seeds]\na = [0.5]", "seeds.a must be a list of numbers"),
        ("methods = ['nlac']\n[seeds]\na = [true]", "seeds.a must be a list of numbers"),
        ("methods = ['nlac']\n[seeds]\na = [1, 1]", "seeds.a contains 1 twice"),
        ("methods = ['nlac']\n[seeds]\na = [-1]", "from 0 on"),
        ("methods = ['nlac']\n[seeds]\na = []", "one or more"),
        (f"methods = ['nlac']\n[seeds]\na = [{2**64}]", "up to 18446744073709551615"),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[methods_train.rft]\nlr = 1e-4", "rft: no run uses it"),
        ("methods = ['nlac']\n[seeds]\n'../../x' = [0]", "cannot be used as the name of a folder"),
        ("methods = ['nlac']\n[seeds]\ntuning = [0]", "cannot be used as the name of a folder"),
        ("methods = ['nlac']\ntransfer = 'b'\n[seeds]\na = [0]", "transfer must be a table"),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[transfer]\nb = ['a']", "transfer.b must be text"),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[transfer]\nb = 'c'", "no run trains on 'c'"),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[transfer]\na = 'a'", "same folder"),
        ("methods = ['nlac']\ntrain = 3\n[seeds]\na = [0]", "train must be a table"),
        (
            "methods = ['nlac']\n[seeds]\na = [0]\n[methods_train]\nrft = 3",
            "methods_train.rft must be a table",
        ),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[run]\nseed = 1", "run.seed: the sweep sets seed"),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[tuning]\nlr = 1e-4", "tuning.lr must be a list"),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[tuning]\nlr = ['abc']", "tuning.lr must be a list"),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[tuning]\nlr = [1e-4, 1.0000001e-4]", "same in six digits"),
        (
            "methods = ['nlac']\n[seeds]\na = [0]\n[tuning]\nseed = 'x'",
            "tuning.seed must be a whole number, got 'x'",
        ),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[tuning]\ntrain = 3", "tuning.train must be"),
        (
            "methods = ['nlac']\n[seeds]\na = [0]\n[tuning]\ntrain = {lr = 1.0}",
            "tried are those of tuning.lr",
        ),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[variants]\nppo = 'nlac'", "needs a name of its own"),
        ("methods = ['x']\n[seeds]\na = [0]\n[variants]\n'x/y' = 'nlac'", "needs a name of its own"),
        ("methods = ['nlac']\n[seeds]\na = [0]\n[variants]\nx = 'nlac'", "no run uses it"),
        ("methods = ['x']\n[seeds]\na = [0]\n[variants]\nx = 'y'", "unknown method 'y'"),
    ],
)
def test_what_cannot_be_planned_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_sweep(spec(tmp_path, text))


GOOD = "methods = ['nlac', 'rft']\n[seeds]\ntau_retail = [0]\n[run]\nmodel = 'tiny'\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("tau_retail", "tau_reta"), "no environment is named 'tau_reta'"),
        (GOOD + "[transfer]\nnowhere = 'tau_retail'", "no environment is named 'nowhere'"),
        (GOOD + "[tuning]\nlr = [1e-4]\nenv = 'nowhere'", "no environment is named 'nowhere'"),
        (GOOD + "[tuning]\nlr = [1e-4]\ntrain = {budget = 'lots'}", "budget 'lots' is invalid"),
        (
            GOOD + "[train]\nbudget = 'lots'\n[tuning]\nlr = [1e-4]\ntrain = {budget = 'steps=1'}",
            "budget 'lots' is invalid",
        ),
        (GOOD + "[tuning]\nlr = [1e-4, -1e-4]", "train.lr must be above 0, got -0.0001"),
        (GOOD + "[train]\nlearning_rate = 1", "nlac: unknown training setting 'learning_rate'"),
        (GOOD + "[methods_train.rft]\nmicro_rows = 0", "rft: train.micro_rows must be at least 1"),
        (
            GOOD.replace("'rft'", "'rft', 'pacs'") + "[train]\nmini_batch_size = 32",
            "pacs: train.mini_batch_size = 32 would replace its default of 1 (tasks per gradient step; 0: "
            "all of the iteration); set methods_train.pacs.mini_batch_size, too",
        ),
        (
            GOOD.replace("'rft'", "'rft', 'grpo'") + "[train]\nmini_batch_size = 32",
            "its default of 0 (turns per",
        ),
        (GOOD + "colour = 'red'", "unknown setting 'colour'"),
        (GOOD + "base_url = 'http://localhost:1/v1'", "a model on a server cannot be trained"),
        (GOOD + "limit = 0", "limit must be at least 1"),
    ],
)
def test_what_could_not_begin_is_named_before_anything_is_played(
    tmp_path: Path, text: str, said: str
) -> None:
    out = tmp_path / "out"
    result = CliRunner().invoke(
        app, ["sweep", str(spec(tmp_path, text)), "--out", str(out), "--against", "rft"]
    )
    assert result.exit_code == 2 and said in result.stderr.replace("\n", " ")
    assert not out.exists()
    check_sweep(read_sweep(spec(tmp_path, GOOD)))


def test_a_method_with_a_mini_batch_of_its_own_is_told_its_size(tmp_path: Path) -> None:
    """PACS counts tasks, and GRPO takes all of an iteration by default."""
    text = GOOD.replace("rft", "other") + "[variants]\nother = 'pacs'\n[train]\nmini_batch_size = 32\n"
    planned = read_sweep(spec(tmp_path, text + "[methods_train.other]\nmini_batch_size = 4"))
    check_sweep(planned)
    assert [planned.settings(c, None)["train"]["mini_batch_size"] for c in planned.cells()] == [32, 4]


def test_a_report_of_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["sweep", str(spec(tmp_path, GOOD)), "--out", str(out), "--report-only"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2 and f"--out {out}: the folder does not exist" in result.stderr
    out.mkdir()
    result = CliRunner().invoke(app, [*command, "--json"])
    assert result.exit_code == 3 and json.loads(result.stdout)["complete"] is False
    rows = json.loads((out / "comparison.json").read_text())["rows"]
    assert [(row["method"], row["status"]["0"]["state"]) for row in rows] == [
        ("nlac", "not started"), ("rft", "not started"),
    ]  # fmt: skip
    again = CliRunner().invoke(app, [*command, "--against", "rft"])
    assert again.exit_code == 3 and again.stderr.rstrip().endswith(f"--out {out} --jobs 1 --against rft")


def test_a_run_that_was_begun_with_other_settings_is_not_taken_for_one_of_the_sweep(tmp_path: Path) -> None:
    job = SweepJob("run", tmp_path / "nlac-lr0.0001", {"train": {"budget": "steps=4"}})
    job.command()
    job.check()
    job.folder.mkdir()
    (job.folder / "manifest.json").write_text("{}")
    job.check()
    with pytest.raises(ConfigError, match="started with other settings"):
        SweepJob("run", job.folder, {"train": {"budget": "steps=8"}}).check()


def test_a_report_refuses_runs_that_were_started_with_other_settings(tmp_path: Path) -> None:
    """A changed file, and the folder of another run under the name of a planned one."""
    out = tmp_path / "out"
    planned = read_sweep(spec(tmp_path, GOOD))
    for cell in planned.cells():
        job = training_job(planned, cell, out, None)
        job.command()
        plan = plan_episodes(["t"], 1, base_seed=0)
        RunWriter.create(
            job.folder, config=job.settings, conditions={"env": cell.env}, subject={"agent": "a"}, plan=plan
        ).close()
    command = ["sweep", str(spec(tmp_path, GOOD)), "--out", str(out), "--report-only"]
    assert CliRunner().invoke(app, command).exit_code == 3
    spec(tmp_path, GOOD + "[train]\nbudget = 'steps=400'")
    changed = CliRunner().invoke(app, command)
    assert changed.exit_code == 2 and "was started with other settings" in changed.stderr
    spec(tmp_path, GOOD)
    shutil.rmtree(out / "tau_retail" / "rft-0")
    shutil.copytree(out / "tau_retail" / "nlac-0", out / "tau_retail" / "rft-0")
    swapped = CliRunner().invoke(app, command)
    assert swapped.exit_code == 2 and "rft-0 was started with other settings" in swapped.stderr


def test_a_sweep_that_was_moved_goes_on(tmp_path: Path) -> None:
    before, after = (
        SweepJob("run", tmp_path / place / "rft-0", {"seed": 0}, {"base": f"{place}/base-0"})
        for place in "ab"
    )
    before.command()
    assert json.loads(before.written.read_text()) == {"seed": 0, "base": "a/base-0"}
    before.folder.mkdir()
    (before.folder / "manifest.json").write_text("{}")
    (tmp_path / "a").rename(tmp_path / "b")
    after.check()
    assert after.command() == ["resume", str(after.folder)]


def played(measured: Any, validations: list[tuple[int, float]]) -> Played:
    best = [
        s > max([-1.0, *(earlier for _, earlier in validations[:i])]) for i, (_, s) in enumerate(validations)
    ]
    rows = tuple(
        {"gradient_steps_total": n, "success": s, "best": b}
        for (n, s), b in zip(validations, best, strict=True)
    )
    return Played(measured, rows, {}, RunCost(0, 0, 0.0, {}))


def test_differences_are_over_common_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, Any]] = []

    def compare(a: Any, b: Any, **settings: Any) -> Any:
        seen.append((a, b))
        return SimpleNamespace(
            difference=0.1, interval=None, p_value=0.5, verdict="A better", detectable=None
        )

    monkeypatch.setattr(sweep_rows, "compare", compare)
    a: Any = {0: "a-0", 1: "a-1"}
    assert sweep_rows.difference(a, {1: "b-1"}).estimate.value == 0.1  # type: ignore[dict-item]
    assert seen == [("a-1", "b-1")]
    assert sweep_rows.difference(a, {2: "b-2"}).verdict == "not measured"  # type: ignore[dict-item]


def test_steps_to_anothers_best_validation() -> None:
    leader = {0: played(None, [(0, 0.3), (10, 0.6), (20, 0.9)]), 1: played(None, [(0, 0.3), (12, 0.7)])}
    other = {0: played(None, [(0, 0.3), (40, 0.5)]), 1: played(None, [(0, 0.3), (40, 0.7)])}
    assert sweep_rows.steps_to_best(leader, other) == {0: 10, 1: 12}
    assert leader[0].chosen_step == 20
    assert sweep_rows.steps_to_best(other, leader) == {0: None, 1: 40}, "never 0.9"
    assert sweep_rows.steps_to_best(leader, {2: other[0]}) == {}, "no common seed"


def test_a_validation_that_lost_episodes_decides_nothing(tmp_path: Path) -> None:
    """Such a validation is never the best one; tasks that a content filter stopped count as failures."""
    rows = [
        {"success": 0.25, "best": True, "tasks": 8, "planned": 8},
        {"success": 0.75, "best": True, "tasks": 4, "planned": 8},  # four were stopped by a content filter
        {"success": 1.0, "best": False, "tasks": 2, "planned": 8},  # six failed because of infrastructure
    ]
    steps = [{**row, "gradient_steps_total": 10 * i} for i, row in enumerate(rows)]
    run = Played(None, tuple(steps), {}, RunCost(0, 0, 0.0, {}))  # type: ignore[arg-type]
    assert (run.best, run.chosen_step, run.steps_to(0.3), run.steps_to(0.5)) == (0.375, 10, 10, None)
    spent = {"env_steps": 0, "tokens": 0, "seconds": 0.0, "ci": [0.0, 1.0]}
    for name, kept in (("a", steps), ("b", steps[2:])):
        plan = plan_episodes(["t"], 1, base_seed=0)
        with RunWriter.create(
            tmp_path / name, config={}, conditions={"env": "a"}, subject={"agent": "a"}, plan=plan
        ) as writer:
            for i, row in enumerate(kept):
                writer.log({"kind": "validation", "iteration": i, **spent, **row})
    assert sweeps.best_validation(tmp_path / "a") == 0.375
    with pytest.raises(RunFolderError, match="no validation in which all episodes have a result"):
        sweeps.best_validation(tmp_path / "b")


@pytest.mark.parametrize("tasks", [-5, 0, "x", 2.5, 2**63])
def test_a_validation_with_a_bad_number_of_tasks_is_damaged(tasks: object) -> None:
    spent = {"gradient_steps_total": 1, "env_steps": 1, "tokens": 1, "seconds": 1.0}
    row = {**spent, "success": 0.5, "best": True, "ci": [0.0, 1.0]}
    for kind in ("validation", "compared"):
        assert fault_of(row, kind) is None and fault_of({**row, "tasks": 8}, kind) is None
        assert "tasks" in str(fault_of({**row, "tasks": tasks}, kind))


def test_verdicts_are_those_of_the_corrected_p_values(monkeypatch: pytest.MonkeyPatch) -> None:
    chances = {"ppo": 0.03, "rft": 0.04, "sac": 0.0001}
    planned = Sweep(("nlac", *chances), {"a": (0,)})
    monkeypatch.setattr(
        sweep_rows, "difference",
        lambda a, b, comparisons: Difference(Estimate(0.1, 0.01, 0.2), chances[b[0]], "A better"),
    )  # fmt: skip
    results = Results({("a", m): {0: played(m, [])} for m in planned.methods}, {"a": {}})
    found = sweep_rows.pairs(planned, results, "a", "nlac")
    assert {m: d.verdict for m, (d, _) in found.items()} == {
        "ppo": "not distinguishable", "rft": "not distinguishable", "sac": "A better",
    }  # fmt: skip


@pytest.mark.slow(reason="nine processes, of which five load a model")
def test_a_sweep_runs_goes_on_and_compares(tmp_path: Path) -> None:
    path, out, runner = spec(tmp_path), tmp_path / "out", CliRunner()
    command = ["sweep", str(path), "--out", str(out), "--against", "rft"]
    result = runner.invoke(app, [*command, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["complete"] is True
    table = json.loads((out / "comparison.json").read_text())
    assert [(row["env"], row["method"]) for row in table["rows"]] == [
        ("tau_retail", "rft"), ("tau_airline", "rft"),
    ]  # fmt: skip
    for row in table["rows"]:
        assert set(row["floors"]) == {"random", "constant"}
        own, floor = (
            RunFolder.open(out / row["env"] / name).conditions for name in ("rft-3", "floor-random")
        )
        assert own == floor, "floors play what the methods play"
        assert row["episodes"]["planned"] == row["episodes"]["scored"] == 2
        assert set(row["seeds"]) == set(row["base"]) == {"3"}
        assert row["cost"]["environment steps"] >= 15  # 20 are kept within one mini-batch
        alone = table["runs"][row["env"]]["rft-3"]
        assert np.mean(list(alone["success"].values())) == row["success"] and len(alone["success"]) == 2
    written = json.loads((out / "tau_retail" / "rft-3" / "config.json").read_text())
    assert written["train"]["lr"] == 1e-5
    played = (out / "tau_retail" / "base-3" / "episodes.jsonl").read_bytes()
    assert (out / "tau_retail" / "rft-3" / "base" / "episodes.jsonl").read_bytes() == played
    assert "<svg" in (out / "curves.svg").read_text()
    before = (out / "tau_retail" / "rft-3" / "metrics.jsonl").read_bytes()
    shutil.rmtree(out / "tau_airline" / "rft-3")
    assert runner.invoke(app, command).exit_code == 0
    assert (out / "tau_retail" / "rft-3" / "metrics.jsonl").read_bytes() == before
    assert (out / "tau_airline" / "rft-3" / "manifest.json").exists()


def test_panels_are_labelled_by_short_names_where_these_differ() -> None:
    worlds = 'shop_worlds@{"rules": "hidden", "worlds": "held_out"}'
    assert short_names(["tau_retail", worlds]) == {"tau_retail": "tau_retail", worlds: "shop_worlds"}
    told = worlds.replace("hidden", "told")
    both = short_names([worlds, told])
    assert both[worlds] != both[told] and both[told].replace("\n", " ") == told
    assert all(len(line) <= LABEL_WIDTH for line in both[told].split("\n"))
