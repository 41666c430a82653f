"""The model behind an environment's user, oracle or judge; its calls are recorded or replayed as asked."""

from typing import Any

from nlac_bench.errors import ConfigError
from nlac_bench.eval.measure.engines import simulator_engine
from nlac_bench.eval.runs.configuration import RunConfig
from nlac_bench.rollout.engines.engine import Sampling, chat_fn
from nlac_bench.rollout.recorded_calls import recording, replaying
from nlac_bench.types import ChatFn


def simulator(config: RunConfig) -> ChatFn | None:
    """The simulator that ``config`` describes; None where the environment plays without a model.

    Raises:
        ConfigError: ``record`` is set and there is no model whose replies could be recorded.
        DataError: the file of recorded replies cannot be read.
    """
    sampling = simulator_settings(config)
    if config.replay is not None:
        return replaying(config.replay, sampling)
    if config.user_model is None:
        if config.record is not None:
            raise ConfigError("--record has nothing to record: no --user-model is set")
        return None
    drawn = Sampling(temperature=config.user_temperature, max_tokens=config.user_max_tokens)
    chat = chat_fn(simulator_engine(config), drawn, seed=config.seed)
    return chat if config.record is None else recording(chat, config.record, sampling)


def simulator_settings(config: RunConfig) -> dict[str, Any]:
    """What decides the simulator's replies; part of a recorded call's identity."""
    return {
        "model": config.user_model,
        "temperature": config.user_temperature,
        "max_tokens": config.user_max_tokens,
    }
