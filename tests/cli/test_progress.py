"""What a run shows of itself on the way."""

import functools
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from nlac_bench.api.heartbeat import Heartbeat
from nlac_bench.api.progress import RunProgress, TrainProgress, counters_of
from nlac_bench.api.session import why_incomplete
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.seeds import Planned, plan_episodes
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.rollout.driver import EpisodeSpec, Failure
from nlac_bench.stats.summary import summarise
from nlac_bench.stats.tables import bracket, number
from nlac_bench.types import Episode


def a_run(folder: Path, tasks: int, trials: int = 1, **ended: bool | None) -> RunFolder:
    """A run that has recorded the episodes ``ended``, by names such as ``t3_0`` (task 3, trial 0)."""
    plan = plan_episodes([f"t{i}" for i in range(tasks)], trials, 0)
    writer = RunWriter.create(folder, config={}, conditions={"env": "e"}, subject={"agent": "a"}, plan=plan)
    with writer:
        for name, success in ended.items():
            task, trial = name.split("_")
            writer.append(next(episode(p, success) for p in plan if p.key == (task, int(trial))))
    return RunFolder.open(folder)


def episode(item: Planned, success: bool | None) -> Episode:
    made = Episode("e", item.task_id, item.trial, item.seed, first_observation="")
    made.success = success
    return made


def until(done: Callable[[], bool]) -> None:
    while not done():
        time.sleep(0.01)


def test_success_on_the_way_is_shown_with_its_interval_and_what_it_can_still_become(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", tasks=120)
    progress = RunProgress(run)
    assert progress.status() == "no episode has ended yet"
    for i, item in enumerate(run.plan[:30]):
        progress(episode(item, success=i < 27))
    shown = "success 0.900 [0.744, 0.965] of 30 ended (0.23 to 0.97 once all 120 have ended)"
    assert progress.status() == shown
    later = run.plan[40]
    progress(Failure(EpisodeSpec("e", later.task_id, 0, later.seed), "infra", "E", "m", 0))
    assert progress.status() == f"{shown}, 1 infrastructure error"
    for item in run.plan[30:]:
        progress(episode(item, success=False))
    assert progress.status() == "success 0.225 [0.159, 0.308] of 120 ended, 1 recovered error"


def test_episodes_without_a_score_have_ended(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", tasks=2)
    progress = RunProgress(run)
    progress(episode(run.plan[0], success=None))
    assert progress.status() == "no episode has a score yet"


def test_episodes_without_a_verdict_are_in_no_bound_and_a_resumed_run_counts_all(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", tasks=5, t0_0=True, t1_0=None)
    progress = RunProgress(run)
    assert progress.status().endswith("of 1 ended (0.25 to 1.00 once all 4 have ended)")
    progress(episode(run.plan[2], None))
    progress(episode(run.plan[3], False))
    assert progress.status().startswith("success 0.500 [")
    assert progress.status().endswith("of 2 ended (0.33 to 0.67 once all 3 have ended)")


def test_the_line_of_a_run_without_verdicts_has_no_empty_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = a_run(tmp_path / "run", tasks=1)
    RunProgress(run)(episode(run.plan[0], None))
    assert "1/1 episodes, 0 s left" in capsys.readouterr().err


@pytest.mark.parametrize("before", [0, 1, 7, 11])
def test_the_last_interim_figures_are_those_of_the_summary(before: int, tmp_path: Path) -> None:
    """Four tasks, three trials, means 1, 2/3, 0 and 1/2 (one episode is unscored), played in two sessions."""
    ends = [True, True, True, True, True, False, False, False, False, True, False, None]
    plan = plan_episodes([f"t{i}" for i in range(4)], 3, 0)
    by_task = sorted(plan, key=lambda item: item.key)
    writer = RunWriter.create(
        tmp_path / "run", config={}, conditions={"env": "e"}, subject={"agent": "a"}, plan=plan
    )
    with writer:
        for item, success in list(zip(by_task, ends, strict=True))[:before]:
            writer.append(episode(item, success))
        progress = RunProgress(writer.folder)
        for item, success in list(zip(by_task, ends, strict=True))[before:]:
            writer.append(episode(item, success))
            progress(episode(item, success))
    summary = summarise(tmp_path / "run")
    assert summary.success == pytest.approx((1 + 2 / 3 + 0 + 1 / 2) / 4)
    assert summary.interval is not None and summary.interval.method == "wilson, clustered by task"
    shown = f"success {number(summary.success)} {bracket(summary.interval)}"
    assert progress.status() == f"{shown} of 11 ended"
    assert shown.split() == [*summary.to_text().splitlines()[3].split()]


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
    with TrainProgress(config) as progress:
        for step in ("validating", "playing", "learning", "probing"):
            progress.training(step)
            assert progress.line().endswith("waiting for tokens, time left unknown")
        assert progress.line().startswith("measuring the critic for ")
        progress.metrics({
            "kind": "iteration", "iteration": 1, "gradient_steps_total": 0, "env_steps": 50, "tokens": 900,
            "seconds": 30.0, "unparseable_policy": 1.0, "unparseable_evaluator": 0.1,
        })  # fmt: skip
        progress.metrics({"kind": "validation", "success": 0.5, "ci": [0.1, 0.9], "best": True})
    said = capsys.readouterr().err
    assert "50 of 100 env_steps, no gradient step yet, policy 100% unparseable, 30 s left" in said
    assert "validation: success 0.500" in said


@pytest.mark.parametrize("agent", ["grpo", "ppo", "rft", "sac"])
def test_a_method_without_a_language_critic_does_not_measure_one(agent: str) -> None:
    config = RunConfig.from_mapping(
        {"env": "tau_retail", "agent": agent, "model": "tiny", "train": {"budget": "steps=2"}}, "test"
    )
    progress = TrainProgress(config)
    with progress:
        progress.training("probing")
        assert progress.line().startswith("measuring the policy for ")


def test_the_time_left_counts_whole_iterations_and_says_when_it_is_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr("nlac_bench.api.progress.time.monotonic", lambda: now)
    config = RunConfig.from_mapping(
        {"env": "tau_retail", "agent": "nlac", "model": "tiny", "train": {"budget": "env_steps=100"}}, "test"
    )
    progress = TrainProgress(config)
    assert progress.line().endswith("time left unknown")
    progress.metrics({
        "kind": "iteration", "iteration": 2, "gradient_steps_total": 4, "env_steps": 72, "tokens": 900,
        "seconds": 40.0,
    })  # fmt: skip
    assert progress.line().endswith(", 20 s left"), "the third iteration has 36 steps, of which 28 are needed"
    now = 15.0
    assert progress.line().endswith(", 5 s left")
    now = 21.0
    assert progress.line().endswith(", longer than estimated")


def test_every_phase_shows_what_it_counts() -> None:
    """Prompts are read, then answers sampled, then gradients computed; none of that looks idle."""
    count = {"prompt tokens": 0, "tokens": 0, "learned": 0}
    config = RunConfig.from_mapping(
        {"env": "tau_retail", "agent": "nlac", "model": "tiny", "train": {"budget": "steps=2"}}, "test"
    )
    counters = {unit: functools.partial(count.__getitem__, unit) for unit in ("prompt tokens", "tokens")}
    with TrainProgress(config, counters) as progress:
        computing = False
        progress.learner(lambda: (count["learned"], computing))
        progress.training("playing")
        count["prompt tokens"] = 500
        assert re.match(r"playing training episodes for 0 s, \d+ prompt tokens/s, time", progress.line())
        progress.training("learning")
        assert progress.line().startswith("learning for 0 s, sampling from the roles, waiting for tokens, ")
        count |= {"prompt tokens": 700, "tokens": 600}
        assert re.search(r" roles, \d+ prompt tokens/s, \d+ tokens/s, ", progress.line())
        count["learned"] = 4000
        assert re.match(r"learning for 0 s, computing gradients, \d+ learned tokens/s, ", progress.line())
        computing = True  # a micro-batch that takes long
        assert progress.line().startswith(
            "learning for 0 s, computing gradients, 4,000 learned tokens so far, "
        )


class CountsPrompts:
    read_tokens, generated_tokens = 7, 3


class Served:
    generated_tokens, waiting = 5, (2, 7.4)


def test_counters_are_those_that_an_engine_has() -> None:
    def counted(engine: object) -> dict[str, int]:
        return {unit: count() for unit, count in counters_of(SimpleNamespace(engine=engine)).items()}

    assert counted(CountsPrompts()) == {"prompt tokens": 7, "tokens": 3}
    assert counted(Served()) == {"tokens": 5} and counted(None) == {} == counters_of(object())


def test_a_run_on_a_server_shows_how_many_replies_it_waits_for(tmp_path: Path) -> None:
    agent = SimpleNamespace(engine=Served())
    progress = RunProgress(a_run(tmp_path / "run", tasks=1), counters_of(agent), agent)
    assert ", waiting for 2 replies, the longest for 7 s, after 0 s" in progress.line()
    agent.engine.generated_tokens = 9  # counted again since the last line
    assert re.search(r", \d+ tokens/s, after", progress.line())
    agent.engine.waiting = (0, 0.0)
    assert ", waiting for tokens, " in progress.line()


def test_the_summary_names_a_context_that_is_too_short(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", tasks=3, t0_0=True)
    assert "context" not in summarise(run).to_text()
    with RunWriter.resume(run.path, conditions=run.conditions, subject=run.subject, plan=run.plan) as writer:
        for item in run.plan[1:]:
            cut = episode(item, success=False)
            cut.truncated, cut.end_reason = True, "context_overflow"
            writer.append(cut)
    assert "2 of 3 episodes ended because the conversation no longer fitted" in summarise(run).to_text()


def test_an_interrupted_training_says_which_episodes_are_recorded(tmp_path: Path) -> None:
    summary = summarise(a_run(tmp_path / "run", tasks=3, t0_0=True))
    assert why_incomplete(summary, None, "base episodes") == "interrupted; 1 of 3 base episodes are recorded"
    assert why_incomplete(summary, "run_cost") == "run_cost; 1 of 3 episodes are recorded"
