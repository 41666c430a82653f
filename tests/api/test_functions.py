"""The functions of the Python API: agents of every kind, settings, event loops, interruptions."""

import asyncio
import importlib
import inspect
import json
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import nlac_bench as nb
from nlac_bench.agents.floors import OracleAgent
from nlac_bench.agents.prompts import PACKAGED
from nlac_bench.api import functions, threads
from nlac_bench.api.callers import called_agent
from nlac_bench.envs import registry
from nlac_bench.errors import NlacBenchError, UnknownIdError
from nlac_bench.harness.runs.configuration import RunConfig, declared
from nlac_bench.rollout.engines.engine import Sample, SampleRequest
from nlac_bench.types import Episode, Usage
from tests.cli.command import nlac_bench

NAMES = ("evaluate", "aevaluate", "train", "atrain", "load", "compare", "grade", "make", "Run")
EASY = "first_steps"  # an episode is one turn


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_documented_names_are_not_modules() -> None:
    importlib.import_module("nlac_bench.training.costs")
    for name in NAMES:
        assert callable(getattr(nb, name)) and not inspect.ismodule(getattr(nb, name))
        assert name in dir(nb)
        # importing a submodule would replace the function of its name
        assert not any((Path(nb.__file__).parent / file).exists() for file in (name, f"{name}.py"))
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        getattr(nb, "evaluat")  # noqa: B009 - the type checker refuses the attribute


def test_the_summary_of_the_oracle_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    print(nb.evaluate("tau_retail", agent="oracle", limit=4).summary().success)
    printed = capsys.readouterr()
    assert printed.out == "1.0\n"
    assert "4 of 4 episodes to play" in printed.err


def played(episode: Episode) -> tuple[object, ...]:
    return episode.task_id, episode.trial, episode.turns[0].text, episode.success


def test_a_run_is_the_one_that_the_command_makes(tmp_path: Path) -> None:
    run = nb.evaluate(EASY, agent="random", limit=5, trials=2, seed=3, out="api")
    nlac_bench("eval", "--env", EASY, "--agent", "random", "--limit", "5", "--trials", "2", "--seed", "3",
               "--out", "cli")  # fmt: skip
    command = nb.load("cli")
    assert isinstance(command, nb.Run)
    assert run.folder.config == command.folder.config and run.folder.plan == command.folder.plan
    assert run.folder.conditions == command.folder.conditions
    assert sorted(map(played, run.folder.episodes())) == sorted(map(played, command.folder.episodes()))
    assert {path.name for path in run.path.iterdir()} == {path.name for path in command.path.iterdir()}


def test_signatures_and_help_are_those_of_the_one_declaration() -> None:
    options = {name for name, field in RunConfig.model_fields.items() if declared(field)} - {"env", "agent"}
    for function in (nb.evaluate, nb.aevaluate, nb.train, nb.atrain):
        parameters = inspect.signature(function).parameters
        assert options < set(parameters)
        assert parameters["trials"].default == 1
        assert f"limit: {RunConfig.model_fields['limit'].description}" in (function.__doc__ or "")
    assert {"method", "budget", "train"} < set(inspect.signature(nb.train).parameters)
    assert inspect.iscoroutinefunction(nb.aevaluate) and not inspect.iscoroutinefunction(nb.evaluate)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limt": 3}, r"evaluate\(\): unknown setting 'limt'"),
        ({"limit": 0}, r"evaluate\(\): limit must be at least 1, got 0"),
        ({"limit": "4"}, r"limit must be a whole number, got '4'"),
        ({"agent": "oracl"}, "no agent is named 'oracl'"),
        ({"agent": 3}, "agent must be a name, a model"),
        ({"agent": "tiny", "model": "tiny"}, "leave out model"),
        ({"train": {"lr": 1}}, "agent 'oracle' is not trained"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_written(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(NlacBenchError, match=message):
        nb.evaluate(EASY, **({"agent": "oracle"} | settings))
    assert not list(tmp_path.iterdir())


def test_an_agent_that_is_not_trained_is_no_method(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('agent = "oracle"\n')
    for method, config in (("oracle", None), (None, file)):
        with pytest.raises(UnknownIdError, match="nlac"):
            nb.train(EASY, method=method, config=config)
    with pytest.raises(NlacBenchError, match=r"train\(\) has no setting 'agent'; .* as method"):
        nb.train(EASY, agent="ppo")


@pytest.mark.parametrize(
    ("method", "in_file", "trained"),
    [(None, "", "nlac"), (None, 'agent = "ppo"\n', "ppo"), ("rft", 'agent = "ppo"\n', "rft")],
)
def test_the_method_is_that_of_the_call_or_of_its_file(
    method: str | None, in_file: str, trained: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(config: RunConfig, *rest: object) -> None:
        assert config.train is not None
        raise NlacBenchError(f"would train {config.agent}")

    file = tmp_path / "run.toml"
    file.write_text(in_file)
    monkeypatch.setattr(functions, "start", started)
    with pytest.raises(NlacBenchError, match=f"would train {trained}$"):
        nb.train(EASY, config=file, method=method)


def test_settings_of_a_file_are_overridden_by_those_that_are_given(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("trials = 2\nlimit = 3\n")
    run = nb.evaluate(EASY, agent="random", config=file, limit=1)
    assert (run.folder.config["trials"], run.folder.config["limit"]) == (2, 1)


def test_a_function_reads_the_chat_of_a_prompted_agent_and_answers() -> None:
    env = registry.make_text_env("tau_retail", level="easy")
    seen: list[list[dict[str, Any]]] = []

    def hand_over(messages: list[dict[str, Any]]) -> str:
        seen.append([dict(message) for message in messages])
        messages.clear()  # the caller's own list
        if len(seen[-1]) == 2:
            return "Who are you?"
        return '{"name": "transfer_to_human_agents", "arguments": {"summary": "x"}}'

    run = nb.evaluate('tau_retail@{"level": "easy"}', agent=hand_over, limit=1)
    (episode,) = run.folder.episodes()
    assert [message["role"] for message in seen[-1]] == ["system", "user", "assistant", "user"]
    assert seen[-1][2]["content"] == "Who are you?" == episode.turns[0].text
    assert env.policy() in seen[0][0]["content"]
    assert "transfer_to_human_agents" in seen[0][0]["content"]
    assert seen[0][1]["content"] == episode.first_observation
    assert run.folder.subject["agent"] == "hand_over()"
    assert run.folder.subject["prompts"]["act_tools"] == PACKAGED.sha256("act_tools")
    assert run.summary().outcomes.usage["policy"].calls == 2


def test_a_coroutine_function_has_several_calls_under_way() -> None:
    waiting: list[asyncio.Event] = []

    async def agent(messages: list[dict[str, Any]]) -> str:
        waiting.append(asyncio.Event())
        mine = waiting[-1]
        if len(waiting) == 3:
            for each in waiting:
                each.set()
        await mine.wait()
        return "4"

    assert nb.evaluate(EASY, agent=agent, limit=3).summary().outcomes.counts.scored == 3


def _returns_a_number(messages: list[dict[str, Any]]) -> Any:
    return 3


def _raises(messages: list[dict[str, Any]]) -> str:
    raise RuntimeError("the user's own mistake")


@pytest.mark.parametrize(
    ("agent", "why"),
    [(_returns_a_number, "must return text, got 3"), (_raises, "the user's own mistake")],
)
def test_a_function_that_fails_is_not_scored(
    agent: Any, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = nb.evaluate(EASY, agent=agent, limit=2)
    counts = run.summary().outcomes.counts
    assert run.summary().success is None and counts.infra_errors == 2
    said = capsys.readouterr().err
    assert why in said
    assert "resume" not in said  # a function has no name under which a command could find it


def test_an_agent_object_plays_under_a_name_of_its_own() -> None:
    run = nb.evaluate(EASY, agent=OracleAgent(), limit=2)
    assert run.summary().success == 1.0
    assert run.folder.subject["agent"] == "oracle()"  # not taken for the registered agent


class Echo:
    """An engine."""

    tokenizer = None

    async def sample(self, request: SampleRequest) -> list[Sample]:
        assert request.messages
        return [Sample("4", "stop", usage=Usage(calls=1))]

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: str = "policy") -> list[float]:
        raise NotImplementedError


def test_models_play_with_the_prompts_of_training_methods(tmp_path: Path) -> None:
    run = nb.evaluate(EASY, agent=Echo(), limit=2)
    assert (run.folder.subject["agent"], run.folder.subject["engine"]) == ("policy()", "Echo")
    assert "nlac_refiner" in run.folder.subject["prompts"]
    for name in ("tiny", "org/model", str(tmp_path)):
        assert called_agent(name).settings == {"model": name}
    for name in ("oracle", "react", "nlac", "my_pkg:agent"):
        assert called_agent(name) == (name, None, {})
    with pytest.raises(NlacBenchError, match="has no trained model"):
        nb.evaluate(EASY, agent=run)


def test_it_works_where_an_event_loop_runs() -> None:
    async def notebook() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        blocking = nb.evaluate(EASY, agent="oracle", limit=2)
        ticking = asyncio.create_task(tick())
        a, b = await asyncio.gather(
            nb.aevaluate(EASY, agent="oracle", limit=2), nb.aevaluate(EASY, agent="oracle", limit=2)
        )
        ticking.cancel()
        assert ticks > 1  # this loop went on
        assert len({blocking.path, a.path, b.path}) == 3
        assert [run.summary().success for run in (blocking, a, b)] == [1.0, 1.0, 1.0]

    before = signal.getsignal(signal.SIGINT)
    asyncio.run(notebook())
    assert signal.getsignal(signal.SIGINT) is before


def test_cancelling_stops_the_run_and_leaves_its_folder() -> None:
    async def main() -> None:
        loop, started = asyncio.get_running_loop(), asyncio.Event()

        async def never(messages: list[dict[str, Any]]) -> str:
            loop.call_soon_threadsafe(started.set)
            return await asyncio.get_running_loop().create_future()

        task = asyncio.create_task(nb.aevaluate(EASY, agent=never, limit=2, out="run"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    run = nb.load("run")
    assert isinstance(run, nb.Run) and run.summary().outcomes.counts.owed == 2


def test_ctrl_c_twice_ends_a_call_and_keeps_what_was_played() -> None:
    calls = []

    async def agent(messages: list[dict[str, Any]]) -> str:
        calls.append(messages)
        if len(calls) == 1:
            return "4"
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return await asyncio.get_running_loop().create_future()

    with pytest.raises(KeyboardInterrupt):
        nb.evaluate(EASY, agent=agent, limit=3, concurrency=1, out="run")
    run = nb.load("run")
    assert isinstance(run, nb.Run) and run.summary().outcomes.counts.owed == 2
    assert not (run.path / "report.html").exists()


@pytest.mark.parametrize("wakes", [True, False])
def test_ctrl_c_in_a_notebook_stops_the_thread_of_the_run(wakes: bool) -> None:
    stopped = []

    async def forever() -> None:
        # A signal that another thread receives does not end a wait of the main thread, and neither does one
        # that the main thread receives just before it waits.
        receiver = threading.main_thread() if wakes else threading.current_thread()
        try:
            signal.pthread_kill(receiver.ident or 0, signal.SIGINT)
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            stopped.append(True)
            raise

    async def notebook() -> None:
        earlier = signal.signal(signal.SIGINT, signal.default_int_handler)  # as a kernel runs a cell
        try:
            with pytest.raises(KeyboardInterrupt):
                threads.call(lambda loop: loop.run(forever()))
        finally:
            signal.signal(signal.SIGINT, earlier)

    asyncio.run(notebook())
    assert stopped == [True]


def test_several_processes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(NlacBenchError, match="runs in one process"):
        nb.evaluate(EASY, agent="oracle", limit=1)


@pytest.mark.parametrize(("pred", "right"), [(r"\boxed{0.5}", True), ("it is 2", False)])
def test_an_answer_is_graded(pred: str, right: bool) -> None:
    verdict = nb.grade(pred, r"\frac{1}{2}")
    assert verdict.correct is right and bool(verdict) is right


def test_an_environment_is_made_by_name() -> None:
    env = nb.make("tau_retail", split="train")
    observation, info = env.reset(seed=0)
    assert observation and info["split"] == "train"
    assert json.dumps(info)
