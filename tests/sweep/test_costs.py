"""A sweep's report states what each method spent of its budget, and what holds at equal cost."""

import json
from pathlib import Path

from nlac_bench.reports.report.sweep import sweep_report
from nlac_bench.sweep.plan import Sweep, base_folder
from nlac_bench.sweep.report import write
from tests.sweep.test_sweep_failures import make_run

ENV = "tau_retail"
PLAN = Sweep(("nlac", "ppo", "rft"), {ENV: (0, 1)})
SPENT = {"nlac": (12_000, 0.9), "ppo": (34_858, 0.9), "rft": (12_300, 0.1)}
"""Tokens spent of a budget of 12,000, and the success of the last validation."""


def test_costs_stand_beside_the_differences_of_a_sweep(tmp_path: Path) -> None:
    for cell in PLAN.cells():
        tokens, validated = SPENT[cell.method]
        roles = {
            "policy": {"completion_tokens": tokens // 4},
            "evaluator": {"completion_tokens": 3 * tokens // 4},
            "validation:policy": {"completion_tokens": 99_999},
        }
        make_run(
            cell.folder(tmp_path), ENV, 0.5, budget="tokens=12000", tokens=tokens, validated=validated,
            usage=roles, gradient_steps=4,
        )  # fmt: skip
    for seed in (0, 1):
        make_run(base_folder(tmp_path, ENV, seed), ENV, 0.25)
    path, _ = write(PLAN, tmp_path, "nlac")
    text, data = path.read_text(), json.loads((tmp_path / "comparison.json").read_text())
    (line,) = [line.split() for line in text.splitlines() if "12,000 tokens" in line and "ppo" in line]
    assert line == ["ppo", "12,000", "tokens", "34,858", "22,858", "26,143", "8,714"]
    assert "99,999" not in text
    assert "- warning: ppo spent 190% more generated tokens than nlac\n" in text
    assert "rft spent" not in text, "2.5 % are no warning"
    rows = {row["method"]: row for row in data["rows"]}
    assert rows["ppo"]["budget"] == {
        "kind": "tokens",
        "planned": 12_000,
        "spent": 34_858,
        "overshoot": 22_858,
    }
    equal = (
        "- at 12,000 generated tokens (validation): nlac 0.900, ppo 0.500 (untrained), nlac − ppo = +0.400\n"
    )
    assert equal in text and rows["ppo"]["cost_notes"][-1] == equal.strip("- \n")
    assert rows["rft"]["cost_notes"] == rows["nlac"]["cost_notes"] == []
    shown = next(each for each in sweep_report(tmp_path).sections if each.id == "cost")
    assert any("ppo spent 190% more generated tokens than nlac" in note for note in shown.notes)
    (table,) = [each.table for each in shown.tables if each.name == "training_cost"]
    assert ("12,000 tokens", 34_858, 22_858) in [row[-3:] for row in table.rows]
