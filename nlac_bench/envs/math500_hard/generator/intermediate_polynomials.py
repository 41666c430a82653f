"""Generates problems of intermediate algebra: polynomials and rational functions."""

from fractions import Fraction
from math import gcd

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import frac, par, poly, show, terms

SUBJECT = "intermediate_algebra"
X = sympy.Symbol("x")


def _at(coefficients: list[int], point: Fraction | int) -> Fraction:
    """Return the polynomial's value, computed by adding its powers one by one."""
    degree = len(coefficients) - 1
    return sum((Fraction(c * point ** (degree - i)) for i, c in enumerate(coefficients)), Fraction(0))


@family(SUBJECT, 1, 2, 3, 4)
def polynomial_remainder(draw: Draw, level: int) -> Draft:
    """Make a problem: a polynomial's value, its remainder on division, or a coefficient, given a factor."""
    degree = {1: 2, 2: 3, 3: 3, 4: 4}[level]
    size = 4 if level == 1 else 9
    coefficients = [draw.nonzero(1, 4), *(draw.integer(-size, size) for _ in range(degree))]
    point = draw.integer(1, 5) if level == 1 else draw.nonzero(-4, 4)
    text = poly(coefficients)
    if level <= 3:
        draw.claim("value", *coefficients, point)
        value = int(sympy.Poly(coefficients, X).eval(point))
        divisor = poly([1, -point])
        statement = (
            draw.phrase(f"If $P(x) = {text}$, what is $P({point})$?", f"Evaluate ${text}$ at $x = {point}$.")
            if level <= 2
            else draw.phrase(
                f"What is the remainder when ${text}$ is divided by ${divisor}$?",
                f"Find the remainder of ${text}$ upon division by ${divisor}$.",
            )
        )
        return Draft(
            statement,
            value,
            f"Put $x = {point}$: the value is ${value}$.",
            check=_at(coefficients, point) == value,
        )
    position = draw.integer(1, 3)
    coefficients[position] = 0
    rest = int(_at(coefficients, point))
    power = point ** (degree - position)
    draw.need(rest % power == 0)
    value = -rest // power
    coefficients[position] = value
    draw.claim("coefficient", *coefficients, position, point)
    powers = [f"x^{{{n}}}" if n > 1 else "x" * n for n in range(degree, -1, -1)]
    coefficient_terms = list(zip(coefficients, powers, strict=True))
    coefficient_terms[position] = 1, "k" + powers[position]
    shown = terms(*coefficient_terms)
    remainder = sympy.Poly(coefficients, X).rem(sympy.Poly([1, -point], X))
    return Draft(
        draw.phrase(
            f"For what value of $k$ is ${poly([1, -point])}$ a factor of ${shown}$?",
            f"The polynomial ${shown}$ is divisible by ${poly([1, -point])}$. Find $k$.",
        ),
        value,
        f"At $x = {point}$ the polynomial must vanish: ${rest} + {par(power)}k = 0$, so $k = {value}$.",
        check=remainder.is_zero,
    )


@family(SUBJECT, 2, 3, 4)
def polynomial_product(draw: Draw, level: int) -> Draft:
    """Make a problem: expand a product, or find one coefficient of it."""
    small = {2: 1, 3: 2, 4: 3}[level]
    f = [draw.nonzero(-5, 5), *(draw.nonzero(-7, 7) for _ in range(1 if level < 4 else 2))]
    g = [draw.nonzero(-5, 5), *(draw.nonzero(-7, 7) for _ in range(small))]
    draw.need(f != g)
    text = f"({poly(f)})({poly(g)})"
    if level == 4:
        power = draw.integer(1, 3)
        draw.claim("coefficient", *sorted((tuple(f), tuple(g))), power)
        product = sympy.Poly(f, X) * sympy.Poly(g, X)
        value = int(product.coeff_monomial(X**power))
        pairs = [(i, power - i) for i in range(power + 1) if i < len(f) and power - i < len(g)]
        check = value == sum(f[-1 - i] * g[-1 - j] for i, j in pairs)
        symbol = "x" if power == 1 else f"x^{power}"
        return Draft(
            draw.phrase(f"What is the coefficient of ${symbol}$ in ${text}$?",
                        f"After ${text}$ is expanded, what is the coefficient of ${symbol}$?"),
            value,
            f"The pairs of terms whose powers add up to ${power}$ give ${value}$ in total.",
            check,
        )  # fmt: skip
    draw.claim("expand", *sorted((tuple(f), tuple(g))))
    product = sympy.Poly(f, X) * sympy.Poly(g, X)
    coefficients = [int(c) for c in product.all_coeffs()]
    return Draft(
        draw.phrase(f"Expand ${text}$.", f"Multiply out and simplify: ${text}$."),
        product.as_expr(),
        f"Multiplying each term by each gives ${poly(coefficients)}$.",
        check=all(_at(f, t) * _at(g, t) == _at(coefficients, t) for t in range(-2, 3)),
    )


@family(SUBJECT, 4, 5)
def cubic_symmetric(draw: Draw, level: int) -> Draft:
    """Make a problem: a symmetric function of the three roots of a cubic."""
    a = 1 if level == 4 else draw.integer(2, 5)
    b, c, d = draw.nonzero(-9, 9), draw.integer(-9, 9), draw.nonzero(-9, 9)
    draw.need(gcd(a, b, c, d) == 1)
    kinds = {
        "a^2 + b^2 + c^2": lambda e, q, p: e**2 - 2 * q,
        r"\frac{1}{a} + \frac{1}{b} + \frac{1}{c}": lambda e, q, p: q / p,
        "a^3 + b^3 + c^3": lambda e, q, p: e**3 - 3 * e * q + 3 * p,
        "(1 + a)(1 + b)(1 + c)": lambda e, q, p: 1 + e + q + p,
        "a^2 b^2 + b^2 c^2 + c^2 a^2": lambda e, q, p: q**2 - 2 * e * p,
    }
    kind = draw.choice(tuple(kinds))
    draw.claim(a, b, c, d, kind)
    e, q, p = Fraction(-b, a), Fraction(c, a), Fraction(-d, a)
    value = kinds[kind](e, q, p)
    # Second method: sums of powers of the eigenvalues of the companion matrix, which are the roots.
    companion = sympy.Matrix(
        [[0, 0, sympy.Rational(-d, a)], [1, 0, sympy.Rational(-c, a)], [0, 1, sympy.Rational(-b, a)]]
    )
    square = companion * companion
    one = sympy.eye(3)
    direct = {
        "a^2 + b^2 + c^2": square.trace,
        r"\frac{1}{a} + \frac{1}{b} + \frac{1}{c}": lambda: companion.inv().trace(),
        "a^3 + b^3 + c^3": (square * companion).trace,
        "(1 + a)(1 + b)(1 + c)": (one + companion).det,
        "a^2 b^2 + b^2 c^2 + c^2 a^2": lambda: (square.trace() ** 2 - (square * square).trace()) / 2,
    }[kind]()
    return Draft(
        draw.phrase(
            f"Let $a$, $b$, $c$ be the roots of ${poly([a, b, c, d])} = 0$. Find ${kind}$.",
            f"The polynomial ${poly([a, b, c, d])}$ has the roots $a$, $b$ and $c$. Compute ${kind}$.",
        ),
        value,
        f"By Vieta $a + b + c = {frac(e)}$, $ab + bc + ca = {frac(q)}$ and $abc = {frac(p)}$, hence ${kind} "
        f"= {frac(value)}$.",
        check=direct == sympy.Rational(value.numerator, value.denominator),
    )


@family(SUBJECT, 2, 3, 4)
def asymptote(draw: Draw, level: int) -> Draft:
    """Make a problem: vertical, horizontal or slant asymptotes of a rational function."""
    a, b = draw.integer(2, 9), draw.nonzero(-12, 12)
    c, d = draw.integer(2, 9), draw.nonzero(-12, 12)
    draw.need(a * d != b * c)
    if level == 2:
        draw.claim(2, a, b, c, d)
        value = Fraction(-d, c)
        text, ask = rf"\frac{{{poly([a, b])}}}{{{poly([c, d])}}}", "vertical"
        work = f"The denominator vanishes at $x = {show(value)}$ and the numerator does not."
        check = c * value + d == 0 and a * value + b != 0
    elif level == 3:
        e, f = draw.nonzero(-9, 9), draw.nonzero(-9, 9)
        draw.need(gcd(c, d, e) == 1)
        draw.claim(3, a, b, c, d, e, f)
        value = Fraction(a, c)
        text, ask = rf"\frac{{{poly([a, b, f])}}}{{{poly([c, d, e])}}}", "horizontal"
        work = f"The leading coefficients have the ratio ${frac(value)}$."
        far = Fraction(10**9)
        check = abs(_at([a, b, f], far) / _at([c, d, e], far) - value) < Fraction(1, 10**6)
    else:
        slope, shift, pole, rest = (
            draw.nonzero(-6, 6),
            draw.nonzero(-9, 9),
            draw.nonzero(-6, 6),
            draw.nonzero(-20, 20),
        )
        draw.claim(4, slope, shift, pole, rest)
        numerator = [slope, shift - slope * pole, rest - shift * pole]
        quotient, _ = sympy.div(sympy.Poly(numerator, X), sympy.Poly([1, -pole], X))
        line = [int(k) for k in quotient.all_coeffs()]
        far = Fraction(10**9)
        gap = _at(numerator, far) / (far - pole) - _at(line, far)
        return Draft(
            draw.phrase(
                rf"The graph of $y = \frac{{{poly(numerator)}}}{{{poly([1, -pole])}}}$ has the slant "
                "asymptote $y = mx + b$. "
                "Find the ordered pair $(m, b)$.",
                "Find $(m, b)$ such that $y = mx + b$ is the oblique asymptote of $y = "
                rf"\frac{{{poly(numerator)}}}{{{poly([1, -pole])}}}$.",
            ),
            (line[0], line[1]),
            f"Division gives the quotient ${poly(line)}$ and the remainder ${rest}$.",
            check=abs(gap) < Fraction(1, 10**6),
        )
    axis = "x" if level == 2 else "y"
    return Draft(
        draw.phrase(
            rf"The {ask} asymptote of $y = {text}$ is the line ${axis} = c$. Find $c$.",
            rf"At what value of ${axis}$ does the graph of $y = {text}$ have a {ask} asymptote?",
        ),
        value,
        work,
        check,
    )


@family(SUBJECT, 4, 5)
def partial_fractions(draw: Draw, level: int) -> Draft:
    """Make a problem: the numerators of a decomposition into partial fractions."""
    poles = draw.several([p for p in range(-7, 8) if p], level - 2)
    p, q = draw.nonzero(-12, 12), draw.nonzero(-20, 20)
    draw.need(all(p * pole + q != 0 for pole in poles))
    draw.claim(p, q, *sorted(poles))
    letters = "ABC"[: len(poles)]
    bottom = "".join(f"({poly([1, -pole])})" for pole in poles)
    parts = " + ".join(
        rf"\frac{{{name}}}{{{poly([1, -pole])}}}" for name, pole in zip(letters, poles, strict=True)
    )
    product = sympy.Poly(1, X)
    for pole in poles:
        product *= sympy.Poly([1, -pole], X)
    slope = product.diff(X)  # residue at a simple pole: numerator over the derivative of the denominator
    constants = [sympy.Rational(p * pole + q) / slope.eval(pole) for pole in poles]
    values = [Fraction(int(v.p), int(v.q)) for v in constants]
    at = 11
    left = Fraction(p * at + q, int(product.eval(at)))
    right = sum((v / (at - pole) for v, pole in zip(values, poles, strict=True)), Fraction(0))
    listed = ", ".join(f"{n} = {frac(v)}" for n, v in zip(letters, values, strict=True))
    ask = "(A, B)" if level == 4 else "(A, B, C)"
    return Draft(
        draw.phrase(
            rf"Find the constants in \[\frac{{{poly([p, q])}}}{{{bottom}}} = {parts}\] and answer with "
            f"${ask}$.",
            rf"If \[\frac{{{poly([p, q])}}}{{{bottom}}} = {parts}\] for all $x$ where both sides are "
            f"defined, what is ${ask}$?",
        ),
        tuple(values),
        f"Multiplying by each factor and setting it to zero gives ${listed}$.",
        check=left == right and sum(values, Fraction(0)) == (p if level == 4 else 0),
    )
