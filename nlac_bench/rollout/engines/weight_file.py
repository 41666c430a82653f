"""Passes weights to engines in other processes: a safetensors file in shared memory, and its digests."""

import asyncio
import hashlib
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from nlac_bench.rollout.engines.engine import SyncError, WeightSource
from nlac_bench.rollout.engines.shared_source import Receiving, SharedSource

if TYPE_CHECKING:
    import torch

SHARED_MEMORY = Path("/dev/shm")


class WeightFile(SharedSource):
    """The weights of ``source`` in a file that is written once, for any number of engines.

    The file is removed at the end of the context.

    Args:
        folder: where the file is written, such as a disk that servers on other machines read too; by default
            shared memory if that exists and has room, else the folder of temporary files.
    """

    def __init__(self, source: WeightSource, folder: Path | None = None) -> None:
        super().__init__(source)
        self._place = folder
        self._digests: dict[str, str] = {}
        self._digesting = threading.Lock()
        self._folder = ExitStack()
        self.path = Path()

    def __enter__(self) -> Self:
        from safetensors.torch import save_file

        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.source.named_tensors()}
        size = sum(tensor.nbytes for tensor in tensors.values())
        place = self._place or _shared_folder(size)
        folder = self._folder.enter_context(tempfile.TemporaryDirectory(dir=place))
        self.path = Path(folder) / "weights.safetensors"
        save_file(tensors, self.path)
        return self

    def __exit__(self, *exc: object) -> None:
        self._folder.close()

    def named_tensors(self) -> Iterator[tuple[str, "torch.Tensor"]]:
        """Yield the tensors of the file."""
        return read(self.path)

    async def deliver(self, receiver: Receiving) -> None:
        """See ``SharedSource.deliver``."""
        digests = await asyncio.to_thread(self.digests)
        await receiver.update({"path": str(self.path), "digests": digests})

    def digests(self) -> dict[str, str]:
        """Return the ``digest`` of each tensor of the file by its name; computed once."""
        with self._digesting:
            self._digests = self._digests or {name: digest(tensor) for name, tensor in self.named_tensors()}
        return self._digests


def read(path: Path) -> Iterator[tuple[str, "torch.Tensor"]]:
    """Yield the names and tensors of a safetensors file."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as tensors:
        for name in tensors.keys():  # noqa: SIM118 - not a mapping
            yield name, tensors.get_tensor(name)


def digest(tensor: "torch.Tensor") -> str:
    """Return the sha256 of the values of ``tensor``."""
    import torch

    values = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    return hashlib.sha256(values.numpy().data).hexdigest()


def check_digests(
    digests: Mapping[str, tuple[str, str]], source: Iterable[tuple[str, "torch.Tensor"]]
) -> None:
    """Check that an engine's parameters are exactly the tensors of ``source``.

    Args:
        digests: the dtype and the ``digest`` of each of the engine's parameters, by name.
        source: names and tensors. They are converted to the engine's dtype before they are compared.

    Raises:
        SyncError: a parameter differs or is missing; the message names the first and counts all.
    """
    import torch

    different = []
    for name, tensor in source:
        dtype, theirs = digests.get(name, ("float32", ""))
        if digest(tensor.to(getattr(torch, dtype))) != theirs:
            different.append(name)
    if different:
        raise SyncError(
            f"{len(different)} of the engine's weights are not those that were sent to it; the first is "
            f"{different[0]!r}"
        )


def _shared_folder(size: int) -> Path | None:
    """Return shared memory if it has room for ``size`` bytes, else None (the folder of temporary files)."""
    if not SHARED_MEMORY.is_dir() or shutil.disk_usage(SHARED_MEMORY).free < 1.1 * size:
        return None
    return SHARED_MEMORY
