"""Makes the simulator (the model behind an environment's user, oracle or judge), recorded or replayed."""

from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure.engines import simulator_engine
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.rollout.engines.engine import Sampling, chat_fn
from nlac_bench.rollout.recorded_calls import recording, replaying
from nlac_bench.types import ChatFn


def simulator(config: RunConfig) -> ChatFn | None:
    """Return the simulator that ``config`` describes, or None if the environment does not use a model.

    Raises:
        ConfigError: ``record`` is set without ``user_model``, so there are no replies to record.
        DataError: the file of recorded replies cannot be read.
    """
    sampling = simulator_settings(config)
    if config.replay is not None:
        return replaying(config.replay, sampling)
    if config.user_model is None:
        if config.record is not None:
            raise ConfigError(
                "--record stores the replies of --user-model, which is not set; set it or leave out --record"
            )
        return None
    drawn = Sampling(temperature=config.user_temperature, max_tokens=config.user_max_tokens)
    chat = chat_fn(simulator_engine(config), drawn, seed=config.seed)
    return chat if config.record is None else recording(chat, config.record, sampling)


def simulator_settings(config: RunConfig) -> dict[str, object]:
    """Return the settings that determine the simulator's replies; they are part of a recorded call's key."""
    return {
        "model": config.user_model,
        "temperature": config.user_temperature,
        "max_tokens": config.user_max_tokens,
    }
