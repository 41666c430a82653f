"""A small random model, data to train it on, and a loss."""

import json
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from nlac_bench.learner import checkpoint, losses, share
from nlac_bench.learner.batch import TokenBatch, TokenSequence
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.learner.outputs import LossFn, Outputs
from nlac_bench.learner.ranks import collective

VOCABULARY = 61


def model(tie: bool = True) -> Any:
    """A random Qwen2 with two blocks; the same weights at every call.

    Its numbers of rows are odd, so that ranks have different numbers of them.
    """
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=67, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
        tie_word_embeddings=tie, attn_implementation="sdpa",
    )  # fmt: skip
    return Qwen2ForCausalLM(config).float()


def sequences(count: int = 13, seed: int = 0, longest: int = 40) -> list[TokenSequence]:
    """Ragged multi-turn sequences with advantages and old log-probabilities."""
    generator = torch.Generator().manual_seed(seed)
    made = []
    for i in range(count):
        length = int(torch.randint(4, longest, (1,), generator=generator))
        mask = (torch.rand(length, generator=generator) < 0.4).float()
        mask[0], mask[-1] = 0, 1
        made.append(
            TokenSequence(
                ids=torch.randint(0, VOCABULARY, (length,), generator=generator).tolist(),
                loss_mask=mask.tolist(),
                weight=0.5 + i / count,
                advantages=torch.randn(length, generator=generator).tolist(),
                old_logprobs=(-4 + torch.randn(length, generator=generator)).tolist(),
                group_id=i // 3,
            )
        )
    return made


def nll(denominator: Tensor | float) -> LossFn:
    """Weighted negative log-likelihood, a mean over all tokens."""

    def loss(outputs: Outputs, batch: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        weighted_BT = -outputs.logprobs_BT * batch.weights
        part = losses.aggregate(weighted_BT, batch.loss_mask, denominator)
        return part, {"tokens": batch.loss_mask.sum()}

    return loss


@collective
def use_sgd(learner: Learner) -> None:
    """Replace AdamW, whose steps hardly depend on the scale of the gradient."""
    learner.optimizer = torch.optim.SGD(learner.parameters, lr=learner.config.lr)


def steps(learner: Learner, data: list[TokenSequence], count: int = 3) -> list[float]:
    """``count`` optimizer steps; the losses."""
    seen = []
    for _ in range(count):
        batch = share.packed(data, 64)
        seen.append(learner.forward_backward(batch, nll(batch.loss_mask.sum()))["loss"])
        learner.optim_step()
    return seen


def weights(learner: Learner) -> dict[str, Tensor]:
    """The whole policy."""
    return {name: tensor.clone() for name, tensor in learner.named_tensors()}


def main(out: str, optimizer: str, lr: float) -> None:
    """Rank 0 of many: three steps, and what came of them."""
    learner = Learner(model(), LearnerConfig(lr=lr, precision="fp32", micro_rows=2))
    if optimizer == "sgd":
        use_sgd(learner)
    seen = steps(learner, sequences())
    save_file(weights(learner), f"{out}/weights.safetensors")
    checkpoint.export(learner, f"{out}/exported")
    with open(f"{out}/losses.json", "w") as stream:  # noqa: PTH123
        json.dump(seen, stream)
