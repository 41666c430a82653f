"""UnicodeText: the space of all strings."""

import copy
import pickle
from typing import Any

import pytest
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory
from hypothesis import given
from hypothesis import strategies as st

from nlac_bench.envs.spaces import UnicodeText


@given(st.text(alphabet=st.characters(), max_size=50))
def test_contains_every_string_up_to_its_length(text: str) -> None:
    assert text in UnicodeText(50)
    assert (text in UnicodeText(10)) == (len(text) <= 10)


@pytest.mark.parametrize("value", [1, None, b"a", ["a"], 1.0])
def test_contains_nothing_else(value: object) -> None:
    assert value not in UnicodeText(10)


def test_lone_surrogates_and_nul_are_text() -> None:
    assert "\ud800\x00" in UnicodeText(10)


def test_samples_are_seeded_and_contained() -> None:
    space, twin = UnicodeText(1000, seed=3), UnicodeText(1000, seed=3)
    samples = [space.sample() for _ in range(50)]
    assert samples == [twin.sample() for _ in range(50)]
    assert all(sample in space for sample in samples) and len(set(samples)) > 40
    assert any(" " in s for s in samples) and any(not s.isascii() for s in samples)
    assert all(len(UnicodeText(2, seed=i).sample()) <= 2 for i in range(20))


def test_small_pickle_equality_and_repr() -> None:
    space = UnicodeText(10_000_000)
    assert len(pickle.dumps(space)) < 2_000
    assert pickle.loads(pickle.dumps(space)) == space
    assert space != UnicodeText(5) and space != "UnicodeText(10000000)"
    assert repr(space) == "UnicodeText(10000000)"


@pytest.mark.parametrize("length", [0, -1, 1.5, True, "10"])
def test_bad_length_is_named(length: object) -> None:
    with pytest.raises(ValueError, match="max_length"):
        UnicodeText(length)  # type: ignore[arg-type]


def test_masks_are_refused() -> None:
    with pytest.raises(ValueError, match="mask"):
        UnicodeText(5).sample(mask=1)  # type: ignore[arg-type]


def test_shared_texts_hold_any_string() -> None:
    texts: Any = create_shared_memory(UnicodeText(10), n=3)
    assert list(texts) == ["", "", ""]
    first: Any = "é🙂\ud800\r\n\x00"
    write_to_shared_memory(UnicodeText(10), 1, first, texts)
    view: Any = read_from_shared_memory(UnicodeText(10), texts, n=3)
    kept = copy.deepcopy(view)
    assert kept == ("", "é🙂\ud800\r\n\x00", "") and view[-2] == kept[1] and view[1:] == kept[1:]
    second: Any = "b"
    write_to_shared_memory(UnicodeText(10), 1, second, texts)
    assert view[1] == "b" and kept[1] != "b"
    with pytest.raises(IndexError):
        view[3]
