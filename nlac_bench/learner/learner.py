"""The learner: forward and backward passes over packed micro-batches, optimizer, moving average.

The same code runs in one process on a CPU and under torchrun on many GPUs, where rank 0 calls it (``ranks``).
"""

import copy
import gc
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from nlac_bench.garbage import release_memory
from nlac_bench.learner import attention, share
from nlac_bench.learner.batch import LossName, TokenBatch, TokenSequence, one_a_row
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.learner.logits import Logits
from nlac_bench.learner.model import PolicyModel, add_lora, load_causal_lm, shard
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs
from nlac_bench.learner.prefixes import micro_batch_starts
from nlac_bench.learner.ranks import collective, ranks, reported
from nlac_bench.learner.skeleton import Skeleton, fill
from nlac_bench.learner.whole import full_tensor, local_part, whole_tensors
from nlac_bench.rollout.engines.engine import Slot


class Learner:
    """Trains a causal LM, sharded over all ranks.

    On several ranks, rank 0 creates and calls it (``nlac_bench.learner.ranks``), with whole batches.

    Args:
        model: a Hugging Face folder or id, or a module; on other ranks than 0, its ``Skeleton``.
        config: the learner's settings.
    """

    def __init__(self, model: object, config: LearnerConfig) -> None:
        self.config = config
        self.step = 0
        self.computed_tokens = 0
        """Number of tokens of the rows that this rank has computed so far, padding included; for displays."""
        self.computing = False
        """Whether a micro-batch or a step of the optimizer is being computed; for displays."""
        self.forward_tokens = self.backward_tokens = 0
        """Tokens of all ranks' sequences that were computed without and with a gradient; see ``passes``."""
        self.examples = Counter[LossName](policy=0)
        """Sequences of all ranks that contributed to each loss; one counts in each gradient step."""
        if config.deterministic:
            torch.use_deterministic_algorithms(True)
        seed_everything(config.seed)
        self.mesh, self.number = ranks().mesh, ranks().new_number()
        on_gpu = self.mesh.device_type == "cuda"
        self.device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
        causal_lm = _causal_lm(model)
        ranks().begin(Learner, self.number, Skeleton.without_weights(causal_lm), config)
        attention.replace_sdpa(causal_lm)
        self.reference = self._frozen(causal_lm) if config.reference else None
        if config.lora is not None:
            causal_lm = add_lora(causal_lm, config.lora)
        self.model = PolicyModel(causal_lm, config.heads).train()
        self._shard(self.model, config.activation_checkpointing)
        embeddings: Any = self.model.causal_lm
        embeddings.get_input_embeddings().register_forward_hook(_release_before_gradient)
        self.master = dict(self.model.named_parameters())  # shards, even while FSDP gathers
        self.parameters = [p for p in self.master.values() if p.requires_grad]
        self.optimizer: torch.optim.Optimizer = torch.optim.AdamW(
            self._groups(), lr=config.lr, betas=config.betas, weight_decay=config.weight_decay
        )
        self.ema = [local_part(p).detach().clone() for p in self.master.values()] if config.ema else None
        ranks().end()

    @collective
    def free(self) -> None:
        """Free the weights, the optimizer's state and all copies; of this learner, only counts remain."""
        del self.model, self.reference, self.master, self.parameters, self.optimizer, self.ema
        gc.collect()  # modules with hooks are cycles
        release_memory()

    # --- one optimizer step -------------------------------------------------------------------------

    @collective
    def forward_backward(self, batch: TokenBatch, loss: LossFn, sums_N: Tensor | None = None) -> Metrics:
        """Accumulate the gradient of ``loss`` over ``batch``, until ``optim_step``.

        Args:
            batch: the whole batch; each rank computes its part.
            loss: is sent to all ranks. The loss may add to ``sums_N`` and must change nothing else.
            sums_N: zeros on the CPU, such as one for each sequence. Afterwards they are sums over all ranks.

        Returns:
            The loss function's metrics and ``loss``, summed over micro-batches and ranks.
        """
        sums: dict[str, Tensor] = {}
        self.computing, referred = True, False
        micro_batches = self._micro_batches(share.part(batch))
        for i, micro in enumerate(micro_batches):
            if isinstance(self.model, FSDPModule):
                # Each micro-batch's gradients are reduced and scattered, so a rank keeps those of its shard
                # only. A single process, whose shard is the whole model, reduces and gathers only once,
                # unless it is to save memory.
                last = i == len(micro_batches) - 1
                now = self.mesh.size() > 1 or last or self.config.activation_checkpointing
                self.model.set_requires_gradient_sync(now)
                self.model.set_reshard_after_backward(now)
            outputs, on_device = self._forward(micro)
            part, metrics = loss(outputs, on_device)
            referred |= outputs.referred
            # FSDP averages gradients over ranks, but the parts must be summed.
            ((part + outputs.anchor) * self.mesh.size()).backward()
            for name, value in {"loss": part, **metrics}.items():
                sums[name] = sums.get(name, torch.zeros((), device=self.device)) + value.detach()
            # Gradients lie between the freed activations, so those of the next micro-batch, which have other
            # sizes, would not fit there.
            release_memory()
        self._release_gathered()
        self.computing = False
        self.backward_tokens += batch.tokens
        self.examples.update(batch.examples())
        self.forward_tokens += batch.tokens * referred
        names = sorted(sums)
        values = self._total(torch.stack([sums[name].float() for name in names]))
        if sums_N is not None:
            sums_N.copy_(self._total(sums_N))
        return dict(zip(names, values.tolist(), strict=True))

    def _total(self, local: Tensor) -> Tensor:
        """Return the sum of ``local`` over all ranks."""
        summed = local.detach().clone().to(self.device)
        dist.all_reduce(summed, group=self.mesh.get_group())
        return summed

    @collective
    def optim_step(self) -> Metrics:
        """Clip the gradients, take an optimizer step and clear the gradients.

        If the gradient is not finite, the weights are not changed, and the metric ``skipped`` is 1.

        Returns:
            The metrics ``grad_norm`` (before clipping), ``lr`` and ``skipped``.
        """
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        whole = norm.full_tensor() if isinstance(norm, DTensor) else norm
        lr = self.config.lr_at(self.step)
        head_lr = lr * (self.config.head_lr or self.config.lr) / self.config.lr
        finite = bool(torch.isfinite(whole))
        if finite:
            for group, rate in zip(self.optimizer.param_groups, (lr, head_lr), strict=False):
                group["lr"] = rate
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        release_memory()
        self.step += 1
        return {"grad_norm": float(whole), "lr": lr, "skipped": float(not finite)}

    @collective
    @torch.no_grad()
    def ema_update(self, tau: float) -> None:
        """Update the moving average: θ̄ ← (1 − τ) θ̄ + τ θ, in float32.

        Raises:
            ValueError: the learner has no moving average.
        """
        if self.ema is None:
            raise ValueError("this learner keeps no moving average; set ema=True in its LearnerConfig")
        torch._foreach_lerp_(self.ema, [local_part(p).detach() for p in self.master.values()], tau)

    # --- without gradients --------------------------------------------------------------------------

    @collective
    def stop_requested(self) -> bool:
        """Return whether any rank has received a signal to stop."""
        return bool(self._total(torch.tensor(float(ranks().stopping))))

    @collective
    @torch.no_grad()
    def logprobs(self, batch: TokenBatch, of: Literal["policy", "reference"] = "policy") -> Tensor:
        """Return the log-probabilities of the tokens with ``loss_mask``, ``[B, T]``, on the CPU.

        They are computed in the same micro-batches as in training, so that the policy's ratio to them is
        exactly 1 as long as its weights have not changed.

        Args:
            of: the model that computes them; ``reference`` is the initial model.

        Raises:
            ValueError: ``of`` is ``reference``, and the learner keeps no reference model.
        """
        if of == "reference":
            return self._each_row(batch, lambda outputs: outputs.reference_logprobs_BT)
        return self._each_row(batch, lambda outputs: outputs.logprobs_BT)

    @collective
    @torch.no_grad()
    def scalars(self, batch: TokenBatch, names: Sequence[str]) -> Tensor:
        """Return the outputs of the scalar heads ``names`` for each token, ``[B, T, H]``, on the CPU.

        They are aligned as in training; see ``Outputs.scalar_BT``.
        """
        return self._each_row(
            batch, lambda outputs: torch.stack([outputs.scalar_BT(name) for name in names], dim=-1)
        )

    def _each_row(self, batch: TokenBatch, read: Callable[[Outputs], Tensor]) -> Tensor:
        """Return on rank 0 what ``read`` returns for ``batch``; each rank computes its part."""
        own, width = share.part(batch), batch.ids.shape[1]
        parts = []
        self.computing, referred = True, False
        try:
            for micro in self._micro_batches(own):
                outputs, _ = self._forward(micro)
                values = read(outputs).cpu()  # [B, T] or [B, T, H]
                referred |= outputs.referred
                missing = (0, 0) * (values.ndim - 2) + (0, width - values.shape[1])
                parts.append(torch.nn.functional.pad(values, missing))
        finally:
            self._release_gathered()
            self.computing = False
        self.forward_tokens += batch.tokens * (1 + referred)
        return share.collected(torch.cat(parts)[: len(own)], batch)

    def passes(self) -> dict[str, int]:
        """Return the tokens of the sequences that all ranks have computed so far, without padding.

        Those of ``forward_backward`` are ``backward_tokens``. Those of other passes, and of the initial model
        wherever it is computed, are ``forward_tokens``. A beginning that several sequences have in common is
        counted in each, although a CPU computes it once. ``examples_LOSS`` are the sequences that contributed
        to the loss, in each gradient step.
        """
        examples = {f"examples_{loss}": number for loss, number in self.examples.items()}
        return {"forward_tokens": self.forward_tokens, "backward_tokens": self.backward_tokens, **examples}

    def _release_gathered(self) -> None:
        """Free the weights that FSDP has gathered; after a change of its shards it must gather them again."""
        for model in (self.model, self.reference):
            if isinstance(model, FSDPModule):
                model.reshard()
        release_memory()

    def _micro_batches(self, batch: TokenBatch) -> list[TokenBatch]:
        """Split ``batch`` into micro-batches of ``micro_rows`` rows.

        On CPUs a micro-batch has more rows if they have the same beginning (``micro_batch_starts``).
        """
        rows = self.config.micro_rows
        starts: Sequence[int] = range(0, len(batch), rows)
        if self.device.type == "cpu":
            starts = micro_batch_starts(batch.ids, batch.segment_ids, rows)
        busiest = torch.tensor(len(starts), device=self.device)
        dist.all_reduce(busiest, op=dist.ReduceOp.MAX, group=self.mesh.get_group())
        return list(batch.micro_batches(starts, int(busiest)))

    def reference_kl(self, batch: TokenBatch) -> float:
        """Return KL(π ‖ initial π) over the whole vocabulary, averaged over the trained tokens.

        Raises:
            ValueError: the learner keeps no reference model.
        """
        if self.reference is None:
            raise ValueError("this learner keeps no reference model; set reference=True in its LearnerConfig")
        mask_BT = batch.loss_mask != 0
        kl, tokens = float(self._reference_kls(batch)[mask_BT].sum()), float(mask_BT.sum())
        return kl / tokens if tokens else 0.0

    @collective
    @torch.no_grad()
    def _reference_kls(self, batch: TokenBatch) -> Tensor:
        return self._each_row(batch, lambda outputs: outputs.reference_kl_BT)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Within this context, the model uses the moving average of its weights.

        Raises:
            ValueError: the learner has no moving average.
        """
        if self.ema is None:
            raise ValueError("this learner keeps no moving average; set ema=True in its LearnerConfig")

        self._swap()
        try:
            yield
        finally:
            self._swap()

    @collective
    def _swap(self) -> None:
        for parameter, average in zip(self.master.values(), self.ema or (), strict=True):
            local = local_part(parameter.data)
            held = local.clone()
            local.copy_(average)
            average.copy_(held)

    def text_logprobs(self, ids: Sequence[int], prompt_len: int) -> list[float]:
        """Return the log-probabilities of ``ids[prompt_len:]``; a synchronised engine returns the same."""
        mask = [0.0] * prompt_len + [1.0] * (len(ids) - prompt_len)
        self.forward_tokens -= len(ids)  # checks of pushes are not a cost of the method
        return self.logprobs(one_a_row([TokenSequence(list(ids), mask)]))[0, prompt_len:].tolist()

    @collective
    def action_heads(self) -> dict[str, Tensor]:
        """Return the whole parameters of the scalar heads that value actions, on the CPU."""
        kinds, names = self.config.heads or {}, [n for n in self.master if n.startswith("heads.")]
        return {
            name.removeprefix("heads."): full_tensor(self.master[name]).float().cpu()
            for name in names
            if kinds[name.split(".")[1]] == "action"
        }

    def named_tensors(self, slot: Slot = "policy") -> Iterable[tuple[str, Tensor]]:
        """Yield the full parameters of the policy or its moving average with their Hugging Face names.

        Each tensor is gathered from all ranks when it is asked for. Adapters are merged.

        Raises:
            ValueError: ``slot`` is ``target`` and the learner has no moving average.
        """
        if slot == "target" and self.ema is None:
            raise ValueError("this learner keeps no moving average; set ema=True in its LearnerConfig")
        ranks().begin(Learner._gather_all, self.number, slot)
        gathered = self._gathered(slot)
        with reported():
            try:
                for each in gathered:  # noqa: UP028 - `yield from` would close it
                    yield each
            except GeneratorExit:  # the caller stopped early, but the other ranks gather all tensors
                for _ in gathered:
                    pass
        ranks().end()

    def _gather_all(self, slot: Slot) -> None:
        """Take part in ``named_tensors`` of rank 0."""
        for _ in self._gathered(slot):
            pass

    def _gathered(self, slot: Slot) -> Iterator[tuple[str, Tensor]]:
        return whole_tensors(self.model, self.master, None if slot == "policy" else self.ema)

    def _frozen(self, causal_lm: nn.Module) -> PolicyModel:
        """Return a sharded copy of the current model, the frozen reference model of the KL divergence.

        It is kept in the precision in which it computes. On several ranks in float32, only this rank's shards
        are copied: until ``shard`` copies those, both models have the same weights.
        """
        dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}[self.config.precision]
        alone = self.mesh.size() == 1
        shared = {
            id(p): nn.Parameter(p.data.to(dtype, copy=alone), requires_grad=False)
            for p in causal_lm.parameters()
        }
        reference = PolicyModel(copy.deepcopy(causal_lm, shared)).eval()
        self._shard(reference, checkpointing=False)
        return reference

    def _groups(self) -> list[dict[str, Any]]:
        """Return the optimizer's groups of parameters: all, or the scalar heads apart."""
        if self.config.head_lr is None:
            return [{"params": self.parameters}]
        heads = list(self.model.heads.parameters())
        held = {id(p) for p in heads}
        return [{"params": [p for p in self.parameters if id(p) not in held]}, {"params": heads}]

    def _shard(self, model: PolicyModel, checkpointing: bool) -> None:
        """Shard ``model``, whose weights only rank 0 has."""
        leads_others = self.mesh.size() > 1 and ranks().rank == 0
        whole = {name: p.data for name, p in model.named_parameters()} if leads_others else {}
        shard(model, self.mesh, self.config.precision, checkpointing)
        if self.mesh.size() > 1:
            fill(model, whole)

    def _forward(self, micro: TokenBatch) -> tuple[Outputs, TokenBatch]:
        micro = micro.to(self.device)
        next_mask_BT = micro.loss_mask.roll(-1, dims=1)
        next_mask_BT[:, -1] = 0
        wanted_BT = next_mask_BT != 0
        arguments = (micro.ids, micro.position_ids, micro.segment_ids, wanted_BT)
        forward = self.model(*arguments)
        self.computed_tokens += micro.ids.numel()

        def reference() -> Logits:
            if self.reference is None:
                raise ValueError(
                    "this learner keeps no reference model; set reference=True in its LearnerConfig"
                )
            with torch.no_grad():
                return Logits(self.reference(*arguments).hidden_MH, self.reference.vocabulary_head)

        head = self.model.vocabulary_head
        return Outputs(forward, head, wanted_BT, micro, reference, self.config.heads), micro


def _release_before_gradient(module: nn.Module, args: object, output: Tensor) -> None:
    """Give the activations of all blocks back before FSDP allocates the gradients of the embeddings.

    They are free then, but glibc would keep them until the end of the pass.
    """
    if output.requires_grad:
        output.register_hook(lambda gradient: release_memory())


def _causal_lm(model: Any) -> nn.Module:
    if isinstance(model, Skeleton):
        return model.build()
    return model if isinstance(model, nn.Module) else load_causal_lm(model)


def seed_everything(seed: int) -> None:
    """Seed the global random generators of Python, NumPy and torch."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
