"""An action is one call of a listed function with literal arguments; anything else is refused, never run."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlac_bench.bridges.browsergym.actions import MAX_CHARS, ActionCall, UncallableActionError, parse_action


def _never(*_: object, **__: object) -> None:
    raise AssertionError("parsing calls nothing")


def click(bid: str, button: str = "left", modifiers: list[str] = []) -> None:  # noqa: B006 (as in BrowserGym)
    _never()


def fill(bid: str, value: str, enable_autocomplete_menu: bool = False) -> None:
    _never()


def mouse_click(x: float, y: float, button: str = "left") -> None:
    _never()


def noop(wait_ms: float = 1000) -> None:
    _never()


FUNCTIONS = {each.__name__: each for each in (click, fill, mouse_click, noop)}


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("click('12')", ActionCall("click", ("12",), {})),
        ('  click("a12", button="right")  ', ActionCall("click", ("a12",), {"button": "right"})),
        (
            "click('12', modifiers=['Shift', 'Alt'])",
            ActionCall("click", ("12",), {"modifiers": ["Shift", "Alt"]}),
        ),
        ("mouse_click(1.5, -3)", ActionCall("mouse_click", (1.5, -3), {})),
        ("fill('3', 'it\\'s\\n\"x\"', True)", ActionCall("fill", ("3", 'it\'s\n"x"', True), {})),
        ("fill('3', 'a' 'b')", ActionCall("fill", ("3", "ab"), {})),
        ("fill('3', 'π 🙂')", ActionCall("fill", ("3", "π 🙂"), {})),
        ("noop()  # wait", ActionCall("noop", (), {})),
        ("Thought: the button.\nAction: click('12')", ActionCall("click", ("12",), {})),
        ("```python\nclick('12')\n```", ActionCall("click", ("12",), {})),
        ("<think>click('1')</think> click('12')", ActionCall("click", ("12",), {})),
    ],
)
def test_a_call_with_literals_is_read(text: str, call: ActionCall) -> None:
    assert parse_action(text, FUNCTIONS) == call


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("hello", "not one function call"),
        ("click", "not one function call"),
        ("click('12'", "not one function call"),
        ("click('12')\nclick('13')", "2 statements"),
        ("click('1'); click('2')", "2 statements"),
        ("x = click('1')", "not one function call"),
        ("import os", "not one function call"),
        ("open('/etc/passwd')", "no function 'open'"),
        ("page.goto('http://example.com')", "not one function call"),
        ("upload_file('3', '/etc/passwd')", "no function 'upload_file'"),
        ("__import__('os').system('id')", "not one function call"),
        ("(lambda: click('1'))()", "not one function call"),
        ("click(open('x').read())", "literals"),
        ("click('1' + '2')", "literals"),
        ("click('1' * 10**9)", "literals"),
        ("click(f'{1}')", "literals"),
        ("click(b'1')", "literals"),
        ("click(...)", "literals"),
        ("click({'a': 1})", "literals"),
        ("click(page)", "literals"),
        ("click(x := '1')", "literals"),
        ("click(*['1'])", "literals"),
        ("click(**{'bid': '1'})", r"\*\* is not allowed"),
        ("click('1', modifiers=[1])", "only texts"),
        ("click()", "missing"),
        ("click('1', color='red')", "color"),
        ("click('1', bid='2')", "multiple values"),
        ("noop(1e999)", "between"),
        ("noop(99999999)", "between"),
        (f"noop({'9' * 5000})"[:MAX_CHARS], "not one function call"),
        ("noop(-True)", "literals"),
        ("noop(1j)", "literals"),
        (r"fill('1', '\ud800')", "surrogates"),
        ("click('\x00')", "not one function call"),
        ("(" * 1500, "not one function call"),
        ("-" * 1900 + "1", "not one function call"),
        ("fill('1', '" + "a" * MAX_CHARS + "')", "at most"),
    ],
)
def test_everything_else_is_refused(text: str, why: str) -> None:
    with pytest.raises(UncallableActionError, match=why):
        parse_action(text, FUNCTIONS)


@given(st.text(max_size=200) | st.text(alphabet="click('12\",)[]=*-. \n", max_size=60))
def test_any_text_gives_a_call_or_the_one_error(text: str) -> None:
    try:
        call = parse_action(text, FUNCTIONS)
    except UncallableActionError as error:
        assert str(error)
    else:
        assert call.name in FUNCTIONS


_LITERALS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=20), st.integers(-5000, 5000), st.booleans(), st.none(),
    st.floats(-5000, 5000), st.lists(st.text(st.characters(codec="utf-8"), max_size=5), max_size=3),
)  # fmt: skip


@given(_LITERALS, _LITERALS)
def test_values_arrive_as_written(first: Any, second: Any) -> None:
    assert parse_action(f"fill({first!r}, value={second!r})", FUNCTIONS) == ActionCall(
        "fill", (first,), {"value": second}
    )
