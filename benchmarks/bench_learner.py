"""Compares the learner with a plain transformers and AdamW loop of the same shape in the same run.

On a CPU the model is small and in float32. With a GPU a model with Qwen2.5-7B's width is measured in bf16
too, where tokens per second are converted to floating-point operations (6 · parameters · tokens plus
attention).
"""

import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from benchmarks.conftest import Row
from nlac_bench.learner import losses
from nlac_bench.learner.batch import TokenBatch, TokenSequence, one_a_row, pack
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.learner.outputs import LossFn, Outputs

VOCABULARY = 4096
ROW = 1024
SMALL = {"hidden": 64, "layers": 2, "intermediate": 192}
"""The shape with ``--short``."""
CUDA = torch.cuda.is_available()


def model(hidden: int = 256, layers: int = 6, intermediate: int = 768, heads: int = 4, kv: int = 2) -> Any:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=VOCABULARY, hidden_size=hidden, intermediate_size=intermediate, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv, max_position_embeddings=4096,
        tie_word_embeddings=True, attn_implementation="sdpa",
    )  # fmt: skip
    return Qwen2ForCausalLM(config)


def nll(outputs: Outputs, batch: TokenBatch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    return losses.aggregate(-outputs.logprobs_BT, batch.loss_mask, float(batch.ids.numel())), {}


def full(rows: int, length: int) -> list[TokenSequence]:
    """Rows of equal length in which every token is trained on, so that packing gains nothing."""
    generator = torch.Generator().manual_seed(0)
    ids_BT = torch.randint(0, VOCABULARY, (rows, length), generator=generator).tolist()
    return [TokenSequence(ids_T, [0.0] + [1.0] * (length - 1)) for ids_T in ids_BT]


def ragged(count: int) -> list[TokenSequence]:
    """Rows with lengths like those of τ-bench's turns (many short, few long), each with a short answer."""
    generator = torch.Generator().manual_seed(0)
    made = []
    for x in torch.randn(count, generator=generator).tolist():
        length = int(min(ROW, max(40, 250 * 2.718 ** (0.8 * x))))
        ids_T = torch.randint(0, VOCABULARY, (length,), generator=generator).tolist()
        made.append(TokenSequence(ids_T, [0.0] * (length - 30) + [1.0] * 30))
    return made


def learner_step(learner: Learner, batch: TokenBatch, loss: LossFn = nll) -> None:
    learner.forward_backward(batch, loss)
    learner.optim_step()
    if CUDA:
        torch.cuda.synchronize()


class BareLoop:
    """A training loop without a library: transformers, autocast, AdamW and gradient clipping."""

    def __init__(self, causal_lm: Any, rows: int, bf16: bool) -> None:
        self.device = torch.device("cuda" if CUDA else "cpu")
        self.model = causal_lm.to(self.device).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-6)
        self.rows, self.bf16 = rows, bf16

    def step(self, batch: TokenBatch) -> None:
        for micro in batch.to(self.device).micro_batches(range(0, len(batch), self.rows), 0):
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
                logits = self.model(input_ids=micro.ids, use_cache=False).logits
            nll_N = torch.nn.functional.cross_entropy(
                logits[:, :-1].flatten(0, 1).float(), micro.ids[:, 1:].flatten(), reduction="none"
            )
            ((nll_N * micro.loss_mask[:, 1:].flatten()).sum() / batch.ids.numel()).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if CUDA:
            torch.cuda.synchronize()


def seconds(function: Any, *arguments: Any) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def speed_ratio(bare: Callable[[], None], ours: Callable[[], None], rounds: int) -> float:
    """Time of the fastest plain step over that of ours; steps alternate, so that other load affects both."""
    pairs = [(seconds(bare), seconds(ours)) for _ in range(rounds + 1)][1:]
    return min(pair[0] for pair in pairs) / min(pair[1] for pair in pairs)


def test_unpacked_against_the_bare_loop(benchmark: Any, row: Row, short: bool) -> None:
    batch = one_a_row(
        full(8 if short else 32, 256)
    )  # a mini-batch in micro-batches, both of the default sizes
    shape = SMALL if short else {}
    bare = BareLoop(model(**shape), 4, bf16=CUDA)
    learner = Learner(
        model(**shape), LearnerConfig(lr=1e-6, precision="bf16" if CUDA else "fp32", micro_rows=4)
    )
    benchmark.pedantic(learner_step, args=(learner, batch), rounds=1, warmup_rounds=1)
    rounds = 1 if short else 3
    ratio = speed_ratio(lambda: bare.step(batch), lambda: learner_step(learner, batch), rounds)
    benchmark.extra_info |= {"speed_ratio": ratio}
    row("learner, equal rows", "a bare transformers and AdamW loop", f"{ratio:.2f} × its speed", "≥ 0.9 ×")


def test_packed_against_padded_rows(benchmark: Any, row: Row, short: bool) -> None:
    data = ragged(8 if short else 64)  # with 64 rows the random lengths hardly affect the result
    shape = SMALL if short else {}
    bare = BareLoop(model(**shape), 2, bf16=CUDA)
    learner = Learner(
        model(**shape), LearnerConfig(lr=1e-6, precision="bf16" if CUDA else "fp32", micro_rows=2)
    )
    padded, packed = one_a_row(data), pack(data, ROW)
    benchmark.pedantic(learner_step, args=(learner, packed), rounds=1, warmup_rounds=1)
    rounds = 1 if short else 2
    ratio = speed_ratio(lambda: bare.step(padded), lambda: learner_step(learner, packed), rounds)
    benchmark.extra_info |= {"speed_ratio": ratio, "rows": [len(padded), len(packed)]}
    row(
        "learner, τ-like ragged rows",
        "padded rows, a bare loop",
        f"{ratio:.1f} × faster by packing",
        "≥ 1.5 ×",
    )


@pytest.mark.skipif(not CUDA, reason="Qwen2.5-7B's width needs a GPU")
def test_share_of_the_gpus_arithmetic(benchmark: Any) -> None:
    shape = {"hidden": 3584, "layers": 8, "intermediate": 18944, "heads": 28, "kv": 4}
    learner = Learner(
        model(**shape), LearnerConfig(lr=1e-6, precision="bf16", micro_rows=4, activation_checkpointing=False)
    )
    rows, length = 8, 2048
    batch = one_a_row(full(rows, length))
    benchmark.pedantic(learner_step, args=(learner, batch), rounds=2, warmup_rounds=1)
    taken = min(seconds(learner_step, learner, batch) for _ in range(4))
    matrices = sum(p.numel() for n, p in learner.model.named_parameters() if p.dim() == 2)
    attention = 6 * shape["layers"] * length * shape["hidden"]  # causal: half of 12 · layers · T · width
    flops = (6 * matrices + attention) * rows * length
    benchmark.extra_info |= {"tokens_per_s": rows * length / taken, "tflops": flops / taken / 1e12}
