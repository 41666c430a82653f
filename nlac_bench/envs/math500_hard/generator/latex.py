"""Formats numbers and polynomials as LaTeX for statements and gold answers."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import sympy

Value: TypeAlias = int | Fraction | sympy.Basic | tuple["Value", ...] | list["Value"] | str
"""A gold answer as mathematics: a tuple is an ordered point, a list an unordered enumeration, and text is
LaTeX already (an interval, digits in another base)."""


def show(value: Value) -> str:
    """Return ``value`` as the LaTeX of a final answer."""
    if isinstance(value, str):
        return value
    if isinstance(value, Fraction):
        return frac(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(show(part) for part in value) + ")"
    if isinstance(value, list):
        return ", ".join(show(part) for part in value)
    return str(sympy.latex(value))


def frac(value: Fraction | int) -> str:
    r"""Return a number as ``\frac{p}{q}`` in lowest terms, or as an integer."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def par(value: int) -> str:
    """Return an integer as an operand, in parentheses if it is negative."""
    return str(value) if value >= 0 else f"({value})"


def times(coefficient: int, symbol: str) -> str:
    """Return ``coefficient`` times ``symbol``; a factor of 1 is not written."""
    return {1: symbol, -1: f"-{symbol}"}.get(coefficient, f"{coefficient}{symbol}")


def terms(*parts: tuple[int, str]) -> str:
    """Return a sum of integer multiples of symbols without zero terms; the symbol of a constant is ``""``."""
    text = ""
    for coefficient, symbol in parts:
        if coefficient == 0:
            continue
        size = abs(coefficient)
        body = str(size) if not symbol else times(size, symbol)
        if not text:
            text = body if coefficient > 0 else f"-{body}"
        else:
            text += f" + {body}" if coefficient > 0 else f" - {body}"
    return text or "0"


def poly(coefficients: Sequence[int], variable: str = "x") -> str:
    """Return a polynomial given its integer coefficients, highest power first."""
    degree = len(coefficients) - 1
    powers = [
        "" if degree - i == 0 else variable if degree - i == 1 else f"{variable}^{{{degree - i}}}"
        for i in range(degree + 1)
    ]
    return terms(*zip(coefficients, powers, strict=True))


def gaussian(real: int, imaginary: int) -> str:
    """Return a complex number with integer parts."""
    return terms((real, ""), (imaginary, "i"))


def matrix(rows: Sequence[Sequence[int]]) -> str:
    """Return a matrix in round brackets."""
    body = r" \\ ".join(" & ".join(str(entry) for entry in row) for row in rows)
    return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"


def column(vector: Sequence[int]) -> str:
    """Return a column vector in round brackets."""
    return matrix([[entry] for entry in vector])
