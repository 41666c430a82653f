"""What a run shows of itself on the way."""

import time
from collections.abc import Callable

import pytest

from nlac_bench.cli.heartbeat import Heartbeat
from nlac_bench.cli.progress import RunProgress, TrainProgress
from nlac_bench.eval.runs.configuration import RunConfig
from nlac_bench.rollout.driver import EpisodeSpec, Failure
from nlac_bench.types import Episode


def ended(success: bool | None) -> Episode:
    episode = Episode("e", "t", 0, 0, first_observation="")
    episode.success = success
    return episode


def until(done: Callable[[], bool]) -> None:
    while not done():
        time.sleep(0.01)


def test_success_on_the_way_is_shown_with_what_it_can_still_become() -> None:
    progress = RunProgress(planned=120, done=0)
    assert progress.status() == "no episode has ended yet"
    for i in range(30):
        progress(ended(success=i < 27))
    assert progress.status() == "success 0.90 of 30 ended (0.23 to 0.97 once all 120 have ended)"
    progress(Failure(EpisodeSpec("e", "t", 0, 0), "infra", "E", "m", 0))
    assert progress.status().endswith("1 infrastructure errors")
    for _ in range(90):
        progress(ended(success=False))
    assert progress.status().startswith("success 0.23 of 120 ended, 1")


def test_episodes_without_a_verdict_are_in_no_bound() -> None:
    progress = RunProgress(planned=14, done=10)  # a resumed run: what was played before is not known here
    progress(ended(None))
    progress(ended(True))
    assert progress.status() == "success 1.00 of 1 ended (0.33 to 1.00 once all 3 have ended)"


def test_a_heartbeat_comes_while_nothing_else_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    called: list[int] = []

    def line() -> str:
        called.append(1)
        return "learning [for] 10 s"

    with Heartbeat(line, every=0.05) as heartbeat:
        until(lambda: len(called) > 1)
        heartbeat.say("iteration 1")
    said = capsys.readouterr().err
    assert "learning [for] 10 s" in said and "iteration 1" in said


def test_a_training_says_what_it_does_and_what_could_not_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    config = RunConfig.from_mapping(
        {"env": "tau_retail", "agent": "nlac", "model": "tiny", "train": {"budget": "env_steps=100"}}, "test"
    )
    with TrainProgress(config, tokens=lambda: 7) as progress:
        for step in ("validating", "playing", "learning", "probing"):
            progress.training(step)
            assert "tokens/s" in progress._line()
        progress.metrics({
            "kind": "iteration", "iteration": 1, "gradient_steps_total": 0, "env_steps": 50, "tokens": 900,
            "seconds": 30.0, "unparseable_policy": 1.0, "unparseable_evaluator": 0.1,
        })  # fmt: skip
        progress.metrics({"kind": "validation", "success": 0.5, "ci": [0.1, 0.9], "best": True})
    said = capsys.readouterr().err
    assert "50 of 100 env_steps, no gradient step yet, policy unreadable 100%, 30 s left" in said
    assert "validation: success 0.500" in said
