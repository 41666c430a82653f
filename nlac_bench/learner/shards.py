"""Reads a rank's part of a checkpoint that any number of ranks has written.

FSDP2 divides a tensor along its first axis as ``torch.chunk`` does. So the rows of a rank lie in the files of
one or a few of the ranks that wrote them, and only these rows are read.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import torch
import torch.distributed as dist
from safetensors import SafetensorError, safe_open
from torch import Tensor

from nlac_bench.errors import DataError


class _Slice(Protocol):
    """A tensor in a file; rows are read when it is indexed."""

    def get_shape(self) -> list[int]: ...
    def __getitem__(self, rows: slice) -> Tensor: ...


class _File(Protocol):
    """An open safetensors file."""

    def get_slice(self, name: str) -> _Slice: ...
    def get_tensor(self, name: str) -> Tensor: ...


def rank_file(rank: int) -> str:
    """Return the name of the file of ``rank``."""
    return f"rank-{rank}.safetensors"


def rows_of(rank: int, world_size: int, rows: int) -> range:
    """Return the range of rows that ``rank`` has of a tensor with ``rows`` rows."""
    each = -(-rows // world_size)
    return range(min(rank * each, rows), min((rank + 1) * each, rows))


def read_shards(folder: Path, world_size: int, shapes: Mapping[str, torch.Size]) -> dict[str, Tensor]:
    """Return this rank's tensors of a checkpoint, on the CPU, by name.

    Tensors that are not divided are those of rank 0, and generators (``generators/…``) those of the rank with
    this number; they are left out if the checkpoint has none.

    Args:
        folder: the checkpoint.
        world_size: number of ranks that wrote it.
        shapes: the whole shapes of the parameters; tensors named ``model/NAME``, ``ema/NAME`` and
            ``optimizer/NAME/…`` with more than one value are divided like the parameter NAME.

    Raises:
        DataError: a file cannot be read, or the files contain different names or shapes.
    """
    rank = dist.get_rank()
    try:
        with ExitStack() as stack:
            files = [
                stack.enter_context(safe_open(folder / rank_file(r), framework="pt"))
                for r in range(world_size)
            ]
            names = [{n for n in file.keys() if not n.startswith("generators/")} for file in files]  # noqa: SIM118
            for other in range(1, world_size):
                if differing := sorted(names[0] ^ names[other]):
                    raise DataError(
                        f"{rank_file(0)} and {rank_file(other)} do not both have {differing[0]!r}"
                    )
            tensors = {n: _rows(files, n, shapes.get(_parameter(n))) for n in names[0]}
            if rank < world_size:
                generators = (n for n in files[rank].keys() if n.startswith("generators/"))  # noqa: SIM118
                tensors |= {name: files[rank].get_tensor(name) for name in generators}
            return tensors
    except (OSError, SafetensorError, ValueError, RuntimeError) as error:
        raise DataError(f"a rank's file in {folder} cannot be read as a safetensors file: {error}") from error


def _parameter(name: str) -> str:
    """Return the name of the parameter that the tensor ``name`` of a checkpoint belongs to."""
    kind, _, rest = name.partition("/")
    return rest.rpartition("/")[0] if kind == "optimizer" else rest


def _rows(files: Sequence[_File], name: str, shape: torch.Size | None) -> Tensor:
    """Return this rank's rows of the tensor ``name``; the whole tensor if it is not divided."""
    slices = [file.get_slice(name) for file in files]
    stored = [tuple(piece.get_shape()) for piece in slices]
    if shape is None or not shape or not stored[0]:
        return files[0].get_tensor(name)
    parts = [rows_of(r, len(files), shape[0]) for r in range(len(files))]
    expected = [(len(part), *shape[1:]) for part in parts]
    if stored != expected:
        first = next(i for i, pair in enumerate(zip(stored, expected, strict=True)) if pair[0] != pair[1])
        raise DataError(
            f"the checkpoint's tensor {name!r} has shape {stored[first]} in {rank_file(first)}, expected "
            f"{expected[first]}"
        )
    own = rows_of(dist.get_rank(), dist.get_world_size(), shape[0])
    pieces = [
        piece[max(own.start, part.start) - part.start : min(own.stop, part.stop) - part.start]
        for piece, part in zip(slices, parts, strict=True)
        if max(own.start, part.start) < min(own.stop, part.stop)
    ]
    if not pieces:  # there are fewer rows than ranks
        return slices[0][:0]
    return torch.cat(pieces) if len(pieces) > 1 else pieces[0]
