"""Each tracker is read back with its own package, without a network."""

import json
import os
import sqlite3
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.api.tracking import Tracking, run_id
from nlac_bench.harness.runs.critiques import CRITIQUES
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.trackers import make_tracker
from tests.api.test_tracking import SECRET, iteration, validation
from tests.cli.command import nlac_bench
from tests.stats.test_compare import make_run

BLOCK = 32 * 1024
"""Bytes of a block of LevelDB's log format."""

pytestmark = pytest.mark.bridge


@pytest.fixture(autouse=True)
def settings_of_wandb_are_read_again() -> Iterator[None]:
    yield
    if "wandb" in sys.modules:
        sys.modules["wandb"].teardown()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run whose settings and critiques contain keys, and trackers that write below the same folder."""
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "NLAC_BENCH_API_KEY": SECRET, "WANDB_API_KEY": "a1b2" * 10, "WANDB_MODE": "offline",
        "WANDB_DIR": str(tmp_path), "WANDB_CACHE_DIR": str(tmp_path), "WANDB_DATA_DIR": str(tmp_path),
        "MLFLOW_TRACKING_URI": f"file://{tmp_path}/mlflow", "MLFLOW_ALLOW_FILE_STORE": "true",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    make_run(tmp_path / "run", lambda task, trial: True)
    config = {"env": "tau_retail", "note": f"Bearer {SECRET}", "request": {"api_key": "hunter2hunter2-xyz"}}
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    critique = {"task": "t1", "step": 0, "critique": f"Look the order up; the key is {SECRET}."}
    (tmp_path / "run" / CRITIQUES).write_text(json.dumps(critique) + "\n")
    return RunFolder.open(tmp_path / "run")


def track(run: RunFolder, name: str, iterations: range, summary: Mapping[str, Any]) -> None:
    """Track iterations of a run as a training does, or as its resumed process does."""
    rows = [validation(0, success=0.25)] if iterations.start == 1 else []
    rows += [iteration(number, l1=1 / number) for number in iterations]
    if iterations:
        rows.append(validation(iterations[-1], success=0.75))
    with Tracking(run, {name: make_tracker(name)}) as sent:
        for row in rows:
            sent.row(row)
        sent.summary(summary)
    with (run.path / "metrics.jsonl").open("a") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)


def resumed(run: RunFolder, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Track a run that was interrupted after iteration 3, resumed from iteration 2, and again in its test.

    Nothing is printed on standard output, no error is reported, no key is in any file, and no link is made.
    """
    track(run, name, range(1, 4), {})
    for iterations in (range(3, 6), range(6, 6)):
        track(run, name, iterations, {})
    track(run, name, range(6, 6), {"success": 0.5, "planned": 4})
    printed = capfd.readouterr()
    assert not printed.out and "tracker" not in printed.err, printed
    files = [path for path in run.path.parent.rglob("*") if path.is_file()]
    ours = {run.path / each for each in ("config.json", CRITIQUES, "manifest.json")}
    for path in files:
        content = path.read_bytes()
        assert path in ours or not any(
            secret in content for secret in (SECRET.encode(), b"hunter2", b"a1b2" * 10)
        ), path
    assert not [path for path in run.path.rglob("*") if path.is_symlink()]
    assert b"Look the order up" in b"".join(path.read_bytes() for path in files if path not in ours)


def test_tensorboard(folder: RunFolder, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    resumed(folder, "tensorboard", capfd)
    events = EventAccumulator(str(folder.path / "tensorboard")).Reload()
    assert [(x.step, round(x.value, 3)) for x in events.Scalars("l1")] == [
        (1, 1.0), (2, 0.5), (3, 0.333), (4, 0.25), (5, 0.2),
    ], "iteration 3 was repeated"  # fmt: skip
    assert [(x.step, x.value) for x in events.Scalars("validation/success")] == [(0, 0.25), (5, 0.75)]
    assert [(x.step, x.value) for x in events.Scalars("usage/policy/cost")][-1] == (5, 0.25)
    assert [(x.step, x.value) for x in events.Scalars("summary/success")] == [(5, 0.5)]
    texts = {
        tag: events.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in events.Tags()["tensors"]
    }
    assert "tau_retail" in texts["config"] and "[redacted: $NLAC_BENCH_API_KEY]" in texts["critiques"]


def logged(content: bytes) -> Iterator[bytes]:
    """The records of a .wandb file: LevelDB's log format after a header of seven bytes."""
    at, record = 7, b""
    while at + 7 <= len(content):
        length, kind = struct.unpack_from("<HB", content, at + 4)
        if kind:
            record += content[at + 7 : at + 7 + length]
            at += 7 + length
        if kind in (1, 4):  # a whole record, or its last part
            yield record
            record = b""
        if not kind or BLOCK - at % BLOCK < 7:
            at += BLOCK - at % BLOCK


def test_wandb(folder: RunFolder, capfd: pytest.CaptureFixture[str]) -> None:
    wandb = pytest.importorskip("wandb")
    from wandb.proto.wandb_internal_pb2 import Record

    resumed(folder, "wandb", capfd)
    wandb.teardown()  # its other process then has written everything
    rows, runs, summary = [], set(), {}
    for path in sorted((folder.path.parent / "wandb").glob("offline-run-*/*.wandb")):
        for data in logged(path.read_bytes()):
            record = Record()
            record.ParseFromString(data)
            if record.HasField("history"):
                items = {x.key or "/".join(x.nested_key): x.value_json for x in record.history.item}
                rows.append({name: json.loads(value) for name, value in items.items()})
            if record.HasField("run"):
                runs.add((record.run.run_id, record.run.project, record.run.display_name))
            for item in record.summary.update:
                summary[item.key or "/".join(item.nested_key)] = json.loads(item.value_json)
    assert runs == {(run_id(folder), "nlac-bench", "run")}, "the resumed run is the same run"
    assert [(row["_step"], row["l1"]) for row in rows if "l1" in row][-1] == (5, 0.2)
    assert [row["validation/success"] for row in rows if "validation/success" in row] == [0.25, 0.75, 0.75]
    assert summary["summary/success"] == 0.5


def test_wandb_without_a_key_is_reported_and_asks_nothing(
    folder: RunFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.delenv("WANDB_API_KEY")
    monkeypatch.setenv("NETRC", os.devnull)
    with Tracking(folder, {"wandb": make_tracker("wandb")}) as sent:
        sent.row(iteration(1))
    assert "tracker wandb failed in start: RuntimeError: no API key" in capsys.readouterr().err


def test_trackio(
    folder: RunFolder, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trackio")
    store = folder.path.parent / "trackio"
    monkeypatch.setattr("trackio.utils.TRACKIO_DIR", store)  # it reads TRACKIO_DIR when it is imported
    monkeypatch.setattr("trackio.sqlite_storage.TRACKIO_DIR", store)
    resumed(folder, "trackio", capfd)
    with sqlite3.connect(store / "nlac-bench.db") as base:
        found = base.execute("select run_name, step, metrics from metrics order by id").fetchall()
        (config,) = base.execute("select config from configs").fetchone()
    rows = [(step, json.loads(metrics)) for _, step, metrics in found]
    assert {name for name, _, _ in found} == {run_id(folder)}
    assert [(step, row["l1"]) for step, row in rows if "l1" in row][-1] == (5, 0.2)
    assert [(step, row["validation/success"]) for step, row in rows if "validation/success" in row] == [
        (0, 0.25), (3, 0.75), (5, 0.75),
    ]  # fmt: skip
    assert rows[-1] == (5, {"summary/success": 0.5, "summary/planned": 4})
    assert any(row.get("critiques", {}).get("_type") == "trackio.markdown" for _, row in rows)
    assert json.loads(config)["env"] == "tau_retail"


def test_mlflow(folder: RunFolder, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mlflow")
    from mlflow import MlflowClient

    resumed(folder, "mlflow", capfd)
    client = MlflowClient()
    experiment = client.get_experiment_by_name("nlac-bench")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED" and run.info.run_name == "run"
    assert run.data.params["env"] == "tau_retail" and "redacted" in run.data.params["request.api_key"]
    history = {x.step: x.value for x in client.get_metric_history(run.info.run_id, "l1")}
    assert history == {1: 1, 2: 0.5, 3: 1 / 3, 4: 0.25, 5: 0.2}
    assert run.data.metrics["validation/success"] == 0.75 and run.data.metrics["summary/success"] == 0.5
    names = [artifact.path for artifact in client.list_artifacts(run.info.run_id, "critiques")]
    assert names == ["critiques/000000.md", "critiques/000003.md", "critiques/000005.md"]


def test_a_training_run_is_tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path}/mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    settings = ("train_batch_size=6", "mini_batch_size=3", "val_tasks=2", "max_response_length=48")
    done = nlac_bench(
        "run", "--env", 'math500_hard@{"level": 1}', "--agent", "nlac", "--budget", "steps=1", "--limit", "2",
        *(word for setting in settings for word in ("--train", setting)),
        "--out", str(tmp_path / "run"), "--track", "tensorboard,wandb,mlflow", "--json",
    )  # fmt: skip
    result = json.loads(done.stdout)
    assert "tracker" not in done.stderr
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    rows = RunFolder.open(tmp_path / "run").metrics()
    losses = [row["l1"] for row in rows if row["kind"] == "iteration"]
    assert [x.value for x in events.Scalars("l1")] == pytest.approx(losses)
    assert events.Scalars("summary/base_success")[0].value == pytest.approx(result["base_success"])
    assert "critiques" in events.Tags()["tensors"]
    assert list((tmp_path / "wandb").glob("offline-run-*"))
