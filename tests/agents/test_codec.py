"""Numbered identifiers: lossless, fixed by the prompt, bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlac_bench.agents.roles.codec import IdentifierCodec
from tests.timing import scans

FRAGMENTS = st.sampled_from(
    ["#W7222122", "paypal_5849053", "wim_yates_2161", "~", "~1", "~~", "7969495122", " ", "a@b.co",
     "30 Windmill Road", "AA5ZKD", "2024-05-16", "x", "1", ",", "NB160", '{"k": "', "é"]
)  # fmt: skip


@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=5)), max_size=20))
def test_lossless(parts: list[str]) -> None:
    codec, text = IdentifierCodec(), "".join(parts)
    assert codec.decode(codec.learn(text)) == text
    assert codec.decode(codec.encode(text)) == text
    fresh = IdentifierCodec()
    assert fresh.decode(fresh.encode(text)) == text


def test_numbers_by_first_mention_and_expands_in_actions() -> None:
    codec = IdentifierCodec()
    assert (
        codec.learn("I am kim@x.org, order #W12 and #W13, again #W12.")
        == "I am ~0, order ~1 and ~2, again ~1."
    )
    assert codec.decode('{"order_id": "~2"}') == '{"order_id": "#W13"}'
    assert codec.encode("#W13 and #W99") == "~2 and #W99"
    assert codec.decode("~7 and ~~7") == "~7 and ~7"
    twin = codec.copy()
    twin.learn("#W99")
    assert codec.encode("#W99") == "#W99" and twin.encode("#W99") == "~3"


@pytest.mark.parametrize("piece", ["aaaa", "a_", "1 A", "A1", "~", "a.b-"])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    assert scans(lambda: IdentifierCodec().learn(text), text) < 200
