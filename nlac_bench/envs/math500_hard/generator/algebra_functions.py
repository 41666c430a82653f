"""Generates algebra problems: functions, arithmetic sequences, lines."""

from fractions import Fraction

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import frac, par, poly

SUBJECT = "algebra"


@family(SUBJECT, 1, 2, 3, 4)
def function_value(draw: Draw, level: int) -> Draft:
    """Make a problem: evaluate, compose (levels 2, 3) or invert (level 4) a function."""
    a, b, t = draw.integer(2, 9), draw.nonzero(-20, 20), draw.integer(-6, 9)
    if level == 1:
        draw.need(t >= 0)
        draw.claim(1, a, b, t)
        value: int | Fraction = a * t + b
        return Draft(
            draw.phrase(
                f"If $f(x) = {poly([a, b])}$, what is $f({t})$?",
                f"Let $f(x) = {poly([a, b])}$. Find $f({t})$.",
            ),
            value,
            rf"$f({t}) = {a} \cdot {t} {'+' if b > 0 else '-'} {abs(b)} = {value}$.",
            check=value - b == sum(a for _ in range(t)),
        )
    c, d = draw.nonzero(-6, 6), draw.nonzero(-9, 9)
    if level == 4:
        k, m = draw.nonzero(-9, 9), draw.integer(2, 9)
        # f(x) = (ax + b)/(kx + m); f(x) = t  <=>  x = (m t - b)/(a - k t)
        draw.need(a * m != b * k and a != k * t and t != 0)
        value = Fraction(m * t - b, a - k * t)
        draw.need(k * value + m != 0)
        draw.claim(4, a, b, k, m, t)
        text = rf"f(x) = \frac{{{poly([a, b])}}}{{{poly([k, m])}}}"
        return Draft(
            draw.phrase(
                f"Let ${text}$. Find $f^{{-1}}({t})$.", f"If ${text}$, for what value of $x$ is $f(x) = {t}$?"
            ),
            value,
            f"${poly([a, b])} = {t}({poly([k, m])})$ gives $x = {frac(value)}$.",
            check=(a * value + b) / (k * value + m) == t,
        )
    g = [c, d] if level == 2 else [draw.nonzero(-3, 3), c, d]
    outer = draw.choice(("f(g", "g(f"))
    draw.claim(level, a, b, *g, t, outer)
    x = sympy.Symbol("x")
    f_poly, g_poly = sympy.Poly([a, b], x), sympy.Poly(g, x)
    composed = f_poly.compose(g_poly) if outer == "f(g" else g_poly.compose(f_poly)
    value = int(composed.eval(t))

    def g_at(point: int) -> int:
        return sum(k * point ** (len(g) - 1 - i) for i, k in enumerate(g))

    inner = g_at(t) if outer == "f(g" else a * t + b
    return Draft(
        draw.phrase(
            f"Let $f(x) = {poly([a, b])}$ and $g(x) = {poly(g)}$. What is ${outer}({t}))$?",
            f"If $f(x) = {poly([a, b])}$ and $g(x) = {poly(g)}$, compute ${outer}({t}))$.",
        ),
        value,
        f"${outer[-1]}({t}) = {inner}$ and ${outer[0]}({inner}) = {value}$.",
        check=value == (a * inner + b if outer == "f(g" else g_at(inner)),
    )


@family(SUBJECT, 2, 3, 4)
def arithmetic_series(draw: Draw, level: int) -> Draft:
    """Make a problem: a term of an arithmetic sequence, its sum, or its length."""
    first, step = draw.integer(-20, 40), draw.nonzero(-9, 12)
    n = draw.integer(8, 40)
    last = first + (n - 1) * step
    if level < 4:
        draw.claim(level, first, step, n)
    listed = f"{first}, {first + step}, {first + 2 * step}"
    if level == 2:
        return Draft(
            draw.phrase(
                rf"What is term number ${n}$ of the arithmetic sequence ${listed}, \ldots$?",
                f"An arithmetic sequence begins ${listed}$. Find its ${n}$th term, counting ${first}$ as "
                "the first."
                if n % 10 not in (1, 2, 3)
                else (
                    f"An arithmetic sequence begins ${listed}$. Find term ${n}$, counting ${first}$ as "
                    "term $1$."
                ),
            ),
            last,
            rf"${first} + {n - 1} \cdot {par(step)} = {last}$.",
            check=list(range(first, first + n * step, step))[-1] == last,
        )
    if level == 3:
        total = n * (first + last) // 2
        return Draft(
            draw.phrase(
                rf"Find the sum of the first ${n}$ terms of the arithmetic sequence ${listed}, \ldots$.",
                rf"What is ${first} + {par(first + step)} + {par(first + 2 * step)} + \cdots + {par(last)}$, "
                "if the terms form "
                "an arithmetic sequence?",
            ),
            total,
            rf"There are ${n}$ terms, the last is ${last}$, and the sum is $\frac{{{n}}}{{2}}({first} + "
            f"{par(last)}) = {total}$.",
            check=sum(range(first, first + n * step, step)) == total,
        )
    m, k = n, draw.integer(2, 7)
    # The sums S_m and S_{m+k} determine the sequence; the question is its first term.
    s, u = m * (2 * first + (m - 1) * step) // 2, (m + k) * (2 * first + (m + k - 1) * step) // 2
    draw.claim(level, first, step, m, k)
    a, d = sympy.symbols("a d")
    sums = [n * a + sympy.Rational(n * (n - 1), 2) * d - total for n, total in ((m, s), (m + k, u))]
    solved = sympy.linsolve(sums, a, d)
    value = int(next(iter(solved))[0])
    return Draft(
        draw.phrase(
            f"The sum of the first ${m}$ terms of an arithmetic sequence is ${s}$, and the sum of its first "
            f"${m + k}$ "
            f"terms is ${u}$. What is its first term?",
            f"In an arithmetic sequence the first ${m}$ terms add up to ${s}$ and the first ${m + k}$ terms "
            f"to ${u}$. "
            "Find the first term.",
        ),
        value,
        f"The two sums are linear in the first term and the difference; solving gives difference ${step}$ "
        "and first "
        f"term ${value}$.",
        check=sum(value + i * step for i in range(m)) == s
        and sum(value + i * step for i in range(m + k)) == u,
    )


@family(SUBJECT, 1, 2, 3)
def line_through_points(draw: Draw, level: int) -> Draft:
    """Make a problem: slope, intercept, or a further point of the line through two points."""
    size = 9 if level == 1 else 12
    x1, y1, x2, y2 = (draw.integer(-size if level > 1 else 0, size) for _ in range(4))
    draw.need(x1 != x2 and y1 != y2)
    points = sorted(((x1, y1), (x2, y2)))
    slope = Fraction(y2 - y1, x2 - x1)
    pair = f"$({x1},{y1})$ and $({x2},{y2})$"
    draw.need(level > 1 or slope.denominator == 1)
    if level == 1:
        draw.claim(1, *points)
        return Draft(
            draw.phrase(
                f"What is the slope of the line through {pair}?",
                f"Find the slope of the line that joins {pair}.",
            ),
            slope,
            rf"The slope is $\frac{{{y2} - {y1}}}{{{x2} - {x1}}} = {frac(slope)}$.",
            check=y1 + slope * (x2 - x1) == y2,
        )
    if level == 2:
        draw.claim(2, *points)
        value = y1 - slope * x1
        return Draft(
            draw.phrase(
                f"At what value of $y$ does the line through {pair} cross the $y$-axis?",
                f"Find the $y$-intercept of the line through {pair}. Give the $y$-coordinate.",
            ),
            value,
            f"The slope is ${frac(slope)}$, so the line is at $y = {frac(value)}$ where $x = 0$.",
            check=(value - y1) * x2 == (value - y2) * x1,
        )
    x3 = draw.integer(-20, 20)
    draw.need(x3 not in (x1, x2))
    draw.claim(3, *points, x3)
    x = sympy.Symbol("x")
    exact = sympy.interpolate([(x1, y1), (x2, y2)], x).subs(x, x3)
    value = Fraction(int(exact.p), int(exact.q))
    return Draft(
        draw.phrase(
            f"The points $({x1},{y1})$, $({x2},{y2})$ and $({x3}, k)$ lie on a line. Find $k$.",
            f"For what value of $k$ is $({x3}, k)$ on the line through {pair}?",
        ),
        value,
        f"The slope is ${frac(slope)}$, so $k = {y1} + ({frac(slope)}) \\cdot ({x3} - {par(x1)}) = "
        f"{frac(value)}$.",
        check=(value - y1) * (x2 - x1) == (y2 - y1) * (x3 - x1),
    )
