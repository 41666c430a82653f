"""The table ``[launch]`` of a configuration: how the GPUs are divided between servers and learner."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import Field

from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.stored_settings import read_content
from nlac_bench.rollout.engines.vllm.plugin import WeightsBy
from nlac_bench.settings import Settings, explain_unknown

TABLE = "launch"
"""The name of the table. ``nlac-bench run`` ignores it."""


class LaunchSettings(Settings):
    """Nodes, GPUs and vLLM servers of a training run. Servers and learner never share a GPU."""

    nodes: int = Field(1, ge=1, le=1024, description="number of machines")
    gpus_per_node: int = Field(8, ge=1, le=1024, description="number of GPUs of each machine")
    learner_gpus: int | None = Field(
        None,
        ge=1,
        description="GPUs of the learner: fewer than a machine has, or whole machines; default: half of all",
    )
    tensor_parallel_size: int = Field(
        1, ge=1, description="number of GPUs that share each layer of a vLLM engine; all are on one machine"
    )
    data_parallel_size: int = Field(
        1,
        ge=1,
        description="engines behind the address of a server; where they need more GPUs than a machine has, "
        "vLLM starts them on several machines with Ray",
    )
    target_servers: int | None = Field(
        None,
        ge=0,
        description="servers of the moving average; default: one in eight, at least one if the method has it",
    )
    gpu_memory_utilization: float = Field(0.9, gt=0, le=1, description="share of a GPU's memory for vLLM")
    max_model_len: int | None = Field(
        None,
        ge=1,
        description="largest number of tokens of prompt and answer together; default: the longest prompt and "
        "answer of the training settings",
    )
    port: int = Field(
        8000, ge=1024, le=60000, description="of a machine's first server; the next one has the next port"
    )
    weights_by: WeightsBy = Field(
        "nccl",
        description="how the servers get new weights: `nccl`, or `file` where learner and servers cannot "
        "connect to each other at any port",
    )
    vllm_python: str = Field(
        "python",
        min_length=1,
        description="path of the Python that has vLLM, if the learner uses another Python",
    )
    vllm_options: list[str] = Field(
        [], description='further options of each server, such as `["--max-num-seqs", "512"]`'
    )
    start_timeout: int = Field(
        1800, ge=1, description="seconds within which all servers must answer; large models load slowly"
    )
    hours: int = Field(48, ge=1, description="time limit of a SLURM job")

    @classmethod
    def read(cls, path: Path, *, gpus: int | None = None, nodes: int | None = None) -> Self:
        """Return the settings of a TOML file; a file without the table has the defaults.

        Args:
            gpus: one machine with this number of GPUs, instead of the machines of the file.
            nodes: this number of machines, instead of that of the file.

        Raises:
            ConfigError: the file cannot be read, a setting is unknown or invalid, or both arguments are set.
        """
        if gpus is not None and nodes is not None:
            raise ConfigError(
                f"--gpus {gpus} is for one machine and --nodes {nodes} for several; leave out one of them "
                f"(the number of GPUs of each of several machines is {TABLE}.gpus_per_node in {path})"
            )
        result = _table(path)
        for name in result:
            if name not in cls.model_fields:
                raise ConfigError(f"{path}: {TABLE}: {explain_unknown(name, cls)}")
        if gpus is not None:
            result |= {"nodes": 1, "gpus_per_node": gpus}
        elif nodes is not None:
            result |= {"nodes": nodes}
        return cls.from_mapping(result, f"{path}: {TABLE}.")


def _table(path: Path) -> dict[str, object]:
    """Return the table of a TOML file, empty if there is none, or if it is a run's ``config.json``."""
    if path.suffix == ".json":
        return {}
    table = read_content(path).get(TABLE, {})
    if not isinstance(table, Mapping):
        raise ConfigError(f"{path}: {TABLE} must be a table of settings, not {table!r:.200}")
    return dict(table)
