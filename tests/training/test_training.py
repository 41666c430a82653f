"""Training runs on the embedded model: whole, interrupted and resumed, offline."""

import asyncio
import itertools
import json
import math
import shutil
import weakref
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from nlac_bench import tiny
from nlac_bench.baselines.rft import RFT
from nlac_bench.cli import app
from nlac_bench.harness.measure.estimate import estimate_of
from nlac_bench.harness.measure.model_defaults import is_tiny
from nlac_bench.harness.measure.prepare import prepare
from nlac_bench.harness.measure.training_estimate import parameters_of
from nlac_bench.harness.runs.configuration import ConfigError, RunConfig
from nlac_bench.harness.runs.critiques import read_critiques, read_probes
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.leaderboards.checks import replay_check
from nlac_bench.learner.learner import Learner
from nlac_bench.reports.figures.training_curve import draw
from nlac_bench.rollout.engines.hf.precision import fast_bf16
from nlac_bench.training.costs import BudgetUse
from nlac_bench.training.curve import latest
from nlac_bench.training.prepare import make_training
from nlac_bench.training.run import TrainingResult, train_and_test, trained
from nlac_bench.training.untrained import check_base
from nlac_bench.types import Episode, Turn
from tests.cli.command import nlac_bench, one_json
from tests.rollout import tiny_model
from tests.rollout.fault_server import FaultServer, Reply, completion

ENV = 'math500_hard@{"level": 1}'
SMALL = {
    "train_batch_size": 4, "mini_batch_size": 2, "val_tasks": 2, "max_response_length": 32, "row_tokens": 256,
    "test_freq": 4, "save_freq": 1, "probes": 2, "lr": 1e-4, "deterministic": True, "precision": "fp32",
}  # fmt: skip


def config(steps: int, **changes: Any) -> RunConfig:
    base: dict[str, Any] = {
        "env": ENV, "agent": "nlac", "model": "tiny", "limit": 4, "max_tokens": 32, "concurrency": 4,
        "train": {**SMALL, "budget": f"steps={steps}"},
    }  # fmt: skip
    return RunConfig.from_mapping({**base, **changes}, "test")


def play(folder: Path, wanted: RunConfig, stop_after: int | None = None) -> bool:
    """The run in ``folder``, begun or continued; an interruption comes after ``stop_after`` iterations."""
    prepared = prepare(wanted)
    arguments: dict[str, Any] = {
        "conditions": prepared.conditions, "subject": prepared.subject, "plan": prepared.plan,
    }  # fmt: skip
    if (folder / "manifest.json").exists():
        writer = RunWriter.resume(folder, **arguments)
    else:
        writer = RunWriter.create(folder, config=wanted.as_dict(), **arguments)

    class Interrupted(Exception):
        pass

    def on_metrics(row: dict[str, Any]) -> None:
        if stop_after is not None and row["kind"] == "iteration" and row["iteration"] > stop_after:
            raise Interrupted

    with writer:
        try:
            return asyncio.run(
                train_and_test(prepared, writer, lambda name, owed: lambda result: None, on_metrics)
            )
        except Interrupted:
            return False
        finally:
            prepared.agent.engine.close()  # type: ignore[attr-defined]


needs_a_run = pytest.mark.slow  # the fixture ``whole`` trains for half a minute


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert play(folder, config(steps=6))
    return folder


@needs_a_run
def test_each_phase_of_a_run_has_its_own_recorded_calls(tmp_path: Path) -> None:
    def answer(_path: str, _body: dict[str, Any]) -> Reply:
        return completion(next(said))

    calls, said = tmp_path / "calls.jsonl", itertools.cycle(["Yes.", "No.", "No."])
    with FaultServer(answer).in_thread() as server:
        wanted = config(
            steps=2, env='twenty_questions@{"level": "easy", "oracle": "llm"}', user_model="u", limit=2,
            max_turns=2, user_base_url=server.url, record=str(calls),
        )  # fmt: skip
        assert play(tmp_path / "run", wanted)
    phases = {json.loads(line)["episode"].rpartition("/")[0] for line in calls.read_text().splitlines()}
    assert phases >= {"", "base", "iteration-0", "validation-0", "validation-1"}
    run = RunFolder.open(tmp_path / "run")
    check = replay_check(run, RunConfig.from_mapping(run.config, "test"))
    assert check.ok, check


@needs_a_run
def test_a_run_has_base_training_and_test(whole: Path) -> None:
    run, base = RunFolder.open(whole), RunFolder.open(whole / "base")
    assert run.plan == base.plan and not run.owed() and not base.owed()
    assert run.conditions == base.conditions and base.subject["train"] is None
    rows = list(run.metrics())
    iterations = latest(rows, "iteration")
    assert [r["iteration"] for r in iterations] == [1, 2, 3]
    assert iterations[-1]["gradient_steps_total"] == 6 and iterations[-1]["tokens"] > 0
    use = {"kind": "steps", "planned": 6, "spent": 6, "overshoot": 0}
    told = trained(whole)
    assert told is not None and (told.to_json()["cost"], told.to_json()["signal"]) == (use, True)
    costs = one_json(nlac_bench("compare", str(whole), str(whole / "base"), "--json"))["costs"]
    assert costs["a"]["budget"] == use and costs["b"]["budget"] is None
    assert costs["a"]["generated_tokens"] == iterations[-1]["tokens"]
    assert costs["a"]["generated_by_role"].keys() > {"policy", "evaluator"}
    for name in ("l1", "l2", "share_optimal", "share_refined", "buffer_age", "kl_to_start", "train_success"):
        assert name in iterations[-1], name
    for row in iterations:
        assert row["backward_tokens"] > 0 == row["forward_tokens"]  # not those of the probe kl_to_start
        assert row["push_seconds"] > 0 and math.isfinite(row["push_slope"])
        if not fast_bf16():  # bf16 rounds most of a small update away
            assert row["push_slope"] == pytest.approx(1.0, abs=0.05)
        assert row["prefix_hit_rate"] == 0.0  # of deterministic samples
        assert row["logprob_gap"] < (0.03 if fast_bf16() else 1e-3)  # bf16 rounds a logit by up to 1 in 256
    assert {"successor", "evaluator"} <= {r for r in iterations[-1]["usage"] if ":" not in r}
    validations = latest(rows, "validation")
    assert validations[0]["iteration"] == 0 and max(v["success"] for v in validations if v["best"]) == max(
        v["success"] for v in validations
    )
    assert len((whole / "rollouts.jsonl").read_text().splitlines()) == 12
    result = trained(whole)
    assert result is not None and result.gain.tasks == 4
    shown = result.to_json()
    assert shown["gain"] == pytest.approx(result.gain.a.mean - result.gain.b.mean)
    assert shown["learned"] is True
    assert {"policy", "evaluator"} <= set(shown["unparseable"])
    assert all(0 <= share <= 1 for share in shown["unparseable"].values())
    examples = {name: sum(row[f"examples_{name}"] for row in iterations) for name in ("policy", "critic")}
    assert shown["examples"] == examples and all(examples.values()) and shown["ended_early"] is None
    for name, number in examples.items():
        assert f"{number:,.0f} of the {name}'s loss" in result.to_text()
    start_is_best = not [v for v in validations if v["best"]][-1]["iteration"]
    assert shown["start_is_best"] is start_is_best
    assert ("the best validation was that before training" in result.to_text()) is start_is_best
    assert "training took 6 gradient steps" in result.to_text() and "s (wall time)" in result.to_text()


@pytest.mark.slow  # it needs a whole training run
def test_a_training_without_a_gradient_step_says_so(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    rows = [
        {**row, "gradient_steps_total": 0, "unparseable_policy": 1.0}
        for row in RunFolder.open(whole).metrics()
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = trained(folder)
    assert result is not None and result.to_json()["learned"] is False
    assert result.to_json()["unparseable"]["policy"] == 1.0
    text = result.to_text()
    assert "no gradient step was taken" in text and "policy 100%" in text and "advice: use a model" in text


@pytest.mark.slow  # it needs a whole training run
def test_a_training_of_the_critic_alone_or_that_ends_early_says_so(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    rows = [
        {**row, "examples_policy": 0, "ended_early": "3 iterations"} if row["kind"] == "iteration" else row
        for row in RunFolder.open(whole).metrics()
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = trained(folder)
    assert result is not None and result.to_json()["ended_early"] == "3 iterations"
    text = result.to_text()
    assert "no example contributed to its loss" in text and "before its budget was spent: 3 iter" in text


def test_a_context_that_is_too_short_is_named_instead_of_the_model() -> None:
    where = {"gradient_steps_total": 0, "env_steps": 64, "tokens": 0, "seconds": 1.0}
    gain: Any = None  # not read by ``advice``
    use = BudgetUse("steps", 8, 0)
    assert (
        "a model that follows instructions better"
        in TrainingResult(gain, where, {}, use, True, 0.1).advice()[0]
    )
    (advice,) = TrainingResult(gain, where, {}, use, True, 0.9).advice()
    assert "a model with a longer context" in advice and "90% of the test episodes" in advice


def test_backups_that_contradict_their_futures_are_named() -> None:
    where = {"gradient_steps_total": 300, "env_steps": 64, "tokens": 0, "seconds": 1.0}
    gain: Any = None  # not read by ``advice``
    use = BudgetUse("steps", 300, 0)
    assert TrainingResult(gain, where, {}, use, True, inconsistent=0.1).advice() == []
    (advice,) = TrainingResult(gain, where, {}, use, True, inconsistent=0.28).advice()
    assert "28% of the last backups" in advice and "lower --train lr" in advice
    both = TrainingResult(gain, where, {"backup": 0.5}, use, True, inconsistent=0.28).advice()
    assert both[0] == advice and "a model that follows instructions better" in both[1] and len(both) == 2


@pytest.mark.slow  # it needs a whole training run
def test_the_last_iterations_are_counted_once_each_at_the_end(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    rows = list(RunFolder.open(whole).metrics())
    changed = [{**row, "backup_outcome_changed": float(row.get("iteration") == 3)} for row in rows]
    crashed = [{**row, "unparseable_policy": 1.0} for row in changed if row["kind"] == "iteration"]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*crashed, *changed]))
    result, before = trained(folder), trained(whole)
    assert result is not None and result.inconsistent == 1.0
    assert before is not None and result.unparseable == before.unparseable


@needs_a_run
def test_validation_tasks_are_trained_on_by_nobody(whole: Path) -> None:
    learned = {json.loads(line)["task_id"] for line in (whole / "rollouts.jsonl").read_text().splitlines()}
    tested = {item.task_id for item in RunFolder.open(whole).plan}
    assert len(learned) == 12 and not learned & tested
    assert {task_id.split("/")[0] for task_id in learned} == {"train"}
    assert {record.task.split("/")[0] for record in read_probes(whole)} == {"validation"}


@needs_a_run
def test_a_run_keeps_the_texts_of_its_critic(whole: Path) -> None:
    rows = list(RunFolder.open(whole).metrics())
    kept, read = list(read_critiques(whole)), list(read_probes(whole))
    assert {r.iteration for r in kept} == {1, 2, 3} and any(r.critique for r in kept)
    assert len({(r.iteration, r.lesson) for r in kept}) == len(kept)
    episodes = [json.loads(line) for line in (whole / "rollouts.jsonl").read_text().splitlines()]
    played = {
        (e["task_id"], e["trial"], e["seed"], n): (turn["text"], turn["observation"], turn["weight_version"])
        for e in episodes for n, turn in enumerate(e["turns"])
    }  # fmt: skip
    for r in kept:
        found = played[r.task, r.trial, r.seed, r.step]
        assert found == (r.played, r.answered, r.played_weight_version)
        assert r.weight_version == r.iteration >= r.played_weight_version
    validations = [v["iteration"] for v in latest(rows, "validation")]
    states = [(r.task, r.seed, r.step, r.played, r.heard) for r in read]
    size = len(states) // len(validations)
    assert states == states[:size] * len(validations) and 0 < size <= 16
    assert [r.iteration for r in read] == [i for i in validations for _ in range(size)]
    assert [r.state for r in read] == [*range(size)] * len(validations)
    assert not {r.task for r in read} & {e["task_id"] for e in episodes}, "these are not trained on"
    assert len((whole / "probe_set.jsonl").read_text().splitlines()) == size
    first = latest(rows, "iteration")[0]["usage"]
    assert first["probe:successor"]["calls"] >= size


@needs_a_run
@pytest.mark.parametrize("stop_after", [0, 1])  # before the first checkpoint, and after it
def test_a_resumed_run_is_bitwise_the_uninterrupted_one(whole: Path, tmp_path: Path, stop_after: int) -> None:
    folder = tmp_path / "run"
    assert not play(folder, config(steps=6), stop_after=stop_after)
    assert {r.iteration for r in read_critiques(folder)} == {*range(1, stop_after + 2)}
    drawn = (folder / "probe_set.jsonl").read_bytes()
    assert RunFolder.open(folder).owed()
    assert play(folder, config(steps=6))
    for name in ("critiques.jsonl", "probes.jsonl"):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()
    assert (folder / "probe_set.jsonl").read_bytes() == drawn
    for name in ("best/model.safetensors",):
        mine, theirs = (load_file(where / "checkpoints" / name) for where in (folder, whole))
        assert mine.keys() == theirs.keys() and all(torch.equal(mine[n], theirs[n]) for n in mine)
    same = ("l1", "l2", "share_optimal", "tokens", "env_steps", "train_success", "buffer_age")
    ours, others = (latest(list(RunFolder.open(f).metrics()), "iteration") for f in (folder, whole))
    assert [[row[n] for n in same] for row in ours] == [[row[n] for n in same] for row in others]
    texts = [[t.text for e in RunFolder.open(f).episodes() for t in e.turns] for f in (folder, whole)]
    assert sorted(texts[0]) == sorted(texts[1])


@needs_a_run
def test_learning_from_a_folder_of_episodes_alone(whole: Path, tmp_path: Path) -> None:
    assert play(tmp_path / "run", config(steps=2, offline=str(whole), base=str(whole / "base")))
    copied, played = ((f / "base" / "episodes.jsonl").read_bytes() for f in (tmp_path / "run", whole))
    assert copied == played, "a base that was handed in is not played again"
    last = latest(list(RunFolder.open(tmp_path / "run").metrics()), "iteration")[-1]
    assert last["env_steps"] == 0 and last["gradient_steps_total"] == 2 and last["buffer_size"] > 0
    leaked = tmp_path / "leak"
    with pytest.raises(ConfigError, match="on which this run is measured"):
        play(leaked, config(steps=2, offline=str(whole / "base")))


def test_recorded_actions_are_learned_in_the_form_that_the_prompt_asks_for(tmp_path: Path) -> None:
    tiny_model.model(context=8192).save_pretrained(tmp_path / "model")
    tiny_model.tokenizer().save_pretrained(tmp_path / "model")
    env, recorded = "examples.register_env:CountDown-v0", str(tmp_path / "recorded")
    nlac_bench("run", "--env", env, "--split", "train", "--agent", "oracle", "--out", recorded)
    settings = {"env": env, "agent": "rft", "offline": recorded, "model": str(tmp_path / "model")}
    prepared = prepare(
        config(1, **settings, train={"budget": "steps=1", "val_tasks": 1, "precision": "fp32"})
    )
    with make_training(prepared, tmp_path, lambda row: None, lambda row: None) as training:
        learned = cast(RFT, training.algorithm).recorded
        assert learned and all(step.action.startswith("Action: ") for step in learned)
    prepared.agent.engine.close()  # type: ignore[attr-defined]


def test_rft_imitates_the_oracle(tmp_path: Path) -> None:
    env, recorded = "first_steps", tmp_path / "recorded"
    nlac_bench(
        "run", "--env", env, "--split", "train", "--limit", "12", "--agent", "oracle", "--out", str(recorded)
    )
    train = {**{name: value for name, value in SMALL.items() if name != "probes"}, "lr": 1e-3}
    settings = {
        "env": env,
        "agent": "rft",
        "offline": str(recorded),
        "train": {**train, "budget": "steps=12"},
    }
    assert play(tmp_path / "run", config(12, **settings))
    rows = latest(list(RunFolder.open(tmp_path / "run").metrics()), "iteration")
    assert rows[-1]["env_steps"] == 0 and rows[-1]["tokens"] == 0 and rows[-1]["gradient_steps_total"] == 12
    assert rows[-1]["nll"] < rows[0]["nll"]


@needs_a_run
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 1}, "tasks, trials or seeds"),
        ({"limit": 3}, "tasks, trials or seeds"),
        ({"env": "twenty_questions"}, "conditions.env: 'math500_hard' against 'twenty_questions'"),
        ({"temperature": 0.5}, "subject.temperature: 0.0 against 0.5"),
        ({"agent": "ppo", "train": {}}, None),
    ],
)
def test_a_base_that_measured_something_else_is_refused(
    whole: Path, changes: dict[str, Any], said: str | None
) -> None:
    prepared = prepare(config(steps=2, base=str(whole / "base"), **changes))
    if said is None:
        return check_base(prepared)
    with pytest.raises(ConfigError, match=said):
        check_base(prepared)


@needs_a_run
def test_a_base_that_is_trained_or_unfinished_is_refused(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="it is a training run"):
        check_base(prepare(config(steps=2, base=str(whole))))
    torn = tmp_path / "torn"
    shutil.copytree(whole / "base", torn)
    (torn / "episodes.jsonl").write_text("")
    with pytest.raises(ConfigError, match="lacks 4 episodes"):
        check_base(prepare(config(steps=2, base=str(torn))))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"agent": "nlrl"}, "learns on policy"),
        ({"train": {**SMALL, "budget": "env_steps=10"}}, "is never spent"),
    ],
)
def test_what_can_learn_nothing_offline_is_refused_at_once(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        prepare(config(steps=2, offline="nowhere", **changes))


def test_settings_of_what_is_stored_do_not_describe_the_subject() -> None:
    """Runs of earlier versions, which do not have these settings, can be resumed."""
    stored = {"kept_critiques": 1, "probe_states": 0, "probe_playouts": 9}
    settings = config(2, train={**SMALL, **stored}).train
    assert settings is not None and stored.items() <= settings.as_dict().items()
    plain = config(2, train=SMALL).train
    assert plain is not None and settings.subject() == plain.subject() and not stored.keys() & plain.subject()
    assert plain.subject().keys() | stored.keys() == plain.as_dict().keys()


@needs_a_run
def test_the_curve_is_drawn(whole: Path) -> None:
    text = draw(whole).read_text()
    assert text.startswith("<?xml") and "gradient steps" in text


def test_the_command_line(tmp_path: Path) -> None:
    command = ["run", "--env", ENV, "--agent", "nlac", "--budget", "steps=1",
               "--limit", "3", "--out", str(tmp_path / "run"), "--json"]  # fmt: skip
    for name in (
        "train_batch_size=3",
        "val_tasks=2",
        "probes=1",
        "mini_batch_size=3",
        "max_response_length=48",
    ):
        command += ["--train", name]
    found = one_json(nlac_bench(*command))
    for name in ("run_dir", "success", "ci", "planned", "scored", "base_success", "base_ci", "gain",
                 "gain_ci", "gradient_steps", "env_steps", "seconds", "tokens"):  # fmt: skip
        assert name in found, name
    assert found["planned"] == found["scored"] == 3 and found["gradient_steps"] == 1
    best = tmp_path / "run" / "checkpoints" / "best"
    evaluated = nlac_bench(
        "eval", "--env", ENV, "--agent", "nlac", "--model", str(best),
        "--limit", "3", "--max-tokens", "48", "--out", str(tmp_path / "eval"), "--json",
    )  # fmt: skip
    assert one_json(evaluated)["success"] == found["success"]


@needs_a_run
def test_critiques_are_shown_with_what_came_of_them(whole: Path) -> None:
    shown = CliRunner().invoke(app, ["critiques", str(whole), "--all", "--count", "2", "--json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert found["critiques"] > 0 and all("critique" in row and "proposed" in row for row in found["shown"])
    said = CliRunner().invoke(app, ["critiques", str(whole), "--all"])
    assert said.exit_code == 0 and "critique: optimal" in said.stdout
    refused = CliRunner().invoke(app, ["critiques", str(whole / "base")])
    assert not list((whole / "base").glob("*critiques*")) and not list((whole / "base").glob("*probe*"))
    assert refused.exit_code == 2 and "no critiques in" in refused.stderr and not refused.stdout


@needs_a_run
def test_a_checkpoint_of_the_miniature_is_known_as_one(whole: Path, tmp_path: Path) -> None:
    assert is_tiny("tiny") and is_tiny(whole / "checkpoints" / "best")
    assert not is_tiny(tmp_path) and not is_tiny(None) and not is_tiny("Qwen/Qwen2.5-7B-Instruct")


def test_a_dry_run_of_training_estimates_tokens_memory_and_hours() -> None:
    settings = {"env": ENV, "agent": "nlac", "model": "Qwen/Qwen2.5-7B-Instruct"}
    config = RunConfig.from_mapping({**settings, "train": {"budget": "steps=100"}}, "test")
    found = estimate_of(config).training
    assert found is not None and found.gpu_gigabytes is not None and found.gpu_hours is not None
    assert found.parameters == 7e9 and found.gradient_steps == 100
    # 20 bytes of training state and θ̄'s 4, two copies of 2 in the engine, over 8 GPUs: 24.5 GB
    assert 24.5 < found.gpu_gigabytes[8] < 60 and found.gpu_hours > 0
    assert parameters_of(str(tiny.path())) == 3_674_368
    assert parameters_of("some/model") is None


def test_training_episodes_are_stored_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_SECRET", "tr41ning-s3cret")
    prepared = prepare(config(steps=2))
    with make_training(prepared, tmp_path, lambda row: None, lambda row: None) as training:
        turn = Turn("a", observation="it is tr41ning-s3cret")
        turn.prompt_ids = [1, 2]
        training.player.keep(Episode(ENV, "t", 0, 0, "", [turn]))
    prepared.agent.engine.close()  # type: ignore[attr-defined]
    (row,) = map(json.loads, (tmp_path / "rollouts.jsonl").read_text().splitlines())
    assert row["turns"][0]["observation"] == "it is [redacted: $TEAM_SECRET]"
    assert row["turns"][0]["prompt_ids"] is None


@pytest.mark.parametrize("finished", [True, False])
def test_a_finished_training_frees_the_learner(
    finished: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best checkpoint is loaded after it; an interrupted training loads none."""
    weights: list[weakref.ref[torch.nn.Parameter]] = []

    class Watched(Learner):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            weights.extend(map(weakref.ref, self.parameters))

    monkeypatch.setattr("nlac_bench.training.prepare.Learner", Watched)
    prepared = prepare(config(steps=2))
    with make_training(prepared, tmp_path, lambda row: None, lambda row: None) as training:
        monkeypatch.setattr(training, "finished", lambda: finished)
    prepared.agent.engine.close()  # type: ignore[attr-defined]
    assert weights and all((weight() is None) == finished for weight in weights)
    assert training.learned() == (0, False)  # the progress line reads it until the end


def test_a_base_with_links_is_not_copied(tmp_path: Path) -> None:
    base = tmp_path / "base"
    nlac_bench("run", "--env", ENV, "--agent", "silent", "--limit", "4", "--out", str(base))
    (base / "notes").symlink_to("/etc/hostname")
    prepared = prepare(config(steps=2, base=str(base)))
    with pytest.raises(RunFolderError, match="is a link to /etc/hostname"):
        check_base(prepared)
    prepared.agent.engine.close()  # type: ignore[attr-defined]
