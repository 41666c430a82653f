"""The speed of the learner: tokens per second, and the share of the GPU's arithmetic that they use."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from nlac_bench.cluster.gpu.device import Device
from nlac_bench.cluster.gpu.shapes import layers_that_fit, memory_shape, random_model
from nlac_bench.errors import NlacBenchError
from nlac_bench.learner import losses
from nlac_bench.learner.batch import TokenBatch, TokenSequence, pack
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.learner.outputs import Outputs

ROW_TOKENS, SEQUENCES_OF_A_ROW = 4096, 4
MEMORY_SHARE = 0.85
"""Share of a GPU's memory for tensors; PyTorch, NCCL and free blocks of the allocator take the rest."""


@dataclass(frozen=True)
class LearnerSpeed:
    """Trained tokens and useful floating-point operations per second and GPU; number of trained layers."""

    tokens_per_second: float
    flops_per_second: float
    layers: int


def learner_speed(
    shape: Mapping[str, Any],
    device: Device,
    *,
    row_tokens: int = ROW_TOKENS,
    rows: int = 8,
    steps: int = 4,
    precision: Any = "bf16",
) -> LearnerSpeed:
    """Measure gradient steps of a model with random weights; rank 0 of torchrun calls it.

    Each rank learns ``rows`` rows of ``row_tokens`` tokens, which hold several sequences. If the whole model
    does not fit into the memory, as on one GPU, it has fewer layers.

    Args:
        steps: number of timed steps, of which the fastest counts; one more step is taken before them.

    Raises:
        NlacBenchError: not even one layer fits.
    """
    settings = TrainConfig(row_tokens=row_tokens, micro_rows=1, kl_probe=False)
    room = MEMORY_SHARE * device.memory
    layers = layers_that_fit(shape, settings, ranks=device.ranks, memory=room, device=device.kind)
    if layers == 0:
        raise NlacBenchError(
            f"no layer of this shape can be trained in the {device.memory / 1e9:.0f} GB of each of "
            f"{device.ranks} GPUs; use more GPUs: torchrun --nproc-per-node N -m nlac_bench bench-gpu"
        )
    own = {**shape, "num_hidden_layers": layers}
    config = LearnerConfig(precision=precision, micro_rows=1)
    learner = Learner(random_model(own, device.kind, torch.float32), config)
    batch = _rows(rows * device.ranks, row_tokens, shape["vocab_size"])
    seconds = min([_step(learner, batch) for _ in range(steps + 1)][1:])
    tokens = rows * row_tokens  # of one rank
    each = flops_of_a_token(own, row_tokens // SEQUENCES_OF_A_ROW)
    return LearnerSpeed(tokens / seconds, tokens * each / seconds, layers)


def flops_of_a_token(shape: Mapping[str, Any], length: int) -> float:
    """Return the floating-point operations that training needs for a token of a sequence of ``length``.

    They are 6 for each weight except the input embeddings, and 12 · layers · width · length for attention, as
    torchtitan counts them (``get_nparams_and_flops``; PaLM, arXiv 2204.02311, appendix B). Operations that
    are repeated (activation checkpointing), or masked because they are between sequences, do not count.
    """
    sizes = memory_shape(shape)
    weights = sizes.parameters - sizes.vocabulary * sizes.hidden
    return 6 * weights + 12 * sizes.layers * sizes.attention * length


def _rows(rows: int, row_tokens: int, vocabulary: int) -> TokenBatch:
    """Return packed rows of random tokens, all of which are trained on."""
    length = row_tokens // SEQUENCES_OF_A_ROW
    count = rows * SEQUENCES_OF_A_ROW
    ids_ST = torch.randint(vocabulary, (count, length), generator=torch.Generator().manual_seed(0)).tolist()
    return pack([TokenSequence(ids_T, [0.0] + [1.0] * (length - 1)) for ids_T in ids_ST], row_tokens)


def _step(learner: Learner, batch: TokenBatch) -> float:
    """Take a gradient step and return its seconds."""
    count = float(batch.loss_mask.sum())

    def loss(outputs: Outputs, micro: TokenBatch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        return losses.aggregate(-outputs.logprobs_BT, micro.loss_mask, count), {}

    began = time.perf_counter()
    learner.forward_backward(batch, loss)
    learner.optim_step()  # reading the gradient's norm waits for the GPU
    if learner.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began
