"""The configuration of a run: its settings, which are also the options of ``nlac-bench run``."""

import json
from collections.abc import Mapping
from typing import Any, Literal, Self, TypeAlias

from pydantic import Field, SerializeAsAny, model_validator
from pydantic.fields import FieldInfo

from nlac_bench.agents import methods
from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.secrets import refuse_known_secrets
from nlac_bench.harness.runs.trackers import TRACKERS, tracker_names
from nlac_bench.learner.config import TrainConfig
from nlac_bench.rollout.engines.vllm.plugin import WeightsBy
from nlac_bench.settings import Settings

EngineKind: TypeAlias = Literal["auto", "openai", "hf", "vllm"]
VLLM_OPTIONS = ("gpu_memory_utilization", "tensor_parallel_size", "max_model_len")
"""The settings that are passed on to vLLM, with its names."""
Replicas: TypeAlias = Literal["auto"] | int
MOST_CANDIDATES = 99
"""The picker names a candidate by a number of at most two digits."""
MOST_REPLICAS = 64
"""Each replica is a process with some hundred megabytes: a larger number is a mistake."""

ADVANCED = "Advanced"
"""The panel in the help of ``nlac-bench run`` for options that beginners do not need."""
Resume: TypeAlias = Literal["repeat", "replace", "repeat or replace"]
"""How an option of ``nlac-bench resume`` affects the setting of the run (see ``trust.py``)."""

COMMAND_LINE = "command line"
"""The source of settings that are options; error messages then name the option."""

SMALLEST_SEED, LARGEST_SEED = -(2**63), 2**64 - 1
"""The seeds that torch takes."""
_MOST_DOLLARS = 1_000_000
"""The largest price of a million tokens; larger ones, infinity and NaN are mistakes."""


def _option(
    default: Any,
    description: str,
    *,
    first: bool = False,
    resume: Resume | None = None,
    effect: str | None = None,
    **bounds: Any,
) -> Any:
    """Declare a setting that is also an option of ``nlac-bench run``.

    Args:
        first: whether most people need the option; the help lists it above the panel ``ADVANCED``.
        resume: what the option of ``nlac-bench resume`` does; None if it has no such option.
        effect: what the setting does outside of the run's folder, where ``resume`` must repeat it.
    """
    declared: dict[str, Any] = {"panel": None if first else ADVANCED, "resume": resume, "effect": effect}
    return Field(default, description=description, json_schema_extra=declared, **bounds)


def _is_json(value: object) -> bool:
    """Return whether JSON can express ``value``: it has no NaN and no infinity."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def declared(field: FieldInfo) -> Mapping[str, Any]:
    """Return the ``panel``, ``resume`` and ``effect`` of a setting; empty if it is not an option."""
    extra = field.json_schema_extra
    return extra if isinstance(extra, dict) else {}


class RunConfig(Settings):
    """All settings of a run. They are written to ``config.json``, which ``--config`` can read again.

    API keys are not part of it: they come from the environment (``OPENAI_API_KEY`` for OpenAI,
    ``NLAC_BENCH_API_KEY`` for other servers).
    """

    env: str = _option(
        ...,
        "Environment: a name, a Gymnasium id, or 'Name@{json}'.",
        first=True,
        resume="repeat",
        effect="imports code of another package, writes to a file, or sends replies to a server",
    )
    agent: str = _option(
        ...,
        "Agent: one of those listed below the options, or module:object.",
        first=True,
        resume="repeat",
        effect="imports code of a module",
    )
    split: str | None = _option(
        None, "test, train, validation or test_new; default: the environment's default, test."
    )
    data: str | None = _option(None, "embedded, official, a folder, or (prompts) a file; default: embedded.")
    val: str | None = _option(None, "File of the rows that are measured, where --data is one to train on.")
    tasks: str | None = _option(None, "Task ids separated by commas, or 'clean' (τ); default: all.")
    limit: int | None = _option(None, "Play only the first N tasks.", ge=1, first=True)
    trials: int = _option(1, "Number of episodes of each task.", ge=1, first=True)
    seed: int = _option(
        0,
        "Base seed. Each episode's seed is derived from it, the task and the trial.",
        ge=SMALLEST_SEED,
        le=LARGEST_SEED,
        first=True,
    )
    concurrency: int = _option(
        16, "Number of episodes played at the same time; 64 a process with an embedded model.", ge=1
    )
    model: str | None = _option(
        None, "A Hugging Face id or folder, or a model's name on a server.", first=True
    )
    base_url: str | None = _option(
        None,
        "An OpenAI-compatible server, such as http://localhost:8000/v1.",
        first=True,
        resume="repeat",
        effect="is a server that would get your API key",
    )
    engine: EngineKind = _option(
        "auto",
        "auto, openai, hf or vllm. auto is openai with --base-url, hf for a folder or a name with a slash, "
        "and OpenAI's API for any other name.",
    )
    servers: str | None = _option(
        None,
        "vLLM servers that run --model, as URL[@policy|@target], separated by commas. The run replaces their "
        "weights, so they belong to a private network. Without labels one in eight, at least one, is of "
        "slot target if the method samples from it.",
        resume="repeat or replace",
        effect="are servers that would get the weights, and your API key",
    )
    weights_folder: str | None = _option(
        None,
        "Folder through which --servers read new weights (--weights-by file), on a disk of all machines; "
        "default: shared memory of this one.",
        resume="repeat or replace",
        effect="is a folder that would be written to",
    )
    weights_by: WeightsBy = _option(
        "file",
        "How --servers get new weights: file, or nccl, a broadcast to all workers of all servers (NCCL "
        "between GPUs, Gloo on CPUs). nccl needs servers with the backend nlac_bench_nccl, and a network on "
        "which they and the run reach each other at any port.",
        resume="replace",
    )
    gpu_memory_utilization: float | None = _option(
        None,
        "Share of a GPU's memory for each model in vLLM (--engine vllm); default: 0.9, in training 0.3, "
        "because the learner and the moving average use the same GPU.",
        gt=0,
        le=1,
    )
    tensor_parallel_size: int | None = _option(
        None, "Number of GPUs that share each layer in vLLM (--engine vllm); default: 1.", ge=1
    )
    max_model_len: int | None = _option(
        None,
        "Largest number of tokens of prompt and answer together in vLLM (--engine vllm), which needs memory "
        "for at least one conversation of this length; default: the model's own.",
        ge=1,
    )
    temperature: float = _option(0.0, "Sampling temperature of the policy; 0 is greedy.", ge=0, le=100)
    max_tokens: int = _option(1024, "Maximum length of a reply in tokens.", ge=1)
    refine: int | None = _option(
        None,
        "At test time, criticise and refine each action at most N times before it is played; for prompted "
        "and trained agents.",
        ge=1,
    )
    best_of: int | None = _option(
        None,
        "At test time, sample N actions and play the best one by the critic of the method, or without one by "
        "the model's own choice; --temperature is then 1 by default.",
        ge=2,
        le=MOST_CANDIDATES,
    )
    prompts: str | None = _option(
        None, "Folder of prompt files; they replace the packaged files of the same names."
    )
    price: str | None = _option(None, "US dollars per million prompt and generated tokens, as '0.25,2'.")
    user: str | None = _option(None, "τ: scripted, llm, react, verify, reflection, human, replay or none.")
    user_model: str | None = _option(None, "The model that plays the user, oracle or judge.")
    user_base_url: str | None = _option(
        None,
        "URL of the server of --user-model.",
        resume="repeat",
        effect="is a server that would get your API key",
    )
    user_temperature: float = _option(0.0, "Sampling temperature of --user-model.", ge=0, le=100)
    user_max_tokens: int = _option(
        1024, "Maximum length of a reply of --user-model in tokens, thoughts included.", ge=1
    )
    user_price: str | None = _option(None, "Price of --user-model, in the format of --price.")
    max_turns: int | None = _option(None, "Truncate an episode after N turns.", ge=1)
    max_seconds: float | None = _option(None, "Truncate an episode after N seconds.", gt=0)
    max_cost: float | None = _option(None, "Stop a measurement when it has cost N US dollars.", gt=0)
    request_timeout: float = _option(
        300.0, "Time limit in seconds for one reply of a server, including queueing.", gt=0, resume="replace"
    )
    retries: int = _option(
        5,
        "Number of retries of a failed request to a server; after a time-out, at most one. Failed episodes "
        "are played a second time, with as many requests, unless all timed out and none ended.",
        ge=0,
        resume="replace",
    )
    max_wait: float = _option(
        900.0,
        "How long, in seconds, a server may do nothing but refuse requests because of a rate limit or "
        "overload. Until then all episodes wait together, and no attempt is used up.",
        ge=0,
        resume="replace",
    )
    request: dict[str, Any] | None = Field(
        None, description="Further fields of each request to the server of --model (--request KEY=JSON)."
    )
    replicas: Replicas = _option(
        "auto",
        "Number of processes that run the model (--engine hf), or auto: for a small model on a CPU one per "
        "core, at most 4, otherwise 1, which is this process. It does not change results.",
        resume="replace",
    )
    record: str | None = _option(
        None,
        "Store the replies of --user-model in this file.",
        resume="repeat",
        effect="is a file that would be written to",
    )
    replay: str | None = _option(None, "Replay the replies stored in this file; needs no API key.")
    train: SerializeAsAny[TrainConfig] | None = Field(
        None, description="Training settings (a table in TOML); without them the agent is only measured."
    )
    offline: str | None = _option(
        None, "Train on the episodes in this run folder instead of playing new ones."
    )
    max_logprob_gap: float = _option(
        0.1,
        "Largest mean difference between the engine's and the learner's log-probabilities of sampled tokens "
        "(logprob_gap in metrics.jsonl); a larger one stops the run.",
        gt=0,
        resume="replace",
    )
    keep_going: bool = _option(
        False,
        "Go on if more than half of a role's first answers (at least 8) cannot be read, or if three "
        "iterations learn nothing for another reason than their rewards.",
        resume="replace",
    )
    base: str | None = _option(None, "Folder of an `eval` of the untrained model; it is not measured again.")
    track: str | None = _option(
        None,
        f"Also send measurements to these trackers, separated by commas: {', '.join(TRACKERS)}.",
        resume="repeat or replace",
        effect="sends measurements to trackers, with your keys of them",
    )

    @model_validator(mode="before")
    @classmethod
    def _read_train(cls, values: Any) -> Any:
        """Read the training settings with the configuration class of the agent's method."""
        train = values.get("train") if isinstance(values, Mapping) else None
        if not isinstance(train, Mapping):
            return values
        return {**values, "train": named_agents.method(str(values.get("agent"))).config(train)}

    @model_validator(mode="before")
    @classmethod
    def _draw_candidates(cls, values: Any) -> Any:
        """Set the temperature to 1 for ``best_of`` if it is not given."""
        chooses = isinstance(values, Mapping) and values.get("best_of") is not None
        return {"temperature": 1.0, **values} if chooses else values

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.refine is not None and self.best_of is not None:
            raise ConfigError(
                f"refine = {self.refine} cannot be used together with best_of = {self.best_of}; leave out one"
            )
        if self.best_of is not None and self.temperature == 0:
            raise ConfigError(
                f"best_of = {self.best_of} with temperature = 0 would choose among equal actions; set "
                "temperature above 0, such as 1"
            )
        if self.record is not None and self.replay is not None:
            raise ConfigError(
                "record and replay cannot be used together, because a replay calls no model; leave out one"
            )
        tracker_names(self.track)
        for name in VLLM_OPTIONS:
            if getattr(self, name) is not None and self.engine != "vllm":
                raise ConfigError(f"{name} is an option of vLLM; set engine to vllm, or leave out {name}")
        if self.servers is not None:
            self._check_servers()
        for name in ("weights_folder", "weights_by"):
            if self.servers is None and getattr(self, name) != type(self).model_fields[name].default:
                raise ConfigError(f"{name} is a setting for servers; set servers, or leave it out")
        if wrong := sorted({"model", "messages", "prompt", "tools", "n"} & set(self.request or ())):
            raise ConfigError(f"request cannot set {wrong[0]!r}, which the run itself sets; leave it out")
        for name, value in (self.request or {}).items():
            if not _is_json(value):
                raise ConfigError(
                    f"request cannot set {name} = {value!r:.80}, which is no JSON; give finite numbers"
                )
        prices = self.prices("price"), self.prices("user_price")
        if self.max_cost is not None and prices == (None, None):
            raise ConfigError("max_cost needs token prices: set price (and user_price) as '0.25,2'")
        if self.replicas != "auto" and not 1 <= self.replicas <= MOST_REPLICAS:
            raise ConfigError(f"replicas must be auto, or from 1 to {MOST_REPLICAS}, got {self.replicas!r}")
        return self

    def _check_servers(self) -> None:
        if self.model is None:
            raise ConfigError("servers needs model, the name or folder of the model that the servers run")
        engine = None if self.engine == "auto" else self.engine
        replicas = None if self.replicas == "auto" else self.replicas
        for name, value in {"base_url": self.base_url, "engine": engine, "replicas": replicas}.items():
            if value is not None:
                raise ConfigError(
                    f"{name} cannot be used together with servers, which run the model; leave out one"
                )

    @property
    def composition(self) -> dict[str, int]:
        """The part of a run's subject that says what plays beside the policy; empty if nothing does."""
        chosen = {"refine": self.refine, "best_of": self.best_of}
        return {name: count for name, count in chosen.items() if count is not None}

    def prices(self, name: Literal["price", "user_price"]) -> tuple[float, float] | None:
        """Return US dollars per million tokens (in, out), or None if the price is not set.

        Raises:
            ConfigError: the setting is not two numbers from 0 to ``_MOST_DOLLARS``.
        """
        text = getattr(self, name)
        if text is None:
            return None
        try:
            into, out = (float(part) for part in text.split(","))
        except ValueError:
            raise ConfigError(f"{name} must be two numbers such as '0.25,2', got {text!r}") from None
        if not all(0 <= price <= _MOST_DOLLARS for price in (into, out)):
            raise ConfigError(f"{name} must be two numbers from 0 to {_MOST_DOLLARS:,}, got {text!r}")
        return into, out

    @classmethod
    def from_stored(cls, values: Mapping[str, Any], source: str) -> Self:
        """Return the configuration of a stored run, without training settings of no effect.

        Raises:
            ConfigError: as ``from_mapping``.
        """
        return cls.from_mapping(methods.effective(values), source)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], source: str = "") -> Self:
        """Return the configuration that ``values`` describe.

        Raises:
            ConfigError: a setting is unknown, missing or invalid, or contains a secret; the message names it
                and ``source``.
        """
        refuse_known_secrets(values, f"{source}: ")
        for name in ("env", "agent"):
            if not values.get(name):
                raise ConfigError(f"{source}: {name} is not set; pass --{name}, or set it in --config")
        if source != COMMAND_LINE:
            return super().from_mapping(values, f"{source}: ")
        try:
            return super().from_mapping(values)
        except ConfigError as error:
            name, _, fault = str(error).partition(" ")
            if name not in cls.model_fields:
                raise
            raise ConfigError(f"--{name.replace('_', '-')} {fault}") from None
