"""Exit codes of every command, called in this process."""

import functools
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from nlac_bench.agents.nlac import theory
from nlac_bench.cli import app
from nlac_bench.cli.exit_codes import resumable
from nlac_bench.errors import DataError

SMALL = ("--env", "twenty_questions", "--agent", "silent", "--limit", "2")


def invoke(*arguments: str | Path, stdin: str = "") -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments], input=stdin)


def one_json(result: Result) -> dict[str, Any]:
    """The one object on standard output."""
    assert result.stdout.count("\n") == 1
    value = json.loads(result.stdout)
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--env", "nowhere", "--agent", "oracle"),
        ("run", "--env", "tau_retail", "--agent", "nobody"),
        ("run", "--no-such-flag"),
        ("run", *SMALL, "--limit", "many"),
        ("run", *SMALL, "--limit", "0", "--dry-run"),
        ("eval", "--env", "tau_retail", "--agent", "react"),
        ("resume", "no/such/run"),
        ("score", "no/such/run"),
        ("compare", "one"),
        ("compare", "no/such/run", "nor/this"),
        ("sweep", "no/such/sweep.toml", "--out", "x"),
        ("critiques", "no/such/run"),
        ("play", "nowhere"),
        ("floors", "--env", "nowhere"),
        ("floors", "--env", "twenty_questions", "--agent", "nobody"),
        ("grade", "no/such/file.jsonl"),
        ("theory", "--seed", "x"),
        ("envs", "show", "nowhere"),
        ("envs", "check", "nowhere"),
        ("data", "fetch", "nothing"),
        ("data", "verify", "nothing"),
        ("data", "verify", "math", "--expected", "x", "--data", "."),
        ("tiny", "report", "--env", "nowhere"),
        ("tiny", "build", "--out", "x", "--minutes", "1", "--steps", "1"),
        ("no-such-command",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_input_exits_2_with_a_message_on_standard_error_alone(
    arguments: Sequence[str], as_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments, *(["--json"] if as_json else []))
    assert result.exit_code == 2, result.output
    assert result.stderr and not result.stdout and "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_finished_run_exits_0_and_so_do_the_commands_that_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for command in (("run", *SMALL, "--out", folder), ("resume", folder), ("score", folder),
                    ("eval", *SMALL, "--out", tmp_path / "eval"),
                    ("compare", folder, tmp_path / "eval")):  # fmt: skip
        result = invoke(*command, "--json")
        assert result.exit_code == 0, result.output
        assert one_json(result)
    assert invoke("run", *SMALL, "--out", folder).exit_code == 2, "the folder is used"


OUTPUTS = (
    ("run", *SMALL, "--out", "OUT"),
    ("eval", *SMALL, "--out", "OUT"),
    ("sweep", "sweep.toml", "--out", "OUT"),
    ("report", "done", "--format", "csv", "--out", "OUT"),
    ("report", "done", "--out", "OUT/report.html"),
    ("leaderboard", "build", "--results", "results", "--out", "OUT"),
    ("submit", "done", "--partial", "--out", "OUT"),
    ("grade", "answers.jsonl", "--out", "OUT/graded.jsonl"),
)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what ``OUTPUTS`` read: a finished run, a sweep, answers."""
    folder = tmp_path_factory.mktemp("work")
    assert invoke("run", *SMALL, "--out", folder / "done").exit_code == 0
    assert invoke("submit", folder / "done", "--partial", "--out", folder / "results").exit_code == 0
    (folder / "answers.jsonl").write_text('{"gold": "5", "pred": "5"}\n')
    (folder / "sweep.toml").write_text(
        'methods = ["rft"]\n[seeds]\ntau_retail = [0]\n[run]\nmodel = "tiny"\n[train]\nbudget = "steps=1"\n'
    )
    return folder


@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda arguments: " ".join(arguments[:1]))
@pytest.mark.parametrize("out", ["afile", "afile/below"])
def test_a_file_in_place_of_the_output_folder_is_refused_and_kept(
    arguments: Sequence[str], out: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    Path("afile").write_text("mine")
    before = sorted(work.rglob("*"))
    result = invoke(*(each.replace("OUT", out) for each in arguments))
    assert result.exit_code == 2 and not result.stdout, result.output
    assert out in result.stderr and "--out" in result.stderr, result.stderr
    assert "Traceback" not in result.stderr and "Errno" not in result.stderr
    assert Path("afile").read_text() == "mine" and sorted(work.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [each for each in OUTPUTS if each[-1] == "OUT"],
    ids=lambda arguments: " ".join(arguments[:1]),
)
def test_an_output_folder_without_write_permission_is_refused(
    arguments: Sequence[str], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write everywhere, so the permission is a stub."""
    monkeypatch.chdir(work)
    Path("locked").mkdir(exist_ok=True)
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    result = invoke(*(each.replace("OUT", "locked") for each in arguments))
    assert result.exit_code == 2 and not result.stdout, result.output
    assert "cannot write to the folder locked (permission denied); change its permissions" in result.stderr
    assert not list(Path("locked").iterdir())


def test_commands_that_only_look_exit_0() -> None:
    floors = ("floors", "--env", "twenty_questions", "--agent", "silent", "--episodes", "2")
    show = ("envs", "show", "twenty_questions")
    for command in (("envs", "list"), show, ("data", "list"), ("run", *SMALL, "--dry-run"), floors):
        result = invoke(*command, "--json")
        assert result.exit_code == 0, result.output
        assert one_json(result)


def test_a_check_that_does_not_hold_exits_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "math500.jsonl").write_text("{}")
    result = invoke("data", "verify", "math", "--data", tmp_path, "--json")
    assert result.exit_code == 1 and one_json(result)["ok"] is False
    few = functools.partial(theory.check, iterations=2)  # too few to reach the optimal policy
    monkeypatch.setattr(theory, "check", few)
    result = invoke("theory", "--json")
    assert result.exit_code == 1 and one_json(result)["holds"] is False


def test_a_run_whose_server_is_down_exits_3_and_says_how_to_go_on(tmp_path: Path) -> None:
    server = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--retries", "0")
    command = ("run", "--env", "twenty_questions", "--agent", "react", "--limit", "1", *server)
    result = invoke(*command, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 3, result.output
    assert one_json(result)["infra_errors"] == 1
    assert f"nlac-bench resume {tmp_path / 'run'}" in result.stderr


def test_play_that_is_left_exits_130() -> None:
    assert invoke("play", "twenty_questions", stdin="Is it alive?\n").exit_code == 130


@pytest.mark.parametrize("error", [DataError("torn"), KeyError("a bug")])
def test_an_error_in_the_middle_is_resumable(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    """A signal while the error is reported, such as torchrun's to the other ranks, keeps exit code 3."""
    stops = (signal.SIGINT, signal.SIGTERM)
    called: list[list[object]] = []

    def on_incomplete() -> None:
        called.append([signal.getsignal(each) for each in stops])
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(typer.Exit) as caught, resumable("nlac-bench resume x", on_incomplete):
        raise error
    said = capsys.readouterr().err
    assert called == [[signal.SIG_IGN] * 2]
    assert caught.value.exit_code == 3 and "nlac-bench resume x" in said
    assert ("Traceback" in said) == isinstance(error, KeyError)


def test_bad_input_before_anything_is_done_is_no_incomplete_work() -> None:
    with pytest.raises(DataError), resumable("again", errors_too=False):
        raise DataError("no such folder")


def test_doctor_lists_agents_algorithms_and_environments() -> None:
    report = one_json(invoke("doctor", "--json"))
    for section in ("agents", "algorithms", "environments"):
        more = {"paper", "off_policy", "needs"} if section == "algorithms" else set()
        assert all(row.keys() == {"name", "ok", "detail", "fix"} | more for row in report[section])
        assert all(row["ok"] or row["fix"] for row in report[section])
    assert {"react", "oracle"} <= {row["name"] for row in report["agents"]}
    assert {"nlac", "ppo"} <= {row["name"] for row in report["algorithms"] if row["ok"]}
