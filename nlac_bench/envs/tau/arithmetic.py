"""Computes what τ-bench's ``calculate`` tool returns, without ``eval``.

The original passes the text to Python's ``eval`` after it has checked that it contains only digits,
``+-*/().`` and spaces.
That leaves a small language (numbers, ``...``, ``()``, calls of things that cannot be called, powers) whose
results and error messages are part of the benchmark. This module returns those of CPython 3.11 on every
version, in time linear in the text, and bounds powers of integers, which can make the original hang.
Python's compiler also rejects sums of some thousands of terms as too deep; this module computes them.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

MAX_BITS = 2**22
MAX_WORK = 10**8
"""Bound on the size of one integer and on all integer work of an expression, in products of 30-bit digits
(about 0.1 s).

Beyond it, where the original would often compute for hours, the error with which it nearly always ends is
raised at once:
``int too large to convert to float``.
"""

ALLOWED = "0123456789+-*/(). "
MAX_INT_DIGITS = 4300
MAX_NESTING = 200


class CalculationError(Exception):
    """Raised if the expression has no value; the message is that of CPython 3.11."""


def calculate(expression: str) -> str:
    """Return the value of ``expression`` (characters of ``ALLOWED`` only) as a float rounded to two places.

    Raises:
        CalculationError: CPython 3.11 would raise; the message is CPython's.
    """
    value = _run(_parse(expression))
    if isinstance(value, int | float):
        try:
            return str(round(float(value), 2))
        except OverflowError as error:
            raise CalculationError(str(error)) from None
    kind = type(value).__name__
    raise CalculationError(f"float() argument must be a string or a real number, not '{kind}'")


# --- from text to a program in postfix order ----------------------------------------------------------------

_TOKEN = re.compile(r" *(\d+\.\d*|\.\d+|\d+|\.\.\.|\*\*|//|[-+*/().])")
_END = ""

_Step = tuple[str, Any]
"""("value", v), ("unary", op), ("binary", op), ("call", None | "" | "*" | "**")."""

_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "unary": 3, "**": 4}


def _fault(message: str, line: int = 1) -> CalculationError:
    return CalculationError(f"{message} (<string>, line {line})")


class _Tokens:
    """Reads tokens one by one, since whether CPython reports a bad token depends on how far it has parsed."""

    def __init__(self, text: str) -> None:
        self.text = text.strip(" ")
        self.place = 0
        self.level = 0

    def next(self) -> str:
        match = _TOKEN.match(self.text, self.place)
        if match is None:
            if self.level:
                raise _fault("'(' was never closed")
            return _END
        self.place = match.end()
        token = match[1]
        if token == "(":
            if self.level >= MAX_NESTING:
                raise _fault("too many nested parentheses")
            self.level += 1
        elif token == ")":
            if not self.level:
                raise _fault("unmatched ')'")
            self.level -= 1
        elif token[0] == "0" and token.isdigit() and token.strip("0"):
            raise _fault(
                "leading zeros in decimal integer literals are not permitted; "
                "use an 0o prefix for octal integers"
            )
        return token

    def check_rest(self) -> None:
        """Raise the error of a bad token later in the text; CPython reports it instead of a syntax error."""
        self.level = max(self.level, 0)
        while self.place < len(self.text):
            self.next()


@dataclass(slots=True)
class _Open:
    """An open parenthesis: a call or a group, its leading star if any, and where its operators begin."""

    call: bool
    star: str
    operators: int


class _Unexpected(Exception):
    """Raised by the parser for a token that is not allowed at its position."""

    def __init__(self, token: str, after_operand: bool, opened: _Open | None) -> None:
        self.token = token
        self.after_operand = after_operand
        self.opened = opened


def _parse(text: str) -> list[_Step]:
    tokens = _Tokens(text)
    if not tokens.text:
        raise _fault("invalid syntax", line=0)
    try:
        return _program(tokens, tokens.next(), follow_stars=True)
    except _Unexpected as unexpected:
        message = _explain(tokens, unexpected)
    except CalculationError as error:
        if "for integer string conversion" not in str(error):
            raise
        message = str(error)
    tokens.check_rest()
    raise CalculationError(message)


def _explain(tokens: _Tokens, unexpected: _Unexpected) -> str:
    """Return CPython's error for an unexpected token; further tokens may be read to find it."""
    token, opened = unexpected.token, unexpected.opened
    message = "invalid syntax"
    if unexpected.after_operand and _is_operand(token):
        inside = tokens.level > 0
        with suppress(_Unexpected):
            _program(tokens, token, follow_stars=False)
        if inside:
            message = "invalid syntax. Perhaps you forgot a comma?"
    elif unexpected.after_operand and token == ")" and opened is not None and opened.star:
        double = "double " if opened.star == "**" else ""
        message = f"cannot use {double}starred expression here"
    return f"{message} (<string>, line 1)"


def _is_operand(token: str) -> bool:
    return token == "..." or token[-1:].isdigit() or (token[-1:] == "." and len(token) > 1)


def _program(tokens: _Tokens, token: str, follow_stars: bool) -> list[_Step]:
    """Parse from ``token`` to the end of the text (operator precedence, no recursion).

    Raises:
        _Unexpected: a token cannot follow those before it.
        CalculationError: a token is invalid by itself.
    """
    program: list[_Step] = []
    operators: list[str] = []
    opened: list[_Open] = []
    after_operand = False

    def reduce(down_to: int, precedence: int) -> None:
        while len(operators) > down_to and _PRECEDENCE[operators[-1].split()[0]] >= precedence:
            kind, _, sign = operators.pop().partition(" ")
            program.append(("unary", sign) if sign else ("binary", kind))

    def unexpected() -> _Unexpected:
        return _Unexpected(token, after_operand, opened[-1] if opened else None)

    while True:
        floor = opened[-1].operators if opened else 0
        if not after_operand:
            if _is_operand(token):
                program.append(("value", _literal(token)))
                after_operand = True
            elif token in ("+", "-"):
                operators.append(f"unary {token}")
            elif token == "(":
                token = tokens.next()
                if token == ")":
                    program.append(("value", ()))
                    after_operand = True
                else:
                    if token == "**" and not follow_stars:
                        raise unexpected()
                    star, token = _star(tokens, token)
                    opened.append(_Open(False, star, len(operators)))
                    continue
            else:
                raise unexpected()
        elif token in _PRECEDENCE:
            if token != "**":  # right-associative, and binds tighter than a sign before it
                reduce(floor, _PRECEDENCE[token])
            operators.append(token)
            after_operand = False
        elif token == "(":
            token = tokens.next()
            if token == ")":
                program.append(("call", None))
            else:
                star, token = _star(tokens, token)
                opened.append(_Open(True, star, len(operators)))
                after_operand = False
                continue
        elif token == ")" and opened:
            if opened[-1].star and not opened[-1].call:
                raise unexpected()
            reduce(floor, 0)
            closed = opened.pop()
            if closed.call:
                program.append(("call", closed.star))
        elif token == _END and not opened:
            reduce(0, 0)
            return program
        else:
            if token == ".":
                tokens.next()  # Python reads the attribute's name before it raises
            raise unexpected()
        token = tokens.next()


def _star(tokens: _Tokens, token: str) -> tuple[str, str]:
    """Return the star that may follow an opening parenthesis, and the token after it."""
    return (token, tokens.next()) if token in ("*", "**") else ("", token)


def _literal(token: str) -> Any:
    if token == "...":
        return ...
    if "." in token:
        return float(token)
    if len(token) > MAX_INT_DIGITS:
        raise _fault(
            f"Exceeds the limit ({MAX_INT_DIGITS} digits) for integer string conversion: "
            f"value has {len(token)} digits; use sys.set_int_max_str_digits() to increase the limit "
            "- Consider hexadecimal for huge integer literals to avoid decimal conversion limits."
        )
    return int(token)


# --- running the program ------------------------------------------------------------------------------------


def _run(program: list[_Step]) -> Any:
    stack: list[Any] = []
    work = 0
    for kind, detail in program:
        if kind == "value":
            stack.append(detail)
            continue
        operand = stack.pop()
        try:
            if kind == "unary":
                stack.append(-operand if detail == "-" else +operand)
            elif kind == "binary":
                left = stack.pop()
                work += _cost(detail, left, operand)
                if work > MAX_WORK:
                    raise CalculationError("int too large to convert to float")
                stack.append(_OPERATIONS[detail](left, operand))
            else:
                raise CalculationError(
                    _call_error(stack.pop() if detail is not None else operand, detail, operand)
                )
        except ZeroDivisionError:
            raise CalculationError(_zero_division(detail, left, operand)) from None
        except OverflowError as error:
            # The message of the C library for an overflow of floats differs between platforms.
            text = str(error) if len(error.args) == 1 else "(34, 'Numerical result out of range')"
            raise CalculationError(text) from None
        except TypeError as error:
            raise CalculationError(str(error)) from None
    return stack.pop()


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "**": lambda a, b: a**b,
}


def _cost(op: str, a: Any, b: Any) -> int:
    """Return the work in products of 30-bit digits; more than every bound if the result would be too long."""
    if not isinstance(a, int) or not isinstance(b, int):
        return 1
    bits_a, bits_b = a.bit_length(), b.bit_length()
    if op == "**":
        if b < 0 or abs(a) < 2:
            return 1
        if (bits_a - 1) * b > MAX_BITS:
            return MAX_WORK + 1
        return int((bits_a * b / 30 + 1) ** 1.6)
    if op == "*":
        if bits_a + bits_b > MAX_BITS + 1:
            return MAX_WORK + 1
        small, large = sorted((bits_a // 30 + 1, bits_b // 30 + 1))
        return int(small**0.6 * large)
    if op == "//":
        return (max(bits_a - bits_b, 0) // 30 + 1) * (bits_b // 30 + 1)
    return (bits_a + bits_b) // 30 + 1


def _zero_division(op: str, a: Any, b: Any) -> str:
    """Return the message of CPython 3.11; later versions have other messages."""
    is_complex = isinstance(a, complex) or isinstance(b, complex)
    is_float = isinstance(a, float) or isinstance(b, float)
    if op == "**":
        return (
            "0.0 to a negative or complex power" if is_complex else "0.0 cannot be raised to a negative power"
        )
    if op == "/":
        return f"{'complex ' if is_complex else 'float ' if is_float else ''}division by zero"
    return "float floor division by zero" if is_float else "integer division or modulo by zero"


def _call_error(called: Any, star: str | None, argument: Any) -> str:
    if star == "*" and not isinstance(argument, tuple):
        return f"{called} argument after * must be an iterable, not {type(argument).__name__}"
    if star == "**":
        return f"{called} argument after ** must be a mapping, not {type(argument).__name__}"
    return f"'{type(called).__name__}' object is not callable"
