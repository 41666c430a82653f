"""Models with dropout can be trained: it is off wherever log-probabilities must agree."""

from typing import Any

import pytest
import torch
import transformers
from torch import nn

from nlac_bench.learner.batch import TokenSequence, one_a_row
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.learner.losses import aggregate
from nlac_bench.learner.model import without_dropout
from nlac_bench.learner.source import push
from nlac_bench.rollout.engines.hf.engine import HFEngine
from tests.baselines import signal_env


def with_dropout(family: str, **settings: Any) -> Any:
    torch.manual_seed(0)
    size = {"vocab_size": len(signal_env.tokenizer()), "bos_token_id": None, "eos_token_id": 1, **settings}
    config = getattr(transformers, f"{family}Config")(**size)
    return getattr(transformers, f"{family}{'LMHeadModel' if family == 'GPT2' else 'ForCausalLM'}")(config)


MODELS: dict[str, dict[str, Any]] = {
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64},
    "Starcoder2": {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 2, "residual_dropout": 0.1, "embedding_dropout": 0.1, "attention_dropout": 0.1,
    },
}  # fmt: skip


@pytest.mark.parametrize("family", MODELS)
def test_a_model_with_dropout_is_trained_and_pushed(family: str) -> None:
    model, twin = with_dropout(family, **MODELS[family]), with_dropout(family, **MODELS[family])
    ids = torch.tensor([[5, 6, 7, 8]])
    model.train()
    assert not torch.equal(model(input_ids=ids).logits, model(input_ids=ids).logits), "it has dropout"
    learner = Learner(model, LearnerConfig(precision="fp32", lr=1e-3))
    batch = one_a_row([TokenSequence([5, 6, 7, 8], [0.0, 0.0, 1.0, 1.0])])
    assert torch.equal(learner.logprobs(batch), learner.logprobs(batch))
    learner.forward_backward(
        batch, lambda outputs, micro: (aggregate(-outputs.logprobs_BT, micro.loss_mask, 2.0), {})
    )
    assert learner.optim_step()["grad_norm"] > 0
    engine = HFEngine(twin, signal_env.tokenizer())
    try:
        push(learner, engine, 1)  # raises SyncError if the log-probabilities differ
    finally:
        engine.close()


def test_modules_and_attributes_are_switched_off_and_others_stay() -> None:
    block: Any = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    block.attention_dropout, block.scale = 0.1, 0.5
    without_dropout(block)
    assert (block[1].p, block.attention_dropout, block.scale) == (0.0, 0.0, 0.5)
