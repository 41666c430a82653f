"""``nlac-bench export`` in the formats of other programs, read back by these where they are installed."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from nlac_bench import tiny
from nlac_bench.bridges.exports.eee import SCHEMA_VERSION
from tests.cli.command import nlac_bench, one_json
from tests.reports.report_runs import CUT, FILTERED, INFRA, LOST, OWED, SILENT, WON, make_run
from tests.reports.view_runs import make_critic_run

SECRET = "sk-1234567890abcdefghij"
HOSTILE = (
    "<script>alert(1)</script>", '=HYPERLINK("https://example.org")', "lone \ud800 surrogate",
    "null \x00 escape \x1b[31m", "level \u202edeyalper", f"my key is {SECRET}",
    '{"name": "look", "arguments": {"at": {"what": [1, null]}}}',
)  # fmt: skip


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def exported(kind: str, run: str, out: str) -> int:
    done = one_json(nlac_bench("export", kind, run, "--out", out, "--json"))
    assert done["path"] == out
    return int(done["episodes"])


def kinds() -> dict[str, str]:
    return {"inspect": "out.eval", "atif": "atif", "eee": "eee", "csv": "csv", "parquet": "parquet"}


def need(kind: str) -> None:
    for package in {"inspect": ["inspect_ai"], "csv": ["pandas"], "parquet": ["pandas", "pyarrow"]}.get(
        kind, []
    ):
        pytest.importorskip(package)


def files_of(out: str) -> list[Path]:
    path = Path(out)
    return [
        p for p in (path.rglob("*") if path.is_dir() else path.parent.glob(f"{path.stem}*")) if p.is_file()
    ]


@pytest.mark.parametrize("kind", kinds())
def test_hostile_text_stays_text_and_secrets_stay_out(kind: str) -> None:
    need(kind)
    make_critic_run(Path("run"), HOSTILE)
    out = kinds()[kind]
    episodes = exported(kind, "run", out)
    assert episodes == (4 if kind in ("eee", "csv", "parquet") else 4 + 2 * len(HOSTILE))
    assert exported(kind, "run", out) == episodes  # files are replaced
    for path in files_of(out):
        assert SECRET.encode() not in path.read_bytes()
    assert list(Path().glob(".*draft")) == []


@pytest.mark.bridge
def test_inspect_reads_the_log_of_a_training_run() -> None:
    log = pytest.importorskip("inspect_ai.log")
    analysis = pytest.importorskip("inspect_ai.analysis")
    make_critic_run(Path("run"), HOSTILE)
    exported("inspect", "run", "out.json")
    exported("inspect", "run", "out.eval")
    assert sorted(p.name for p in Path().glob("out*.eval")) == [
        "out.eval", "out_training.eval", "out_untrained.eval", "out_validation.eval"
    ]  # fmt: skip
    trained, base = log.read_eval_log("out.eval"), log.read_eval_log("out_untrained.eval")
    assert [each.results.scores[0].metrics["mean"].value for each in (trained, base)] == [1.0, 0.5]
    assert [each.eval.model for each in (trained, base)] == ["none+nlac", "none"]
    training = log.read_eval_log("out_training.eval", resolve_attachments=True)
    sample = training.samples[0]
    assert [event.event for event in sample.events] == [
        "model", "model", "info", "info", "tool", "score", "score"
    ]  # fmt: skip
    first, second, critic, *_, tool, _, _ = sample.events
    assert first.output.completion == HOSTILE[0] == second.input[0].text
    assert (critic.source, critic.data["critique"]) == ("critic", f"{HOSTILE[0]} 1")
    assert {"predicted", "future", "refined", "proposed", "iteration"} <= critic.data.keys()
    assert (tool.function, tool.error.message) == ("look", HOSTILE[0])
    call = training.samples[len(HOSTILE) - 1].events[1].output.message.tool_calls[0]
    assert (call.function, call.arguments) == ("look", {"at": {"what": [1, None]}})
    usage = sample.role_usage["policy"]
    assert (usage.input_tokens, usage.output_tokens) == (100, 10)
    frame = analysis.samples_df("out_validation.eval", quiet=True)
    assert list(frame["score_success"]) == [0.0] * len(HOSTILE)
    assert list(frame["score_reward"]) == [0.5] * len(HOSTILE)
    assert len(log.read_eval_log("out_training.json").samples) == len(HOSTILE)


@pytest.mark.bridge
def test_inspect_scores_no_infrastructure_error() -> None:
    log = pytest.importorskip("inspect_ai.log")
    make_run(Path("run"), [WON, LOST, INFRA, OWED, FILTERED, SILENT, CUT], message=f"down {SECRET}")
    assert exported("inspect", "run", "out.eval") == 5
    made = log.read_eval_log("out.eval")
    assert made.status == "cancelled"  # one was not played
    assert {s.id: s.error.message for s in made.samples if s.error} == {
        "t02": "EnvInfraError: down [redacted: $OPENAI_API_KEY]"
    }
    assert {s.id for s in made.samples if not s.scores} == {"t02", "t04"}
    success = made.results.scores[0]
    assert (success.metrics["mean"].value, success.scored_samples) == (pytest.approx(1 / 3), 3)


@pytest.mark.bridge
def test_atif_validates_the_trajectories() -> None:
    atif = pytest.importorskip("atif")
    make_critic_run(Path("run"), HOSTILE)
    exported("atif", "run", "out")
    found = [atif.Trajectory.model_validate_json(p.read_bytes()) for p in sorted(Path("out").iterdir())]
    assert {t.schema_version for t in found} == {"ATIF-v1.8"}
    assert {t.extra["side"] for t in found} == {"untrained", "trained", "training", "validation"}


def test_a_trajectory_has_calls_rewards_and_the_critics_texts() -> None:
    make_critic_run(Path("run"), HOSTILE)
    exported("atif", "run", "out")
    made = json.loads(next(Path("out").glob("training_00006_*.json")).read_text())
    assert [step["source"] for step in made["steps"]] == ["user", "agent", "user", "agent"]
    action = made["steps"][3]
    assert action["tool_calls"][0]["arguments"] == {"at": {"what": [1, None]}}
    assert action["observation"]["results"][0]["source_call_id"] == action["tool_calls"][0]["tool_call_id"]
    assert (action["extra"]["reward"], action["metrics"]["completion_tokens"]) == (0.5, 10)
    assert [each["critique"] for each in action["extra"]["critic"]] == [f"{HOSTILE[6]} {n}" for n in (1, 2)]
    assert (made["extra"]["success"], made["extra"]["end_reason"]) == (False, "max_steps")
    surrogate = json.loads(next(Path("out").glob("training_00002_*.json")).read_text())
    assert surrogate["steps"][0]["message"] == "lone \\ud800 surrogate"


def test_eee_has_what_the_schema_requires() -> None:
    make_critic_run(Path("run"))
    make_run(Path("part"), [WON, LOST, INFRA, FILTERED])
    for run, count in (("run", 4), ("part", 2)):
        assert exported("eee", run, run + "_eee") == count
    records = [json.loads(p.read_text()) for p in sorted(Path("run_eee").rglob("*[!s].json"))]
    records += [part := json.loads(next(Path("part_eee").rglob("*.json")).read_text())]
    for record in records:
        root = Path("part_eee" if record is part else "run_eee")
        assert record["schema_version"] == SCHEMA_VERSION == "0.3.0"
        assert {
            "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info", "eval_library",
            "evaluation_results",
        } < record.keys()  # fmt: skip
        stated = record["detailed_evaluation_results"]
        assert (
            (root / stated["file_path"])
            .parent.joinpath(Path(stated["file_path"]).name.replace("_samples.jsonl", ".json"))
            .exists()
        )
        rows = [json.loads(line) for line in (root / stated["file_path"]).read_text().splitlines()]
        assert len(rows) == stated["total_rows"]
        [result] = record["evaluation_results"]
        rate = sum(row["evaluation"]["score"] for row in rows) / len(rows)
        assert result["score_details"]["score"] == pytest.approx(rate)
        for row in rows:
            assert row["evaluation_id"] == record["evaluation_id"]
            assert row["model_id"] == record["model_info"]["id"]
            assert {"sample_id", "interaction_type", "input", "answer_attribution", "messages"} < row.keys()
            assert all(isinstance(value, str) for value in row["metadata"].values())
    assert {r["model_info"]["id"] for r in records} == {"nlac-bench/nlac", "nlac-bench/react"}
    assert part["evaluation_results"][0]["score_details"]["details"]["infra_errors"] == "1"


def test_models_have_names_of_developers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "tiny" in tiny.FOLDERS
    names = {
        "tiny": "nlac-bench/tiny", "Qwen/Qwen2.5-7B-Instruct": "Qwen/Qwen2.5-7B-Instruct",
        "gpt-5": "unknown/gpt-5", "/home/me/weights": "unknown/folder weights",
    }  # fmt: skip
    for place, (model, name) in enumerate(names.items()):
        run = make_run(Path(f"run{place}"), [WON])
        manifest = json.loads((run / "manifest.json").read_text())
        manifest["subject"]["model"] = model
        (run / "manifest.json").write_text(json.dumps(manifest))
        exported("eee", str(run), f"out{place}")
        record = json.loads(next(Path(f"out{place}").rglob("*.json")).read_text())
        assert record["model_info"]["id"] == name


def test_tables_are_read_back() -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    make_critic_run(Path("run"), HOSTILE)
    exported("csv", "run", "csv")
    exported("parquet", "run", "parquet")
    names = ["critiques", "episodes", "metrics", "turns"]
    assert sorted(p.stem for p in Path("csv").iterdir()) == sorted(p.stem for p in Path("parquet").iterdir())
    tables: dict[str, Any] = {name: pd.read_parquet(f"parquet/{name}.parquet") for name in names}
    assert list(tables["episodes"].groupby("side")["success"].mean().items()) == [
        ("trained", 1.0), ("untrained", 0.5)
    ]  # fmt: skip
    assert list(tables["critiques"]["proposed"][:2]) == list(HOSTILE[:2])
    assert set(tables["metrics"]["kind"]) == {"iteration", "validation"}
    assert json.loads(tables["metrics"]["ci"][0]) == pytest.approx([0.05, 0.45])
    with Path("csv/critiques.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["proposed"] for row in rows[:2]] == [HOSTILE[0], "'" + HOSTILE[1]]
    assert len(pd.read_csv("csv/turns.csv")) == len(tables["turns"]) == 4


@pytest.mark.parametrize("part", ["Infinity", "-Infinity", "NaN", "much", 10**30])
def test_a_part_of_the_reward_that_is_no_number_is_exported_or_named(part: Any) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = make_run(Path("run"), [WON, LOST]) / "episodes.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row, value in zip(rows, (0.5, part), strict=True):
        row["info"]["reward_parts"] = {"style": value}
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    if part in ("much", 10**30):
        refused = nlac_bench("export", "parquet", "run", "--out", "parquet", status=2).stderr
        assert "a column of the table episodes cannot be stored as Parquet" in " ".join(refused.split())
    else:
        exported("parquet", "run", "parquet")
        stored = pd.read_parquet("parquet/episodes.parquet")["reward.style"]
        assert stored.equals(pd.Series([0.5, float(part)]))
    exported("csv", "run", "csv")


def test_what_cannot_be_exported_is_refused() -> None:
    make_run(Path("run"), [INFRA])
    before = {p: p.read_bytes() for p in files_of("run")}
    for words, arguments in {
        ".eval or .json": ("inspect", "run", "--out", "out.txt"),
        "no episode has a score": ("eee", "run", "--out", "out"),
        "does not exist": ("atif", "missing", "--out", "out"),
        "a file of a run": ("inspect", "run", "--out", "run/config.json"),
        "an option of export prompts": ("csv", "run", "--out", "out", "--env", "tau_retail"),
        "is not one of": ("html", "run", "--out", "out"),
        "choose another --out": ("csv", "run", "--out", "run/config.json"),
    }.items():
        shown = nlac_bench("export", *arguments, status=2).stderr
        assert words in " ".join(shown.replace("│", " ").split()), shown
    assert {p: p.read_bytes() for p in files_of("run")} == before
    assert not Path("out").exists()
