"""Turns a configuration into a run that can start; everything is checked before the first model call."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nlac_bench import installed
from nlac_bench.agents import registry as agents
from nlac_bench.agents.floors import has_copies
from nlac_bench.agents.names import FLOORS, PROMPTED
from nlac_bench.agents.prompts import PromptFiles, prompt_files
from nlac_bench.agents.registry import AgentContext, AgentFactory
from nlac_bench.envs.adapter import PlainEnv
from nlac_bench.envs.prompts import PromptsEnv
from nlac_bench.errors import ConfigError, MissingError
from nlac_bench.harness.measure.engines import local_model, policy_engine
from nlac_bench.harness.measure.environment import Environments, chosen_tasks, conditions
from nlac_bench.harness.measure.missing import missing_trackers
from nlac_bench.harness.measure.official_tasks import NEEDS_USER, ROWS_FIX, USER_FIX
from nlac_bench.harness.measure.simulator import simulator
from nlac_bench.harness.measure.training_checks import check_training
from nlac_bench.harness.measure.training_tasks import VALIDATION_SPLIT, validates_apart
from nlac_bench.harness.measure.weights import weights_of
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.seeds import Planned, plan_episodes
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.rollout.agent import Agent
from nlac_bench.rollout.engines.engine import Engine, Sampling, engine_name
from nlac_bench.rollout.engines.tool_support import refuse_without_chat, refuse_without_tools
from nlac_bench.types import ChatFn


class NeedsUserError(MissingError, ConfigError):
    """The tasks need a model that plays the user, and the configuration names no such model."""


@dataclass(frozen=True)
class Outline:
    """The checked plan of a run; the policy's model has not been loaded."""

    config: RunConfig
    environments: Environments
    conditions: dict[str, Any]
    plan: tuple[Planned, ...]
    registered: bool = field(default=True, kw_only=True)
    """Whether an agent is found under the name ``config.agent``."""


@dataclass(frozen=True)
class Prepared(Outline):
    """A run that can start: its plan, its agent and the description of the agent."""

    agent: Agent
    subject: dict[str, Any]

    def new_run(self, folder: Path) -> RunWriter:
        """Create the run folder ``folder``; see ``RunWriter.create``."""
        config = self.config.as_dict()
        return RunWriter.create(
            folder, config=config, conditions=self.conditions, subject=self.subject, plan=self.plan
        )


def outline(config: RunConfig, chat: ChatFn | None = None, *, registered: bool = True) -> Outline:
    """Make the environment, select the tasks and plan the episodes.

    Args:
        chat: replaces the model behind the environment's user, oracle or judge.
        registered: whether ``config.agent`` is a name under which an agent is found, which is checked.

    Raises:
        NlacBenchError: the environment cannot be made, or the agent cannot play it or be trained on it.
    """
    if registered:
        _check_agent(config)
    environments = Environments(config, chat if chat is not None else simulator(config))
    env = environments.measured
    if getattr(env, "floors_only", False) and config.agent not in FLOORS:
        fix = ROWS_FIX if isinstance(env, PromptsEnv) else USER_FIX
        raise NeedsUserError(NEEDS_USER.format(env=config.env), fix)
    if config.agent == "oracle" and not env.has_oracle:
        what = "is a plain Gymnasium environment" if isinstance(env, PlainEnv) else "lacks one for its tasks"
        raise ConfigError(
            f"agent 'oracle' needs a TextEnv, which defines an oracle; {config.env} {what}; use 'random' or "
            "'silent' instead"
        )
    if isinstance(env, PlainEnv) and config.agent == "constant" and not env.constant_actions():
        raise ConfigError(
            f"agent 'constant' needs actions to choose from; define random_action(rng) or "
            f"constant_actions() in {config.env}, or use 'random' or 'silent' instead"
        )
    if config.agent == "copy" and not has_copies(env):
        raise ConfigError(
            f"agent 'copy' answers with parts of a statement, which {config.env} does not list "
            "(TextEnv.copied_actions); use 'random' or 'silent' instead"
        )
    plan = plan_episodes(chosen_tasks(config, env), config.trials, config.seed)
    if config.train is not None:
        check_training(config, plan, environments)
    elif config.offline is not None:
        raise ConfigError(
            f"--offline: agent {config.agent!r} cannot be trained; leave out --offline or choose a "
            "training algorithm as --agent"
        )
    return Outline(config, environments, conditions(config, env), plan, registered=registered)


def _check_agent(config: RunConfig) -> None:
    """Check that there is an agent of this name, and a model if it needs one.

    Raises:
        NlacBenchError: otherwise.
    """
    name, context = config.agent, AgentContext()
    _check_composition(config)
    if name not in FLOORS and config.base_url is not None and config.model is None:
        raise ConfigError("--base-url needs --model NAME, the name of a model on that server")
    if name in PROMPTED or named_agents.is_method(name):
        if config.model is None and config.base_url is None:
            context.required_engine(name)
    elif not (
        name in FLOORS
        or named_agents.module_of(name)
        or name in installed.entry_points(agents.PLUGIN_GROUP).names
    ):
        agents.make(name, context)  # the message lists all agents


def _check_composition(config: RunConfig) -> None:
    """Check that ``--refine`` and ``--best-of`` are used with an agent whose actions can be judged as text.

    Raises:
        ConfigError: otherwise.
    """
    name, flag = config.agent, "--refine" if config.refine else "--best-of"
    if not (config.refine or config.best_of) or name in ("react", "act") or named_agents.is_method(name):
        return
    why = "makes its own actions"
    if name in FLOORS:
        why = "plays without a model"
    elif name == "tool_calling":
        why = "calls functions natively, and critics read actions as text"
    raise ConfigError(
        f"{flag}: agent {name!r} {why}; leave out {flag}, or set --agent to react, act or a training method"
    )


def prepare(config: RunConfig, make_agent: AgentFactory | None = None) -> Prepared:
    """Make the plan (see ``outline``), the agent and its engine.

    Args:
        make_agent: makes the agent, which then is only called ``config.agent``.

    Raises:
        NlacBenchError: as ``outline``, or the engine or the agent cannot be made.
    """
    for absent in missing_trackers(config):
        raise MissingError(absent.what, absent.fix)
    planned = outline(config, registered=make_agent is None)
    _prompts(planned)  # before a model is loaded
    engine = None if config.agent in FLOORS else policy_engine(config)
    if config.train is not None:
        named_agents.method(config.agent).check_engine(engine, config.model)
    agent = agent_of(planned, engine, make_agent)
    return described(planned, engine if make_agent is None else getattr(agent, "engine", None), agent)


def agent_of(planned: Outline, engine: Engine | None, make_agent: AgentFactory | None = None) -> Agent:
    """Make the agent of a run, which samples from ``engine``.

    Raises:
        NlacBenchError: the prompts cannot be read, or the agent cannot be made or play this model.
    """
    config, environments = planned.config, planned.environments
    if engine is not None:
        refuse_without_chat(engine, str(config.model))
    if config.agent == "tool_calling" and engine is not None and environments.measured.tools():
        refuse_without_tools(engine, str(config.model))
    context = AgentContext(
        engine=engine,
        sampling=Sampling(temperature=config.temperature, max_tokens=config.max_tokens),
        make_train_env=environments.make_training_env,
        prompts=_prompts(planned),
        refine=config.refine or 0,
        best_of=config.best_of or 0,
        weights=_weights_folder(config),
    )
    return named_agents.make(config.agent, context) if make_agent is None else make_agent(context)


def _prompts(planned: Outline) -> PromptFiles:
    return prompt_files(planned.config.prompts, planned.environments.measured.prompts)


def described(planned: Outline, engine: Engine | None, agent: Agent) -> Prepared:
    """Return the prepared run of ``agent``, with the description for its manifest."""
    config, world = planned.config, planned.environments.measured.played_world
    weights = None if engine is None else weights_of(config.model)
    return Prepared(
        config=config,
        environments=planned.environments,
        conditions=planned.conditions,
        plan=planned.plan,
        agent=agent,
        registered=planned.registered,
        subject={
            "agent": config.agent,
            "model": config.model,
            **({} if weights is None else {"weights": weights}),
            "engine": engine_name(engine) if engine else None,
            "prompts": agents.prompt_hashes(agent),
            "temperature": config.temperature if engine else None,
            "max_tokens": config.max_tokens if engine else None,
            **({"request": config.request} if config.request else {}),
            **config.composition,
            "train": config.train.subject() if config.train is not None else None,
            "offline": config.offline,
            **({} if world is None else {"world": world}),
            **_validation(planned),
        },
    )


def _weights_folder(config: RunConfig) -> Path | None:
    if config.best_of is None or config.model is None or config.base_url is not None:
        return None
    folder = Path(local_model(config.model))
    return folder if folder.is_dir() else None


def _validation(planned: Outline) -> dict[str, str]:
    """Return the part of a training run's subject that says which split it validates on."""
    if planned.config.train is None:
        return {}
    made = planned.environments
    apart = validates_apart(made.training.task_ids, made.validation.task_ids)
    return {VALIDATION_SPLIT: "validation"} if apart else {}
