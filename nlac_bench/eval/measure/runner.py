"""A benchmark run: from a configuration to a folder in which every planned episode is accounted for."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium

from nlac_bench.agents import registry as agents
from nlac_bench.agents.registry import AgentContext
from nlac_bench.baselines import registry as methods
from nlac_bench.envs import registry as envs
from nlac_bench.envs.adapter import PlainEnv
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.eval.runs.configuration import ConfigError, RunConfig
from nlac_bench.eval.runs.seeds import Planned, plan_episodes
from nlac_bench.eval.runs.writer import RunWriter
from nlac_bench.rollout.agent import Agent
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure, graceful_interrupt
from nlac_bench.rollout.engines.engine import Engine, Sampling, chat_fn
from nlac_bench.rollout.limits import Limits
from nlac_bench.rollout.recorded_calls import recording, replaying
from nlac_bench.types import ChatFn, Episode

FLOORS = frozenset({*agents.FLOORS})


@dataclass(frozen=True)
class Outline:
    """What a run would play, checked; no model of the policy is needed to know it."""

    config: RunConfig
    make_env: Callable[[], gymnasium.Env[str, str]]
    make_training_env: Callable[[], TextEnv]
    conditions: dict[str, Any]
    plan: tuple[Planned, ...]


@dataclass(frozen=True)
class Prepared(Outline):
    """A run that can begin: everything is resolved and was checked before the first model call."""

    agent: Agent
    subject: dict[str, Any]


def outline(config: RunConfig, chat: ChatFn | None = None) -> Outline:
    """Make the environment, choose the tasks, plan the episodes.

    Args:
        chat: stands in for the model behind the environment's user, oracle or judge.

    Raises:
        NlacBenchError: whatever cannot be made, named.
    """
    if config.train is not None:
        methods.find(config.agent).config(config.train)
    if config.offline is not None:
        _check_offline(config)
    arguments = _arguments(config, chat if chat is not None else _simulator(config))

    def make_env() -> gymnasium.Env[str, str]:
        return _make(config.env, config.limit, arguments)

    def make_training_env() -> TextEnv:
        return envs.make_training_env(config.env, **_training(arguments))

    env = make_env()
    raw = env.unwrapped
    if getattr(raw, "floors_only", False) and config.agent not in FLOORS:
        raise ConfigError(
            f"{config.env} with these tasks needs a user that is played by a model: pass --user-model (and "
            "--user-base-url), or --replay FILE; without one only floors and the oracle may play"
        )
    if isinstance(raw, PlainEnv) and config.agent in ("oracle", "constant"):
        raise ConfigError(
            f"agent {config.agent!r} needs a TextEnv, which has an oracle and constant actions; "
            f"{config.env} is a plain Gymnasium environment, which 'random' and 'silent' can play"
        )
    if config.train is not None:
        envs.check_training(config.env, **_training(arguments))
    plan = plan_episodes(_task_ids(config, raw), config.trials, config.seed)
    return Outline(config, make_env, make_training_env, _conditions(config, raw), plan)


def prepare(config: RunConfig) -> Prepared:
    """``outline``, with agent and engines.

    Raises:
        NlacBenchError: whatever cannot be made, named.
    """
    planned = outline(config)
    sampling = Sampling(temperature=config.temperature, max_tokens=config.max_tokens)
    context = AgentContext(
        engine=None if config.agent in FLOORS else policy_engine(config),
        sampling=sampling,
        make_train_env=planned.make_training_env,
    )
    agent = agents.make(config.agent, context)
    return Prepared(
        config=config,
        make_env=planned.make_env,
        make_training_env=planned.make_training_env,
        conditions=planned.conditions,
        plan=planned.plan,
        agent=agent,
        subject={
            "agent": config.agent,
            "model": config.model,
            "engine": type(context.engine).__name__ if context.engine else None,
            "prompts": agents.prompt_hashes(agent),
            "temperature": config.temperature if context.engine else None,
            "max_tokens": config.max_tokens if context.engine else None,
            "train": config.train,
            "offline": config.offline,
        },
    )


async def play(
    prepared: Prepared, writer: RunWriter, on_result: Callable[[Episode | Failure], None]
) -> Driver:
    """Play what ``writer`` still owes; every result is on disk before ``on_result`` hears of it.

    Episodes that fail for a reason of infrastructure are played once more at the end; what fails again
    stays owed. Ctrl-C lets running episodes finish and leaves the rest owed.
    """
    config = prepared.config
    driver = Driver(
        prepared.agent,
        prepared.make_env,
        concurrency=config.concurrency,
        limits=Limits(turns=config.max_turns, seconds=config.max_seconds),
        run_limits=Limits(cost=config.max_cost),
    )
    planned = {(item.task_id, item.trial, item.seed): item for item in writer.folder.plan}
    with graceful_interrupt(driver):
        for _ in range(2):
            specs = [EpisodeSpec(config.env, item.task_id, item.trial, item.seed) for item in writer.owed()]
            if not specs or driver.stopped:
                break
            async with aclosing(driver.run(specs)) as results:
                async for result in results:
                    if isinstance(result, Failure):
                        spec = result.spec
                        writer.record_failure(planned[spec.task_id, spec.trial, spec.seed], result)
                    else:
                        writer.append(result)
                    on_result(result)
    return driver


def policy_engine(config: RunConfig) -> Engine | None:
    """The engine that plays the policy, or None where no model is named."""
    if config.model is None and config.base_url is None:
        return None
    if config.model is None:
        raise ConfigError("--base-url needs --model: the name of a model on that server")
    return make_engine(
        config.model,
        config.base_url,
        config.engine,
        config.concurrency,
        config.prices("price"),
        deterministic=(config.train or {}).get("deterministic") in (True, "true"),
    )


def local_model(name: str) -> str:
    """``name``, or the folder of the embedded model where that is meant."""
    if name != "tiny":
        return name
    from nlac_bench import tiny

    return str(tiny.path())


def make_engine(
    model: str,
    base_url: str | None,
    kind: str,
    concurrency: int,
    price: tuple[float, float] | None,
    deterministic: bool = False,
) -> Engine:
    """An engine of ``kind`` for ``model``; see ``RunConfig.engine`` for what ``auto`` does.

    ``deterministic`` computes each sample alone (transformers only).
    """
    model = local_model(model)
    if kind == "auto":
        local = "/" in model or Path(model).is_dir()
        kind = "openai" if base_url or not local else "hf"
    if kind == "openai":
        from nlac_bench.rollout.engines.openai.engine import OpenAIEngine
        from nlac_bench.rollout.engines.openai.reply import Price

        return OpenAIEngine(
            model,
            base_url=base_url,
            concurrency=min(1000, concurrency),
            price=None if price is None else Price(*price),
        )
    if base_url:
        raise ConfigError(f"engine {kind!r} runs the model here; --base-url is for engine 'openai'")
    if kind == "hf":
        from transformers.utils import logging as transformers_logging

        from nlac_bench.rollout.engines.hf.engine import HFEngine

        transformers_logging.disable_progress_bar()  # runs have their own; two at once tear each other
        return HFEngine.from_pretrained(model, max_rows=max(64, 2 * concurrency), deterministic=deterministic)
    from nlac_bench.rollout.engines.vllm.engine import VLLMEngine

    return VLLMEngine(model)


def _check_offline(config: RunConfig) -> None:
    """Refuse, before anything is played, what can learn nothing from ``config.offline``."""
    method = methods.find(config.agent)
    if not method.off_policy:
        able = ", ".join(name for name, m in methods.METHODS.items() if m.off_policy)
        raise ConfigError(
            f"--offline: {config.agent} learns on policy, from its own episodes alone; take one of {able}"
        )
    settings = method.config(config.train or {})
    if settings.budget.startswith("env_steps") and settings.total_epochs is None:
        raise ConfigError(
            f"--offline plays no episodes, so --budget {settings.budget} is never spent; give steps=… or "
            "tokens=…"
        )


def _arguments(config: RunConfig, chat: ChatFn | None) -> dict[str, Any]:
    """What the environment is made with."""
    names = ("split", "data")
    kwargs = {name: value for name in names if (value := getattr(config, name)) is not None}
    if config.user is not None:
        kwargs["user"] = config.user
    if config.tasks == "clean":
        kwargs["tasks"] = "clean"
    if chat is not None:
        kwargs["chat"] = chat
    return kwargs


def _training(arguments: dict[str, Any]) -> dict[str, Any]:
    """``arguments`` for the training split: ``tasks`` names tasks of the test split."""
    return {name: value for name, value in arguments.items() if name != "tasks"}


def _make(env: str, episodes: int | None, kwargs: dict[str, Any]) -> gymnasium.Env[str, str]:
    try:
        return envs.make_playable(env, episodes=episodes, **kwargs)
    except TypeError as error:
        raise ConfigError(
            f"{env} cannot be made with {', '.join(kwargs) or 'no arguments'}: {error}"
        ) from error


def _simulator(config: RunConfig) -> ChatFn | None:
    """The model behind the environment's user, oracle or judge; recorded or replayed as asked."""
    sampling = _simulator_settings(config)
    if config.replay is not None:
        return replaying(config.replay, sampling)
    if config.user_model is None:
        if config.record is not None:
            raise ConfigError("--record has nothing to record: no --user-model is set")
        return None
    engine = make_engine(
        config.user_model, config.user_base_url, "auto", config.concurrency, config.prices("user_price")
    )
    drawn = Sampling(temperature=config.user_temperature, max_tokens=config.user_max_tokens)
    chat = chat_fn(engine, drawn, seed=config.seed)
    return chat if config.record is None else recording(chat, config.record, sampling)


def _simulator_settings(config: RunConfig) -> dict[str, Any]:
    return {
        "model": config.user_model,
        "temperature": config.user_temperature,
        "max_tokens": config.user_max_tokens,
    }


def _task_ids(config: RunConfig, env: TextEnv) -> list[str]:
    ids = list(env.task_ids)
    if config.tasks not in (None, "clean"):
        chosen = [name.strip() for name in str(config.tasks).split(",") if name.strip()]
        unknown = sorted(set(chosen) - set(ids))
        if unknown:
            raise ConfigError(
                f"--tasks: {config.env} has no task {unknown[0]!r} in split {env.split!r}; the first are "
                f"{', '.join(ids[:3])}"
            )
        ids = chosen
    return ids[: config.limit]


def _conditions(config: RunConfig, env: Any) -> dict[str, Any]:
    """What is measured: equal in runs that can be compared."""
    name, arguments = envs.parse(config.env)
    conditions: dict[str, Any] = {
        "env": envs.find(name).name,
        "env_args": arguments,
        "max_turns": config.max_turns,
        "max_seconds": config.max_seconds,
    }
    if not isinstance(env, PlainEnv):  # which has no data
        conditions |= {
            "env_version": env.env_version,
            "split": env.split,
            "data_source": env.source.kind,
            "data_sha256": env.source.sha256,
            **env.conditions(),
        }
    if config.user_model is not None or config.replay is not None:
        conditions["simulator"] = _simulator_settings(config)
    return conditions
