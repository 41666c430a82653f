"""The criteria of the plan of ``leaderboards/worlds``."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nlac_bench.agents.nlac.records import ProbeRecord
from nlac_bench.envs.shop_worlds.env import ShopWorldsEnv
from nlac_bench.envs.shop_worlds.procedures import KINDS, described
from nlac_bench.envs.shop_worlds.tasks import case_of
from nlac_bench.envs.shop_worlds.worlds import SPARE, procedures_of
from nlac_bench.stats.estimates import Estimate
from nlac_bench.sweep.results import Played
from nlac_bench.sweep.rows import Difference
from nlac_bench.training.costs import RunCost
from workshop.world_criteria import (
    by_kind,
    changes_data,
    critic_row,
    critic_table,
    main,
    steps_row,
    success_rows,
)

WORLD = SPARE[0]
RIGHT, WRONG = (
    f"by: {described('cancel', each)}; right: no change; end: failure"
    for each in sorted(KINDS["cancel"].procedures, key=lambda each: each != procedures_of(WORLD)["cancel"])[
        :2
    ]
)
CALL = '{"name": "cancel_pending_order", "arguments": {"order_id": "#W1"}}'


def probe(
    state: int, future: str | None, success: bool | None, optimal: bool | None, **others: Any
) -> ProbeRecord:
    texts: dict[str, Any] = dict.fromkeys(
        ("predicted", "critique", "refined", "played_on", "refined_on"), None
    )
    fields: dict[str, Any] = {"iteration": 0, "played": "Hello"} | others
    return ProbeRecord(
        weight_version=1, task=f"worlds/validation/easy/{state:03}", trial=0, seed=0, step=0, heard="Hi",
        answered="Yes", success=success, future=future, optimal=optimal, state=state, **fields, **texts,
    )  # fmt: skip


def test_a_critic_that_knows_the_world_is_measured_beside_that_of_the_run() -> None:
    records = [
        *(probe(i, RIGHT, success=True, optimal=False) for i in range(4)),
        *(probe(i, WRONG, success=False, optimal=False) for i in range(4, 8)),
        probe(8, None, success=None, optimal=True),  # without an outcome
        probe(9, RIGHT, success=False, optimal=None),  # not readable
    ]
    assert critic_row(WORLD, 3, records) == [
        str(WORLD), "3", "8", "0.500 [0.500, 0.500]", "1.000 [1.000, 1.000]",
    ]  # fmt: skip
    assert critic_row(WORLD, 3, records[:4])[-2:] == ["–", "–"], "all outcomes are the same"


@pytest.mark.parametrize(
    ("played", "changes"),
    [
        (CALL, True),
        (f"Done.\n{CALL}", False),
        (CALL.replace("cancel_pending_order", "get_order_details"), False),
        ("I have cancelled the order with cancel_pending_order.", False),
        ("", False),
    ],
)
def test_only_calls_that_change_the_shop_are_counted(played: str, changes: bool) -> None:
    assert changes_data(probe(0, RIGHT, success=True, optimal=True, played=played)) is changes


def test_the_first_and_the_last_validation_are_shown(tmp_path: Path) -> None:
    records = [probe(i, RIGHT, success=True, optimal=True, iteration=i // 2, played=CALL) for i in range(6)]
    records.append(replace(records[-1], heard="The refund bounced: order #W1 is on hold."))
    (tmp_path / "probes.jsonl").write_text("".join(f"{json.dumps(asdict(r))}\n" for r in records))
    run: Any = SimpleNamespace(path=tmp_path, world=WORLD)
    rows = [line.split()[:5] for line in critic_table([run]).splitlines()[2:]]
    assert rows == [
        ["all", "states", str(WORLD), "0", "2"], ["all", "states", str(WORLD), "2", "3"],
        ["outcome", "unreported", str(WORLD), "0", "2"], ["outcome", "unreported", str(WORLD), "2", "2"],
        ["changing", "calls", str(WORLD), "0", "2"], ["changing", "calls", str(WORLD), "2", "3"],
    ]  # fmt: skip


def trained(total: float, *validations: tuple[int, float]) -> Played:
    best = [
        all(success > earlier for _, earlier in validations[:i]) for i, (_, success) in enumerate(validations)
    ]
    rows = [
        {"env_steps": steps, "gradient_steps_total": steps, "success": success, "best": chosen}
        for (steps, success), chosen in zip(validations, best, strict=True)
    ]
    measured: Any = None
    return Played(measured, tuple(rows), {}, RunCost(total, 0, 0.0, {}))


SHOWN, NOT_SHOWN = (Difference(Estimate(0.2, low, 0.4), 0.01, "A better") for low in (0.1, -0.1))
NO_TEST = "not testable"
PPO = trained(900, (0, 0.2), (300, 0.5), (900, 0.4))


@pytest.mark.parametrize(
    ("nlac", "gains", "expected"),
    [
        (trained(400, (0, 0.2), (200, 0.5), (400, 0.6)), (SHOWN, SHOWN), ["400", "no", "200", "yes"]),
        (trained(400, (0, 0.2), (200, 0.3), (400, 0.1)), (SHOWN, SHOWN), ["200", "yes", "never", "no"]),
        (trained(400, (0, 0.2), (400, 0.2)), (NOT_SHOWN, SHOWN), ["0", "no", "never", "no"]),
        (trained(400, (0, 0.2), (200, 0.6)), (SHOWN, NOT_SHOWN), ["200", NO_TEST, "200", NO_TEST]),
    ],
)  # fmt: skip
def test_steps_count_only_where_gains_are_shown(
    nlac: Played, gains: tuple[Difference, Difference], expected: list[str]
) -> None:
    row = steps_row(WORLD, nlac, PPO, gains)
    assert row[0] == str(WORLD) and row[3] == "900" and row[4:] == expected


def test_methods_are_compared_at_equal_environment_steps_and_at_the_end() -> None:
    nlac = trained(400, (0, 0.2), (200, 0.5), (400, 0.6))
    ended = trained(100, (0, 0.2), (100, 0.1))
    runs = {"nlac": nlac, "ppo": PPO, "rft": replace(ended, spent=replace(ended.spent, ended_early=True))}
    assert success_rows(WORLD, runs) == [
        [str(WORLD), "400", "nlac", "0.200 (step 0)", "0.600 (step 400)", "0.600 (step 400)"],
        [str(WORLD), "400", "ppo", "0.200 (step 0)", "0.500 (step 300)", "0.400 (step 900)"],
        [str(WORLD), "400", "rft", "0.200 (step 0)", "0.100 (step 100)", "0.100 (step 100)"],
    ]


def test_success_is_averaged_over_the_tasks_of_a_kind() -> None:
    tasks = ShopWorldsEnv(split="test", level="easy", world=WORLD).task_ids
    kinds = [case_of(task).requests[0].goal.kind for task in tasks]
    first, second = [i for i, kind in enumerate(kinds) if kind == "cancel"][:2]
    chosen = [first, second, kinds.index("return")]

    def run(*success: float) -> Any:
        outcomes = SimpleNamespace(tasks=[tasks[i] for i in chosen], success=np.array(success)[:, None])
        return SimpleNamespace(outcomes=outcomes)

    means = dict(zip(KINDS, by_kind([run(1, 0, 0), run(1, 1, 1)]), strict=True))
    assert means["cancel"] == 0.75 and means["return"] == 0.5 and math.isnan(means["exchange"])


def test_a_sweep_without_finished_runs_has_empty_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(__file__).parents[2] / "configs/sweeps/worlds.toml"
    main([str(file), str(tmp_path)])
    headers = [line.split()[0] for line in capsys.readouterr().out.splitlines()[::2]]
    assert headers == ["probes", "world", "world", "method"]
    with pytest.raises(SystemExit) as stopped:
        main([str(tmp_path / "FILE.toml"), str(tmp_path)])
    assert stopped.value.code == 2 and "FILE.toml does not exist" in capsys.readouterr().err
