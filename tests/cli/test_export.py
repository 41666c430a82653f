"""``nlac-bench export prompts``, and runs on files of prompts by the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs import registry
from nlac_bench.envs.env_string import parse
from nlac_bench.envs.prompts import PromptsEnv
from nlac_bench.harness.runs.folder import RunFolder
from tests.cli.command import nlac_bench, one_json


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows_of(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def write(path: str, *answers: int, **extra: Any) -> None:
    rows = ({"question": f"Say {each}.", "answer": each, **extra} for each in answers)
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_a_file_is_measured_and_written_again(tmp_path: Path) -> None:
    write("rows.jsonl", 4, 5, 6, note="kept")
    env = 'prompts@{"data": "rows.jsonl"}'
    summary = one_json(nlac_bench("run", "--env", env, "--agent", "oracle", "--out", "run", "--json"))
    assert (summary["success"], summary["planned"], summary["complete"]) == (1.0, 3, True)
    done = one_json(nlac_bench("export", "prompts", "run", "--out", "again.jsonl", "--json"))
    assert done == {"path": "again.jsonl", "episodes": 3}
    assert rows_of("again.jsonl") == rows_of("rows.jsonl")


def test_tasks_of_any_environment_become_rows_that_play_them() -> None:
    nlac_bench("run", "--env", 'tau_retail@{"level": "easy"}', "--agent", "oracle", "--limit", "3",
               "--trials", "2", "--out", "run")  # fmt: skip
    assert "3 rows: out.jsonl" in nlac_bench("export", "prompts", "run", "--out", "out.jsonl").stdout
    rows = rows_of("out.jsonl")
    tasks = {item.task_id for item in RunFolder.open("run").plan}
    assert {row["extra_info"]["task_id"] for row in rows} == tasks
    assert [message["role"] for message in rows[0]["prompt"]] == ["system", "user"]
    assert set(rows[0]) == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
    again = one_json(
        nlac_bench("run", "--env", "prompts", "--data", "out.jsonl", "--agent", "oracle", "--json")
    )
    assert (again["success"], again["planned"]) == (1.0, 3)
    assert (
        PromptsEnv(data="out.jsonl").reset(options={"task_id": "row/000001"})[0]
        == (rows[0]["prompt"][-1]["content"])
    )


def test_rows_name_the_world_and_the_constructor_arguments_of_the_run() -> None:
    env = 'shop_worlds@{"rules": "told", "worlds": "held_out", "level": "easy"}'
    nlac_bench("run", "--env", env, "--seed", "3", "--agent", "oracle", "--limit", "1", "--out", "run")
    nlac_bench("export", "prompts", "run", "--out", "out.jsonl")
    manifest = json.loads(Path("run/manifest.json").read_text())
    [row] = rows_of("out.jsonl")
    made = registry.make_text_env(row["reward_model"]["ground_truth"])
    assert made.played_world == manifest["subject"]["world"] == 1003
    again = one_json(
        nlac_bench("run", "--env", "prompts", "--data", "out.jsonl", "--agent", "oracle", "--json")
    )
    assert again["success"] == 1.0

    options = ("--user", "scripted", "--split", "train", "--agent", "oracle", "--limit", "1")
    nlac_bench("run", "--env", "tau_retail", *options, "--out", "user")
    nlac_bench("export", "prompts", "user", "--out", "user.jsonl")
    [row] = rows_of("user.jsonl")
    assert parse(row["reward_model"]["ground_truth"])[1] == {"user": "scripted", "split": "train"}


def test_tasks_whose_user_needs_a_model_are_not_exported() -> None:
    nlac_bench("run", "--env", "tau_retail", "--agent", "oracle", "--limit", "1", "--out", "run")
    config = json.loads(Path("run/config.json").read_text())
    for changed in ({"user": "none"}, {"user": "llm", "user_model": "m"}, {"replay": "replies.jsonl"}):
        Path("run/config.json").write_text(json.dumps(config | changed))
        shown = nlac_bench("export", "prompts", "run", "--out", "x.jsonl", status=2).stderr
        assert "need a model that plays their user, oracle or judge" in shown, changed
    assert not Path("x.jsonl").exists()


def test_what_cannot_be_exported_is_refused() -> None:
    nlac_bench("run", "--env", "first_steps", "--agent", "oracle", "--limit", "1", "--out", "run")
    assert ".parquet or .jsonl" in nlac_bench("export", "prompts", "run", "--out", "x.txt", status=2).stderr
    assert "does not exist" in nlac_bench("export", "prompts", "no", "--out", "x.jsonl", status=2).stderr
    manifest = json.loads(Path("run/config.json").read_text())
    Path("run/config.json").write_text(json.dumps(manifest | {"env": "my_pkg:Env-v0"}))
    assert nlac_bench("export", "prompts", "run", "--out", "x.jsonl", status=2).stderr
    assert not Path("x.jsonl").exists()


def test_parquet_is_written_and_read(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    nlac_bench("run", "--env", "first_steps", "--agent", "oracle", "--limit", "4", "--out", "run")
    done = one_json(nlac_bench("export", "prompts", "run", "--out", "out.parquet", "--json"))
    assert done["episodes"] == 4
    again = nlac_bench("run", "--env", "prompts", "--data", "out.parquet", "--agent", "oracle", "--json")
    assert one_json(again)["success"] == 1.0


def test_data_and_val_are_trained_on_and_measured() -> None:
    write("train.jsonl", *range(40))
    write("val.jsonl", *range(50, 55))
    options = ("run", "--env", "prompts", "--data", "train.jsonl", "--val", "val.jsonl")
    plan = one_json(nlac_bench(*options, "--agent", "grpo", "--dry-run", "--json"))
    assert plan["episodes"]["base"] == 5, plan
    summary = one_json(nlac_bench(*options, "--agent", "random", "--out", "run", "--json"))
    assert summary["planned"] == 5
    assert {item.task_id.partition("/")[0] for item in RunFolder.open("run").plan} == {"test"}
    assert (
        "no argument 'val'"
        in nlac_bench(
            "run", "--env", "first_steps", "--val", "val.jsonl", "--agent", "oracle", status=2
        ).stderr
    )


def test_an_outage_is_no_result() -> None:
    row = {"prompt": "Hi", "reward_model": {"style": "verifier_service", "ground_truth": "x"}}
    Path("rows.jsonl").write_text(json.dumps(row))
    env = 'prompts@{"data": "rows.jsonl", "verifier": "http://127.0.0.1:9"}'
    done = nlac_bench("run", "--env", env, "--agent", "silent", "--out", "run", "--json", status=3)
    summary = one_json(done)
    assert (summary["success"], summary["scored"], summary["infra_errors"]) == (None, 0, 1)
    assert "gave no verdict" in summary["commonest_error"]
    refused = nlac_bench("resume", "run", status=2).stderr  # the folder may come from somebody else
    assert "sends replies to a server" in refused and "--env" in refused


def test_a_wrong_row_is_named_on_standard_error() -> None:
    Path("rows.csv").write_text("question,answer\nok,1\nbad,\n")
    done = nlac_bench("run", "--env", "prompts", "--data", "rows.csv", "--agent", "oracle", status=2)
    assert "row 2, column answer" in done.stderr and done.stdout == ""
    assert "data" in nlac_bench("run", "--env", "prompts", "--agent", "oracle", status=2).stderr
