"""A run whose critic cannot be read stops after the first iteration, and says why nothing is learned."""

import json
import re
from pathlib import Path

import gymnasium
import pytest

from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.config import Budget, TrainConfig
from nlac_bench.training.progress import MAX_HOPELESS, MAX_IDLE, Progress
from nlac_bench.training.readable import UnreadableError, check_readable
from nlac_bench.types import Episode, Turn
from tests.cli.command import call
from tests.rollout import tiny_model

SHARES = [
    ({"evaluator": 1.0, "successor": 0.5}, "100% of the answers as evaluator"),
    ({"refiner": 0.75, "backup": 0.625}, "62% of the answers as backup, 75% of the answers as refiner"),
    ({"evaluator": 0.5, "policy": 1.0}, ""),
    ({}, ""),
]


def row(shares: dict[str, float], answers: float) -> dict[str, float]:
    """The metrics of an iteration with so many answers of each role, of which these shares are unreadable."""
    counts = {f"answers_{role}": answers for role in shares}
    return {"l1": 0.9, **counts, **{f"unparseable_{role}": share for role, share in shares.items()}}


@pytest.mark.parametrize(("shares", "named"), SHARES)
@pytest.mark.parametrize("iterations", [[8.0], [7.0, 1.0], [4.0, 4.0], [2.0, 2.0, 2.0, 2.0]])
def test_more_than_half_of_a_roles_first_eight_answers_must_be_readable(
    shares: dict[str, float], named: str, iterations: list[float]
) -> None:
    first: dict[str, float] = {}
    *earlier, last = (row(shares, answers) for answers in iterations)
    for metrics in earlier:
        check_readable(first, metrics, TrainConfig())
    if not named:
        return check_readable(first, last, TrainConfig())
    with pytest.raises(UnreadableError, match=f"start of the training {named} could not be read") as raised:
        check_readable(dict(first), last, TrainConfig())
    assert "--keep-going" in str(raised.value) and "forms=filled" not in str(raised.value)
    with pytest.raises(UnreadableError, match="--train forms=filled"):
        check_readable(dict(first), last, TrainConfig(forms="free"))
    check_readable(first, last, TrainConfig(), keep_going=True)
    check_readable(first, last, TrainConfig())  # judged before


def test_each_role_is_judged_once_by_all_of_its_first_answers() -> None:
    first: dict[str, float] = {}
    check_readable(first, row({"evaluator": 1.0}, 4.0), TrainConfig())
    check_readable(first, row({"evaluator": 0.0}, 4.0), TrainConfig())  # half of eight
    check_readable(first, row({"evaluator": 1.0, "refiner": 1.0}, 7.0), TrainConfig())
    with pytest.raises(UnreadableError, match="training 100% of the answers as refiner could"):
        check_readable(first, row({"evaluator": 1.0, "refiner": 1.0}, 1.0), TrainConfig())


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
                progress.check_learned(budget, keep_going)
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
