"""Checks the requirements of a training run before the first model call."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from nlac_bench.agents import methods
from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.harness.measure.engines import engine_kind
from nlac_bench.harness.measure.environment import Environments
from nlac_bench.harness.measure.offline import offline_episodes
from nlac_bench.harness.measure.servers import assigned
from nlac_bench.harness.measure.training_tasks import split_tasks
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.seeds import Planned
from nlac_bench.learner.config import Budget

TRAINING_PACKAGES = ("torch", "transformers", "safetensors")


def check_training(config: RunConfig, plan: Sequence[Planned], environments: Environments) -> None:
    """Raise an error if a training run could not finish.

    It checks the method's class, settings and learner, the packages, the engine, the environment's training
    and validation splits and the episodes of ``config.offline``. It loads no weights, plays no episodes and
    calls no model.

    Raises:
        NlacBenchError: a check fails; the message names the setting and what to change.
    """
    method = named_agents.method(config.agent)
    settings = config.train
    assert settings is not None  # the caller passes the configuration of a training run
    if config.max_cost is not None:
        raise ConfigError(
            f"max_cost = {config.max_cost} limits a measurement, not a training run; leave it out, and limit "
            "the training with --budget tokens=N or env_steps=N, and the cost with your provider's own limit"
        )
    _check_engine(config)
    missing = [name for name in TRAINING_PACKAGES if importlib.util.find_spec(name) is None]
    if settings.lora_rank and importlib.util.find_spec("peft") is None:
        missing.append("peft")
    if missing:
        raise ConfigError(
            f"--agent {config.agent} needs the packages {', '.join(missing)}: pip install 'nlac-bench[train]'"
        )
    _ = method.algorithm_class
    settings.learner(config.seed, **method.learner_options(settings))
    try:
        splits = environments.training.task_ids, environments.validation.task_ids
    except (NlacBenchError, TypeError, ValueError) as error:
        raise ConfigError(f"{config.env} cannot be trained on: {error}") from error
    if not split_tasks(*splits, settings.val_tasks, config.seed)[1]:
        raise ConfigError(f"the training split of {config.env} has no tasks to train on")
    if config.offline is None:
        return
    if not method.off_policy:
        able = ", ".join(name for name, m in methods.BUILT_IN.items() if m.off_policy)
        raise ConfigError(
            f"--offline: {config.agent} learns on policy and cannot use recorded episodes; use one of {able}"
        )
    if settings.total_epochs is not None:
        raise ConfigError(
            f"--offline plays no tasks, so train.total_epochs = {settings.total_epochs} has no meaning; "
            "leave it out, and limit the training with --budget"
        )
    samples = any(settings.cost(1.0).offline().answers.values())
    spends = ["steps", "tokens"] if samples else ["steps"]
    if Budget.parse(settings.budget).unit not in spends:
        silent = "" if samples else " and samples no answers"
        raise ConfigError(
            f"--offline: {config.agent} plays no episodes{silent}, so --budget {settings.budget} is never "
            f"spent; use --budget {' or '.join(f'{unit}=N' for unit in spends)}"
        )
    settings.check_offline(offline_episodes(Path(config.offline), environments, config, plan))


def _check_engine(config: RunConfig) -> None:
    """Check that the model runs in this process, so that its weights can be updated."""
    advice = "set --model to a Hugging Face folder or id, and leave out --base-url"
    if config.base_url is not None:
        raise ConfigError(
            f"--base-url {config.base_url}: a model on a server cannot be trained, because its "
            f"weights cannot be updated; {advice}"
        )
    if config.engine == "openai":
        raise ConfigError(f"--engine openai cannot train a model; use --engine hf or vllm, and {advice}")
    vllm = config.engine == "vllm" or config.servers is not None
    if vllm and config.train is not None and config.train.deterministic:
        raise ConfigError(
            "--train deterministic=true: the last bits of vLLM's results depend on the requests that are "
            "computed together; use --engine hf, or leave out deterministic"
        )
    if config.servers is not None:
        assert config.train is not None
        assigned(config.servers, "target" in named_agents.method(config.agent).slots(config.train))
    elif engine_kind(str(config.model), None, config.engine) == "openai":
        raise ConfigError(
            f"--model {config.model!r} is neither a folder nor a Hugging Face id (owner/name), so it is "
            f"treated as the name of a model on a server; such a model cannot be trained; {advice}"
        )
