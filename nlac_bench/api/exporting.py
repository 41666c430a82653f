"""Writes what a run played in the formats of other programs."""

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nlac_bench.envs import registry
from nlac_bench.envs.env_string import join, parse
from nlac_bench.envs.prompts import PromptsEnv
from nlac_bench.errors import ConfigError, MissingError, NlacBenchError
from nlac_bench.files import replace_content
from nlac_bench.harness.measure.environment import Environments
from nlac_bench.harness.measure.stored import stored_config
from nlac_bench.harness.runs.folder import RunFolder


def export_prompts(folder: Path, out: Path, options: Mapping[str, Any]) -> int:
    """Write the tasks of a run as rows of prompts, which verl and the environment ``prompts`` read.

    A row of style ``agent_env`` names the environment and the task; rows of the environment ``prompts`` are
    written as they were read.

    Args:
        folder: of the run.
        out: a file that ends with ``.parquet`` or ``.jsonl``; one that is there is replaced.
        options: settings of the run that the command repeats, as ``resume`` takes them.

    Returns:
        The number of rows.

    Raises:
        ConfigError: ``out`` has another ending, a setting must be repeated, or the tasks need a model that
            plays their user, oracle or judge.
        MissingError: pyarrow is not installed, for parquet.
        NlacBenchError: the run or its environment cannot be read, or ``out`` cannot be written.
    """
    encode = _ENCODERS.get(out.suffix)
    if encode is None:
        raise ConfigError(f"--out {out}: expected the name of a file that ends with {' or '.join(_ENCODERS)}")
    run = RunFolder.open(folder)
    config = stored_config(run, options)
    environments = Environments(config, None)
    modelled = config.user_model is not None or config.replay is not None
    if modelled or getattr(environments.measured, "floors_only", False):
        raise ConfigError(
            f"{folder}: its tasks need a model that plays their user, oracle or judge, and rows cannot name "
            "one; export a run whose tasks need none"
        )
    env = environments.measured
    seeds = {item.task_id: item.seed for item in reversed(run.plan)}
    rows = []
    for index, (task_id, seed) in enumerate(sorted(seeds.items())):
        if isinstance(env, PromptsEnv):
            rows.append(env.stored_row(task_id))
            continue
        _, info = env.reset(seed=seed, options={"task_id": task_id})
        name, arguments = parse(config.env)
        stated = {**environments.arguments, "split": env.split}
        rows.append({
            "data_source": registry.canonical_name(name),
            "prompt": [{"role": m["role"], "content": m["content"]} for m in info["messages"]],
            "ability": "agent",
            "reward_model": {"style": "agent_env", "ground_truth": join(name, {**arguments, **stated})},
            "extra_info": {"index": index, "split": env.split, "task_id": task_id, "seed": seed},
        })  # fmt: skip
    write_file(out, encode(rows))
    return len(rows)


def write_file(out: Path, content: bytes) -> None:
    """Write ``content`` to ``out``, whose folder is made; a file that is there is replaced.

    Raises:
        ConfigError: ``out`` is a file of a run's records.
        NlacBenchError: it cannot be written.
    """
    refuse_records(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        replace_content(out, content)
    except OSError as error:
        raise NlacBenchError(f"cannot write {out} ({error.strerror}); choose another --out") from error


def refuse_records(out: Path) -> None:
    """Raise ``ConfigError`` if writing ``out`` would replace a file of a run's records."""
    if out.suffix in (".json", ".jsonl") and out.exists() and (out.parent / "manifest.json").exists():
        raise ConfigError(f"--out {out}: this is a file of a run; choose the name of another file")


def _json_lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingError("parquet files need pyarrow", "pip install 'nlac-bench[frames]'") from error
    try:
        table = pa.Table.from_pylist(rows)
    except pa.ArrowException as error:
        raise NlacBenchError(
            f"the rows have no common columns in parquet ({error}); choose an --out that ends with .jsonl"
        ) from error
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


_ENCODERS: Mapping[str, Callable[[list[dict[str, Any]]], bytes]] = {
    ".parquet": _parquet,
    ".jsonl": _json_lines,
}
