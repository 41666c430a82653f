"""Chunks of logits: the same losses and gradients as all logits at once, in a part of the memory."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from nlac_bench.learner import logits, losses, memory
from nlac_bench.learner.batch import TokenBatch, pack
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.learner.logits import Logits
from nlac_bench.learner.outputs import Outputs
from nlac_bench.learner.whole import full_tensor, local_part
from tests.learner.memory import peak_bytes
from tests.learner.small_model import VOCABULARY, model, sequences

TOKENS, WIDTH, WORDS = 1024, 16, 4096
LOSSES: dict[str, Callable[[Outputs], Tensor]] = {
    "logprobs": lambda outputs: outputs.logprobs_BT,
    "entropy": lambda outputs: outputs.entropy_BT,
    "kl": lambda outputs: outputs.reference_kl_BT,
    "logprobs and kl": lambda outputs: outputs.logprobs_BT - outputs.reference_kl_BT,
    "all": lambda outputs: outputs.logprobs_BT + outputs.entropy_BT + outputs.reference_kl_BT,
}


def each_gradient(name: str, tie: bool) -> dict[str, Tensor]:
    loss = LOSSES[name]
    learner = Learner(
        model(tie), LearnerConfig(precision="fp32", micro_rows=2, reference=True, heads={"q1": "action"})
    )
    with torch.no_grad():  # away from the reference, where the KL's gradient is 0
        generator = torch.Generator().manual_seed(0)
        for parameter in learner.parameters:
            local = local_part(parameter)
            local += 0.05 * torch.randn(local.shape, generator=generator)
    batch = pack(sequences(), 64)

    def part(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        weighted_BT = loss(outputs) * micro.weights + 0.1 * outputs.scalar_BT("q1")
        return losses.aggregate(weighted_BT, micro.loss_mask, 50.0), {}

    value = learner.forward_backward(batch, part)["loss"]
    found = {n: full_tensor(p.grad) for n, p in learner.model.named_parameters()}  # type: ignore[arg-type]
    return {**found, "loss": torch.tensor(value)}


whole_gradient = functools.cache(each_gradient)
"""Gradients with all logits at once, which those with chunks of each length are compared with."""


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("tokens", [1, 5])
def test_gradients_equal_those_of_all_logits(
    name: str, tie: bool, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = whole_gradient(name, tie)
    calls: list[str] = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return checkpoint(*args, **kwargs)

    monkeypatch.setattr(logits, "checkpoint", counted)
    monkeypatch.setitem(memory.CHUNK_LOGITS, "cpu", tokens * VOCABULARY)
    chunked = each_gradient(name, tie)
    assert len(calls) > 10, "the logits were computed in chunks"
    for parameter, gradient in whole.items():
        norm = torch.linalg.norm(gradient)
        assert norm > 0 and torch.linalg.norm(chunked[parameter] - gradient) <= 1e-5 * norm, parameter


def bytes_a_logit(loss: Callable[[Logits, Logits, Tensor], Tensor]) -> float:
    """The peak of a forward and a backward pass over the head, without what has no vocabulary axis."""
    torch.manual_seed(0)
    heads = [nn.Linear(WIDTH, WORDS, bias=False) for _ in range(2)]
    heads[1].requires_grad_(False)
    hidden_MH = torch.randn(TOKENS, WIDTH, requires_grad=True)
    ids_M = torch.randint(WORDS, (TOKENS,))

    def both() -> None:
        policy, reference = (Logits(hidden_MH, head) for head in heads)
        loss(policy, reference, ids_M).sum().backward()

    return peak_bytes(both) / (TOKENS * WORDS)


def l2(policy: Logits, reference: Logits, ids_M: Tensor) -> Tensor:
    return policy.each(losses.selective_log_softmax, ids_M)


def kl(policy: Logits, reference: Logits, ids_M: Tensor) -> Tensor:
    return policy.each(
        lambda logits_mV, hidden_mH: losses.full_kl(logits_mV.float(), reference.head(hidden_mH).float()),
        reference.hidden_MH.detach(),
    )


@pytest.mark.parametrize("loss", [l2, kl, lambda *a: l2(*a) + kl(*a)], ids=["l2", "kl", "l2 and kl"])
def test_peak_of_memory_is_that_of_a_chunk(
    loss: Callable[[Logits, Logits, Tensor], Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = bytes_a_logit(loss)
    monkeypatch.setitem(memory.CHUNK_LOGITS, "cpu", TOKENS * WORDS // 32)
    chunked = bytes_a_logit(loss)
    assert whole > 8 and chunked < whole / 16, (whole, chunked)


def test_the_probe_of_the_kl_holds_one_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Learner(model(), LearnerConfig(precision="fp32", micro_rows=64, reference=True))
    batch = pack(sequences(), 64)
    whole = learner.reference_kl(batch)
    monkeypatch.setitem(memory.CHUNK_LOGITS, "cpu", VOCABULARY)
    assert learner.reference_kl(batch) == pytest.approx(whole, abs=1e-7)
