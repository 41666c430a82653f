"""Patterns of alternatives, and the words that a user knows: fast forms find what the plain ones find."""

import dataclasses
import re

from hypothesis import given
from hypothesis import strategies as st

from nlac_bench.simulators.customer.compare.known import Known
from nlac_bench.simulators.customer.hear.topics import any_of
from tests.simulators.customer.tau_turns import SCRIPTS

ALTERNATIVES = (
    r"\bno(ne)?\b", r"\bno\w*", r"\bon|off", r"on(?! [ab|])", r"^(a|b)", r"^\W*b", r"\bo[|n)]", r"\b\(a\|b",
)  # fmt: skip
"""Anchors in and out of groups, alternatives at the top level and in brackets, and classes with ``|``."""


@given(st.text("abnof |()", max_size=12))
def test_alternatives_that_share_an_anchor_match_as_written(text: str) -> None:
    plain, fast = re.compile("|".join(ALTERNATIVES)), any_of(*ALTERNATIVES)
    assert [m.regs for m in fast.finditer(text)] == [m.regs for m in plain.finditer(text)]


def test_what_is_known_is_computed_once_for_each_goal_of_a_script() -> None:
    script = SCRIPTS["cancel, then return"]
    first, second = script.goals
    assert Known.of(first, script) is Known.of(first, script)
    assert Known.of(second, script) is not Known.of(first, script)
    person = dataclasses.replace(script.person, last_name="Zyzzyva")
    assert Known.of(first, dataclasses.replace(script, person=person)).says("zyzzyva")
    assert not Known.of(first, script).says("zyzzyva")
