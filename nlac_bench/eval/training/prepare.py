"""From a prepared run with a training part to a training loop that can begin."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from nlac_bench.agents import methods
from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.errors import ConfigError
from nlac_bench.eval.measure.engines import local_model
from nlac_bench.eval.measure.prepare import Prepared
from nlac_bench.eval.runs.episode_json import dump_line, episode_from_row, episode_to_row
from nlac_bench.eval.runs.folder import RunFolder
from nlac_bench.eval.runs.lines import Appender, read_lines
from nlac_bench.eval.training.checkpoints import Checkpoints
from nlac_bench.eval.training.loop import Training
from nlac_bench.eval.training.player import Player
from nlac_bench.eval.training.schedule import Schedule
from nlac_bench.rollout.engines.engine import Sampling, TrainableEngine
from nlac_bench.rollout.limits import Limits
from nlac_bench.rollout.meter import MeteredEngine
from nlac_bench.train.learner import Learner
from nlac_bench.types import Episode

ROLLOUTS = "rollouts.jsonl"


@contextlib.contextmanager
def make_training(
    prepared: Prepared,
    folder: Path,
    log: Callable[[dict[str, Any]], None],
    on_metrics: Callable[[dict[str, Any]], None],
) -> Iterator[Training]:
    """Learner, algorithm and the loop around them, as ``prepared.config`` describes them.

    Raises:
        ConfigError: the engine cannot train the method, or ``--offline`` gives nothing to learn from.
    """
    config = prepared.config
    method, settings = methods.find(config.agent), config.train
    assert settings is not None  # only runs that train get here
    engine = MeteredEngine(trainable_engine(prepared))
    judge = replace(_policy_agent(prepared), engine=engine)
    sampling = Sampling(temperature=settings.temperature, max_tokens=settings.max_response_length)
    agent = replace(judge, sampling=sampling)
    learner = Learner(local_model(str(config.model)), settings.learner(config.seed, **method.learner))
    algorithm = method.algorithm_class(
        Resources(
            settings, engine, learner, judge.prompts, agent, prepared.make_training_env,
            seed=config.seed, concurrency=config.concurrency,
        )
    )  # fmt: skip
    env = prepared.make_training_env()
    schedule = Schedule(env.name, env.task_ids, settings, config.seed)
    if config.offline is not None:
        found = offline_episodes(Path(config.offline), {item.task_id for item in prepared.plan})
        algorithm.remember(schedule.learnable(found))
    checkpoints = Checkpoints(folder / "checkpoints", learner, algorithm, engine.tokenizer)

    def keep(episode: Episode) -> None:
        rollouts.append(dump_line(episode_to_row(episode)))

    def log_and_show(row: dict[str, Any]) -> None:
        log(row)
        on_metrics(row)

    player = Player(
        prepared.make_training_env,
        learner=agent,
        judge=judge,
        learner_limits=Limits(turns=settings.max_turn_length),
        judge_limits=Limits(turns=config.max_turns, seconds=config.max_seconds),
        concurrency=config.concurrency,
        keep=keep,
    )
    rollouts = _appender(folder / ROLLOUTS)
    try:
        yield Training(
            settings, algorithm, engine, schedule, player, checkpoints, log_and_show,
            plays=config.offline is None,
        )  # fmt: skip
    finally:
        rollouts.close()


def trainable_engine(prepared: Prepared) -> TrainableEngine:
    """The engine that plays the policy.

    Raises:
        ConfigError: the method cannot be trained with it.
    """
    engine: Any = _policy_agent(prepared).engine
    methods.find(prepared.config.agent).check_engine(engine, prepared.config.model)
    trainable: TrainableEngine = engine
    return trainable


def offline_episodes(folder: Path, forbidden: set[str]) -> list[Episode]:
    """The episodes of an earlier run, any policy's: those it was measured by, or those it learned from.

    Their token ids are left out: they may be another model's.

    Raises:
        ConfigError: there are none, or they play the tasks that this run is measured on.
    """
    found = [episode_from_row(row) for row, _ in read_lines(folder / ROLLOUTS)]
    # What was played again after a crash is there twice.
    found = list({(e.task_id, e.trial, e.seed): e for e in found}.values())
    if not found:
        found = list(RunFolder.open(folder).episodes())
    if not found:
        raise ConfigError(f"--offline: {folder} holds no episodes")
    leaked = sorted({e.task_id for e in found} & forbidden)
    if leaked:
        raise ConfigError(
            f"--offline: {folder} plays task {leaked[0]!r}, on which this run is measured; take a run with "
            "--split train"
        )
    for episode in found:
        for turn in episode.turns:
            turn.prompt_ids = turn.output_ids = turn.logprobs = None
    return found


def _policy_agent(prepared: Prepared) -> PolicyAgent:
    agent = prepared.agent
    assert isinstance(agent, PolicyAgent)  # agents.make gives it to every method
    return agent


def _appender(path: Path) -> Appender:
    ends = [end for _, end in read_lines(path)]
    return Appender(path, ends[-1] if ends else 0)
