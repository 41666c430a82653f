"""Packs tensors into buffers of bounded size, which are sent whole, and unpacks them."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from nlac_bench.rollout.engines.checksum import checksums

BUFFER_BYTES = 512 * 2**20
"""Size of a buffer; a larger tensor has a buffer of its own. Sending one costs a request to each server."""
_ALIGNMENT = 64
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Part(NamedTuple):
    """A tensor in a buffer: its Hugging Face name, dtype, shape and ``checksum``."""

    name: str
    dtype: str
    shape: list[int]
    checksum: str


class Buffer(NamedTuple):
    """The concatenated bytes of several tensors."""

    parts: list[Part]
    data: torch.Tensor


def packed(
    tensors: Iterable[tuple[str, torch.Tensor]],
    dtype: torch.dtype,
    device: torch.device,
    size: int = BUFFER_BYTES,
) -> Generator[Buffer, None, None]:
    """Yield buffers on ``device`` with all ``tensors``, converted to ``dtype``.

    Each is complete when it is yielded: work that was started on a GPU has ended. The next tensor is
    requested after that, so the collectives of ``tensors`` never run at the same time as those that send a
    buffer.
    """
    held: list[tuple[str, torch.Tensor]] = []
    used = 0
    for name, tensor in tensors:
        cast = tensor.detach().to(device, dtype)
        needed = _aligned(cast.nbytes)
        if held and used + needed > size:
            yield _filled(held, used)
            held, used = [], 0
        held.append((name, cast))
        used += needed
    if held:
        yield _filled(held, used)


def _filled(held: Sequence[tuple[str, torch.Tensor]], used: int) -> Buffer:
    (device,) = {tensor.device for _, tensor in held}
    data = torch.empty(used, dtype=torch.uint8, device=device)
    parts = [
        Part(name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape), "") for name, tensor in held
    ]
    views = list(unpacked(parts, data))
    for (_, view), (_, tensor) in zip(views, held, strict=True):
        view.copy_(tensor)
    computed = checksums([view for _, view in views])  # waits for the GPU
    return Buffer([part._replace(checksum=each) for part, each in zip(parts, computed, strict=True)], data)


def unpacked(parts: Iterable[Part], data: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the names and tensors of a buffer; the tensors are views of the buffer."""
    start = 0
    for part in parts:
        dtype = _DTYPES[part.dtype]
        end = start + _bytes(part)
        yield part.name, data[start:end].view(dtype).view(part.shape)
        start += _aligned(end - start)


def read_parts(rows: Iterable[Sequence[Any]]) -> tuple[list[Part], int]:
    """Return the parts that a request describes, and the size of their buffer.

    Raises:
        ValueError: a row does not have the fields of ``Part``, or has an unknown dtype or a negative size.
    """
    parts = [Part(*row) for row in rows]
    for part in parts:
        if part.dtype not in _DTYPES or not all(isinstance(n, int) and n >= 0 for n in part.shape):
            raise ValueError(
                f"the tensor {part.name!r} has dtype {part.dtype!r} and shape {part.shape!r}; the dtypes are "
                f"{', '.join(_DTYPES)}"
            )
    return parts, sum(_aligned(_bytes(part)) for part in parts)


def _bytes(part: Part) -> int:
    count = 1
    for size in part.shape:
        count *= size
    return count * _DTYPES[part.dtype].itemsize


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
