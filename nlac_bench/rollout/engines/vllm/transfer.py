"""FileTransfer: a backend of vLLM's weight transfer that loads weights from a safetensors file.

It runs in vLLM's worker processes. Any front end of vLLM can use it: ``AsyncLLM`` in the process of a run,
and the HTTP routes of a server that reads the same disk.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from vllm.distributed.weight_transfer.base import (
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)

from nlac_bench.rollout.engines.vllm import cpu
from nlac_bench.rollout.engines.vllm.loading import Loading
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
    """Loads a file in place and checks each tensor of the model afterwards (see ``Loading``)."""

    init_info_cls = FileInit
    update_info_cls = FileUpdate

    def __init__(
        self, config: object, vllm_config: object, device: torch.device, model: torch.nn.Module
    ) -> None:
        super().__init__(config, vllm_config, device, model)
        self._on_cpu = device.type == "cpu"
        if self._on_cpu:
            cpu.allow_seeds_of_chunked_prompts()

    def init_transfer_engine(self, init_info: FileInit) -> None:
        """Do nothing."""

    @torch.no_grad()
    def start_weight_update(self) -> None:
        """Prepare the model's parameters for loading."""
        if self._on_cpu:
            cpu.unpack_linear_layers(self.model)
        whole = self.parallel_config.tensor_parallel_size == 1
        self._loading = Loading(self.model, self.model_config.dtype, whole)

    def receive_weights(self, update_info: FileUpdate) -> None:
        """Load the file and check the model.

        vLLM ends an update that fails here, but not one that fails at its end.

        Raises:
            ValueError: the file does not have the tensors that were sent; the message begins with "digests:".
                Or as ``Loading.check``.
        """
        self._loading.load(_checked(Path(update_info.path), update_info.digests))
        self._loading.check()

    @torch.no_grad()
    def finish_weight_update(self) -> None:
        """Check the model's parameters, if that was not done, and pack the weights again.

        Raises:
            ValueError: as ``Loading.check``.
        """
        self._loading.check()
        if self._on_cpu:
            cpu.pack_again(self.model)

    def shutdown(self) -> None:
        """Do nothing."""


def _checked(path: Path, digests: Mapping[str, str]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors of the file, each of which must have its digest."""
    seen = set()
    for name, tensor in read(path):
        if digest(tensor) != digests.get(name):
            raise ValueError(f"digests: the tensor {name!r} that was read is not the one that was sent")
        seen.add(name)
        yield name, tensor
    if missing := sorted(set(digests) - seen):
        raise ValueError(
            f"digests: the file lacks {len(missing)} of the tensors that were sent: {missing[0]!r} …"
        )
