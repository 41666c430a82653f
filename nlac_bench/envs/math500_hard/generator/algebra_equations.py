"""Generates algebra problems: equations and inequalities in one unknown, systems."""

from fractions import Fraction
from math import gcd, isqrt

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import Value, frac, poly, show, terms

SUBJECT = "algebra"


@family(SUBJECT, 1, 2, 3)
def linear_equation(draw: Draw, level: int) -> Draft:
    """Make a problem: a linear equation, the unknown on one side (level 1), on both, or in brackets (3)."""
    if level == 1:
        a, x, b = draw.integer(2, 9), draw.integer(1, 12), draw.nonzero(-12, 12)
        draw.claim(1, a, b, x)
        left, right, value = poly([a, b]), str(a * x + b), Fraction(x)
        check = a * x == a * x + b - b
        work = f"${a}x = {a * x}$, so $x = {x}$."
    elif level == 2:
        a, b, c, d = draw.integer(2, 12), draw.nonzero(-20, 20), draw.integer(-9, 9), draw.nonzero(-20, 20)
        draw.need(c not in (a, 0) and (d - b) % (a - c) == 0 and b != d)
        draw.claim(2, a, b, c, d)
        left, right, value = poly([a, b]), poly([c, d]), Fraction(d - b, a - c)
        check = a * value + b == c * value + d
        work = f"${terms((a - c, 'x'))} = {d - b}$, so $x = {frac(value)}$."
    else:
        a, b, c, d, e = (draw.integer(2, 9), draw.nonzero(-9, 9), draw.integer(2, 9),
                         draw.nonzero(-9, 9), draw.nonzero(-20, 20))  # fmt: skip
        draw.need(a != c)
        draw.claim(3, a, b, c, d, e)
        left, right = f"{a}({poly([1, b])})", f"{c}({poly([1, d])}) {'+' if e > 0 else '-'} {abs(e)}"
        x = sympy.Symbol("x")
        line = sympy.Poly(a * (x + b) - c * (x + d) - e, x)
        slope, constant = int(line.coeff_monomial(x)), int(line.coeff_monomial(1))
        value = Fraction(-constant, slope)
        check = a * (value + b) == c * (value + d) + e
        work = f"Expanding and collecting, ${terms((slope, 'x'))} = {-constant}$, so $x = {frac(value)}$."
    return Draft(
        draw.phrase(
            f"Solve for $x$: ${left} = {right}$.",
            f"What value of $x$ satisfies ${left} = {right}$?",
            f"If ${left} = {right}$, what is $x$?",
        ),
        value,
        work,
        check,
    )


@family(SUBJECT, 2, 3, 4)
def linear_system(draw: Draw, level: int) -> Draft:
    """Make a problem: two equations in two unknowns; fractions at level 4."""
    size = {2: 5, 3: 9, 4: 9}[level]
    a, b, c, d = (draw.nonzero(-size, size) for _ in range(4))
    x, y = draw.integer(-9, 9), draw.integer(-9, 9)
    p, q = (a * x + b * y, c * x + d * y) if level < 4 else (x + draw.integer(1, 9), y + draw.integer(1, 9))
    determinant = a * d - b * c
    draw.need(determinant != 0 and gcd(a, b, p) == 1 and gcd(c, d, q) == 1)
    draw.need(level < 4 or p * d % determinant != b * q % determinant)
    draw.claim(*sorted(((a, b, p), (c, d, q))))
    solution = sympy.Matrix([[a, b], [c, d]]).adjugate() * sympy.Matrix([p, q]) / determinant
    u, v = (Fraction(int(s.p), int(s.q)) for s in solution)
    first, second = f"{terms((a, 'x'), (b, 'y'))} = {p}", f"{terms((c, 'x'), (d, 'y'))} = {q}"
    return Draft(
        draw.phrase(
            rf"Solve the system \[{first}, \qquad {second}.\] Give your answer as an ordered pair $(x, y)$.",
            f"Find the ordered pair $(x,y)$ that satisfies ${first}$ and ${second}$.",
            f"The lines ${first}$ and ${second}$ meet at a point. What is it? Answer with an ordered pair.",
        ),
        (u, v),
        f"The determinant is ${determinant}$; Cramer's rule gives $x = {frac(u)}$ and $y = {frac(v)}$.",
        check=a * u + b * v == p and c * u + d * v == q,
    )


@family(SUBJECT, 2, 3, 4, 5)
def quadratic_roots(draw: Draw, level: int) -> Draft:
    """Make a problem: roots of a quadratic, which are integers, rational, or contain a square root."""
    if level <= 3:
        a = 1 if level == 2 else draw.integer(2, 5)
        r, s = Fraction(draw.integer(-20, 20), 1 if level == 2 else a), Fraction(draw.integer(-20, 20))
        draw.need(r != s and r * s != 0)
        coefficients = [a, int(-a * (r + s)), int(a * r * s)]
        draw.claim(*coefficients)
        value: Value = [min(r, s), max(r, s)]
        statement = draw.phrase(
            f"Find all solutions of ${poly(coefficients)} = 0$. List them separated by a comma.",
            f"Solve ${poly(coefficients)} = 0$ for $x$. Enter all solutions, separated by commas.",
        )
        work = f"It factors with the roots ${frac(min(r, s))}$ and ${frac(max(r, s))}$."
        check = all(coefficients[0] * t * t + coefficients[1] * t + coefficients[2] == 0 for t in (r, s))
    else:
        a = 1 if level == 4 else draw.integer(2, 6)
        b, c = draw.nonzero(-16, 16), draw.nonzero(-20, 20)
        inside = b * b - 4 * a * c
        draw.need(inside > 0 and isqrt(inside) ** 2 != inside and gcd(a, b, c) == 1)
        draw.claim(a, b, c)
        largest = draw.choice((True, False))
        x = sympy.Symbol("x")
        roots = sorted(sympy.roots(sympy.Poly([a, b, c], x)), key=lambda root: root.evalf(20))
        value = sympy.radsimp(roots[-1] if largest else roots[0])
        which = "larger" if largest else "smaller"
        statement = draw.phrase(
            f"What is the {which} solution of ${poly([a, b, c])} = 0$? Give an exact answer.",
            f"Find the {which} of the two roots of ${poly([a, b, c])}$ in simplest radical form.",
        )
        number = float(value.evalf(20))
        work = f"The discriminant is ${inside}$, and the quadratic formula gives ${show(value)}$."
        check = abs(a * number**2 + b * number + c) < 1e-9 and (number > -b / (2 * a)) == largest
    return Draft(statement, value, work, check)


@family(SUBJECT, 5)
def vieta_quadratic(draw: Draw, level: int) -> Draft:
    """Make a problem: a symmetric function of the roots of a quadratic."""
    a, b, c = draw.integer(1, 6), draw.nonzero(-12, 12), draw.nonzero(-12, 12)
    kind = draw.choice(
        ("r^2 + s^2", "r^3 + s^3", r"\frac{1}{r} + \frac{1}{s}", r"\frac{r}{s} + \frac{s}{r}", "(r - s)^2")
    )
    draw.need(b * b != 4 * a * c and gcd(a, b, c) == 1)
    draw.claim(a, b, c, kind)
    e, p = Fraction(-b, a), Fraction(c, a)
    value = {
        "r^2 + s^2": e**2 - 2 * p,
        "r^3 + s^3": e**3 - 3 * e * p,
        r"\frac{1}{r} + \frac{1}{s}": e / p,
        r"\frac{r}{s} + \frac{s}{r}": (e**2 - 2 * p) / p,
        "(r - s)^2": e**2 - 4 * p,
    }[kind]
    half = complex(b * b - 4 * a * c) ** 0.5
    r, s = (-b + half) / (2 * a), (-b - half) / (2 * a)
    direct = {
        "r^2 + s^2": r**2 + s**2,
        "r^3 + s^3": r**3 + s**3,
        r"\frac{1}{r} + \frac{1}{s}": 1 / r + 1 / s,
        r"\frac{r}{s} + \frac{s}{r}": r / s + s / r,
        "(r - s)^2": (r - s) ** 2,
    }[kind]
    return Draft(
        draw.phrase(
            f"Let $r$ and $s$ be the roots of ${poly([a, b, c])} = 0$. Compute ${kind}$.",
            f"The equation ${poly([a, b, c])} = 0$ has the solutions $r$ and $s$. What is ${kind}$?",
        ),
        value,
        f"By Vieta $r + s = {frac(e)}$ and $rs = {frac(p)}$, which gives ${kind} = {frac(value)}$.",
        check=abs(direct - float(value)) < 1e-7 * max(1.0, abs(direct)),
    )


@family(SUBJECT, 3, 4, 5)
def absolute_value_inequality(draw: Draw, level: int) -> Draft:
    """Make a problem: solutions of an inequality with an absolute value, as an interval or as a count."""
    a, b, c = draw.integer(1 if level == 3 else 2, 9), draw.nonzero(-20, 20), draw.integer(1, 40)
    strict = draw.choice((True, False))
    low, high = Fraction(-c - b, a), Fraction(c - b, a)
    draw.need(gcd(a, b, c) == 1)
    sign = "<" if strict else r"\le"
    text = rf"\left| {poly([a, b])} \right| {sign} {c}"

    def inside(point: Fraction) -> bool:
        return abs(a * point + b) < c if strict else abs(a * point + b) <= c

    edges = [inside(low), inside(high), inside((low + high) / 2), inside(low - 1), inside(high + 1)]
    fits = edges == [not strict, not strict, True, False, False]
    if level == 3:
        draw.need(a < c <= 12 * a)  # otherwise at most two integers fit
        draw.claim(3, a, b, c, strict)
        ends = sympy.Rational(-c - b, a), sympy.Rational(c - b, a)
        if strict:
            count = int(sympy.ceiling(ends[1])) - int(sympy.floor(ends[0])) - 1
        else:
            count = int(sympy.floor(ends[1])) - int(sympy.ceiling(ends[0])) + 1
        counted = sum(abs(a * n + b) <= c - strict for n in range(-61, 62))  # all values are integers
        return Draft(
            draw.phrase(
                f"How many integers $x$ satisfy ${text}$?", f"Count the integers $x$ for which ${text}$."
            ),
            count,
            f"The inequality means that $x$ lies between ${frac(low)}$ and ${frac(high)}$; there are "
            f"${count}$ integers.",
            check=count == counted,
        )
    draw.claim(4, a, b, c, strict)
    if level == 4:
        left, right = ("(", ")") if strict else ("[", "]")
        value: Value = rf"{left}{frac(low)}, {frac(high)}{right}"
        ask = "Give the solution set in interval notation."
    else:
        lower, upper = ("]", "[") if strict else (")", "(")
        value = rf"(-\infty, {frac(low)}{lower} \cup {upper}{frac(high)}, \infty)"
        ask = "Give the answer in interval notation."
    statement = (
        draw.phrase(rf"Solve ${text}$. {ask}", rf"Find all real $x$ such that ${text}$. {ask}")
        if level == 4
        else draw.phrase(
            rf"Find all real $x$ for which ${text}$ is false. {ask}",
            rf"Which real numbers $x$ do not satisfy ${text}$? {ask}",
        )
    )
    return Draft(
        statement,
        value,
        f"The inequality holds between ${frac(low)}$ and ${frac(high)}$; the answer is ${value}$.",
        fits,
    )


@family(SUBJECT, 3, 4, 5)
def exponent_equation(draw: Draw, level: int) -> Draft:
    """Make a problem: an equation with powers of one base on both sides."""
    base = draw.choice((2, 3, 5))
    m, n = draw.integer(1, 4 if base == 2 else 2), draw.integer(1, 4 if base == 2 else 2)
    a, b, c, d = draw.integer(1, 6), draw.nonzero(-9, 9), draw.integer(-5, 6), draw.nonzero(-9, 9)
    slope = m * a - n * c
    draw.need(slope != 0 and (m, n) != (1, 1) and c != 0)
    value = Fraction(n * d - m * b, slope)
    draw.need({3: value.denominator == 1 and abs(value) > 1, 4: value != 0, 5: True}[level])
    if level == 5:
        e = draw.integer(1, 6)
        value = Fraction(n * d + e - m * b, slope)
        factor = rf"{base**e} \cdot "
    else:
        e, factor = 0, ""
    draw.claim(base, m, n, a, b, c, d, e)
    left = f"{base**m}^{{{poly([a, b])}}}"
    right = f"{factor}{base**n}^{{{poly([c, d])}}}"
    x = sympy.Symbol("x")
    exact = sympy.Poly(m * (a * x + b) - n * (c * x + d) - e, x)
    solved = -exact.coeff_monomial(1) / exact.coeff_monomial(x)
    side = float(value)
    gap = (a * side + b) * m - ((c * side + d) * n + e)
    return Draft(
        draw.phrase(
            f"Solve for $x$: ${left} = {right}$.", f"Find the real number $x$ with ${left} = {right}$."
        ),
        Fraction(int(solved.p), int(solved.q)),
        f"Written as powers of ${base}$, the exponents must agree: "
        f"${terms((m * a, 'x'), (m * b, ''))} = {terms((n * c, 'x'), (n * d + e, ''))}$, so $x = "
        f"{frac(value)}$.",
        check=solved == sympy.Rational(value.numerator, value.denominator) and abs(gap) < 1e-9,
    )
