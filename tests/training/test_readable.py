"""A run whose critic cannot be read stops after the first iteration, and says why nothing is learned."""

import json
import re
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.config import Budget, TrainConfig
from nlac_bench.training.progress import MAX_HOPELESS, MAX_IDLE, Progress
from nlac_bench.training.readable import UnreadableError, check_readable, unreadable
from nlac_bench.types import Episode, Turn
from tests.cli.command import call
from tests.rollout import tiny_model


@pytest.mark.parametrize(
    ("metrics", "named"),
    [
        ({"unparseable_evaluator": 1.0, "unparseable_successor": 0.5}, "100% of the answers as evaluator"),
        (
            {"unparseable_refiner": 0.75, "unparseable_backup": 0.6},
            "60% of the answers as backup, 75% of the answers as refiner",
        ),
        ({"unparseable_evaluator": 0.5, "unparseable_policy": 1.0, "l1": 0.9}, ""),
        ({}, ""),
    ],
)
def test_more_than_half_of_a_role_must_be_readable(metrics: dict[str, Any], named: str) -> None:
    assert unreadable(metrics) == named
    few = {name.replace("unparseable", "answers"): 7.0 for name in metrics}
    check_readable(metrics | few, TrainConfig())
    metrics |= dict.fromkeys(few, 8.0)
    if named:
        with pytest.raises(UnreadableError, match=f"first iteration {named} could not be read") as raised:
            check_readable(metrics, TrainConfig())
        assert "--keep-going" in str(raised.value) and "forms=filled" not in str(raised.value)
        with pytest.raises(UnreadableError, match="--train forms=filled"):
            check_readable(metrics, TrainConfig(forms="free"))
    else:
        check_readable(metrics, TrainConfig())


def played(success: bool, truncated: bool = False) -> Episode:
    turns = [Turn("a"), Turn("b")]
    return Episode("e", "t", 0, 0, "", turns, not truncated, truncated, success)


@pytest.mark.parametrize(
    ("episodes", "metrics", "said", "hopeless"),
    [
        ([played(False)] * 4, {"unparseable_evaluator": 0.2, "answers_evaluator": 9.0}, "none of 4 ", False),
        ([played(True)] * 4, {}, "all 4 episodes succeeded; use harder tasks", False),
        ([played(True), played(False)], {}, "1 of 2 episodes succeeded, those of each task", False),
        ([played(True), played(False)], {"too_long": 2.0}, "1 of 2 .* and 2 turns were longer than", False),
        (
            [played(False)] * 4,
            {"unparseable_evaluator": 0.9, "answers_evaluator": 10.0},
            "90% of the answers as evaluator could not be read; use a model", True,
        ),
        ([played(False)] * 4, {"unparseable_evaluator": 1.0, "answers_evaluator": 2.0}, "none of 4 ", False),
        ([played(True)] * 4, {"too_long": 8.0}, "all 8 turns were longer than", True),
        ([played(False, True)] * 4, {}, "all 4 episodes were cut before their end", True),
    ],
)  # fmt: skip
def test_a_training_without_a_gradient_step_names_the_cause_that_was_counted(
    episodes: list[Episode], metrics: dict[str, float], said: str, hopeless: bool
) -> None:
    budget = Budget.parse("steps=9")

    def stops_after(keep_going: bool) -> int:
        progress = Progress()
        while True:
            progress.count(*([], {}) if progress.idle else (episodes, metrics), 0, 0)
            try:
                progress.check_idle(budget, keep_going)
            except NlacBenchError as error:
                assert re.search(said, str(error)), error
                return progress.idle

    assert stops_after(keep_going=True) == MAX_IDLE
    assert stops_after(keep_going=False) == (MAX_HOPELESS if hopeless else MAX_IDLE)
    learned = Progress()
    learned.count(episodes, {**metrics, "gradient_steps": 1.0}, 0, 0)
    assert not learned.counted and not learned.idle


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model with random weights and a long context, whose free answers cannot be read."""
    folder = tmp_path_factory.mktemp("model")
    tiny_model.model(0, context=8192).save_pretrained(folder)
    tiny_model.tokenizer().save_pretrained(folder)
    gymnasium.register("ReadCountDown-v0", "tests.envs.count_down:CountDown")
    return str(folder)


@pytest.mark.parametrize(
    ("options", "stopped"),
    [(["--train=forms=free"], True), (["--train=forms=free", "--keep-going"], False), ([], False)],
)
def test_a_run_with_an_unreadable_critic_stops_and_keeps_its_answers(
    options: list[str], stopped: bool, model: str, tmp_path: Path
) -> None:
    done = call(
        "run", "--agent", "nlac", "--env", "tests.envs.count_down:ReadCountDown-v0", "--model", model,
        "--limit", "1", "--max-tokens", "4", "--replicas", "1", "--budget", "env_steps=2",
        "--train=train_batch_size=1", "--train=val_tasks=1", "--train=probes=0", "--train=probe_states=0",
        "--train=max_response_length=150", "--train=max_turn_length=2", "--train=replay_ratio=8", "--out",
        str(tmp_path / "run"), *options,
    )  # fmt: skip
    assert (tmp_path / "run" / "answers.jsonl").exists(), done.stderr[-2000:]
    rows = [json.loads(line) for line in (tmp_path / "run" / "answers.jsonl").read_text().splitlines()]
    assert rows[0]["iteration"] == 1 and {"role", "readable", "finish", "text"} <= rows[0].keys()
    critic = [row for row in rows if row["role"] in ("evaluator", "successor")]
    assert critic
    if stopped:
        assert done.returncode != 0 and "could not be read" in done.stderr
        assert "--train forms=filled" in done.stderr and "Traceback" not in done.stderr
        assert not any(row["readable"] for row in critic)
    else:
        assert done.returncode == 0, done.stderr[-2000:]
        assert any(row["readable"] for row in critic) == (not options)
