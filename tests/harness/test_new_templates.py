"""A run of mathematics is also measured on templates that training does not have."""

import json
from pathlib import Path

import pytest

from nlac_bench import tiny
from nlac_bench.harness.measure.new_templates import has_new_templates, taught_them
from nlac_bench.harness.measure.prepare import prepare
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.stats.new_templates import NewTemplates
from tests.cli.command import nlac_bench, one_json

MATH = 'math500_hard@{"level": 1}'


def config(**settings: object) -> RunConfig:
    return RunConfig.from_mapping({"env": MATH, "agent": "oracle", "limit": 4, **settings}, "test")


def test_a_run_reports_success_on_known_and_on_new_templates(tmp_path: Path) -> None:
    command = ("run", "--env", MATH, "--agent", "oracle", "--limit", "6", "--out", str(tmp_path / "run"))
    printed = one_json(nlac_bench(*command, "--json"))
    new = printed["test_new"]
    assert (new["success"], new["tasks"], new["gap"]) == (1.0, 6, 0.0)
    assert new["gap_ci"][0] < 0 < new["gap_ci"][1]
    run = RunFolder.open(tmp_path / "run" / "test_new")
    assert run.conditions["split"] == "test_new" and run.plan[0].task_id.startswith("test_new/")
    assert "New templates (test_new): success 1.000" in (tmp_path / "run" / "report.html").read_text()
    assert "gap to known templates 0.000" in nlac_bench("resume", str(tmp_path / "run")).stdout


def test_the_plan_counts_the_episodes_of_new_templates() -> None:
    plan = one_json(
        nlac_bench("run", "--env", MATH, "--agent", "random", "--limit", "6", "--dry-run", "--json")
    )
    assert (plan["planned"], plan["episodes"]["test_new"]) == (6, 6)
    without = one_json(
        nlac_bench("run", "--env", MATH, "--agent", "grpo", "--model", "tiny", "--dry-run", "--json")
    )
    assert "test_new" not in without["episodes"]


def test_an_incomplete_part_is_finished_by_resume(tmp_path: Path) -> None:
    out = tmp_path / "run"
    nlac_bench("run", "--env", MATH, "--agent", "oracle", "--limit", "4", "--out", str(out))
    episodes = out / "test_new" / "episodes.jsonl"
    episodes.write_bytes(b"".join(episodes.read_bytes().splitlines(keepends=True)[:2]))
    assert NewTemplates.read(out) is None
    assert one_json(nlac_bench("resume", str(out), "--json"))["test_new"]["tasks"] == 4


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, True),
        ({"split": "train"}, False),
        ({"env": 'math500_hard@{"split": "test"}'}, False),
        ({"env": "twenty_questions"}, False),
        ({"max_cost": 1.0, "price": "1,1"}, False),
    ],
)
def test_which_runs_have_new_templates(settings: dict[str, object], expected: bool) -> None:
    assert has_new_templates(prepare(config(**settings))) is expected


def test_the_manifest_of_an_embedded_model_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepare(config())
    assert not taught_them(prepared)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes((tiny.path() / "tokenizer.json").read_bytes())
    manifest = {"taught": {"held_out": {"math500_hard": "test_new"}}}
    for model, held_out, expected in (
        ("tiny", None, True),
        (str(folder), {}, True),
        (str(folder), manifest, False),
    ):
        if held_out is not None:
            (folder / "manifest.json").write_text(json.dumps(held_out))
        object.__setattr__(prepared, "config", prepared.config.changed(model=model))
        assert taught_them(prepared) is expected
