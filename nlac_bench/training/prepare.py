"""Makes the training loop of a prepared run: learner, algorithm, schedule, player and checkpoints."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from nlac_bench.agents.algorithm import ReadsStates, Resources
from nlac_bench.agents.composed import ComposedAgent
from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.agents.roles.answers import AnswerRecord
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.role_prompts import in_form
from nlac_bench.agents.roles.styles import with_forms
from nlac_bench.errors import ConfigError
from nlac_bench.garbage import release_memory
from nlac_bench.harness.measure.engines import local_model
from nlac_bench.harness.measure.offline import ROLLOUTS, offline_episodes
from nlac_bench.harness.measure.prepare import Prepared
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.critiques import CRITIQUES
from nlac_bench.harness.runs.episode_json import episode_line
from nlac_bench.harness.runs.iteration_log import IterationLog
from nlac_bench.harness.runs.lines import Appender, read_lines
from nlac_bench.learner.config import Budget
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.outputs import Metrics
from nlac_bench.redaction import redactor
from nlac_bench.rollout.driver import Driver
from nlac_bench.rollout.engines.engine import Sampling, TrainableEngine
from nlac_bench.rollout.limits import PlayLimits
from nlac_bench.rollout.meter import MeteredEngine, StepMeter
from nlac_bench.training.ahead import Ahead
from nlac_bench.training.allowance import Allowance
from nlac_bench.training.checkpoints import Checkpoints
from nlac_bench.training.loop import TrainingLoop
from nlac_bench.training.mismatch import mismatch
from nlac_bench.training.player import TrainingPlayer
from nlac_bench.training.probe_set import ProbeSet
from nlac_bench.training.schedule import Schedule
from nlac_bench.types import Episode

ANSWERS = "answers.jsonl"


@contextlib.contextmanager
def make_training(
    prepared: Prepared,
    folder: Path,
    log: Callable[[dict[str, object]], None],
    on_metrics: Callable[[dict[str, object]], None],
    on_phase: Callable[[str], None] = lambda phase: None,
) -> Iterator[TrainingLoop]:
    """Make the training loop that ``prepared.config`` describes; a context manager that closes its files.

    Args:
        folder: of the run.
        log: called with each row of metrics, before ``on_metrics``.
        on_metrics: called with each row of metrics.
        on_phase: see ``TrainingLoop``.

    Raises:
        ConfigError: the engine cannot be trained with the method, or ``--offline`` has no usable episodes.
    """
    config = prepared.config
    method = named_agents.method(config.agent)
    settings = config.train
    assert settings is not None  # the caller prepared a training run
    engine = MeteredEngine(trainable_engine(prepared))
    judge = replace(_policy_agent(prepared), engine=engine)
    sampling = Sampling(temperature=settings.temperature, max_tokens=settings.max_response_length)
    agent = replace(judge, sampling=sampling)
    learner = Learner(
        local_model(str(config.model)), settings.learner(config.seed, **method.learner_options(settings))
    )
    critiques, answers = IterationLog(folder / CRITIQUES), IterationLog(folder / ANSWERS)

    def keep_critiques(records: Sequence[CritiqueRecord]) -> None:
        critiques.append(map(asdict, records))

    def keep_answers(records: Sequence[AnswerRecord]) -> None:
        answers.append(map(asdict, records))

    def keep(episode: Episode) -> None:
        rollouts.append(episode_line(episode, redactor()))

    def done() -> float:
        return training.done()

    async def alone(steps: Callable[[], Metrics]) -> Metrics:
        """Take gradient steps while the engine is idle; its cache would be dropped after them anyway."""
        engine.forget()
        release_memory()
        metrics = steps()
        release_memory()
        return metrics

    steps = StepMeter()

    async def in_parts(
        items: Sequence[Any], unit: int | None, sample: Callable[[Sequence[Any]], Awaitable[None]]
    ) -> int:
        async def counted(part: Sequence[Any]) -> int:
            before = steps.learning
            await sample(part)
            return steps.learning - before

        return await allowance.learn(items, unit, counted)

    environments = prepared.environments
    env, validation_env = environments.training, environments.validation
    schedule = Schedule(env.name, env.task_ids, validation_env.task_ids, settings, config.seed)
    player = TrainingPlayer(
        Driver(
            agent, environments.make_training_env, concurrency=config.concurrency,
            limits=PlayLimits(turns=settings.max_turn_length),
        ),
        Driver(
            judge, environments.make_validation_env, concurrency=config.concurrency,
            limits=PlayLimits(turns=config.max_turns, seconds=config.max_seconds),
        ),
        keep,
    )  # fmt: skip
    prompts = with_forms(judge.prompts, settings.forms, env.one_line)
    cost = settings.cost(env.max_steps)
    generates = sum(cost.answers.values()) / cost.played
    allowance = Allowance(Budget.parse(settings.budget), engine.generated_tokens, generates)
    ahead = None
    if settings.max_staleness and config.offline is None:

        def play(number: int) -> Awaitable[list[Episode]]:
            return training.play(number)

        ahead = Ahead(play, learner.device, allowance.may_play_ahead)
    algorithm = method.algorithm_class(
        Resources(
            settings, engine, learner, prompts, agent, env.fork,
            seed=config.seed, concurrency=config.concurrency, keep_critiques=keep_critiques,
            keep_answers=keep_answers,
            learn=ahead.learn if ahead else alone, slots=method.slots(settings),
            in_parts=in_parts, steps=steps, done=done, make_validation_env=validation_env.fork,
        )
    )  # fmt: skip
    if config.offline is not None:
        result = offline_episodes(Path(config.offline), environments, config, prepared.plan)
        in_form(result, prompts)
        if not algorithm.remember(result):
            raise ConfigError(
                f"--offline: all prompts of the episodes in {config.offline} are longer than "
                f"train.max_prompt_length = {settings.max_prompt_length} tokens; increase it"
            )
    checkpoints = Checkpoints(folder / "checkpoints", learner, algorithm, engine.tokenizer)

    def log_and_show(row: dict[str, object]) -> None:
        log(row)
        on_metrics(row)

    logs, probe_set = [critiques, answers], None
    if method.keeps_critiques and isinstance(algorithm, ReadsStates) and algorithm.probe_states:
        probe_set = ProbeSet(folder, algorithm, config.seed)
        logs.append(probe_set.log)
    rollouts = _appender(folder / ROLLOUTS)
    try:
        training = TrainingLoop(
            settings, algorithm, engine, schedule, player, checkpoints, log_and_show,
            on_phase=on_phase, stop_requested=learner.stop_requested, plays=config.offline is None, logs=logs,
            probe_set=probe_set, mismatch=mismatch(learner, engine, settings, config.max_logprob_gap),
            ahead=ahead, allowance=allowance, steps=steps, keep_going=config.keep_going,
            learned=lambda: (learner.computed_tokens, learner.computing), passes=learner.passes,
        )  # fmt: skip
        yield training
        if training.finished():
            learner.free()  # the best checkpoint is loaded next
    finally:
        rollouts.close()
        for file in logs:
            file.close()


def trainable_engine(prepared: Prepared) -> TrainableEngine:
    """Return the engine that plays the policy.

    Raises:
        ConfigError: the method cannot train a model in this engine.
    """
    engine: Any = _policy_agent(prepared).engine
    named_agents.method(prepared.config.agent).check_engine(
        engine, prepared.config.model, prepared.config.train
    )
    trainable: TrainableEngine = engine
    return trainable


def _policy_agent(prepared: Prepared) -> PolicyAgent:
    agent = prepared.agent.policy if isinstance(prepared.agent, ComposedAgent) else prepared.agent
    assert isinstance(agent, PolicyAgent)  # agents.make returns one for every training method
    return agent


def _appender(path: Path) -> Appender:
    ends = [end for _, end in read_lines(path)]
    return Appender(path, ends[-1] if ends else 0)
