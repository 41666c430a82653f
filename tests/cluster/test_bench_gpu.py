"""``nlac-bench bench-gpu`` measures small shapes on a CPU here; the command itself refuses without a GPU."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nlac_bench.cluster.gpu import served, table
from nlac_bench.cluster.gpu.device import Device
from nlac_bench.cluster.gpu.engine import mismatch, random_prompts
from nlac_bench.cluster.gpu.learner import MEMORY_SHARE, flops_of_a_token, learner_speed
from nlac_bench.cluster.gpu.shapes import QWEN_7B, QWEN_32B, layers_that_fit, memory_shape, random_model
from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.memory import learner_bytes
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.vllm.server_check import flags
from nlac_bench.rollout.engines.weights import ModelSource
from tests.cli.command import nlac_bench
from tests.full_disk import files_of_at_most

SMALL = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 4096,
}  # fmt: skip
CPU = Device("cpu", "a CPU", 1, 1e9, peak=1e12)
SIZES = table.Sizes(
    SMALL, SMALL, row_tokens=64, rows=2, prompts=6, compared=3, prompt_tokens=20, answer_tokens=8,
    dtype="float32",
)  # fmt: skip


def engine(folder: Path, gpus: int) -> HFEngine:
    return HFEngine.from_pretrained(str(folder), max_rows=8)


def values(rows: list[table.GpuRow]) -> dict[str, float]:
    assert all(row.value is not None and math.isfinite(row.value) for row in rows)
    return {row.name: row.value or 0.0 for row in rows}


@pytest.mark.parametrize("shape, parameters", [(QWEN_7B, 7.6e9), (QWEN_32B, 32.8e9)])
def test_shapes_are_those_of_the_models(shape: dict[str, Any], parameters: float) -> None:
    assert memory_shape(shape).parameters == pytest.approx(parameters, rel=0.01)


def test_operations_of_a_token() -> None:
    # torchtitan's count of Llama-3.1-8B with sequences of 8,192 tokens, of 8.03e9 weights
    llama = {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 128256,
    }  # fmt: skip
    wanted = 6 * (8.03e9 - 128256 * 4096) + 12 * 32 * 4096 * 8192
    assert flops_of_a_token(llama, 8192) == pytest.approx(wanted, rel=0.002)
    assert 5762 * wanted / 989e12 == pytest.approx(0.33, abs=0.01)  # its published speed and share


def test_a_small_gpu_trains_fewer_layers() -> None:
    settings = TrainConfig(row_tokens=4096, kl_probe=False)

    def layers(ranks: int, gigabytes: float) -> int:
        memory = gigabytes * 1e9
        return layers_that_fit(QWEN_7B, settings, ranks=ranks, memory=memory, device="cuda")

    assert layers(8, 68) == 28
    assert 4 < layers(1, 68) < 28
    assert layers(1, 4) == 0


def test_learner() -> None:
    rows = list(table.learner_rows(CPU, SIZES))
    found = values(rows)
    speed = found["learner_tokens_per_second_7b"]
    assert speed > 0 and found["learner_mfu_7b"] == pytest.approx(speed * flops_of_a_token(SMALL, 16) / 1e12)
    assert {row.device for row in rows} == {"1 × a CPU"}
    unknown = list(table.learner_rows(replace(CPU, peak=None), SIZES))
    assert unknown[0].value is None and unknown[1].value is not None


def test_each_rank_learns_rows_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The speed is that of one GPU, so its share of the batch must not shrink with their number."""
    learned: list[int] = []

    def step(learner: Any, batch: Any) -> float:
        learned.append(len(batch))
        return 2.0

    monkeypatch.setattr("nlac_bench.cluster.gpu.learner._step", step)
    for ranks in (1, 8):
        device = replace(CPU, ranks=ranks)
        assert learner_speed(SMALL, device, row_tokens=64, rows=3, steps=1).tokens_per_second == 3 * 64 / 2
    assert learned == [3, 3, 24, 24]


@pytest.mark.slow  # starts torchrun
def test_the_command_measures_several_ranks(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    words = ["bench-gpu", "--only", "learner", "--out", str(out), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone",
         "-m", "tests.cluster.gpu_ranks", *words],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())["rows"]
    assert [row["device"] for row in rows] == ["2 × a CPU"] * 2 and all(row["value"] > 0 for row in rows)


def test_a_learner_that_does_not_fit_has_fewer_layers() -> None:
    settings = TrainConfig(row_tokens=64, kl_probe=False)
    shape = memory_shape({**SMALL, "num_hidden_layers": 1})
    one = sum(learner_bytes(shape, settings, {}, ranks=1, bf16=True, device="cpu").values())
    memory = 1.001 * one / MEMORY_SHARE
    found = learner_speed(SMALL, replace(CPU, memory=memory), row_tokens=64, rows=1, steps=1)
    assert found.layers == 1
    with pytest.raises(NlacBenchError, match="no layer"):
        learner_speed(SMALL, replace(CPU, memory=memory / 2), row_tokens=64, rows=1, steps=1)


def test_engine() -> None:
    found = values(list(table.engine_rows(CPU, SIZES, engine)))
    assert found["logprob_gap_7b"] < 1e-5 and 0 <= found["mismatch_kl_7b"] < 1e-9
    assert found["push_seconds_7b"] > 0 and found["rollout_tokens_per_second_7b"] > 0
    assert found.keys() | {"learner_mfu_7b", "learner_tokens_per_second_7b", "push_seconds_32b"} == {
        name for name in table.GOALS if "nccl" not in name
    }


def test_pushes_by_broadcast() -> None:
    wanted: list[int] = []

    def make(folder: Path, gpus: int) -> HFEngine:
        wanted.append(gpus)
        return engine(folder, gpus)

    rows = list(table.push_nccl_rows(replace(CPU, count=8), SIZES, make))
    assert all(seconds > 0 for seconds in values(rows).values()) and wanted == [1, 4]
    assert [row.device for row in rows] == ["2 × a CPU", "5 × a CPU"]
    found = []
    with pytest.raises(ConfigError, match="push_nccl_seconds_32b needs 5 GPUs, and this machine has 2"):
        for row in table.push_nccl_rows(replace(CPU, count=2), SIZES, make):
            found.append(row)  # noqa: PERF402 - those before the error
    assert [row.name for row in found] == ["push_nccl_seconds_7b"]


def test_the_server_of_a_push_by_broadcast_has_the_other_gpus(tmp_path: Path) -> None:
    words = served.command(tmp_path, 4, 8000)
    assert words[words.index("--tensor-parallel-size") + 1] == "4" and set(flags("nccl")) <= set(words)
    assert served.visible(4, {}) == "1,2,3,4"
    assert served.visible(1, {"CUDA_VISIBLE_DEVICES": "5,3,7"}) == "3"


def test_mismatch_sees_other_weights(tmp_path: Path) -> None:
    from nlac_bench.cluster.gpu.shapes import write

    model = random_model(SMALL, "cpu", torch.float32).eval()
    write(model, tmp_path)
    own = engine(tmp_path, 1)
    try:
        prompts = random_prompts(4, 20, 400)
        assert prompts[0][:10] == prompts[3][:10] and prompts[0][10:] != prompts[3][10:]
        with torch.no_grad():
            model.lm_head.weight.mul_(1.5)
        found = mismatch(own, ModelSource(model), prompts, 16)
    finally:
        own.close()
    assert found.gap > 0.01 and found.kl > 1e-4


def test_what_cannot_be_measured_has_no_value() -> None:
    said: list[str] = []
    rows = table.measure(CPU, ["push-32b"], said.append, SIZES)
    assert [row.to_json() for row in rows] == [
        {"name": "push_seconds_32b", "value": None, "unit": "s", "goal": "≤ 3", "device": "1 × a CPU"}
    ]
    assert "needs 4 GPUs" in said[0]


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_the_command_refuses_without_a_gpu(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    done = nlac_bench("bench-gpu", "--out", str(out), "--json", status=2)
    assert "needs an NVIDIA GPU" in done.stderr and done.stdout == "" and not out.exists()
    assert (
        "the measurements are learner"
        in nlac_bench("bench-gpu", "--out", "x", "--only", "a", status=2).stderr
    )


def test_the_command_writes_and_prints_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "here", classmethod(lambda cls: CPU))
    out = tmp_path / "rows.json"
    done = nlac_bench("bench-gpu", "--out", str(out), "--only", "push-32b", "--json")
    assert json.loads(done.stdout) == json.loads(out.read_text())
    assert [row.keys() for row in json.loads(done.stdout)["rows"]] == [
        {"name", "value", "unit", "goal", "device"}
    ]
    monkeypatch.setattr(Device, "here", classmethod(lambda cls: replace(CPU, ranks=2)))
    done = nlac_bench("bench-gpu", "--out", str(out), status=2)
    assert "add --only learner" in " ".join(done.stderr.split())


def test_the_command_refuses_an_unfit_file_before_it_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Device, "here", classmethod(lambda cls: pytest.fail("it measures")))
    for name in ("manifest.json", "config.json"):
        (tmp_path / name).write_text("{}")
    for out, said in ((tmp_path, "this is a folder"), (tmp_path / "config.json", "a file of a run")):
        assert said in " ".join(nlac_bench("bench-gpu", "--out", str(out), status=2).stderr.split())


def test_the_command_prints_rows_that_it_cannot_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Device, "here", classmethod(lambda cls: CPU))
    out = tmp_path / "rows.json"
    with files_of_at_most(10):
        done = nlac_bench("bench-gpu", "--out", str(out), "--only", "push-32b", "--json", status=2)
    assert len(json.loads(done.stdout)["rows"]) == 1 and not out.exists()
    assert "cannot write" in done.stderr


def test_device_reads_the_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Properties:
        name, total_memory = "NVIDIA H100 80GB HBM3", 85e9

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: Properties)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    monkeypatch.setitem(os.environ, "WORLD_SIZE", "4")
    assert Device.here() == Device("cuda", "NVIDIA H100 80GB HBM3", 8, 85e9, 4, 989e12)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError):
        Device.here()
