"""Makes the engines that a configuration names: for the policy and for the environment's simulator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlac_bench import pretrained, tiny
from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure.replicas import replica_count
from nlac_bench.harness.measure.servers import assigned
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import VLLM_OPTIONS, EngineKind, RunConfig
from nlac_bench.rollout.engines.engine import Engine

TRAINING_SHARE = 0.3
"""Share of a GPU's memory for each vLLM if a learner trains on the same GPU."""


def policy_engine(config: RunConfig) -> Engine | None:
    """Return the engine that plays the policy, or None where the configuration names no model.

    Raises:
        ConfigError: as ``make_engine``.
    """
    if config.model is None:
        return None
    if config.servers is not None:
        return server_engine(config)
    trained: dict[str, Any] = {}
    if config.train is not None:
        # Learner and engine must round alike, whatever the dtype of the checkpoint is.
        dtype = {"bf16": "bfloat16", "fp32": "float32"}[config.train.chosen_precision]
        trained = {"deterministic": config.train.deterministic, "dtype": dtype}
    return make_engine(
        config, config.model, config.base_url, config.engine, config.prices("price"),
        replicas=policy_replicas(config), extra=config.request, **trained,
    )  # fmt: skip


def server_engine(config: RunConfig) -> Engine:
    """Return the engine of the vLLM servers that ``config.servers`` names.

    Raises:
        ConfigError: as ``assigned``.
        NlacBenchError: as ``connect``.
    """
    from nlac_bench.rollout.engines.vllm.servers import connect

    assert config.servers is not None
    used = ("policy",) if config.train is None else named_agents.method(config.agent).slots(config.train)
    slots = assigned(config.servers, needs_target="target" in used)
    folder = None if config.weights_folder is None else Path(config.weights_folder)
    return connect(
        local_model(str(config.model)),
        slots,
        timeout=config.request_timeout,
        folder=folder,
        weights_by=config.weights_by,
    )


def policy_replicas(config: RunConfig) -> int:
    """Return the number of processes that run the policy's model; 1 is this process.

    Raises:
        ConfigError: as ``replica_count``.
    """
    if config.servers is not None:
        return 1
    model = str(config.model)
    kind = engine_kind(model, config.base_url, config.engine)
    return min(config.concurrency, replica_count(config.replicas, kind, local_model(model)))


def simulator_engine(config: RunConfig) -> Engine:
    """Return the engine of the environment's user, oracle or judge; ``user_model`` must be set."""
    assert config.user_model is not None
    return make_engine(config, config.user_model, config.user_base_url, "auto", config.prices("user_price"))


def make_engine(
    config: RunConfig,
    model: str,
    base_url: str | None,
    kind: EngineKind,
    price: tuple[float, float] | None,
    deterministic: bool = False,
    replicas: int = 1,
    dtype: str = "auto",
    extra: Mapping[str, object] | None = None,
) -> Engine:
    """Make an engine of ``kind`` for ``model``.

    Args:
        config: its ``concurrency``, ``request_timeout``, ``retries`` and options of vLLM are used.
        kind: ``RunConfig.engine`` describes what ``auto`` chooses.
        price: US dollars per million tokens (in, out).
        deterministic: compute each sample in its own batch (transformers engine only).
        replicas: number of processes that run the model (transformers engine only); 1 is this process.
        dtype: of the weights, for models of this machine; ``auto`` is the checkpoint's.
        extra: further fields of each request to a server.

    Raises:
        ConfigError: ``extra`` or ``base_url`` is set for an engine that runs the model in this process.
        NlacBenchError: the engine cannot be made.
    """
    kind, model = engine_kind(model, base_url, kind), local_model(model)
    if kind == "openai":
        from nlac_bench.rollout.engines.backoff import Retries
        from nlac_bench.rollout.engines.openai.engine import OpenAIEngine
        from nlac_bench.rollout.engines.openai.reply import Price

        return OpenAIEngine(
            model,
            base_url=base_url,
            concurrency=min(1000, config.concurrency),
            price=None if price is None else Price(*price),
            timeout=config.request_timeout,
            retries=Retries(attempts=1 + config.retries, max_wait=config.max_wait),
            extra=extra,
        )
    refuse_server_options(kind, base_url, extra)
    if kind == "hf":
        from nlac_bench.rollout.engines.hf.engine import HFEngine

        rows = 2 * config.concurrency  # also keeps the conversations that ended last
        if replicas > 1:
            from nlac_bench.rollout.engines.hf.process import start_pool

            return start_pool(model, replicas, max_rows=rows, deterministic=deterministic, dtype=dtype)
        return HFEngine.from_pretrained(model, max_rows=rows, deterministic=deterministic, dtype=dtype)
    from nlac_bench.rollout.engines.vllm.engine import VLLMEngine

    return VLLMEngine(model, dtype=dtype, **vllm_options(config))


def refuse_server_options(kind: EngineKind, base_url: str | None, extra: Mapping[str, object] | None) -> None:
    """Raise an error if options of servers are set for an engine that runs the model in this process.

    Raises:
        ConfigError: they are; the message names the option.
    """
    if kind == "openai":
        return
    if extra:
        raise ConfigError(f"--request: --engine {kind} sends no requests to a server; leave out --request")
    if base_url:
        raise ConfigError(
            f"--base-url {base_url}: --engine {kind} runs the model in this process; use --engine openai "
            "for a model on a server"
        )


def vllm_options(config: RunConfig) -> dict[str, Any]:
    """Return the arguments of vLLM that ``config`` sets.

    In training, the GPU also holds the learner, and a second vLLM for methods that keep a moving average.
    """
    shared = {} if config.train is None else {"gpu_memory_utilization": TRAINING_SHARE}
    return shared | {name: value for name in VLLM_OPTIONS if (value := getattr(config, name)) is not None}


def engine_kind(model: str, base_url: str | None, kind: EngineKind) -> EngineKind:
    """``kind``, or the engine that ``auto`` chooses; ``openai`` is for models on a server."""
    if kind != "auto":
        return kind
    local = is_named(model) or "/" in model or Path(model).is_dir()
    return "openai" if base_url or not local else "hf"


def local_model(name: str) -> str:
    """Return ``name`` itself, or the folder of the embedded or pretrained model of that name.

    Raises:
        MissingDataError: the pretrained model was not fetched.
    """
    if name in pretrained.MODELS:
        return str(pretrained.path(name))
    return str(tiny.path(name)) if name in tiny.FOLDERS else name


def is_named(model: str) -> bool:
    """Return whether ``model`` is the name of an embedded or a pretrained model."""
    return model in tiny.FOLDERS or model in pretrained.MODELS
