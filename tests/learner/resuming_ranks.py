"""Saves and resumes a checkpoint, on any number of ranks; see torchrun_cases.py."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from nlac_bench.errors import CheckpointError
from nlac_bench.learner import checkpoint
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from tests.learner.small_model import model, sequences, steps, weights

CONFIG = LearnerConfig(lr=1e-2, precision="fp32", micro_rows=2, ema=True, heads={"value": "state"})


def everything(learner: Learner) -> dict[str, torch.Tensor]:
    """The policy and its moving average."""
    average = {f"ema/{name}": tensor.clone() for name, tensor in learner.named_tensors("target")}
    return weights(learner) | average


def write(out: Path) -> None:
    """Three steps and a checkpoint, then two steps; a second learner resumes and takes the same two."""
    out.mkdir()
    learner = Learner(model(), CONFIG)
    steps(learner, sequences(), 3)
    learner.ema_update(0.1)
    checkpoint.save(learner, out / "last", lambda _: {"epoch": 1})
    save_file(everything(learner), out / "saved.safetensors")
    expected = steps(learner, sequences(), 2)
    final = everything(learner)
    resumed = Learner(model(), CONFIG)
    steps(resumed, sequences(), 1)
    assert checkpoint.load(resumed, out / "last") == {"epoch": 1} and resumed.step == 3
    same = steps(resumed, sequences(), 2) == expected
    found = everything(resumed)
    same = same and all(torch.equal(found[name], tensor) for name, tensor in final.items())
    save_file(final, out / "final.safetensors")
    refused = []
    for file in sorted((out / "last").glob("rank-*.safetensors")):
        data = bytearray(file.read_bytes())
        damaged = bytearray(data)
        damaged[-1] ^= 1
        file.write_bytes(damaged)
        try:
            checkpoint.load(resumed, out / "last")
        except CheckpointError as error:
            refused.append(str(error))
        file.write_bytes(data)
    unchanged = everything(resumed)  # the ranks still work together
    same = same and all(torch.equal(unchanged[name], tensor) for name, tensor in final.items())
    files = sorted(path.name for path in (out / "last").iterdir())
    (out / "result.json").write_text(json.dumps({"same": same, "refused": refused, "files": files}))


def resume(out: Path) -> float:
    """Load the checkpoint that another number of ranks wrote, and write it again; the largest difference
    after two further steps."""
    learner = Learner(model(), CONFIG)
    checkpoint.load(learner, out / "last")
    saved = load_file(out / "saved.safetensors")
    assert all(torch.equal(saved[name], tensor) for name, tensor in everything(learner).items())
    checkpoint.save(learner, out / "last", lambda _: {"epoch": 1})
    steps(learner, sequences(), 2)
    final = load_file(out / "final.safetensors")
    return max(float((final[name] - tensor).abs().max()) for name, tensor in everything(learner).items())
