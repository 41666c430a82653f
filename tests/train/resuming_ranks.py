"""Saves and resumes a checkpoint on several ranks; run under torchrun by test_checkpoint.py."""

import json
import sys
from pathlib import Path

import torch.distributed as dist

from nlac_bench.errors import CheckpointError
from nlac_bench.train import checkpoint
from nlac_bench.train.learner import Learner, LearnerConfig
from tests.train.small_model import model, sequences, steps, weights


def main(out: str) -> None:
    """One rank: three steps, a checkpoint, two steps; a second learner resumes and takes the same two."""
    config = LearnerConfig(lr=1e-2, precision="fp32", micro_rows=2, ema=True, heads=("value",))
    learner = Learner(model(), config)
    mine = sequences()[dist.get_rank() :: dist.get_world_size()]
    steps(learner, mine, 3)
    learner.ema_update(0.1)
    checkpoint.save(learner, Path(out) / "last", lambda _: {"epoch": 1})
    expected, final = steps(learner, mine, 2), weights(learner)
    resumed = Learner(model(), config)
    steps(resumed, mine, 1)
    assert checkpoint.load(resumed, Path(out) / "last") == {"epoch": 1} and resumed.step == 3
    assert resumed.ema is not None and learner.ema is not None
    same = all(bool((a == b).all()) for a, b in zip(resumed.ema, learner.ema, strict=True))
    same = steps(resumed, mine, 2) == expected and same
    same = same and all(bool((final[name] == tensor).all()) for name, tensor in weights(resumed).items())
    refused = ""
    own = Path(out) / "last" / f"rank-{dist.get_rank()}.safetensors"
    data = bytearray(own.read_bytes())
    data[-1] ^= 1
    dist.barrier()
    own.write_bytes(data)
    dist.barrier()
    try:
        checkpoint.load(resumed, Path(out) / "last")
    except CheckpointError as error:
        refused = str(error)
    result = {"same": same, "refused": refused}
    (Path(out) / f"{dist.get_rank()}.json").write_text(json.dumps(result))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
