"""Checksums of tensors, and tensors in buffers: what is sent is what arrives, and every change is seen."""

import itertools
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nlac_bench.rollout.engines import checksum
from nlac_bench.rollout.engines.checksum import checksums
from nlac_bench.rollout.engines.vllm.packing import packed, read_parts, unpacked

CPU = torch.device("cpu")
WORD = 8
BLOCK = checksum._BLOCK * WORD
"""Bytes of a block of the checksum."""
LENGTHS = [0, 1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 3, 3 * BLOCK + 8]


def random_bytes(length: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(length)
    return torch.randint(0, 256, (length,), dtype=torch.uint8, generator=generator)


def one(tensor: torch.Tensor) -> str:
    (found,) = checksums([tensor])
    return found


# --- checksums --------------------------------------------------------------------------------------------


def slow(data: bytes) -> str:
    """The definition in the module's docstring, in Python's integers."""
    weights = [w % 2**64 for w in checksum.block_weights(CPU).tolist()]
    words = [
        int.from_bytes(data[i : i + WORD].ljust(WORD, b"\0"), "little", signed=True)
        for i in range(0, len(data), WORD)
    ]
    while words:
        blocks = [words[i : i + len(weights)] for i in range(0, len(words), len(weights))]
        sums = [sum((x ^ (x >> 32)) * w for x, w in zip(b, weights, strict=False)) % 2**64 for b in blocks]
        words = [s - 2**64 if s >= 2**63 else s for s in sums]
        if len(words) == 1:
            break
    return f"{((words[0] if words else 0) + len(data)) % 2**64:016x}"


@pytest.mark.parametrize("length", LENGTHS)
def test_the_checksum_is_that_of_its_definition(length: int) -> None:
    data = random_bytes(length)
    assert one(data) == slow(bytes(data.tolist()))


def test_it_does_not_depend_on_how_the_work_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    data = random_bytes(5 * BLOCK + 24)
    expected = one(data)
    monkeypatch.setattr(checksum, "_SLAB", {"cpu": 3})
    assert one(data) == expected


def test_dtype_shape_and_place_in_memory_do_not_count() -> None:
    values = torch.randn(6, 8).bfloat16()
    expected = one(values)
    assert one(values.reshape(-1)) == one(values.view(torch.int16)) == expected
    buffer = torch.zeros(100, dtype=torch.uint8)
    buffer[2:98] = values.reshape(-1).view(torch.uint8)  # not at a multiple of a word
    assert one(buffer[2:98]) == expected
    assert one(values.t()) != expected
    assert one(values.t().contiguous().t()) == expected


@given(st.integers(1, 3 * 8192), st.data())
def test_each_change_of_a_byte_is_seen(length: int, data: st.DataObject) -> None:
    before = random_bytes(length)
    after = before.clone()
    after[data.draw(st.integers(0, length - 1))] ^= data.draw(st.integers(1, 255))
    assert one(before) != one(after)


def test_exchanged_parts_are_seen() -> None:
    """Of values that differ in their highest bits alone, too, at distances that are powers of two."""
    ones = torch.ones(2 * BLOCK // 4)
    for first, distance in itertools.product((0, 1, 2), (1, 2, 2**8, 2**14, 2**15, 2**16)):
        a, b = ones.clone(), ones.clone()
        a[first], b[first + distance] = -1.0, -1.0
        assert one(a) != one(b)
    rows = torch.randn(4, BLOCK // 8)
    assert one(rows) != one(rows[[1, 0, 2, 3]]) != one(rows[[0, 1, 3, 2]])


def test_zeros_at_the_end_are_seen() -> None:
    data = random_bytes(16)
    longer = [torch.cat([data, torch.zeros(n, dtype=torch.uint8)]) for n in (0, 1, 8, BLOCK)]
    assert len(set(checksums(longer))) == 4 and checksums([]) == []


# --- buffers ----------------------------------------------------------------------------------------------


def tensors() -> Iterator[tuple[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    shapes = {"a": (3, 5), "scalar": (), "b": (7,), "empty": (0, 4), "large": (100, 9), "c": (2, 2)}
    for name, shape in shapes.items():
        yield name, torch.randn(shape, generator=generator)


@pytest.mark.parametrize("size", [1, 200, 4000, 10**6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_tensors_arrive_in_their_order_in_buffers_of_bounded_size(size: int, dtype: torch.dtype) -> None:
    arrived = []
    largest = 100 * 9 * 4
    for parts, data in packed(tensors(), dtype, CPU, size):
        rows = [list(part) for part in parts]  # as JSON has them
        again, expected = read_parts(rows)
        assert again == parts and data.numel() == expected and len(data) <= max(size, largest + 64)
        arrived += list(unpacked(again, data.clone()))
        assert checksums([tensor for _, tensor in unpacked(again, data)]) == [part.checksum for part in parts]
    sent = dict(tensors())
    assert [name for name, _ in arrived] == list(sent)
    assert all(torch.equal(tensor, sent[name].to(dtype)) for name, tensor in arrived)


@pytest.mark.parametrize(
    "row", [["a", "int64", [2], ""], ["a", "float32", [-2, 2], ""], ["a", "float32", ["2"], ""]]
)
def test_what_is_no_part_of_a_buffer(row: list[object]) -> None:
    with pytest.raises(ValueError, match="the tensor 'a' has dtype"):
        read_parts([row])
