"""The trained module: a Hugging Face causal LM with scalar heads, sharded by blocks."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from nlac_bench.learner import attention
from nlac_bench.learner.prefixes import PrefixTree, prefix_tree
from nlac_bench.rollout.engines.hf.loading import load_model

HeadKind: TypeAlias = Literal["state", "action"]
"""What a scalar head values: the state in which a token was sampled (it reads the tokens before it), or the
action up to and with the token (its value is the one at the last token)."""


@dataclass(frozen=True, slots=True)
class Lora:
    """Low-rank adapters instead of full training (Hu et al. 2022); needs the package peft."""

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    target_modules: Sequence[str] | str = "all-linear"


@dataclass(frozen=True, slots=True)
class Forward:
    """The outputs of a forward pass.

    ``hidden_MH`` are the last hidden states at the M wanted positions, in row-major order; ``heads_BT`` has
    each head's scalar at every position.
    """

    hidden_MH: Tensor
    heads_BT: dict[str, Tensor] = field(default_factory=dict)


class PolicyModel(nn.Module):
    """A causal LM with scalar heads on its last hidden states.

    Logits are computed only at the wanted positions, by ``vocabulary_head`` (``logits.Logits``): in NLAC's
    batches most tokens belong to prompts, and the logits of a row cost as much as a layer.
    """

    def __init__(self, causal_lm: nn.Module, heads: Mapping[str, HeadKind] | None = None) -> None:
        super().__init__()
        self.causal_lm = without_dropout(causal_lm)
        hidden = causal_lm.config.get_text_config().hidden_size  # type: ignore[union-attr, operator]
        self.heads = nn.ModuleDict({name: nn.Linear(hidden, 1) for name in heads or {}})
        for name, head in self.heads.items():
            nn.init.zeros_(head.bias)  # type: ignore[arg-type]
            if (heads or {})[name] == "state":
                nn.init.zeros_(head.weight)  # type: ignore[arg-type]  # initial values are 0, not noise
            else:  # equal initial weights would get equal gradients, so both heads would stay the same
                nn.init.normal_(head.weight, std=1 / hidden)  # type: ignore[arg-type]

    @property
    def vocabulary_head(self) -> nn.Module:
        """The module that maps hidden states to logits; it can be called from forward to backward pass."""
        base: Any = self.causal_lm
        head: nn.Module = base.get_output_embeddings()
        return head

    def forward(
        self, ids_BT: Tensor, position_ids_BT: Tensor, segment_ids_BT: Tensor, wanted_BT: Tensor
    ) -> Forward:
        """Compute hidden states where ``wanted_BT`` is true, and every head's scalar at every position."""
        base: Any = self.causal_lm
        alone = bool((segment_ids_BT <= 1).all())  # each row has one sequence
        if not alone and base.config._attn_implementation == attention.NAME:
            tree = prefix_tree(ids_BT.cpu(), segment_ids_BT.cpu(), shared=not ids_BT.is_cuda)
            return self._by_tree(ids_BT, position_ids_BT, tree.to(ids_BT.device), wanted_BT)
        # The padding of a row with one sequence is at its end, so no token of the sequence attends to it.
        mask = None if alone else _attention_mask(segment_ids_BT)
        hidden_BTH = base.get_decoder()(
            input_ids=ids_BT, position_ids=position_ids_BT, attention_mask=mask, use_cache=False
        ).last_hidden_state
        heads_BT = {name: head(hidden_BTH).sum(-1).float() for name, head in self.heads.items()}
        return Forward(hidden_BTH[wanted_BT], heads_BT)

    def _by_tree(
        self, ids_BT: Tensor, position_ids_BT: Tensor, tree: PrefixTree, wanted_BT: Tensor
    ) -> Forward:
        """Compute what ``forward`` computes, but only the nodes of ``tree``."""
        base: Any = self.causal_lm
        hidden_NH = base.get_decoder()(
            input_ids=ids_BT.flatten()[None, tree.first_N],
            position_ids=position_ids_BT.flatten()[None, tree.first_N],
            # Masks with four axes are passed on. Without one, transformers would build one of N² elements.
            attention_mask=ids_BT.new_empty(1, 1, 0, 0),
            use_cache=False,
            tree=tree,
        ).last_hidden_state[0]
        # index_select sums the gradients of a node in a fixed order; advanced indexing does not.
        hidden_MH = hidden_NH.index_select(0, tree.node_BT[wanted_BT])
        heads_BT = {
            name: head(hidden_NH)
            .sum(-1)
            .float()
            .index_select(0, tree.node_BT.flatten())
            .view_as(ids_BT)
            .clone()  # FSDP's hooks on the outputs need tensors that are not views
            for name, head in self.heads.items()
        }
        return Forward(hidden_MH, heads_BT)


def _attention_mask(segment_ids_BT: Tensor) -> Tensor:
    """Return the attention mask ``[B, 1, T, T]``: each token attends to earlier ones of its sequence."""
    length = segment_ids_BT.shape[1]
    same_BTT = segment_ids_BT[:, :, None] == segment_ids_BT[:, None, :]
    # Padding (segment 0) attends to itself and earlier padding, since softmax over no positions is NaN.
    causal_TT = torch.ones(length, length, dtype=torch.bool, device=segment_ids_BT.device).tril()
    return (same_BTT & causal_TT)[:, None]


def without_dropout(model: nn.Module) -> nn.Module:
    """Switch dropout off in ``model``, in training mode too, and return it.

    With dropout the learner's log-probabilities would differ from the engine's, and from its own of a moment
    before: ratios would not begin at 1, and every push of weights would be refused. Transformers keep the
    rates in modules (GPT-2) or in attributes of attention layers and blocks (Qwen2, StarCoder2).
    """
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():
            if isinstance(value, float) and "drop" in name:
                setattr(module, name, 0.0)
    return model


def load_causal_lm(path: str | os.PathLike[str]) -> nn.Module:
    """Load a causal LM from a Hugging Face folder or id in float32 (master weights); see ``load_model``."""
    model: nn.Module = load_model(path, torch.float32)
    return model


def add_lora(causal_lm: nn.Module, lora: Lora) -> nn.Module:
    """Return ``causal_lm`` with trainable adapters and all other weights frozen."""
    from peft import LoraConfig, get_peft_model

    targets = lora.target_modules
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=targets if isinstance(targets, str) else list(targets),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(causal_lm, config)


def blocks(model: nn.Module) -> list[nn.Module]:
    """Return the transformer blocks, found by the class names in the model's ``_no_split_modules``."""
    names = set()
    for module in model.modules():
        names |= set(getattr(module, "_no_split_modules", None) or ())
    return [module for module in model.modules() if type(module).__name__ in names]


def shard(
    model: PolicyModel, device_mesh: DeviceMesh, precision: Literal["fp32", "bf16"], checkpointing: bool
) -> None:
    """Shard every block with FSDP2, then the whole model.

    Each block is moved to the mesh's device before it is sharded, so the device never holds the whole model.
    In one process in float32 there is nothing to split or to convert, and FSDP would gather a second copy of
    all weights, so the model is not sharded.

    With ``bf16`` the blocks compute in bfloat16 with float32 master weights. Gradients are reduced in
    float32, because sums of many small gradients over ranks lose precision in bf16. The scalar heads compute
    in float32: bfloat16 has 8 bits, and a value of 0.7 would be rounded to a multiple of 0.004.
    """
    if checkpointing:
        base: Any = model.causal_lm
        # gradient_checkpointing_enable is the name before transformers 5.23, and is deprecated there.
        older = base.gradient_checkpointing_enable
        getattr(base, "activation_checkpointing_enable", older)({"use_reentrant": False})
    if device_mesh.size() == 1 and precision == "fp32":
        model.to(device_mesh.device_type)
        return
    policy = (
        MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        if precision == "bf16"
        else MixedPrecisionPolicy()
    )
    for block in blocks(model):
        fully_shard(block, mesh=device_mesh, mp_policy=policy, reshard_after_forward=True)
    if precision == "bf16":
        exact = MixedPrecisionPolicy(param_dtype=torch.float32, reduce_dtype=torch.float32)
        for head in model.heads.values():
            fully_shard(head, mesh=device_mesh, mp_policy=exact, reshard_after_forward=True)
    # The root keeps its gathered weights: its head is called after the forward pass (``Learner._forward``).
    fully_shard(model, mesh=device_mesh, mp_policy=policy, reshard_after_forward=False)
