"""Generates problems of prealgebra: integers, fractions, decimals."""

from fractions import Fraction
from math import gcd, lcm

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import frac

SUBJECT = "prealgebra"


@family(SUBJECT, 1, 2)
def integer_arithmetic(draw: Draw, level: int) -> Draft:
    """Make a problem: one or two operations with small integers."""
    if level == 2:
        a, b, c = draw.integer(3, 19), draw.integer(3, 12), draw.nonzero(-60, 60)
        draw.claim("muladd", a, b, c)
        value = a * b + c
        text = rf"{a} \times {b} {'+' if c > 0 else '-'} {abs(c)}"
        return Draft(
            draw.phrase(f"Compute ${text}$.", f"What is ${text}$?", f"Find the value of ${text}$."),
            value,
            rf"${a} \times {b} = {a * b}$, so ${text} = {value}$.",
            check=(value - c) % a == 0 and (value - c) // a == b,
        )
    kind = draw.choice(("+", "-", r"\times"))
    if kind == r"\times":
        a, b = draw.integer(2, 20), draw.integer(2, 20)
        value, check = a * b, sum(a for _ in range(b)) == a * b
    else:
        a, b = draw.integer(2, 60), draw.integer(2, 60)
        value = a + b if kind == "+" else a - b
        check = (value - b if kind == "+" else value + b) == a
    draw.claim(kind, *((a, b) if kind == "-" else sorted((a, b))))
    text = f"{a} {kind} {b}"
    return Draft(
        draw.phrase(f"Compute ${text}$.", f"What is ${text}$?", f"Find ${text}$."),
        value,
        f"${text} = {value}$.",
        check,
    )


@family(SUBJECT, 2, 3)
def order_of_operations(draw: Draw, level: int) -> Draft:
    """Make a problem: evaluate an expression with brackets, or with a power and a division."""
    if level == 2:
        a, b, c, d = (draw.integer(2, 20), draw.integer(2, 12), draw.integer(2, 20), draw.integer(2, 20))
        draw.claim(2, a, b, c, d)
        text, inner = rf"{a} + {b} \times ({c} - {d})", c - d
        value = a + b * inner
        check = value == a + b * c - b * d
        work = rf"The bracket is ${inner}$, so the product is ${b * inner}$ and the sum ${value}$."
    else:
        root, c, d, e = draw.integer(2, 9), draw.integer(2, 12), draw.integer(2, 15), draw.integer(2, 12)
        draw.need(root**2 % c == 0 or (root * c) ** 2 % c == 0)
        base = root if root**2 % c == 0 else root * c
        draw.claim(3, base, c, d, e)
        text = rf"{d} \times {e} - {base}^2 \div {c}"
        value = int(sympy.Integer(d) * e - sympy.Integer(base) ** 2 / c)
        check = (d * e - value) * c == base * base
        work = (
            rf"${base}^2 = {base**2}$, then ${base**2} \div {c} = {base**2 // c}$ and "
            rf"${d} \times {e} = {d * e}$; the difference is ${value}$."
        )
    return Draft(
        draw.phrase(f"Evaluate ${text}$.", f"Compute: ${text}$.", f"What is the value of ${text}$?"),
        value,
        work,
        check,
    )


@family(SUBJECT, 1, 2, 3, 4)
def fraction_sum(draw: Draw, level: int) -> Draft:
    """Make a problem: sums, differences or quotients of common fractions."""
    if level == 1:
        q = draw.integer(3, 25)
        a, b = draw.integer(1, q - 1), draw.integer(1, q - 1)
        numerators, denominators = [a, b], [q, q]
    else:
        count, top = {2: (2, 12), 3: (3, 12), 4: (3, 24)}[level]
        denominators = [draw.integer(2, top) for _ in range(count)]
        numerators = [draw.integer(1, q - 1) for q in denominators]
        draw.need(all(gcd(p, q) == 1 for p, q in zip(numerators, denominators, strict=True)))
        draw.need(len(set(denominators)) == count)
    signs = [1] + [1 if level == 1 else draw.choice((1, -1)) for _ in denominators[1:]]
    parts = list(zip(signs, numerators, denominators, strict=True))
    draw.claim(*sorted(parts))
    exact = sum((sympy.Rational(s * p, q) for s, p, q in parts), sympy.Integer(0))
    value = Fraction(int(exact.p), int(exact.q))
    common = lcm(*denominators)
    over = sum(s * p * (common // q) for s, p, q in parts)
    text = rf"\frac{{{numerators[0]}}}{{{denominators[0]}}}" + "".join(
        rf" {'+' if s > 0 else '-'} \frac{{{p}}}{{{q}}}" for s, p, q in parts[1:]
    )
    ask = "" if value.denominator == 1 else " Give your answer as a common fraction in lowest terms."
    return Draft(
        draw.phrase(f"Compute ${text}$.", f"What is ${text}$?", f"Simplify ${text}$.") + ask,
        value,
        f"Over the common denominator ${common}$ the numerator is ${over}$, so the value is ${frac(value)}$.",
        check=value.numerator * common == over * value.denominator,
    )


@family(SUBJECT, 4, 5)
def repeating_decimal(draw: Draw, level: int) -> Draft:
    """Make a problem: write a repeating decimal as a common fraction."""
    period = 2 if level == 4 else draw.integer(2, 3)
    lead = draw.integer(1, 1) if level == 4 else draw.integer(1, 2)
    front = "".join(str(draw.integer(0, 9)) for _ in range(lead))
    block = "".join(str(draw.integer(0, 9)) for _ in range(period))
    draw.need(len(set(block)) == period and block != "9" and not front.endswith(block[-1]))
    draw.claim(front, block)
    nines = 10**period - 1
    exact = sympy.Rational(int(front), 10**lead) + sympy.Rational(int(block), nines * 10**lead)
    value = Fraction(int(exact.p), int(exact.q))
    remainder, digits = value.numerator, ""
    for _ in range(lead + 3 * period):
        remainder *= 10
        digits += str(remainder // value.denominator)
        remainder %= value.denominator
    text = rf"0.{front}\overline{{{block}}}"
    return Draft(
        draw.phrase(
            f"Write ${text}$ as a common fraction in lowest terms.",
            f"Express the repeating decimal ${text}$ as a fraction in lowest terms.",
        ),
        value,
        rf"$\frac{{{int(front)}}}{{{10**lead}}} + \frac{{{int(block)}}}{{{nines * 10**lead}}} = "
        f"{frac(value)}$.",
        check=digits == front + block * 3,
    )


@family(SUBJECT, 1, 2, 3)
def missing_number(draw: Draw, level: int) -> Draft:
    """Make a problem: find the missing number in an equation."""
    a, value, c = draw.integer(2, 9 + 3 * level), draw.integer(2, 40), draw.integer(1, 40)
    if level == 1:
        draw.claim(1, c, value)
        text, work = rf"\square + {c} = {value + c}", f"${value + c} - {c} = {value}$."
        check = value + c - c == value
    elif level == 2:
        draw.claim(2, a, c, value)
        text = rf"{a} \times \square + {c} = {a * value + c}"
        work = rf"${a * value + c} - {c} = {a * value}$ and ${a * value} \div {a} = {value}$."
        check = divmod(a * value + c - c, a) == (value, 0)
    else:
        value, b = -value, draw.integer(2, 12)
        draw.claim(3, a, b, c, value)
        right = a * (value + b) - c
        text = rf"{a} \times (\square + {b}) - {c} = {right}"
        work = rf"The bracket is $({right} + {c}) \div {a} = {value + b}$, so the number is ${value}$."
        check = a * value + a * b - c == right
    return Draft(
        draw.phrase(
            rf"What number goes in the box? ${text}$",
            rf"Find the number that makes ${text}$ true.",
        ),
        value,
        work,
        check,
    )
