"""One seed, one world: what a run plays and records, and comparisons that are paired by world."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlac_bench.envs.shop_worlds.worlds import HELD_OUT
from nlac_bench.harness.measure.prepare import outline
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.leaderboards.from_run import board_key, subject_of
from nlac_bench.leaderboards.pairs import all_pairs
from nlac_bench.stats.compare import compare
from nlac_bench.stats.compare_seeds import compare_algorithms
from nlac_bench.stats.outcomes import Counts, Outcomes
from nlac_bench.stats.pairing import MeasuredRun, NotComparableError
from nlac_bench.stats.seed_errors import RESAMPLED, RESAMPLED_WORLDS, hierarchical_error, world_error
from nlac_bench.sweep.file import check_sweep, read_sweep
from tests.cli.command import call
from tests.leaderboards.factory import entry

WORLDS = 'shop_worlds@{"rules": "hidden", "worlds": "held_out", "level": "easy"}'


def played(folder: Path, seed: int, *more: str, env: str = WORLDS) -> RunFolder:
    done = call("run", "--env", env, "--agent", "oracle", "--limit", "2", "--seed", str(seed), "--out",
                str(folder), "--json", *more)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["success"] == 1.0
    return RunFolder.open(folder)


# --- runs -----------------------------------------------------------------------------------------------


def test_the_seed_determines_the_world_which_belongs_to_the_subject(tmp_path: Path) -> None:
    first, second = (played(tmp_path / str(seed), seed) for seed in (3, 5))
    assert (first.world, second.world) == (HELD_OUT[3], HELD_OUT[5])
    assert first.subject == {**second.subject, "world": HELD_OUT[3]}
    assert first.conditions == second.conditions
    assert first.conditions["env_args"] == {"rules": "hidden", "worlds": "held_out", "level": "easy"}
    assert first.conditions["rules"] == "hidden" and first.config["env"] == WORLDS
    assert board_key(first) == board_key(second), "the world is no part of what a board measures"
    assert subject_of([first, second]).worlds == [HELD_OUT[3], HELD_OUT[5]]
    found = call("compare", str(first.path), str(second.path))
    assert found.returncode == 2 and "played world 1003 and" in found.stderr
    submitted = call("submit", str(first.path), "--out", str(tmp_path / "out"), "--partial", "--replay")
    assert submitted.returncode == 0, submitted.stderr
    (path,) = (tmp_path / "out").glob("*.json")
    assert json.loads(path.read_text())["subject"]["worlds"] == [HELD_OUT[3]]


def test_a_run_without_worlds_records_none(tmp_path: Path) -> None:
    done = call("run", "--env", "twenty_questions", "--agent", "silent", "--limit", "1", "--out",
                str(tmp_path / "run"))  # fmt: skip
    assert done.returncode == 0
    run = RunFolder.open(tmp_path / "run")
    assert run.world is None and "world" not in run.subject


def test_the_training_split_is_of_the_same_world() -> None:
    planned = outline(RunConfig.from_mapping({"env": WORLDS, "agent": "oracle", "seed": 4}, "test"))
    envs: list[Any] = [planned.environments.measured, planned.environments.training]
    assert [env.played_world for env in envs] == [HELD_OUT[4]] * 2
    assert [env.split for env in envs] == ["test", "train"]


@pytest.mark.parametrize(
    ("env", "seed", "said"),
    [
        (WORLDS, "12", "seed 12 has no world"),
        (WORLDS, "-1", "seed -1 has no world"),
        ('shop_worlds@{"worlds": "held_out", "world": 1001}', "0", "the seed determines the world"),
        ('shop_worlds@{"worlds": "open"}', "0", "worlds must be 'held_out' or left out, got 'open'"),
        ('shop_worlds@{"world": 1012}', "0", "world must be an integer from 0 to 1011, got 1012"),
        ('tau_retail@{"worlds": "held_out"}', "0", "cannot be made with the arguments"),
    ],
)
def test_seeds_without_a_world_are_refused(tmp_path: Path, env: str, seed: str, said: str) -> None:
    for command in (("run", "--agent", "oracle", "--out", str(tmp_path / "run")), ("floors",)):
        done = call(*command, "--env", env, "--seed", seed)
        assert done.returncode == 2 and said in " ".join(done.stderr.split()), done.stderr
    assert not (tmp_path / "run").exists()


def test_floors_play_the_world_of_the_seed() -> None:
    done = call("floors", "--env", WORLDS, "--seed", "6", "--episodes", "2", "--agent", "oracle", "--json")
    (row,) = json.loads(done.stdout)["rows"]
    assert row["success"] == 1.0 and row["scored"] == 2


SWEEP = f"""
methods = ["rft", "ppo"]
[seeds]
'{WORLDS}' = [0, %s]
[run]
model = "tiny"
limit = 2
[tuning]
lr = [1e-4, 1e-5]
seed = %s
"""


@pytest.mark.parametrize(
    ("seed", "tuning", "said"), [(1, 8, None), (12, 8, "seed 12 has no world"), (1, 100, "seed 100 has no")]
)
def test_a_sweep_needs_a_world_for_every_seed(
    tmp_path: Path, seed: int, tuning: int, said: str | None
) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP % (seed, tuning))
    sweep = read_sweep(tmp_path / "sweep.toml")
    if said is None:
        check_sweep(sweep)
        return
    with pytest.raises(Exception, match=said):
        check_sweep(sweep)


def test_show_names_the_world_and_its_procedures() -> None:
    done = call("envs", "show", "shop_worlds", "--world", "1003", "--json")
    shown = json.loads(done.stdout)
    assert shown["world"] == 1003 and shown["held_out"] is True
    assert set(shown["procedures"]) == {
        "cancel", "return", "exchange", "modify_items", "order_address", "order_payment",
    }  # fmt: skip
    assert all(isinstance(name, str) and "+" in name for name in shown["procedures"].values())
    plain = call("envs", "show", "shop_worlds", "--world", "5")
    assert plain.returncode == 0 and "procedures" in plain.stdout
    assert "world" not in json.loads(call("envs", "show", "tau_retail", "--json").stdout)
    for env, world in (("shop_worlds", "1012"), ("shop_worlds", "-1"), ("tau_retail", "0")):
        assert call("envs", "show", env, "--world", world).returncode == 2


# --- comparisons ----------------------------------------------------------------------------------------


def measured(rates_T: np.ndarray, world: int | None, name: str = "run") -> MeasuredRun:
    success = np.asarray(rates_T, dtype=float)[:, None]
    planned = len(success)
    counts = Counts(planned, planned, unscored=0, infra_errors=0, owed=0, truncated=0)
    tasks = tuple(f"t{i}" for i in range(planned))
    return MeasuredRun(name, {"env": "shop_worlds"}, Outcomes(tasks, success, success, counts), world)


def sides(worlds: int, tasks: int, gain: float, seed: int = 0) -> tuple[list[MeasuredRun], list[MeasuredRun]]:
    """Two algorithms in worlds that differ much; in each world the first is better by ``gain``."""
    rng = np.random.default_rng(seed)
    hard = rng.uniform(0.1, 0.7, worlds)
    made = []
    for name, more in (("a", gain), ("b", 0.0)):
        rates = np.clip(hard + more, 0, 1)
        runs = [(rng.random(tasks) < rate).astype(float) for rate in rates]
        made.append([measured(run, 1000 + w, f"{name}{w}") for w, run in enumerate(runs)])
    return made[0], made[1]


def test_runs_are_paired_by_world_in_any_order() -> None:
    a, b = sides(8, 200, 0.15)
    found = compare_algorithms(a, b)
    assert found.worlds == tuple(range(1000, 1008)) and found.verdict == "A better"
    assert found.interval is not None and found.interval.method == RESAMPLED_WORLDS
    assert compare_algorithms(a, b[::-1]) == found
    assert compare_algorithms(a[3:] + a[:3], b) == found
    shown = found.to_json()
    assert shown["worlds"] == list(range(1000, 1008))
    assert "paired by world: 1000, 1001" in found.to_text()


def test_pairing_removes_what_worlds_add_to_both_sides() -> None:
    a, b = sides(8, 200, 0.15)
    unpaired = compare_algorithms(
        *([MeasuredRun(r.name, r.conditions, r.outcomes) for r in s] for s in (a, b))
    )
    paired = compare_algorithms(a, b)
    assert unpaired.interval is not None and paired.interval is not None
    assert unpaired.interval.method == RESAMPLED and "worlds" not in unpaired.to_json()
    assert paired.difference == pytest.approx(unpaired.difference)
    width = paired.interval.high - paired.interval.low
    assert width < 0.6 * (unpaired.interval.high - unpaired.interval.low)
    assert unpaired.verdict == "not distinguishable"


def test_the_error_over_worlds_is_that_of_their_differences() -> None:
    rng = np.random.default_rng(1)
    differences_WT = rng.normal(0, 0.3, (6, 1)) + rng.normal(0, 0.01, (6, 400))
    error, df = world_error(differences_WT, rng)
    between = np.sqrt(differences_WT.mean(axis=1).var(ddof=1) / 6)
    assert error == pytest.approx(between, rel=0.05) and df == pytest.approx(5, abs=0.1)


def test_unpaired_errors_are_what_they_were() -> None:
    """The figures of comparisons without worlds do not change, to the last bit."""
    a = np.random.default_rng(7).random((3, 11))
    b = np.random.default_rng(8).random((2, 11))
    error, df = hierarchical_error(a, b, np.random.default_rng(9), 300)
    assert (error.hex(), df.hex()) == ("0x1.83390fd3bddb7p-4", "0x1.c3d87195cb793p+2")


@pytest.mark.parametrize(
    ("worlds_a", "worlds_b"), [((1, 2), (1, 3)), ((1, 2), (1, 2, 3)), ((1, 1), (1, 2)), ((1, 2), (None, 2))]
)
def test_sides_with_other_worlds_are_refused(worlds_a: Any, worlds_b: Any) -> None:
    a, b = ([measured(np.ones(5), w) for w in worlds] for worlds in (worlds_a, worlds_b))
    with pytest.raises(NotComparableError, match="one run in each of the same worlds"):
        compare_algorithms(a, b, name_a="nlac", name_b="ppo")


def test_several_seeds_in_one_world_are_compared_as_seeds() -> None:
    rng = np.random.default_rng(2)
    runs = [measured(rng.random(40) < 0.5, 7) for _ in range(6)]
    found = compare_algorithms(runs[:3], runs[3:])
    assert found.worlds == () and found.interval is not None


def test_two_models_are_compared_in_one_world_only() -> None:
    one, other = measured(np.ones(5), 1, "one"), measured(np.ones(5), 2, "other")
    with pytest.raises(NotComparableError, match="one played world 1 and other world 2"):
        compare(one, other)
    assert compare(one, one).difference == 0


def test_boards_pair_entries_of_the_same_worlds() -> None:
    a, b = sides(4, 200, 0.15)
    rows = [[[bool(x) for x in run.outcomes.task_means("success")] for run in side] for side in (a, b)]
    plain = [entry(name, *runs) for name, runs in zip(("nlac", "ppo"), rows, strict=True)]

    def with_worlds(worlds: list[list[int]]) -> Any:
        return [
            each.model_copy(update={"subject": each.subject.model_copy(update={"worlds": own})})
            for each, own in zip(plain, worlds, strict=True)
        ]

    (unpaired,) = all_pairs(plain)
    for worlds in ([[1, 2, 3, 4], [1, 2, 3, 5]], [[1, 2, 3], [1, 2, 3]], [[1, 1, 2, 3], [1, 2, 3]]):
        (other,) = all_pairs(with_worlds(worlds))
        assert (other.p, other.ci) == (unpaired.p, unpaired.ci)
    (same,) = all_pairs(with_worlds([[1, 2, 3, 4], [1, 2, 3, 4]]))
    assert same.difference == unpaired.difference and same.p <= unpaired.p
