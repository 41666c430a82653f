"""Faults planted in vLLM's workers."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import torch

from nlac_bench.rollout.engines.vllm.transfer import FileTransfer

STALE = "model.layers.1."


class _Nothing:
    """In place of ``Loading``: tensors arrive and are not loaded."""

    def load(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        for _ in tensors:
            pass

    def check(self) -> None:
        pass


class Faults:
    """A worker extension (``worker_extension_cls``); ``collective_rpc`` calls its methods."""

    weight_transfer_engine: FileTransfer
    _kept: ClassVar[dict[str, torch.Tensor]] = {}

    def plant(self, fault: str) -> None:
        """Let later transfers have ``fault``; ``none`` removes it.

        ``keep`` lets one layer be remembered as it is loaded, for ``stale layer``.
        """
        transfer: Any = self.weight_transfer_engine
        for name in ("start_weight_update", "finish_weight_update"):
            transfer.__dict__.pop(name, None)
        transfer.model.__dict__.pop("load_weights", None)
        if fault == "skipped push":
            transfer.start_weight_update = transfer.finish_weight_update = lambda: None
            transfer._loading = _Nothing()
        elif fault in ("keep", "stale layer"):
            load = transfer.model.load_weights
            filtered = self._remembered if fault == "keep" else self._stale
            transfer.model.__dict__["load_weights"] = lambda weights: load(filtered(weights))

    def _remembered(self, weights: Iterable[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
        for name, tensor in weights:
            self._kept[name] = tensor.clone()
            yield name, tensor

    def _stale(self, weights: Iterable[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
        for name, tensor in weights:
            yield name, self._kept[name] if name.startswith(STALE) else tensor
