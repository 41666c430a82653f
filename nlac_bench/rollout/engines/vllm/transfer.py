"""FileTransfer: a backend of vLLM's weight transfer that loads weights from a safetensors file.

It runs in vLLM's worker processes. Any front end of vLLM can use it: ``AsyncLLM`` in the process of a run,
and the HTTP routes of a server that reads the same disk.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from vllm.distributed.weight_transfer.base import (
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)

from nlac_bench.rollout.engines.vllm import cpu
from nlac_bench.rollout.engines.weight_file import digest, read


@dataclass
class FileInit(WeightTransferInitInfo):
    """Do nothing; a transfer by file needs no connection."""


@dataclass
class FileUpdate(WeightTransferUpdateInfo):
    """The file with all weights, and the ``digest`` of each tensor by its Hugging Face name."""

    path: str
    digests: dict[str, str]


class FileTransfer(WeightTransferEngine[FileInit, FileUpdate]):
    """Loads a file in place and checks, tensor by tensor, what the model has afterwards.

    The model is checked before its weights are packed: on a CPU, vLLM packs those of linear layers and
    deletes the originals. With tensor parallelism a worker holds parts of tensors; then the tensors that it
    has read are checked, and that each of its parameters was loaded, but not the values of the parts.
    """

    init_info_cls = FileInit
    update_info_cls = FileUpdate

    def __init__(self, config: Any, vllm_config: Any, device: torch.device, model: torch.nn.Module) -> None:
        super().__init__(config, vllm_config, device, model)
        self._on_cpu = device.type == "cpu"
        if self._on_cpu:
            cpu.allow_seeds_of_chunked_prompts()

    def init_transfer_engine(self, init_info: FileInit) -> None:
        """Do nothing."""

    @torch.no_grad()
    def start_weight_update(self) -> None:
        """Prepare the model's parameters for loading."""
        self._complete = False
        if self._on_cpu:
            cpu.unpack_linear_layers(self.model)

    @torch.no_grad()
    def receive_weights(self, update_info: FileUpdate) -> None:
        """Load the file and check what was loaded.

        Raises:
            ValueError: the file or the model's parameters are not the tensors that were sent; the message
                begins with "digests:".
        """
        path = Path(update_info.path)
        loaded = self.model.load_weights(self._checked(path, update_info.digests))
        self._check_loaded(loaded, update_info.digests)
        if self.parallel_config.tensor_parallel_size == 1:
            self._check_parameters(path)
        self._complete = True

    @torch.no_grad()
    def finish_weight_update(self) -> None:
        """Pack the weights again.

        Raises:
            ValueError: no file was loaded completely.
        """
        if not self._complete:
            raise ValueError("digests: the weight update ends, but no file was loaded completely")
        if self._on_cpu:
            cpu.pack_again(self.model)

    def shutdown(self) -> None:
        """Do nothing."""

    def _checked(self, path: Path, digests: Mapping[str, str]) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the tensors of the file in the model's dtype."""
        seen = set()
        for name, tensor in read(path):
            if digest(tensor) != digests.get(name):
                raise ValueError(f"digests: the tensor {name!r} that was read is not the one that was sent")
            seen.add(name)
            yield name, tensor.to(self.model_config.dtype)
        if missing := sorted(set(digests) - seen):
            raise ValueError(
                f"digests: the file lacks {len(missing)} of the tensors that were sent: {missing[0]!r} …"
            )

    def _check_loaded(self, loaded: Collection[str] | None, sent: Collection[str]) -> None:
        """Check that every parameter, and every part of one that several tensors make up, was sent.

        Args:
            loaded: the parameters that the model reports; None if it reports none.
        """
        parameters = {name for name, _ in self.model.named_parameters()}
        missing = sorted(parameters - set(loaded)) if loaded is not None else []
        for name in sorted(parameters):
            parts = _parts(self.model, name)
            if any(part in sent for part in parts):
                missing += [part for part in parts if part not in sent]
        if missing:
            raise ValueError(
                f"digests: {len(missing)} of the model's weights were not sent, the first is {missing[0]!r}"
            )

    def _check_parameters(self, path: Path) -> None:
        """Check that the parameters are the tensors of the file."""
        parameters = dict(self.model.named_parameters(remove_duplicate=False))
        different = []
        for name, tensor in read(path):
            have = _part(self.model, parameters, name)
            if have is not None:
                rows = have[: tensor.shape[0]]  # vLLM pads the vocabulary
                if not torch.equal(rows.cpu(), tensor.to(self.model_config.dtype).to(rows.dtype)):
                    different.append(name)
        if different:
            raise ValueError(
                f"digests: {len(different)} of the model's weights are not those that were sent, the first "
                f"is {different[0]!r}"
            )


def _parts(model: Any, name: str) -> list[str]:
    """Return the checkpoint's tensors that make up the parameter ``name``; empty if it is one tensor.

    For example, ``qkv_proj`` is ``q_proj``, ``k_proj`` and ``v_proj``.
    """
    layer, _, leaf = name.rpartition(".")
    own = layer.rpartition(".")[2]
    parts = getattr(model, "packed_modules_mapping", {}).get(own, [])
    return [f"{layer.removesuffix(own)}{part}.{leaf}" for part in parts if part != own]


def _part(model: Any, parameters: Mapping[str, torch.Tensor], name: str) -> torch.Tensor | None:
    """Return the part of a parameter that the checkpoint's tensor ``name`` was loaded into.

    Returns:
        None if the model calls the tensor otherwise, as do mixtures of experts.
    """
    if name in parameters:
        return parameters[name]
    for whole, parameter in parameters.items():
        if name in (parts := _parts(model, whole)):
            sizes = model.get_submodule(whole.rpartition(".")[0]).output_partition_sizes
            number = parts.index(name)
            return parameter[sum(sizes[:number]) : sum(sizes[: number + 1])]
    return None
