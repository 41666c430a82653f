"""What trackers are sent, and runs whose trackers fail; tests/bridges/test_trackers.py has the real ones."""

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import nlac_bench as nb
from nlac_bench.api import tracking
from nlac_bench.api.tracking import Tracking, numbers, run_id
from nlac_bench.harness.runs.critiques import CRITIQUES
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.trackers import TRACKERS
from tests.cli.command import nlac_bench
from tests.stats.test_compare import make_run

SMALL = ("--env", "twenty_questions", "--agent", "silent", "--limit", "2", "--json")
SECRET = "sk-verysecret-0123456789"


class Recorder:
    """Records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def start(self, *arguments: Any) -> None:
        self.calls.append(("start", arguments))

    def log(self, *arguments: Any) -> None:
        self.calls.append(("log", arguments))

    def text(self, *arguments: Any) -> None:
        self.calls.append(("text", arguments))

    def finish(self, *arguments: Any) -> None:
        self.calls.append(("finish", arguments))


class Raising:
    """Raises in every method, also what is no ``Exception``."""

    def start(self, *arguments: Any) -> None:
        raise RuntimeError("no route to the server")

    def log(self, *arguments: Any) -> None:
        raise SystemExit(7)

    text = finish = log


class RaisingLater(Raising):
    """Starts, and then raises."""

    def start(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    make_run(tmp_path / "run", lambda task, trial: True)
    return RunFolder.open(tmp_path / "run")


def validation(iteration: int, **more: Any) -> dict[str, Any]:
    where = {"iteration": iteration, "gradient_steps_total": 3, "env_steps": 9, "tokens": 70, "seconds": 1.5}
    return {"kind": "validation", **where, "usage": {}, "success": 0.5, "ci": [0.2, 0.8], "best": True} | more


def iteration(number: int, **more: Any) -> dict[str, Any]:
    usage = {"policy": {"calls": 2, "completion_tokens": 30, "cost": 0.25}}
    return {"kind": "iteration", "iteration": number, "gradient_steps_total": 4, "usage": usage, **more}


def test_rows_texts_and_results_arrive_in_order(folder: RunFolder) -> None:
    tracker = Recorder()
    critique = {"task": "t1", "step": 2, "critique": "Wrong.\n<b>Ask</b>", "refined": "ask", "proposed": None}
    (folder.path / CRITIQUES).write_text(json.dumps(critique) + "\n")
    with Tracking(folder, {"one": tracker}) as sent:
        sent.row(validation(0))
        sent.row(iteration(1, l1=0.75, gap=float("nan"), note="text"))
        sent.summary({"success": 0.5, "ci": [0.25, 1], "env": "tau_retail", "complete": True})
    names, arguments = zip(*tracker.calls, strict=True)
    assert names == ("start", "text", "log", "log", "finish")
    assert arguments[0] == (folder.config, folder.path, run_id(folder))
    key, markdown, step = arguments[1]
    assert (key, step) == ("critiques", 0) and "\n    <b>Ask</b>\n" in markdown, "the model's text is code"
    assert arguments[2] == (
        {"validation/success": 0.5, "validation/ci/0": 0.2, "validation/ci/1": 0.8, "validation/best": 1.0},
        0,
    )  # fmt: skip
    assert arguments[3] == (
        {
            "iteration": 1.0, "gradient_steps_total": 4.0, "l1": 0.75, "usage/policy/calls": 2.0,
            "usage/policy/completion_tokens": 30.0, "usage/policy/cost": 0.25,
        },
        1,
    )  # fmt: skip
    assert arguments[4] == ({"success": 0.5, "ci/0": 0.25, "ci/1": 1.0, "complete": 1.0}, 1)


def test_the_results_of_a_resumed_run_without_further_rows_are_at_its_last_step(folder: RunFolder) -> None:
    tracker = Recorder()
    rows = (validation(0), iteration(7), validation(7), {"kind": "tested", "weights_sha256": "0"})
    (folder.path / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with Tracking(folder, {"one": tracker}) as sent:
        sent.summary({"success": 0.5})
    assert tracker.calls[-1] == ("finish", ({"success": 0.5}, 7))


def test_the_id_of_a_run_is_its_own_and_stays_after_a_resume(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_run(tmp_path / name, lambda task, trial: True)
    a, b = RunFolder.open(tmp_path / "a"), RunFolder.open(tmp_path / "b")
    assert run_id(a) != run_id(b) and run_id(a) == run_id(RunFolder.open(tmp_path / "a"))


def test_only_the_end_of_a_long_file_of_critiques_is_read(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nlac_bench.harness.runs.critiques._TAIL_BYTES", 1000)
    lines = [json.dumps({"task": f"t{i}", "step": 0, "critique": "c" * 150}) for i in range(50)]
    (folder.path / CRITIQUES).write_text("\n".join(lines) + "\n")
    tracker = Recorder()
    with Tracking(folder, {"one": tracker}) as sent:
        sent.row(validation(1))
    markdown = tracker.calls[1][1][1]
    assert [f'Task "t{i}"' in markdown for i in (45, 46, 47, 48, 49)] == [False, True, True, True, True]


def test_secrets_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLAC_BENCH_API_KEY", SECRET)
    make_run(tmp_path / "run", lambda task, trial: True)
    config = {"note": f"Bearer {SECRET}", "request": {"api_key": "hunter2hunter2-xyz"}, "env": "tau_retail"}
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    critique = {"task": "t1", "step": 0, "critique": f"the key is {SECRET} or hunter2hunter2-xyz"}
    (tmp_path / "run" / CRITIQUES).write_text(json.dumps(critique) + "\n")
    tracker = Recorder()
    with Tracking(RunFolder.open(tmp_path / "run"), {"one": tracker}) as sent:
        sent.row(validation(0))
        sent.row(iteration(1, **{f"metric_{SECRET}": 1.0}))
        sent.summary({f"result_{SECRET}": 1})
    shown = repr(tracker.calls)
    assert SECRET not in shown and "hunter2" not in shown
    assert "[redacted: $NLAC_BENCH_API_KEY]" in shown and "tau_retail" in shown


def test_a_tracker_that_hangs_is_left_behind(
    folder: RunFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    class Hanging(Recorder):
        def log(self, *arguments: Any) -> None:
            go_on.wait()

    other = Recorder()
    monkeypatch.setattr(tracking, "MOST_CALLS", 20)
    with Tracking(folder, {"slow": Hanging(), "quick": other}, finish_s=0.5) as sent:
        for number in range(30):
            sent.row(iteration(number))
            while len(other.calls) < number + 2:  # the quick one keeps up
                time.sleep(0.001)
    go_on.set()
    printed = capsys.readouterr().err
    assert printed.count("tracker slow") == 1, "is reported once"
    assert "tracker slow is too slow; measurements are left out" in printed and "quick" not in printed
    assert other.calls[-1] == ("finish", ({}, 29)), "a run without a result was interrupted"


def test_only_finite_numbers_are_sent() -> None:
    values: Mapping[str, Any] = {"a": True, "b": [1, None, float("inf")], "c": {"d": {"e": 2}}, "f": "3"}
    assert dict(numbers(values)) == {"a": 1.0, "b/0": 1.0, "c/d/e": 2.0}


@pytest.mark.parametrize(
    ("kind", "method"),
    [("Raising", "start: RuntimeError: no route"), ("RaisingLater", "finish: SystemExit: 7")],
)
def test_a_run_does_not_notice_that_its_tracker_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, method: str
) -> None:
    # the name of a tracker is that of its package, which must be installed
    monkeypatch.setitem(TRACKERS, "json", f"{__name__}:{kind}")
    plain = nlac_bench("run", *SMALL, "--out", str(tmp_path / "plain"))
    done = nlac_bench("run", *SMALL, "--out", str(tmp_path / "tracked"), "--track", "json")
    assert done.stderr.count("tracker json failed in") == 1
    assert f"tracker json failed in {method}" in done.stderr
    results = [json.loads(each.stdout) for each in (plain, done)]
    for result in results:
        for name in ("run_dir", "seconds", "report", "peak_memory_bytes"):
            result.pop(name)
    assert results[0] == results[1]
    episodes = [_episodes(tmp_path / name) for name in ("plain", "tracked")]
    assert episodes[0] == episodes[1]


def _episodes(folder: Path) -> list[Any]:
    rows = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    return [[row["task_id"], row["seed"], row["turns"], row["success"]] for row in rows]


def test_the_python_api_and_configuration_files_track_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Recorder] = []
    monkeypatch.setitem(TRACKERS, "json", f"{__name__}:Recorder")

    def make(name: str) -> Recorder:
        made.append(Recorder())
        return made[-1]

    monkeypatch.setattr(tracking, "make_tracker", make)
    nb.evaluate("twenty_questions", agent="silent", limit=2, out=tmp_path / "api", track="json")
    (tmp_path / "run.toml").write_text(
        'env = "twenty_questions"\nagent = "silent"\nlimit = 2\ntrack = "json"\n'
    )
    nlac_bench("run", "--config", str(tmp_path / "run.toml"), "--out", str(tmp_path / "file"))
    for tracker in made:
        (start, _), (finish, (summary, step)) = tracker.calls
        assert (start, finish, step) == ("start", "finish", 0)
        assert summary["planned"] == 2 and summary["success"] == 0
    assert len(made) == 2, "references of the report are not tracked"


def test_unknown_trackers_and_missing_packages_are_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = ("--out", str(tmp_path / "run"))
    unknown = nlac_bench("run", *SMALL, *out, "--track", "tensorboard,comet", status=2)
    assert "no tracker 'comet'; the trackers are tensorboard, wandb, trackio, mlflow" in unknown.stderr
    monkeypatch.setitem(TRACKERS, "no_such_package", f"{__name__}:Recorder")
    for more in ([], ["--dry-run"]):
        done = nlac_bench("run", *SMALL, *out, "--track", "no_such_package", *more, status=0 if more else 2)
        assert (
            "no_such_package" in done.stdout + done.stderr
            and "nlac-bench[track]" in done.stdout + done.stderr
        )
    assert not (tmp_path / "run").exists()
    nlac_bench("run", *SMALL, *out)
    resumed = nlac_bench("resume", out[1], "--track", "no_such_package", status=2)
    assert "the package no_such_package" in resumed.stderr


def test_a_run_of_somebody_else_is_not_sent_to_your_trackers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TRACKERS, "json", f"{__name__}:Recorder")
    nlac_bench("run", *SMALL, "--out", str(tmp_path / "run"), "--track", "json")
    refused = nlac_bench("resume", str(tmp_path / "run"), status=2)
    assert (
        "track = 'json' sends measurements to trackers" in refused.stderr and "--track json" in refused.stderr
    )
    nlac_bench("resume", str(tmp_path / "run"), "--track", "json")
