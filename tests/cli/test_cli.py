"""The command line as a user calls it: output, exit status, one JSON object, errors that name the fix."""

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents import methods
from nlac_bench.agents.names import FLOORS, PROMPTED
from nlac_bench.cli import app
from nlac_bench.cli.commands import COMMANDS, imported
from nlac_bench.cli.floors import PLAYED, _agents_of
from nlac_bench.cli.output import console
from nlac_bench.cluster.launch.settings import LaunchSettings
from nlac_bench.envs import registry
from nlac_bench.rollout.engines.backoff import Retries
from tests.cli.command import nlac_bench, one_json

ROOT = Path(__file__).parents[2]


def test_console_script() -> None:
    script = Path(sys.executable).with_name("nlac-bench")
    done = subprocess.run([script, "envs", "list", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["environments"] and done.stdout.count("\n") == 1


def test_help_teaches_by_example() -> None:
    for command in ([], ["envs"], ["data"], ["run"], ["grade"], ["compare"], ["envs", "check"], ["play"]):
        shown = nlac_bench(*command, "--help").stdout
        assert "nlac-bench" in shown and "Usage" in shown
    assert "nlac-bench run --env" in nlac_bench("run", "--help").stdout


def commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{path} {name}")


def test_help_texts_fit_80_columns() -> None:
    """Typer breaks the lines of a command's first paragraph only; it prints the others after one space."""
    listed: list[tuple[str, Any]] = [("nlac-bench", app.info)]
    for name in COMMANDS:
        listed += commands(imported(name), f"nlac-bench {name}")
    for path, command in listed:
        for line in inspect.cleandoc(command.help).partition("\n\n")[2].splitlines():
            assert len(re.sub(r"\[/?bold\]", "", line)) <= 78, f"{path}: {line}"


def test_help_of_run_lists_agents_and_training_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_width", 80)
    shown = nlac_bench("run", "--help", COLUMNS="80").stdout
    assert max(map(len, shown.splitlines())) <= 80
    for name in (*methods.names(), *FLOORS, *PROMPTED):
        assert name in shown
    for method in methods.BUILT_IN.values():
        assert all(setting in shown for setting in method.config_class.model_fields)


def test_help_of_launch_lists_the_settings_of_its_table() -> None:
    shown = nlac_bench("launch", "--help", COLUMNS="80").stdout
    assert all(setting in shown for setting in LaunchSettings.model_fields)
    assert "seconds within which all servers must answer" in " ".join(shown.split())


def test_envs_list_and_show() -> None:
    listed = one_json(nlac_bench("envs", "list", "--json"))["environments"]
    assert {"math500_hard", "twenty_questions", "tau_retail", "tau_airline"} <= {e["name"] for e in listed}
    assert all(e["tasks"] > 0 and len(e["data_sha256"]) == 64 for e in listed)
    shown = one_json(nlac_bench("envs", "show", 'tau_retail@{"level": "easy"}', "--json"))
    assert len(shown["tools"]) == 16 and shown["observation"] and "Reward" in shown["doc"]
    assert "tau_retail" in nlac_bench("envs", "list").stdout
    assert "what the agent is told" in nlac_bench("envs", "show", "twenty_questions").stdout
    for game, unknowns in (("twenty_questions", "say"), ('twenty_questions@{"unknowns": "no"}', "no")):
        assert one_json(nlac_bench("envs", "show", game, "--json"))["unknowns"] == unknowns


def test_envs_check() -> None:
    report = one_json(nlac_bench("envs", "check", "examples.register_env:CountDown-v0", "--json"))
    assert report["ok"] and len(report["checks"]) > 10


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["envs", "show", "tau_detail"], "tau_detail"),
        (["envs", "show", "tau_retail@{oops"], "tau_retail@{oops"),
        (["play", 'tau_retail@{"split": "nowhere"}', "--agent", "oracle"], "nowhere"),
        (["play", "twenty_questions", "--task", "no-such-task", "--agent", "oracle"], "no-such-task"),
        (["play", "twenty_questions", "--agent", "nobody"], "nobody"),
        (["run", "--env", "twenty_questions", "--agent", "nobody"], "nobody"),
        (["run", "--agent", "oracle"], "--env"),
        (["run", "--env", "tau_retail", "--agent", "react"], "--model"),
        (["run", "--env", "twenty_questions", "--agent", "oracle", "--tasks", "x,y"], "'x'"),
        (["run", "--config", "/no/such/file.toml"], "/no/such/file.toml"),
        (["resume", "/no/such/run"], "/no/such/run"),
        (["data", "verify", "nothing"], "nothing"),
        (["data", "fetch", "twenty_questions"], "--from"),
        (["grade", "/no/such/file.jsonl"], "/no/such/file.jsonl"),
    ],
)
def test_errors_name_the_value_without_a_traceback(arguments: list[str], names: str, tmp_path: Path) -> None:
    done = nlac_bench(*arguments, status=2, NLAC_BENCH_CACHE=str(tmp_path))
    assert names in done.stderr and "Traceback" not in done.stderr and not done.stdout


def test_official_data_that_are_not_there_name_the_command(tmp_path: Path) -> None:
    env = {"NLAC_BENCH_CACHE": str(tmp_path), "NLAC_BENCH_DATA": str(tmp_path)}
    done = nlac_bench("play", 'tau_retail@{"data": "official"}', "--agent", "oracle", status=2, **env)
    assert "nlac-bench data fetch tau" in done.stderr


def test_play_by_hand_and_by_the_oracle() -> None:
    typed = nlac_bench("play", "examples.register_env:CountDown-v0", "--task", "3", stdin="2\n1\n").stdout
    assert "success" in typed and "return 1" in typed
    watched = nlac_bench("play", "tau_retail", "--agent", "oracle", "--seed", "1").stdout
    assert "success" in watched
    nlac_bench("play", "twenty_questions", stdin="Is it alive?\n", status=130)


def test_terminal_is_safe_from_model_text() -> None:
    from nlac_bench.cli.output import escape, escape_lines

    assert escape("\x1b[2J[bold]x\r\n\ud800") == "\\x1b[2J\\[bold]x\\r\\n\\ud800"
    assert escape("a\u202eb\u2066\x9b\U000e0041") == "a\\u202eb\\u2066\\u009b\\udb40\\udc41"
    assert escape_lines("a\u202e\n\tb") == "a\\u202e\n\tb"


def run(tmp_path: Path, name: str, *arguments: str, status: int = 0) -> dict[str, Any]:
    return one_json(nlac_bench("run", *arguments, "--out", str(tmp_path / name), "--json", status=status))


def test_run_score_compare_resume(tmp_path: Path) -> None:
    common = ("--env", 'tau_retail@{"level": "easy"}', "--limit", "12")
    oracle = run(tmp_path, "oracle", *common, "--agent", "oracle")
    assert oracle["success"] == 1.0 and oracle["planned"] == oracle["scored"] == 12
    assert oracle["infra_errors"] == oracle["truncated"] == 0 and len(oracle["ci"]) == 2
    floor = run(tmp_path, "transfer", *common, "--agent", "transfer", "--trials", "2")
    assert floor["planned"] == 24 and floor["success"] <= 0.5
    compared = one_json(nlac_bench("compare", str(tmp_path / "oracle"), str(tmp_path / "transfer"), "--json"))
    assert compared["verdict"] == "A better" and compared["approximate"] is False
    assert compared["detectable_difference"] >= 6 / 24
    seeds = []
    for seed in "123":
        run(tmp_path, f"random-{seed}", *common, "--agent", "random", "--seed", seed)
        seeds.append(str(tmp_path / f"random-{seed}"))
    run(tmp_path, "oracle-1", *common, "--agent", "oracle", "--seed", "1")
    sides = (f"{tmp_path / 'oracle'},{tmp_path / 'oracle-1'}", ",".join(seeds))
    algorithms = one_json(nlac_bench("compare", *sides, "--json"))
    assert algorithms["verdict"] == "A better" and len(algorithms["b"]["seeds"]) == 3
    assert algorithms["approximate"] and "2 seeds: interval is approximate" in algorithms["notes"]
    twice = (f"{tmp_path / 'oracle'},{tmp_path / 'oracle'}", f"{seeds[0]},{seeds[0]}")
    assert "one seed, not two" in nlac_bench("compare", *twice, status=2).stderr
    page = ("--out", str(tmp_path / "report.html"))
    assert "one seed, not two" in nlac_bench("report", *twice, *page, status=2).stderr
    strict = one_json(nlac_bench("score", str(tmp_path / "oracle"), "--by", "strict", "--json"))
    assert strict["success"] == 1.0
    by_parts = one_json(nlac_bench("score", str(tmp_path / "oracle"), "--by", "parts", "--json"))
    assert by_parts["success"] == by_parts["parts"]["original"] == 1.0
    assert by_parts["parts"]["violations"] == by_parts["parts"]["steps_over_oracle"] == 0.0
    assert set(by_parts["part_episodes"].values()) == {12}
    again = one_json(nlac_bench("resume", str(tmp_path / "oracle"), "--json"))
    assert again["success"] == 1.0 and again["scored"] == 12
    assert {p.name for p in (tmp_path / "oracle").iterdir()} >= {
        "config.json",
        "manifest.json",
        "episodes.jsonl",
    }
    text = nlac_bench("score", str(tmp_path / "oracle")).stdout
    assert "12 planned, 12 scored, 0 infra errors, 0 truncated" in text


def test_a_run_can_be_repeated_from_its_configuration(tmp_path: Path) -> None:
    first = run(
        tmp_path, "a", "--env", "twenty_questions", "--agent", "random", "--limit", "10", "--seed", "5"
    )
    second = run(tmp_path, "b", "--config", str(tmp_path / "a" / "config.json"))
    assert first["mean_reward"] == second["mean_reward"]
    rows = [(tmp_path / name / "episodes.jsonl").read_text().splitlines() for name in "ab"]
    texts = [
        sorted((e["task_id"], [t["text"] for t in e["turns"]]) for e in map(json.loads, r)) for r in rows
    ]
    assert texts[0] == texts[1]


def test_runs_report_how_often_the_oracle_did_not_know(tmp_path: Path) -> None:
    asked = ("--agent", "random", "--limit", "6", "--seed", "5")
    known = run(tmp_path, "a", "--env", "twenty_questions", *asked)
    assert 0.0 <= known["unknown_rate"] < 0.5
    rows = map(json.loads, (tmp_path / "a" / "episodes.jsonl").read_text().splitlines())
    rates = [row["turns"][-1]["info"]["unknown_rate"] for row in rows]
    assert known["unknown_rate"] == pytest.approx(sum(rates) / len(rates))
    assert "unknown rate" in nlac_bench("score", str(tmp_path / "a")).stdout
    assert "unknown_rate" not in run(tmp_path, "b", "--env", "math500_hard", *asked)
    run(tmp_path, "c", "--env", "twenty_questions", *asked[:-1], "6")
    assert "unknown rate" in nlac_bench("compare", str(tmp_path / "a"), str(tmp_path / "c")).stdout
    played = nlac_bench("floors", "--env", "twenty_questions", "--agent", "oracle", "--episodes", "2")
    assert "unknown rate" in played.stdout
    assert PLAYED[-2:] == (
        'shop_worlds@{"level": "conditional"}',
        'twenty_questions@{"unknowns": "no"}',
    )
    assert PLAYED[:-2] == tuple(registry.BUILTIN)


def test_toml_configuration_and_flags_that_win(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('env = "twenty_questions"\nagent = "silent"\nlimit = 3\ntrials = 2\n')
    assert run(tmp_path, "a", "--config", str(config))["planned"] == 6
    assert run(tmp_path, "b", "--config", str(config), "--trials", "1")["planned"] == 3
    for bad, says in (("limits = 3\n", "limits"), ('limit = "3"\n', "limit"), ("limit = 0\n", "limit")):
        config.write_text('env = "twenty_questions"\nagent = "silent"\n' + bad)
        assert says in nlac_bench("run", "--config", str(config), status=2).stderr


def test_dry_run_plays_nothing(tmp_path: Path) -> None:
    plan = one_json(
        nlac_bench("run", "--env", "tau_retail", "--agent", "react", "--model", "m", "--base-url",
                   "http://127.0.0.1:9/v1", "--limit", "10", "--trials", "3", "--price", "1,2",
                   "--dry-run", "--json")
    )  # fmt: skip
    assert plan["planned"] == 30 and plan["tasks"] == 10
    assert plan["prompt_tokens"] > plan["completion_tokens"] > 0 and plan["cost"] > 0 and plan["seconds"] > 0


def test_a_dead_server_gives_infrastructure_errors_and_no_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Retries, "wait", lambda *_: 0.01)  # instead of half a minute between the attempts
    result = run(
        tmp_path, "a", "--env", "twenty_questions", "--agent", "react", "--model", "m", "--base-url",
        "http://127.0.0.1:9/v1", "--limit", "2", status=3,
    )  # fmt: skip
    assert result["success"] is None and result["scored"] == 0 and result["infra_errors"] == 2


def test_two_processes_on_one_folder_and_a_used_folder(tmp_path: Path) -> None:
    run(tmp_path, "a", "--env", "twenty_questions", "--agent", "silent", "--limit", "2")
    again = (
        "run",
        "--env",
        "twenty_questions",
        "--agent",
        "silent",
        "--limit",
        "2",
        "--out",
        str(tmp_path / "a"),
    )
    assert "resume" in nlac_bench(*again, status=2).stderr


def test_the_floor_copy_is_played_where_statements_can_be_copied() -> None:
    rows = one_json(nlac_bench("floors", "--env", "math500_hard", "--episodes", "8", "--json"))["rows"]
    copy = next(row for row in rows if row["agent"] == "copy")
    assert copy["success"] == 0.0 and {"copied_numbers", "copied_gold_forms"} <= copy.keys()
    refused = nlac_bench("run", "--env", "twenty_questions", "--agent", "copy", status=2)
    assert "copied_actions" in refused.stderr


COUNT_DOWN = "examples.register_env:CountDown-v0"  # it has no random_action and no constant_actions


@pytest.mark.parametrize(
    ("env", "agents"),
    [
        (COUNT_DOWN, {"oracle", "random", "silent"}),
        ("tests.envs.plain_env:nlac_bench_test/Echo-v0", {"random", "silent"}),
        ("math500_hard", {"oracle", "constant", "random", "silent", "copy"}),
        ("tau_airline", {"oracle", "constant", "random", "silent", "transfer"}),
    ],
)
def test_floors_are_those_that_can_play(env: str, agents: set[str]) -> None:
    rows = one_json(nlac_bench("floors", "--env", env, "--episodes", "2", "--json"))["rows"]
    assert {row["agent"] for row in rows} == agents and all(row["scored"] == 2 for row in rows)


def test_floors_of_rows_that_a_service_scores_have_no_oracle(tmp_path: Path) -> None:
    file = tmp_path / "tau_rows.jsonl"  # a name with "tau" is no τ-bench
    rows: list[dict[str, Any]] = [{"question": "1 + 1?", "answer": "#### 2"}]
    for style, agents in ((None, {"oracle", "random", "silent"}), ("verifier_service", {"random", "silent"})):
        if style:
            rows = [
                {"prompt": "x", "reward_model": {"style": style, "ground_truth": "2"}, "data_source": "s"}
            ]
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        env = f"prompts@{json.dumps({'data': str(file), 'verifier': 'http://localhost:9'})}"
        assert set(_agents_of(env, None, 0)) == agents
    done = nlac_bench("floors", "--env", env, "--agent", "oracle", status=2)
    assert "the agent 'oracle' cannot play" in done.stderr and "it has no oracle" in done.stderr


@pytest.mark.parametrize(
    ("env", "agent", "why"),
    [
        (COUNT_DOWN, "constant", "its constant_actions() is empty"),
        (COUNT_DOWN, "transfer", "it has no tool transfer_to_human_agents"),
        (COUNT_DOWN, "copy", "it has no copied_actions()"),
        ("tests.envs.plain_env:nlac_bench_test/Echo-v0", "oracle", "it has no oracle"),
        (COUNT_DOWN, "nobody", "unknown floor agent 'nobody'"),
    ],
)
def test_floors_refuse_an_agent_before_anything_is_played(env: str, agent: str, why: str) -> None:
    done = nlac_bench("floors", "--env", env, "--agent", "silent", "--agent", agent, status=2)
    assert why in done.stderr and "played" not in done.stderr and not done.stdout
    played = nlac_bench("floors", "--env", env, "--agent", "silent", "--episodes", "1")
    assert "silent" in played.stdout


def test_floors_table() -> None:
    rows = one_json(nlac_bench("floors", "--env", "tau_retail", "--episodes", "20", "--json"))["rows"]
    by_agent = {row["agent"]: row["success"] for row in rows}
    assert by_agent["oracle"] == 1.0 and max(by_agent[a] for a in by_agent if a != "oracle") < 0.5


def test_grade_file(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    cases = [("1/2", r"\boxed{0.5}", True), ("3", r"\boxed{4}", False), ("x+1", r"$\boxed{1+x}$", True)]
    file.write_text(
        "".join(
            json.dumps({"id": i, "gold": g, "pred": p, "expected": e}) + "\n"
            for i, (g, p, e) in enumerate(cases)
        )
    )
    nothing = tmp_path / "nothing.jsonl"
    nothing.write_text("no JSON\n")
    assert "line 1 is not JSON" in nlac_bench("grade", str(nothing), status=2).stderr
    summary = one_json(nlac_bench("grade", str(file), "--json"))
    assert {"n", "accuracy", "false_positives", "false_negatives", "ungraded", "ms_median", "ms_p99"} <= set(
        summary
    )
    assert summary["n"] == 3 and summary["accuracy"] == 1.0
    rows = [json.loads(line) for line in Path(summary["out"]).read_text().splitlines()]
    assert [row["correct"] for row in rows] == [e for _, _, e in cases] and rows[2]["id"] == 2
    assert all({"reason", "ms"} <= set(row) for row in rows)


def test_doctor() -> None:
    report = one_json(nlac_bench("doctor", "--json", OPENAI_API_KEY="sk-secret-value"))
    assert {row["name"] for row in report["environments"] if row["ok"]} >= {"tau_retail", "math500_hard"}
    assert "sk-secret-value" not in json.dumps(report) and "OPENAI_API_KEY" in json.dumps(report)


@pytest.mark.official
def test_data_verify(official_data: Path, tmp_path: Path) -> None:
    for name in ("math", "tau", "twenty_questions"):
        assert one_json(nlac_bench("data", "verify", name, "--json"))["ok"]
    expected = official_data / "tau_bench" / "expected_sample.jsonl"
    report = one_json(
        nlac_bench(
            "data",
            "verify",
            "tau",
            "--data",
            str(official_data / "tau_bench"),
            "--expected",
            str(expected),
            "--json",
        )
    )
    for what in ("observations", "hashes", "rewards"):
        assert report[what]["matched"] == report[what]["total"] > 0
    (tmp_path / "math500.jsonl").write_text("{}")
    nlac_bench("data", "verify", "math", "--data", str(tmp_path), status=1)


@pytest.mark.official
@pytest.mark.parametrize(("env", "tasks", "floor"), [("tau_airline", 50, 19), ("tau_retail", 115, 7)])
def test_known_floors_of_the_official_tasks(env: str, tasks: int, floor: int, tmp_path: Path) -> None:
    result = run(tmp_path, "a", "--env", env, "--data", "official", "--agent", "transfer")
    assert result["planned"] == result["scored"] == tasks
    assert round(result["success"] * tasks) == floor


@pytest.mark.official
def test_a_model_needs_a_user_on_official_tasks() -> None:
    arguments = ("run", "--env", "tau_retail", "--data", "official", "--agent", "react", "--model", "m")
    done = nlac_bench(*arguments, "--base-url", "http://127.0.0.1:9/v1", status=2)
    assert "--user-model" in done.stderr


def test_dry_run_needs_no_key_and_counts_the_simulator() -> None:
    who = ("--agent", "act", "--model", "m", "--user-model", "m")
    price = ("--price", "1,10", "--user-price", "1,10")
    env = ("--env", 'twenty_questions@{"oracle": "llm"}')
    found = one_json(nlac_bench("run", *env, *who, *price, "--dry-run", "--json", OPENAI_API_KEY=""))
    assert found["planned"] == 102 and found["user_tokens"] > found["planned"] * 100
    assert found["cost"] > 0 and found["prompt_tokens"] > 0 and found["seconds"] > 0


def test_wrong_training_settings_are_named_before_anything_is_played(tmp_path: Path) -> None:
    out = ("--env", "tau_retail", "--agent", "nlac", "--out", str(tmp_path / "run"))
    for wrong, says in (("learning_rate=1", "'learning_rate'"), ("lr=fast", "'fast'"), ("lr", "NAME=VALUE")):
        assert says in nlac_bench("run", *out, "--train", wrong, status=2).stderr
    assert "'hours=2'" in nlac_bench("run", *out, "--budget", "hours=2", status=2).stderr
    assert (
        "not trained" in nlac_bench("run", *out[:2], "--agent", "react", "--train", "lr=1", status=2).stderr
    )
    assert not (tmp_path / "run").exists()


def test_an_environment_beside_the_user(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((ROOT / "examples" / "register_env.py").read_text())
    done = subprocess.run(
        [str(Path(sys.executable).with_name("nlac-bench")), "envs", "check", "mine:CountDown-v0"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
