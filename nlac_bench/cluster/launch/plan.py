"""The commands that start a training run: those of the vLLM servers, and that of torchrun.

Names of options are those of vLLM 0.32 (``vllm/engine/arg_utils.py``,
``vllm/entrypoints/launchers/cli_args.py``) and of torchrun.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nlac_bench.cluster.launch.layout import Layout, Placement, layout
from nlac_bench.cluster.launch.settings import TABLE, LaunchSettings
from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure.engines import local_model
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.trust import as_options, to_repeat
from nlac_bench.rollout.engines.engine import Slot
from nlac_bench.rollout.engines.vllm.server_check import ENVIRONMENT, flags

LOCAL = "127.0.0.1"
RAY_PORT, RENDEZVOUS_PORT = 6379, 29500
STOPPING_S = 600
"""Seconds in which the ranks can end and save an iteration after a stop signal; then they are killed."""
_WITH_VARIABLE = re.compile(r"[\w:/.,@-]*\$(NODE\d+|SLURM_PROCID)\b[\w:/.,@$-]*")
"""Arguments that contain a shell variable, which a script of ``scripts`` sets."""


@dataclass(frozen=True)
class Command:
    """The arguments of a process, and the environment variables that are added to those of its parent."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the line of a shell."""
        variables = [f"{name}={_quoted(value)}" for name, value in self.environment.items()]
        return " ".join([*variables, *map(_quoted, self.arguments)])


@dataclass(frozen=True)
class PlannedServer:
    """A server of vLLM for the weights of ``slot``; ``ray`` starts Ray on each of its machines, if needed."""

    slot: Slot
    place: Placement
    url: str
    command: Command
    ray: tuple[Command, ...] = ()


@dataclass(frozen=True)
class Plan:
    """All processes of a training run; ``place`` is that of the learner's ranks."""

    settings: LaunchSettings
    config: Path
    out: Path
    servers: tuple[PlannedServer, ...]
    learner: Command
    place: Placement

    @property
    def logs(self) -> Path:
        """The folder of the outputs of all processes."""
        return self.out.with_name(f"{self.out.name}-logs")

    def to_json(self) -> dict[str, object]:
        """Return servers and learner; ``gpus`` are numbers of GPUs of each machine of ``nodes``."""
        return {
            "servers": [
                {
                    "slot": server.slot,
                    "command": str(server.command),
                    "gpus": list(server.place.gpus),
                    "nodes": list(server.place.nodes),
                    "url": server.url,
                    "ray": [str(command) for command in server.ray],
                }
                for server in self.servers
            ],
            "learner": {
                "command": str(self.learner),
                "ranks": self.place.size,
                "gpus": list(self.place.gpus),
                "nodes": list(self.place.nodes),
            },
            "out": str(self.out),
        }


def plan(
    path: Path,
    config: RunConfig,
    settings: LaunchSettings,
    out: Path | None = None,
    options: Sequence[str] = (),
) -> Plan:
    """Return the commands for the configuration ``config``, which was read from ``path``.

    Args:
        out: the run's folder; by default ``runs/`` and the name of the file. A run that exists is continued.
        options: further arguments of ``nlac-bench run``; a run that is continued has its own settings.

    Raises:
        ConfigError: the agent is not trained, a setting excludes servers, or the GPUs cannot be divided (see
            ``layout``).
    """
    if config.train is None or config.model is None:
        raise ConfigError(
            f"{path}: agent {config.agent!r} is not trained, so it has no learner to start; start servers as "
            "docs/scaling.md says, and run `nlac-bench run --servers`"
        )
    result = layout(settings, "target" in named_agents.method(config.agent).slots(config.train))
    _check_heads(local_model(config.model), settings.tensor_parallel_size)
    out = out or Path("runs") / path.stem
    servers = tuple(
        _server(config, settings, result, number, slot, place)
        for number, (slot, place) in enumerate(result.servers)
    )
    overrides = {"servers": ",".join(f"{server.url}@{server.slot}" for server in servers)}
    overrides["weights_by"] = settings.weights_by
    if (folder := weights_folder(settings, out)) is not None:
        overrides["weights_folder"] = str(folder)
    named = {name: value.replace("$NODE", "node") for name, value in overrides.items()}
    RunConfig.from_mapping(config.as_dict() | named, str(path))  # refuses settings that exclude servers
    if (out / "manifest.json").exists():
        run = ["resume", str(out), *as_options(to_repeat(RunFolder.open(out).config) | overrides)]
    else:
        run = ["run", "--config", str(path), *as_options(overrides), "--out", str(out), *options]
    return Plan(settings, path, out, servers, _learner(settings, result.learner, run), result.learner)


def weights_folder(settings: LaunchSettings, out: Path) -> Path | None:
    """Return the folder through which servers on several machines read new weights; None if they do not."""
    if settings.nodes == 1 or settings.weights_by != "file":
        return None
    return out.with_name(f"{out.name}-weights")


def _host(settings: LaunchSettings, node: int) -> str:
    return LOCAL if settings.nodes == 1 else f"$NODE{node}"


def _server(
    config: RunConfig, settings: LaunchSettings, result: Layout, number: int, slot: Slot, place: Placement
) -> PlannedServer:
    """Return the server ``number`` of the layout."""
    assert config.train is not None
    earlier = [each for _, each in result.servers[:number] if each.nodes == place.nodes]
    host, port = _host(settings, place.nodes[0]), settings.port + len(earlier)
    answer = max(config.train.max_response_length, config.max_tokens)
    arguments = [
        settings.vllm_python, "-m", "vllm.entrypoints.openai.api_server",
        "--model", local_model(str(config.model)),
        "--host", LOCAL if settings.nodes == 1 else "0.0.0.0",
        "--port", str(port),
        "--tensor-parallel-size", str(settings.tensor_parallel_size),
        "--gpu-memory-utilization", f"{settings.gpu_memory_utilization:g}",
        "--max-model-len", str(settings.max_model_len or config.train.max_prompt_length + answer),
        "--load-format", "safetensors",
        "--enable-prefix-caching",
        "--generation-config", "vllm",  # without sampling defaults of the model's authors
        "--disable-uvicorn-access-log",
        *flags(settings.weights_by),
    ]  # fmt: skip
    environment = dict(ENVIRONMENT)
    if config.train.precision != "auto":
        arguments += ["--dtype", {"bf16": "bfloat16", "fp32": "float32"}[config.train.precision]]
    if settings.data_parallel_size > 1:
        arguments += ["--data-parallel-size", str(settings.data_parallel_size)]
    arguments += settings.vllm_options
    ray = []
    if len(place.nodes) > 1:
        local = len(place.gpus) // settings.tensor_parallel_size
        arguments += ["--data-parallel-size-local", str(local), "--data-parallel-backend", "ray"]
        address = f"{host}:{RAY_PORT}"
        environment |= {"RAY_ADDRESS": address}
        count = ("--num-gpus", str(len(place.gpus)), "--block")
        ray = [Command(("ray", "start", "--head", "--port", str(RAY_PORT), *count))]
        ray += [Command(("ray", "start", "--address", address, *count)) for _ in place.nodes[1:]]
    else:
        environment |= {"CUDA_VISIBLE_DEVICES": ",".join(map(str, place.gpus))}
    return PlannedServer(
        slot, place, f"http://{host}:{port}", Command(tuple(arguments), environment), tuple(ray)
    )


def _learner(settings: LaunchSettings, place: Placement, run: list[str]) -> Command:
    """Return the command of torchrun; on several machines, SLURM gives each of them its number."""
    where = ["--standalone"]
    if len(place.nodes) > 1:
        where = [
            "--nnodes", str(len(place.nodes)), "--node-rank", "$SLURM_PROCID",
            "--master-addr", _host(settings, place.nodes[0]), "--master-port", str(RENDEZVOUS_PORT),
        ]  # fmt: skip
    ranks = [
        "--nproc-per-node", str(len(place.gpus)), "--max-restarts", "0",
        "--shutdown-timeout", str(STOPPING_S),
    ]  # fmt: skip
    visible = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, place.gpus))}
    return Command(("torchrun", *where, *ranks, "-m", "nlac_bench", *run), visible)


def _check_heads(model: str, parts: int) -> None:
    """Check that the attention heads of a model in a folder can be divided over ``parts`` GPUs.

    Raises:
        ConfigError: the heads cannot be divided.
    """
    try:
        heads = json.loads((Path(model) / "config.json").read_text(encoding="utf-8"))["num_attention_heads"]
    except (OSError, ValueError, LookupError, TypeError):  # not a folder, or damaged: loading will report it
        return
    if isinstance(heads, int) and heads % parts:
        raise ConfigError(
            f"{TABLE}.tensor_parallel_size = {parts} does not divide the {heads} attention heads of {model}; "
            f"set it to a divisor of {heads}"
        )


def _quoted(word: str) -> str:
    """Return ``word`` quoted for a shell, which replaces the variables of ``_WITH_VARIABLE`` only."""
    return f'"{word}"' if _WITH_VARIABLE.fullmatch(word) else shlex.quote(word)
