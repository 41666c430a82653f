"""The table of ``bench-gpu``: what is measured, its goal, and the rows of this machine."""

import contextlib
import gc
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nlac_bench.cluster.gpu import engine as engines
from nlac_bench.cluster.gpu.device import Device
from nlac_bench.cluster.gpu.shapes import QWEN_7B, QWEN_32B, random_model, write
from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.rollout.engines.weights import ModelSource


@dataclass(frozen=True)
class GpuRow:
    """A measured value, None where this machine cannot measure it, and its goal, None where there is none."""

    name: str
    value: float | None
    unit: str
    goal: str | None
    device: str

    def to_json(self) -> dict[str, object]:
        """Return a plain dict."""
        return asdict(self)


GOALS: Mapping[str, tuple[str, str | None]] = {
    "learner_mfu_7b": ("share of the peak in bf16", "≥ 0.35"),
    "learner_tokens_per_second_7b": ("tokens a second and GPU", None),
    "push_seconds_7b": ("s", "≤ 1"),
    "push_seconds_32b": ("s", "≤ 3"),
    "push_nccl_seconds_7b": ("s", "≤ 1"),
    "push_nccl_seconds_32b": ("s", "≤ 3"),
    "logprob_gap_7b": ("nats, mean |Δlogprob|", "≤ 0.03"),
    "mismatch_kl_7b": ("nats a token", "≤ 0.003"),
    "rollout_tokens_per_second_7b": ("tokens a second and GPU", None),
}
"""Unit and goal of each row."""

MakeEngine = Callable[[Path, int], Any]
"""Starts a ``TrainableEngine`` with ``close`` for a model's folder, on a number of GPUs."""
GPUS_32B = 4
"""Number of GPUs of an engine of the 32B model."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of the measurements; tests use small ones."""

    shape_7b: Mapping[str, Any]
    shape_32b: Mapping[str, Any]
    row_tokens: int = 4096
    rows: int = 8
    prompts: int = 256
    compared: int = 32
    prompt_tokens: int = 512
    answer_tokens: int = 256
    dtype: str = "bfloat16"


FULL = Sizes(QWEN_7B, QWEN_32B)


def vllm_engine(folder: Path, gpus: int) -> Any:
    """Start vLLM in this process, with a part of the memory: the source of the weights is on the same GPU."""
    from nlac_bench.rollout.engines.vllm.engine import VLLMEngine

    return VLLMEngine(
        str(folder),
        dtype="bfloat16",
        gpu_memory_utilization=0.5,
        tensor_parallel_size=gpus,
        max_model_len=4096,
    )


def learner_rows(device: Device, sizes: Sizes) -> Iterator[GpuRow]:
    """Measure the learner, also on several ranks of torchrun."""
    from nlac_bench.cluster.gpu.learner import learner_speed

    speed = learner_speed(sizes.shape_7b, device, row_tokens=sizes.row_tokens, rows=sizes.rows)
    whole = sizes.shape_7b["num_hidden_layers"]
    where = _where(device, device.ranks)
    if speed.layers < whole:
        where += f", {speed.layers} of {whole} layers"
    share = None if device.peak is None else speed.flops_per_second / device.peak
    yield _row("learner_mfu_7b", share, where)
    yield _row("learner_tokens_per_second_7b", speed.tokens_per_second, where)


def engine_rows(device: Device, sizes: Sizes, make: MakeEngine = vllm_engine) -> Iterator[GpuRow]:
    """Measure pushes, agreement and speed of an engine on one GPU."""
    with _engine(sizes.shape_7b, sizes, device.kind, 1, make) as (engine, source):
        where = _where(device, 1)
        yield _row("push_seconds_7b", engines.push_seconds(engine, source), where)
        known = len(engine.tokenizer)
        prompts = engines.random_prompts(sizes.prompts, sizes.prompt_tokens, known)
        result = engines.mismatch(engine, source, prompts[: sizes.compared], sizes.answer_tokens)
        yield _row("logprob_gap_7b", result.gap, where)
        yield _row("mismatch_kl_7b", result.kl, where)
        speed = engines.tokens_per_second(engine, prompts, sizes.answer_tokens)
        yield _row("rollout_tokens_per_second_7b", speed, where)


def push_32b_rows(device: Device, sizes: Sizes, make: MakeEngine = vllm_engine) -> Iterator[GpuRow]:
    """Measure a push to an engine on ``GPUS_32B`` GPUs.

    Raises:
        ConfigError: this machine has fewer GPUs.
    """
    if device.count < GPUS_32B:
        raise ConfigError(f"push_seconds_32b needs {GPUS_32B} GPUs, and this machine has {device.count}")
    # The source is on the CPU, since vLLM needs all of these GPUs.
    with _engine(sizes.shape_32b, sizes, "cpu", GPUS_32B, make) as (engine, source):
        yield _row("push_seconds_32b", engines.push_seconds(engine, source), _where(device, GPUS_32B))


def served_engine(folder: Path, gpus: int) -> Any:
    """Start a vLLM server on ``gpus`` GPUs after the first, where the source of the weights is."""
    from nlac_bench.cluster.gpu.served import ServedEngine

    return ServedEngine(folder, gpus)


def push_nccl_rows(device: Device, sizes: Sizes, make: MakeEngine = served_engine) -> Iterator[GpuRow]:
    """Measure pushes by broadcast from one GPU to a server on others: one for 7B, ``GPUS_32B`` for 32B.

    Raises:
        ConfigError: this machine has too few GPUs; the earlier rows are yielded.
    """
    for size, shape, gpus in (("7b", sizes.shape_7b, 1), ("32b", sizes.shape_32b, GPUS_32B)):
        name = f"push_nccl_seconds_{size}"
        if device.count < 1 + gpus:
            raise ConfigError(f"{name} needs {1 + gpus} GPUs, and this machine has {device.count}")
        with _engine(shape, sizes, device.kind, gpus, make) as (engine, source):
            yield _row(name, engines.push_seconds(engine, source), _where(device, 1 + gpus))


MEASUREMENTS: Mapping[str, tuple[tuple[str, ...], Callable[[Device, Sizes], Iterator[GpuRow]]]] = {
    "learner": (("learner_mfu_7b", "learner_tokens_per_second_7b"), learner_rows),
    "engine": (
        ("push_seconds_7b", "logprob_gap_7b", "mismatch_kl_7b", "rollout_tokens_per_second_7b"),
        engine_rows,
    ),
    "push-32b": (("push_seconds_32b",), push_32b_rows),
    "push-nccl": (("push_nccl_seconds_7b", "push_nccl_seconds_32b"), push_nccl_rows),
}
"""The names of the rows of each measurement, and its function."""


def measure(
    device: Device, only: Sequence[str], tell: Callable[[str], None], sizes: Sizes = FULL
) -> list[GpuRow]:
    """Return the rows of the measurements ``only``.

    Args:
        tell: called with the reason why a measurement is not possible on this machine, such as too few GPUs,
            or vLLM that is not installed. The values of its rows are None.
    """
    rows: list[GpuRow] = []
    for name in only:
        wanted, measurement = MEASUREMENTS[name]
        results: list[GpuRow] = []
        try:
            results += measurement(device, sizes)
        except NlacBenchError as error:
            tell(f"{name} was not measured: {error}")
        measured = {row.name: row for row in results}
        rows += [measured.get(each) or _row(each, None, _where(device, device.ranks)) for each in wanted]
    return rows


@contextlib.contextmanager
def _engine(
    shape: Mapping[str, Any], sizes: Sizes, where: str, gpus: int, make: MakeEngine
) -> Iterator[tuple[Any, ModelSource]]:
    """Start an engine of a random model; yield it and the model as a source of weights."""
    import torch

    with tempfile.TemporaryDirectory() as folder:
        model = random_model(shape, where, getattr(torch, sizes.dtype)).eval()
        write(model, Path(folder))
        engine = make(Path(folder), gpus)
        try:
            yield engine, ModelSource(model)
        finally:
            engine.close()
            del model
            gc.collect()
            torch.cuda.empty_cache()


def _row(name: str, value: float | None, device: str) -> GpuRow:
    unit, goal = GOALS[name]
    return GpuRow(name, value, unit, goal, device)


def _where(device: Device, count: int) -> str:
    return f"{count} × {device.name}"
