"""``calculate``: results and errors of CPython 3.11's ``eval``, without evaluating anything."""

import sys
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlac_bench.envs.tau.arithmetic import CalculationError, calculate
from nlac_bench.envs.tau.common import calculate as tool
from nlac_bench.envs.tau.database import Database
from tests.timing import cpu_seconds

DB = Database({})


def shown(expression: str) -> str:
    try:
        return calculate(expression)
    except CalculationError as error:
        return f"Error: {error}"


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2 + 2", "4.0"),
        ("(1.5 + 2.25) * -2", "-7.5"),
        ("2 ** 3 ** 2", "512.0"),
        ("-2 ** 2", "-4.0"),
        ("7 // 2 - 1 / 3", "2.67"),
        ("10 ** 400 / 10 ** 399", "10.0"),
        ("2.675", "2.67"),
        ("9" * 400 + ".", "inf"),
        ("01.5", "1.5"),
        ("1 / 0", "Error: division by zero"),
        ("1.0 / 0", "Error: float division by zero"),
        ("1 // 0", "Error: integer division or modulo by zero"),
        ("1.0 // 0", "Error: float floor division by zero"),
        ("0 ** -1", "Error: 0.0 cannot be raised to a negative power"),
        ("10 ** 400", "Error: int too large to convert to float"),
        ("10.0 ** 400", "Error: (34, 'Numerical result out of range')"),
        ("(-8) ** 0.5", "Error: float() argument must be a string or a real number, not 'complex'"),
        ("()", "Error: float() argument must be a string or a real number, not 'tuple'"),
        ("...", "Error: float() argument must be a string or a real number, not 'ellipsis'"),
        ("1(2)", "Error: 'int' object is not callable"),
        ("1(*2)", "Error: 1 argument after * must be an iterable, not int"),
        ("2.5 * ()", "Error: can't multiply sequence by non-int of type 'float'"),
        ("", "Error: invalid syntax (<string>, line 0)"),
        ("   ", "Error: invalid syntax (<string>, line 0)"),
        ("1 2", "Error: invalid syntax (<string>, line 1)"),
        ("(1 2)", "Error: invalid syntax. Perhaps you forgot a comma? (<string>, line 1)"),
        ("(1 2", "Error: '(' was never closed (<string>, line 1)"),
        ("1)", "Error: unmatched ')' (<string>, line 1)"),
        ("(*1)", "Error: cannot use starred expression here (<string>, line 1)"),
        ("(**1)", "Error: cannot use double starred expression here (<string>, line 1)"),
        (
            "1 2 01",
            "Error: leading zeros in decimal integer literals are not permitted; "
            "use an 0o prefix for octal integers (<string>, line 1)",
        ),
        ("(" * 201, "Error: too many nested parentheses (<string>, line 1)"),
    ],
)
def test_results_and_errors(expression: str, result: str) -> None:
    assert shown(expression) == result


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the words are those of CPython 3.11")
@settings(max_examples=1500, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["0", "1", "2", "1.5", ".5", "01", "+", "-", "*", "/", "//", "(", ")", "...", "()", " ", "."]
        ),
        max_size=14,
    ).map("".join)
)
def test_the_same_as_eval(expression: str) -> None:
    if "**" in expression:  # a tower of powers would hang eval
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            expected = str(round(float(eval(expression, {"__builtins__": {}})), 2))
        except Exception as error:
            expected = f"Error: {error}"
    assert shown(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9**9",
        "*".join(["9" * 4000] * 2000),
        "//3".join(["2**4000000"] * 100),
        "+".join(["2**200000"] * 2000),
        "1" * 1_000_000,
        "1+" * 200_000 + "1",
        "-" * 200_000 + "1",
        "(" * 200_000,
        "2**" * 50_000 + "1",
        "1(1)" * 50_000,
        "." * 200_000,
    ],
    ids=range(11),
)
def test_hostile_expressions_are_bounded(expression: str) -> None:
    largest = cpu_seconds(lambda: 3**600_000 // 7)
    assert cpu_seconds(lambda: shown(expression), tries=1) < 1_000 * largest


def test_the_tool_filters_before_it_reckons() -> None:
    assert tool(DB, "2 ^ 3") == "Error: invalid characters in expression"
    assert tool(DB, "__import__('os')") == "Error: invalid characters in expression"
    assert tool(DB, ["1", "+"]) == "Error: eval() arg 1 must be a string, bytes or code object"
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        tool(DB, 5)
