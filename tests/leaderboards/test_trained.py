"""Entries of training runs: their costs and curves, and the refusal of runs that trained on test tasks."""

import json
import shutil
from pathlib import Path

import pytest

from nlac_bench.files import sha256_of
from nlac_bench.harness.measure.weights import TRAINED_BY, weights_of, weights_sha256
from nlac_bench.leaderboards.entry_file import read_entry
from tests.cli.command import nlac_bench, one_json

ENV = 'math500_hard@{"level": 1, "num_tasks": 4}'
SMALL = ["val_tasks=2", "train_batch_size=2", "mini_batch_size=2", "max_response_length=24", "test_freq=1"]

pytestmark = pytest.mark.slow(reason="trains the embedded model for one step")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "run"
    settings = [part for setting in SMALL for part in ("--train", setting)]
    nlac_bench(
        "run", "--env", ENV, "--agent", "nlac", "--budget", "steps=1", "--max-tokens", "24", *settings,
        "--out", str(folder), "--json",
    )  # fmt: skip
    return folder


def refused(run: Path, out: Path) -> str:
    return nlac_bench("submit", str(run), "--out", str(out), "--json", status=2).stderr


def test_a_training_run_states_its_costs_and_curves(trained: Path, tmp_path: Path) -> None:
    done = nlac_bench("submit", str(trained), "--replay", "--out", str(tmp_path), "--json")
    (made,) = one_json(done)["entries"]
    entry = read_entry(Path(made["path"]))
    training = entry.subject.training
    assert made["level"] == "replayed" and training is not None
    (cost,) = training.runs
    rows = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    last = [row for row in rows if row["kind"] == "iteration"][-1]
    assert (training.method, training.budget, cost.seed) == ("nlac", "steps=1", 0)
    assert cost.gradient_steps == last["gradient_steps_total"]
    assert cost.environment_steps == last["env_steps"] and cost.generated_tokens == last["tokens"]
    assert set(cost.tokens_by_role) == set(last["usage"])
    base = one_json(nlac_bench("score", str(trained / "base"), "--json"))
    assert cost.base_success == pytest.approx(base["success"])
    (curve,) = entry.curves
    assert [p.success for p in curve.points] == [r["success"] for r in rows if r["kind"] == "validation"]
    assert cost.weights_sha256 == weights_sha256(trained / "checkpoints" / "best")
    verified = nlac_bench("verify", made["path"], "--run", str(trained), "--json")
    assert one_json(verified)["holds"]


def test_a_copy_of_the_tested_checkpoint_still_names_its_run(trained: Path, tmp_path: Path) -> None:
    best = trained / "checkpoints" / "best"
    own = weights_of(str(best))
    copy = Path(shutil.copytree(best, tmp_path / "elsewhere" / "best"))
    assert own is not None and weights_of(str(copy)) == own
    assert (own["run"]["agent"], own["run"]["model"], own["run"]["seed"]) == ("nlac", "tiny", 0)
    assert own["run"]["manifest_sha256"] == sha256_of(trained / "manifest.json")
    (made,) = one_json(nlac_bench("submit", str(trained), "--out", str(tmp_path), "--json"))["entries"]
    entry = read_entry(Path(made["path"]))
    assert entry.provenance.runs[0].manifest_sha256 == own["run"]["manifest_sha256"]
    for fault in ({"weights_sha256": "0" * 64}, {"seed": "x"}, {"manifest_sha256": "y"}, {"agent": 1}):
        stated = json.loads((best / TRAINED_BY).read_text()) | fault
        (copy / TRAINED_BY).write_text(json.dumps(stated))
        assert weights_of(str(copy)) == {**own, "run": None}
    (copy / TRAINED_BY).unlink()
    (copy / TRAINED_BY).symlink_to(best / TRAINED_BY)
    assert weights_of(str(copy)) == {**own, "run": None}


def test_another_checkpoint_in_place_of_the_tested_one_is_refused(trained: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    weights = run / "checkpoints" / "best" / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "the weights are those that were measured, in best" in refused(run, tmp_path / "out")
    rows = (run / "episodes.jsonl").read_text().splitlines(keepends=True)
    (run / "episodes.jsonl").write_text(
        "".join(rows[:-1])
    )  # so that a part of the test is still to be played
    said = nlac_bench("resume", str(run), status=3).stderr
    assert "is not the checkpoint that a part of the test was played with" in said
    shutil.rmtree(run / "checkpoints")
    (run / "episodes.jsonl").write_text("".join(rows))
    done = one_json(nlac_bench("submit", str(run), "--out", str(tmp_path / "out"), "--json"))
    assert done["entries"], "the weights need not be there"


def test_the_untrained_model_is_an_entry_of_its_own(trained: Path, tmp_path: Path) -> None:
    done = nlac_bench("submit", str(trained / "base"), str(trained), "--out", str(tmp_path), "--json")
    base, run = (read_entry(Path(made["path"])) for made in one_json(done)["entries"])
    assert base.subject.training is None and run.subject.training is not None
    assert base.board_id == run.board_id and base.entry_id != run.entry_id


def test_a_run_that_trained_on_test_tasks_is_refused(trained: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    tested = json.loads((run / "manifest.json").read_text())["plan"][0][0]
    rows = [json.loads(line) for line in (run / "rollouts.jsonl").read_text().splitlines()]
    rows[0]["task_id"] = tested
    (run / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = refused(run, tmp_path / "out")
    assert "test tasks are not trained on" in said and tested in said
    (run / "rollouts.jsonl").unlink()
    assert "rollouts.jsonl" in refused(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_base_that_played_something_else_is_refused(trained: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    shutil.rmtree(run / "base")
    assert "the untrained model played the same" in refused(run, tmp_path / "out")
