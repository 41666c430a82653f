"""A checksum of tensors that is computed on the device they are on.

It uses integer arithmetic only, whose result does not depend on the device or on how the work is divided.

It detects faults, not attackers: a single changed word of 8 bytes is always detected, other changes that
happen by accident are missed with a probability of about 2^-32 or less, and whoever wants to can construct
changes that are missed. ``weight_file.digest`` (sha256) is for files.

The bytes are read as 64-bit words x. Each is folded, y = x xor (x >> 32), and the words of a block are summed
with weights that are odd pseudo-random numbers, modulo 2^64. The sums of the blocks are the words of the next
level, until one number is left, to which the number of bytes is added. Changing one word by d changes the sum
by d times an odd number, which is not 0; the folding lets a difference in the highest bits of words, where
floating-point numbers have sign and exponent, reach the lowest bits of the sums.
"""

import functools
from collections.abc import Sequence

import torch

_BLOCK = 1 << 16
"""Number of words of a block."""
_SLAB = {"cpu": 1}
"""Blocks computed at the same time: on a CPU they stay in its cache, on a GPU a kernel should be large."""
_LARGE_SLAB = 256


@torch.no_grad()
def checksums(tensors: Sequence[torch.Tensor]) -> list[str]:
    """Return the checksums of ``tensors``, each as 16 hexadecimal digits.

    They are read from the device together, since each reading waits for the device.
    """
    if not tensors:
        return []
    sums = torch.stack([_sum(_words(tensor)) for tensor in tensors]).tolist()
    sizes = (tensor.numel() * tensor.element_size() for tensor in tensors)
    return [f"{(total + size) % 2**64:016x}" for total, size in zip(sums, sizes, strict=True)]


def _words(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of ``tensor`` as words, the last of which may be filled up with zeros."""
    data = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    if data.numel() % 8 == 0 and data.storage_offset() % 8 == 0:
        return data.view(torch.int64)
    padded = torch.zeros(-(-data.numel() // 8) * 8, dtype=torch.uint8, device=data.device)
    padded[: data.numel()] = data
    return padded.view(torch.int64)


def _sum(words: torch.Tensor) -> torch.Tensor:
    """Return the sum of ``words`` as a tensor without dimensions."""
    factors = block_weights(words.device)
    slab = _SLAB.get(words.device.type, _LARGE_SLAB) * _BLOCK
    while True:
        sums = []
        for part in words.split(slab):
            folded = part >> 32
            folded ^= part
            whole = folded.numel() // _BLOCK * _BLOCK
            if whole:
                sums.append((folded[:whole].view(-1, _BLOCK).mul_(factors)).sum(1))
            if whole < folded.numel():
                rest = folded[whole:]
                sums.append(rest.mul_(factors[: rest.numel()]).sum()[None])
        if len(sums) <= 1 and (not sums or sums[0].numel() <= 1):
            return sums[0][0] if sums else words.new_zeros(())
        words = torch.cat(sums)


@functools.cache
def block_weights(device: torch.device) -> torch.Tensor:
    """Return odd pseudo-random numbers, one for each word of a block."""
    numbers = torch.arange(1, _BLOCK + 1, dtype=torch.int64)
    for factor in (-7046029254386353131, -4658895280553007687, -7723592293110705685):  # of splitmix64
        numbers = (numbers ^ (numbers >> 31)) * factor
    return (numbers | 1).to(device)
