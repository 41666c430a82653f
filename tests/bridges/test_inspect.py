"""``inspect eval nlac_bench/…``: an oracle as Inspect's model earns the reward of a local run."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai import eval as evaluated
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import get_model

from nlac_bench.bridges.inspect_tasks import BUILTIN, environment
from nlac_bench.envs import registry
from nlac_bench.errors import ConfigError, NlacBenchError
from tests.bridges.fragile import registered
from tests.bridges.inspect_oracle import local_run, output, replier

pytestmark = pytest.mark.bridge
ROOT = Path(__file__).parents[2]


def play(task: Any, outputs: Any, folder: Path, **settings: Any) -> EvalLog:
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    (log,) = evaluated(task, model=model, display="none", log_dir=str(folder), **settings)
    return log


def metrics(log: EvalLog) -> dict[str, dict[str, float]]:
    assert log.results is not None
    return {each.name: {name: m.value for name, m in each.metrics.items()} for each in log.results.scores}


@pytest.mark.parametrize("name", registry.BUILTIN)
def test_the_model_reads_and_earns_what_it_does_in_a_run(name: str, tmp_path: Path) -> None:
    epochs = 2 if name == "twenty_questions" else 1
    answers, episodes = local_run(name, trials=epochs)
    log = play(BUILTIN[name](limit=2, epochs=epochs), replier(answers), tmp_path)
    assert log.status == "success", log.error
    earned = [episode.total_reward for episode in episodes]
    measured = metrics(log)
    assert measured["success"]["accuracy"] == 1.0 and measured["success"]["stderr"] == 0.0
    assert measured["reward"]["mean"] == pytest.approx(sum(earned) / len(earned))
    assert log.samples is not None and len(log.samples) == 2 * epochs
    by_key = {(str(each.id), each.epoch - 1): each for each in log.samples}
    for episode in episodes:
        scores = by_key[episode.task_id, episode.trial].scores
        assert scores is not None and scores["reward"].value == episode.total_reward
        assert scores["reward"].metadata["reward_parts"] == episode.info["reward_parts"]
        assert scores["success"].explanation == episode.end_reason
    sample = log.samples[0]
    assert sample.input in [message.text for message in sample.messages[1:-2]]  # after rules and examples
    assert sample.messages[-2].role == "assistant" and sample.output.completion == sample.messages[-2].text


def test_a_limit_of_inspect_is_a_failure_of_the_agent(tmp_path: Path) -> None:
    def asks(*_: Any) -> Any:
        return output("Is it an animal?")

    log = play(BUILTIN["twenty_questions"](limit=2), asks, tmp_path, message_limit=6)
    assert log.samples is not None and log.samples[0].limit is not None
    assert metrics(log)["success"]["accuracy"] == 0.0 and metrics(log)["reward"]["mean"] < 0
    assert log.samples[0].scores is not None
    assert log.samples[0].scores["success"].explanation == "message_limit"


@pytest.mark.parametrize(("reason", "scored"), [("model_length", True), ("content_filter", False)])
def test_a_reply_that_is_not_played(reason: str, scored: bool, tmp_path: Path) -> None:
    log = play(BUILTIN["first_steps"](limit=1), lambda *_: output("7", reason), tmp_path)
    assert log.results is not None
    for score in log.results.scores:
        assert (score.scored_samples, score.unscored_samples) == ((1, 0) if scored else (0, 1))
    if scored:
        assert metrics(log)["success"]["accuracy"] == 0.0


@pytest.mark.parametrize("name", ["EchoLocked", "EchoUnreported"])
def test_a_plain_environment_is_scored_by_what_it_reports(name: str, tmp_path: Path) -> None:
    task = environment(env=f"tests.envs.plain_env:nlac_bench_test/{name}-v0", limit=2)
    log = play(task, lambda messages, *_: output(messages[1].text), tmp_path)
    assert metrics(log)["reward"]["mean"] == 1.0 and log.results is not None
    (counted,) = [each.unscored_samples for each in log.results.scores if each.name == "success"]
    assert counted == (2 if name == "EchoUnreported" else 0)


@pytest.fixture
def fragile() -> Any:
    with registered() as name:
        yield name


@pytest.mark.parametrize("score_on_error", [False, True])
def test_an_infrastructure_error_is_the_samples_error_and_no_score(
    fragile: str, score_on_error: bool, tmp_path: Path
) -> None:
    def outputs(messages: Any, *_: Any) -> Any:
        return output("fail" if messages[-1].text == "task 0" else "win")

    task = environment(env=fragile)
    log = play(task, outputs, tmp_path, fail_on_error=False, score_on_error=score_on_error)
    assert log.status == "success" and log.samples is not None
    failed, won = sorted(log.samples, key=lambda sample: str(sample.id))
    assert failed.error is not None and "EnvInfraError" in failed.error.traceback
    assert won.error is None and metrics(log)["success"]["accuracy"] == metrics(log)["reward"]["mean"] == 1.0
    for score in (failed.scores or {}).values():
        assert isinstance(score.value, float) and score.value != score.value  # NaN: not scored
    assert play(environment(env=fragile), outputs, tmp_path).status == "error"  # as Inspect does by default


def test_arguments_choose_tasks(tmp_path: Path) -> None:
    task = environment(env='twenty_questions@{"level": "easy"}', split="train", limit=3, epochs=2)
    local = registry.make_text_env('twenty_questions@{"level": "easy"}', split="train")
    assert [sample.id for sample in task.dataset] == list(local.task_ids[:3])
    assert task.epochs == 2 and task.metadata["data_sha256"] == local.source.sha256
    with pytest.raises(NlacBenchError, match="needs a model that plays the user"):
        environment(env='tau_retail@{"data": "official"}')
    chosen = environment(env="shop_worlds", args={"world": 2, "split": "train"}, limit=1)
    assert chosen.metadata["env"] == 'shop_worlds@{"world": 2, "split": "train"}'
    with pytest.raises(ConfigError, match="was read as YAML"):
        environment(env={'shop_worlds@{"world"': "2}"})
    with pytest.raises(NlacBenchError, match="no environment is named"):
        environment(env="nothing")


@pytest.mark.parametrize(
    ("arguments", "model", "tasks"),
    [
        (["nlac_bench/tau_retail", "nlac_bench/first_steps"], "tau_retail+first_steps", 2),
        (
            ["nlac_bench/environment", "-T", "env=shop_worlds", "-T", 'args={"world": 2}'],
            'shop_worlds@{"world": 2}',
            1,
        ),
    ],
)
def test_the_command_line_finds_the_tasks(
    arguments: list[str], model: str, tasks: int, tmp_path: Path
) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["inspect_ai"]
    points = tmp_path / "points-0.dist-info"  # as the installed package has it
    points.mkdir()
    (points / "METADATA").write_text("Metadata-Version: 2.1\nName: points\nVersion: 0\n")
    listed = declared | {"tests": "tests.bridges.inspect_oracle"}
    lines = [f"{name} = {where}" for name, where in listed.items()]
    (points / "entry_points.txt").write_text("\n".join(["[inspect_ai]", *lines]))
    command = [sys.executable, "-m", "inspect_ai", "eval", *arguments, "-T", "limit=2"]
    options = ["--model", f"oracle/{model}", "--log-dir", str(tmp_path / "logs"), "--display", "plain"]
    done = subprocess.run(
        [*command, *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    logs = [read_eval_log(str(path)) for path in (tmp_path / "logs").iterdir()]
    assert len(logs) == tasks, done.stdout
    for log in logs:
        assert log.status == "success" and metrics(log)["success"]["accuracy"] == 1.0, log.error
    assert json.dumps(done.stdout).count("accuracy") >= tasks
