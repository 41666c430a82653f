"""Reads and writes safetensors files, which contain tensors and text and no code."""

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from nlac_bench.errors import DataError


def write(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write ``tensors`` and, in the file's header, ``metadata``."""
    on_cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    save_file(on_cpu, path, metadata={"format": "pt", **(metadata or {})})


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors in ``path``, on the CPU, and the metadata in its header.

    The tensors are views of the file; copy those that are kept.

    Raises:
        DataError: the file is missing, truncated or not a safetensors file.
    """
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            return tensors, dict(file.metadata() or {})
    except (OSError, SafetensorError, ValueError, RuntimeError) as error:
        raise DataError(f"{path} cannot be read as a safetensors file: {error}") from error
