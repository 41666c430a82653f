"""Intermediate algebra: polynomials, complex numbers, asymptotes, series, logarithms."""

from fractions import Fraction
from math import gcd

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import Value, frac, gaussian, par, poly, show, terms

SUBJECT = "intermediate_algebra"
X = sympy.Symbol("x")


def _at(coefficients: list[int], point: Fraction | int | complex) -> Fraction | complex:
    """The polynomial's value by adding its powers one by one."""
    degree = len(coefficients) - 1
    return sum((c * point ** (degree - i) for i, c in enumerate(coefficients)), Fraction(0))


@family(SUBJECT, 1, 2, 3, 4)
def polynomial_remainder(draw: Draw, level: int) -> Draft:
    """A polynomial's value at a point; its remainder on division; an unknown coefficient from a factor."""
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
            statement, value, f"Put $x = {point}$: the value is ${value}$.", check=_at(coefficients, point) == value
        )
    position = draw.integer(1, 3)
    coefficients[position] = 0
    rest = int(_at(coefficients, point).real)
    power = point ** (degree - position)
    draw.need(rest % power == 0)
    value = -rest // power
    coefficients[position] = value
    draw.claim("coefficient", *coefficients, position, point)
    shown = terms(*(
        (1 if i == position else c, ("k" if i == position else "") + (f"x^{{{degree - i}}}" if degree - i > 1 else "x" if degree > i else ""))
        for i, c in enumerate(coefficients)
    ))  # fmt: skip
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
    """Expand a product, or name one coefficient of it."""
    small = {2: 1, 3: 2, 4: 3}[level]
    f = [draw.nonzero(-5, 5), *(draw.nonzero(-7, 7) for _ in range(1 if level < 4 else 2))]
    g = [draw.nonzero(-5, 5), *(draw.nonzero(-7, 7) for _ in range(small))]
    draw.need(f != g)
    product = sympy.Poly(f, X) * sympy.Poly(g, X)
    coefficients = [int(c) for c in product.all_coeffs()]
    text = f"({poly(f)})({poly(g)})"
    if level == 4:
        power = draw.integer(1, 3)
        draw.claim("coefficient", *sorted((tuple(f), tuple(g))), power)
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
    return Draft(
        draw.phrase(f"Expand ${text}$.", f"Multiply out and simplify: ${text}$."),
        product.as_expr(),
        f"Multiplying each term by each gives ${poly(coefficients)}$.",
        check=all(_at(f, t) * _at(g, t) == _at(coefficients, t) for t in range(-2, 3)),
    )


@family(SUBJECT, 4, 5)
def cubic_symmetric(draw: Draw, level: int) -> Draft:
    """A symmetric function of the three roots of a cubic."""
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
    companion = sympy.Matrix([[0, 0, sympy.Rational(-d, a)], [1, 0, sympy.Rational(-c, a)], [0, 1, sympy.Rational(-b, a)]])
    square = companion * companion
    one = sympy.eye(3)
    direct = {
        "a^2 + b^2 + c^2": lambda: square.trace(),
        r"\frac{1}{a} + \frac{1}{b} + \frac{1}{c}": lambda: companion.inv().trace(),
        "a^3 + b^3 + c^3": lambda: (square * companion).trace(),
        "(1 + a)(1 + b)(1 + c)": lambda: (one + companion).det(),
        "a^2 b^2 + b^2 c^2 + c^2 a^2": lambda: (square.trace() ** 2 - (square * square).trace()) / 2,
    }[kind]()
    return Draft(
        draw.phrase(
            f"Let $a$, $b$, $c$ be the roots of ${poly([a, b, c, d])} = 0$. Find ${kind}$.",
            f"The polynomial ${poly([a, b, c, d])}$ has the roots $a$, $b$ and $c$. Compute ${kind}$.",
        ),
        value,
        f"By Vieta $a + b + c = {frac(e)}$, $ab + bc + ca = {frac(q)}$ and $abc = {frac(p)}$, hence ${kind} = {frac(value)}$.",
        check=direct == sympy.Rational(value.numerator, value.denominator),
    )


@family(SUBJECT, 2, 3, 4)
def asymptote(draw: Draw, level: int) -> Draft:
    """Vertical, horizontal and slant asymptotes of a rational function."""
    a, b = draw.integer(2, 9), draw.nonzero(-12, 12)
    c, d = draw.integer(2, 9), draw.nonzero(-12, 12)
    draw.need(a * d != b * c)
    if level == 2:
        draw.claim(2, a, b, c, d)
        value: Value = Fraction(-d, c)
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
        slope, shift, pole, rest = draw.nonzero(-6, 6), draw.nonzero(-9, 9), draw.nonzero(-6, 6), draw.nonzero(-20, 20)
        draw.claim(4, slope, shift, pole, rest)
        numerator = [slope, shift - slope * pole, rest - shift * pole]
        quotient, _ = sympy.div(sympy.Poly(numerator, X), sympy.Poly([1, -pole], X))
        line = [int(k) for k in quotient.all_coeffs()]
        far = 10**9
        gap = _at(numerator, Fraction(far)) / (far - pole) - _at(line, Fraction(far))
        return Draft(
            draw.phrase(
                rf"The graph of $y = \frac{{{poly(numerator)}}}{{{poly([1, -pole])}}}$ has the slant asymptote $y = mx + b$. "
                "Find the ordered pair $(m, b)$.",
                rf"Find $(m, b)$ such that $y = mx + b$ is the oblique asymptote of $y = \frac{{{poly(numerator)}}}{{{poly([1, -pole])}}}$.",
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
    """The numerators of a decomposition into partial fractions."""
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
    found = [sympy.Rational(p * pole + q) / slope.eval(pole) for pole in poles]
    values = [Fraction(int(v.p), int(v.q)) for v in found]
    at = 11
    left = Fraction(p * at + q, int(product.eval(at)))
    right = sum((v / (at - pole) for v, pole in zip(values, poles, strict=True)), Fraction(0))
    listed = ", ".join(f"{n} = {frac(v)}" for n, v in zip(letters, values, strict=True))
    ask = "(A, B)" if level == 4 else "(A, B, C)"
    return Draft(
        draw.phrase(
            rf"Find the constants in \[\frac{{{poly([p, q])}}}{{{bottom}}} = {parts}\] and answer with ${ask}$.",
            rf"If \[\frac{{{poly([p, q])}}}{{{bottom}}} = {parts}\] for all $x$ where both sides are defined, what is ${ask}$?",
        ),
        tuple(values),
        f"Multiplying by each factor and setting it to zero gives ${listed}$.",
        check=left == right and sum(values, Fraction(0)) == (p if level == 4 else 0),
    )


@family(SUBJECT, 1, 2, 3)
def complex_arithmetic(draw: Draw, level: int) -> Draft:
    """Sums, products and quotients of complex numbers."""
    a, b, c, d = (draw.nonzero(-9, 9) for _ in range(4))
    z, w = complex(a, b), complex(c, d)
    first, second = gaussian(a, b), gaussian(c, d)
    if level == 1:
        draw.claim(1, *sorted(((a, b), (c, d))))
        value: Value = sympy.Integer(a + c) + sympy.I * (b + d)
        text, answer, direct = f"({first}) + ({second})", gaussian(a + c, b + d), z + w
    elif level == 2:
        draw.claim(2, *sorted(((a, b), (c, d))))
        product = sympy.expand((a + b * sympy.I) * (c + d * sympy.I))
        value, direct = product, z * w
        text, answer = f"({first})({second})", gaussian(int(sympy.re(product)), int(sympy.im(product)))
    else:
        norm = c * c + d * d
        real, imaginary = Fraction(a * c + b * d, norm), Fraction(b * c - a * d, norm)
        draw.need(real.denominator == 1 and imaginary.denominator == 1)
        draw.claim(3, a, b, c, d)
        value = sympy.Integer(int(real)) + sympy.I * int(imaginary)
        text, answer, direct = rf"\frac{{{first}}}{{{second}}}", gaussian(int(real), int(imaginary)), z / w
    return Draft(
        draw.phrase(
            rf"Simplify ${text}$, where $i^2 = -1$.",
            rf"Write ${text}$ in the form $a + bi$ with real $a$ and $b$.",
        ),
        value,
        f"With $i^2 = -1$ this is ${answer}$.",
        check=abs(complex(value) - direct) < 1e-9,
    )


@family(SUBJECT, 3, 4, 5)
def infinite_series(draw: Draw, level: int) -> Draft:
    r"""Geometric series, and at level 5 the series $\sum k r^k$."""
    q = draw.integer(2, 15)
    p = draw.integer(1, q - 1) * draw.choice((1, -1))
    draw.need(gcd(p, q) == 1)
    r = Fraction(p, q)
    if level == 5:
        shift = draw.integer(0, 9)
        draw.claim(5, p, q, shift)
        value = r / (1 - r) ** 2 + shift * r / (1 - r)
        k = terms((1, "k"), (shift, ""))
        text = rf"\sum_{{k=1}}^{{\infty}} {f'({k})' if shift else k} \left( {frac(r)} \right)^k"
        partial, power = 0.0, 1.0
        for n in range(1, 900):
            power *= p / q
            partial += (n + shift) * power
        return Draft(
            draw.phrase(f"Compute ${text}$.", f"Find the exact value of ${text}$."),
            value,
            rf"With $r = {frac(r)}$, $\sum k r^k = \frac{{r}}{{(1-r)^2}}$ and $\sum r^k = \frac{{r}}{{1-r}}$, in total ${frac(value)}$.",
            check=abs(partial - float(value)) < 1e-6,
        )
    first = Fraction(draw.nonzero(-30, 30), 1 if level == 3 else draw.integer(1, 6))
    if level == 3:
        draw.claim(3, str(first), p, q)
        value = first / (1 - r)
        rest = first * r / (1 - r)
        shown = ", ".join(frac(first * r**i) for i in range(3))
        return Draft(
            draw.phrase(
                rf"Find the sum of the infinite geometric series with the terms ${shown}, \ldots$.",
                rf"An infinite geometric series has first term ${frac(first)}$ and common ratio ${frac(r)}$. What is its sum?",
            ),
            value,
            rf"$\frac{{a}}{{1-r}}$ with $a = {frac(first)}$ and $r = {frac(r)}$ is ${frac(value)}$.",
            check=value == first + rest,
        )
    total = first / (1 - r)
    draw.claim(4, str(first), p, q)
    squares = first**2 / (1 - r**2)
    return Draft(
        draw.phrase(
            f"An infinite geometric series has the sum ${frac(total)}$ and the first term ${frac(first)}$. "
            "What is the sum of the squares of its terms?",
            f"The terms of an infinite geometric series add up to ${frac(total)}$; its first term is ${frac(first)}$. "
            "Find the sum of the series of the squared terms.",
        ),
        squares,
        rf"The ratio is ${frac(r)}$, so the squares have ratio ${frac(r * r)}$ and the sum ${frac(squares)}$.",
        check=1 - first / total == r and squares * (1 - (1 - first / total) ** 2) == first**2,
    )


@family(SUBJECT, 5)
def telescoping_sum(draw: Draw, level: int) -> Draft:
    """A sum of reciprocals of products, as a fraction."""
    gap, start, n, scale = draw.integer(1, 4), draw.integer(1, 8), draw.integer(6, 60), draw.integer(1, 6)
    draw.claim(gap, start, n, scale)
    # sum_{k=start}^{n'} scale/(k(k+gap)) = scale/gap * (sum of the first gap reciprocals - the last ones)
    end = start + n
    heads = sum((Fraction(1, start + i) for i in range(gap)), Fraction(0))
    tails = sum((Fraction(1, end + 1 + i) for i in range(gap)), Fraction(0))
    value = Fraction(scale, gap) * (heads - tails)
    text = rf"\sum_{{k={start}}}^{{{end}}} \frac{{{scale}}}{{k(k+{gap})}}"
    direct = sum(scale / (k * (k + gap)) for k in range(start, end + 1))
    return Draft(
        draw.phrase(
            f"Compute ${text}$ as a common fraction in lowest terms.",
            f"Find ${text}$. Give a fraction in lowest terms.",
        ),
        value,
        rf"Each term is $\frac{{{scale}}}{{{gap}}} \left( \frac{{1}}{{k}} - \frac{{1}}{{k+{gap}}} \right)$, the sum telescopes "
        rf"to $\frac{{{scale}}}{{{gap}}} \left( {frac(heads)} - {frac(tails)} \right) = {frac(value)}$.",
        check=abs(direct - float(value)) < 1e-10,
    )


@family(SUBJECT, 2, 3, 4)
def logarithm(draw: Draw, level: int) -> Draft:
    """Values of logarithms, and equations with them."""
    base = draw.integer(2, 7)
    if level == 2:
        root, m, n = draw.integer(2, 15), draw.integer(1, 5), draw.integer(1, 6) * draw.choice((1, -1))
        draw.need(root**m <= 1100 and root ** abs(n) <= 5000)
        draw.claim(2, root, m, n)
        argument = str(root**n) if n > 0 else rf"\frac{{1}}{{{root**-n}}}"
        value = Fraction(n, m)
        return Draft(
            draw.phrase(rf"Evaluate $\log_{{{root**m}}} {argument}$.", rf"What is $\log_{{{root**m}}} {argument}$?"),
            value,
            rf"Both are powers of ${root}$: $({root}^{{{m}}})^y = {root}^{{{n}}}$ gives $y = {frac(value)}$.",
            check=Fraction((root**m)) ** value.numerator == Fraction(root) ** (n * value.denominator),
        )
    if level == 3:
        a, b, c = draw.integer(1, 9), draw.nonzero(-40, 40), draw.integer(-1, 4)
        draw.claim(3, base, a, b, c)
        value = (Fraction(base) ** c - b) / a
        return Draft(
            draw.phrase(rf"Solve $\log_{{{base}}} ({poly([a, b])}) = {c}$.",
                        rf"Find $x$ if $\log_{{{base}}} ({poly([a, b])}) = {c}$."),
            value,
            rf"${poly([a, b])} = {base}^{{{c}}}$, so $x = {frac(value)}$.",
            check=Fraction(base) ** -c * (a * value + b) == 1,
        )  # fmt: skip
    # log_b(x - p) + log_b(x - q) = c, with one root inside the domain.
    c, small = draw.integer(1, 4), draw.integer(1, 40)
    target = base**c
    draw.need(target % small == 0 and small * small != target and small < target // small)
    p = draw.integer(-12, 12)
    value_int = p + target // small  # x - p is the larger factor, x - q the smaller
    q = value_int - small
    draw.claim(4, base, c, p, q)
    roots = sympy.roots(sympy.Poly([1, -(p + q), p * q - target], X))
    valid = [int(r) for r in roots if r.is_integer and r > p and r > q]
    return Draft(
        draw.phrase(
            rf"Find the real solution of $\log_{{{base}}} ({poly([1, -p])}) + \log_{{{base}}} ({poly([1, -q])}) = {c}$.",
            rf"Solve for $x$: $\log_{{{base}}} ({poly([1, -p])}) + \log_{{{base}}} ({poly([1, -q])}) = {c}$.",
        ),
        valid[0],
        rf"$({poly([1, -p])})({poly([1, -q])}) = {target}$; of its two roots only $x = {valid[0]}$ makes both logarithms real.",
        check=len(valid) == 1 and (valid[0] - p) * (valid[0] - q) == target,
    )
