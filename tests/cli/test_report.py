"""``nlac-bench report``, and the report that a run ends with."""

import builtins
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from nlac_bench import tiny
from nlac_bench.harness.measure.prepare import prepare
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.reports.report import build, references
from tests.cli.command import call, nlac_bench, one_json
from tests.reports.report_runs import LOST, OWED, WON, make_run

RUN = ("run", "--env", 'math500_hard@{"level": 1}', "--agent", "act", "--model", "tiny", "--limit", "2",
       "--max-tokens", "16")  # fmt: skip


def test_the_command_prints_one_object_and_writes_one_file(tmp_path: Path) -> None:
    run, out = make_run(tmp_path / "run", [WON, LOST]), tmp_path / "report.html"
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    found = one_json(nlac_bench("report", str(run), "--out", str(out), "--json"))
    assert found["path"] == str(out) and found["verdict"] in out.read_text()
    assert found["sections"] == ["success", "tasks", "failures", "cost", "reproduce", "denominators"]
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    text = nlac_bench("report", str(run), "--out", str(out)).stdout
    assert found["verdict"] in text and str(out) in text


def test_figures_and_numbers_for_a_paper(tmp_path: Path) -> None:
    run, out = make_run(tmp_path / "run", [WON, LOST]), tmp_path / "paper"
    found = one_json(nlac_bench("report", str(run), "--format", "png", "--out", str(out), "--json"))
    assert found["path"] == str(out) and sorted(found["files"]) == sorted(path.name for path in out.iterdir())
    assert {"forest.png", "forest.csv", "denominators.csv"} <= set(found["files"])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--out", "config.json"), "ends with .html"),
        (("--out", "x", "--format", "pdf"), "expected svg, png or csv"),
        (("--out", "taken", "--format", "csv"), "expected a folder"),
    ],
)
def test_bad_input_writes_nothing(
    tmp_path: Path, more: Sequence[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "run", [WON])
    (tmp_path / "taken").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    done = call("report", "run", *more)
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before and (tmp_path / "taken").read_text() == "mine"


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    done = call("report", str(tmp_path), "--out", str(tmp_path / "r.html"), "--json")
    assert done.returncode == 2 and done.stdout == "" and not (tmp_path / "r.html").exists()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[str, Any]]:
    """A run of the embedded model that has just ended, and the object that it printed."""
    folder = tmp_path_factory.mktemp("played") / "run"
    return folder, one_json(nlac_bench(*RUN, "--out", str(folder), "--json"))


@pytest.mark.slow(reason="loads the embedded model and samples from it")
def test_a_run_ends_with_a_report_that_names_floors_and_oracle(
    played: tuple[Path, Mapping[str, Any]],
) -> None:
    folder, found = played
    assert found["report"] == str(folder / "report.html") and found["planned"] == 2
    page = (folder / "report.html").read_text()
    for name in ("random", "silent", "oracle"):
        assert f">{name}<" in page
        reference = RunFolder.open(folder / "references" / name)
        own = RunFolder.open(folder)
        assert reference.plan == own.plan and reference.conditions == own.conditions and not reference.owed()
    resumed = one_json(nlac_bench("resume", str(folder), "--json"))
    assert resumed["report"] == found["report"] and (folder / "report.html").read_text()


@pytest.mark.slow(reason="loads the embedded model and samples from it")
@pytest.mark.parametrize(("module", "broken"), [(build, "run_report"), (references, "play_references")])
def test_a_failing_report_does_not_fail_the_run(
    tmp_path: Path, module: Any, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> None:
        raise RuntimeError("no [figure] today")

    monkeypatch.setattr(module, broken, fails)
    done = nlac_bench(*RUN, "--out", str(tmp_path / "run"), "--json")
    found = one_json(done)
    assert found["scored"] == 2 and "no [figure] today" in done.stderr
    assert (found["report"] is None) == (broken == "run_report")


@pytest.mark.slow(reason="loads the embedded model and samples from it")
def test_without_matplotlib_a_run_ends_well_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError("No module named 'matplotlib'")
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    done = nlac_bench(*RUN, "--out", str(tmp_path / "run"))
    assert "report.html was not written" in done.stderr and "pip install 'nlac-bench[train]'" in done.stderr
    assert f"nlac-bench report {tmp_path / 'run'}" in done.stderr and "success" in done.stdout


@pytest.mark.parametrize(
    "engine",
    [
        {"servers": "http://127.0.0.1:1@policy", "weights_by": "nccl"},
        {"servers": "http://127.0.0.1:1@policy", "weights_folder": "/somewhere"},
        {"engine": "vllm", "gpu_memory_utilization": 0.4},
        {"replicas": 2},
    ],
)
def test_floors_and_oracle_are_played_whatever_engine_a_run_has(engine: Mapping[str, Any]) -> None:
    config = RunConfig(agent="react", env="tau_retail", limit=2, model=str(tiny.path()), **engine)
    found = prepare(references.reference_config(config, "oracle"))
    assert found.config.agent == "oracle" and found.config.model is None and len(found.plan) == 2


def test_agents_without_a_model_end_with_a_report_and_play_no_floors(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = nlac_bench("run", "--env", "tau_retail", "--agent", "silent", "--limit", "2", "--out", str(folder))
    assert f"report: {folder / 'report.html'}" in done.stdout
    assert (folder / "report.html").exists() and not (folder / "references").exists()


def test_an_unfinished_run_is_reported_as_n_of_m(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [WON, LOST, OWED])
    found = one_json(nlac_bench("report", str(run), "--out", str(tmp_path / "r.html"), "--json"))
    assert "2 of 3 episodes are recorded" in found["verdict"]
