"""Generates algebra problems of MATH's level 5: each needs several ideas in turn."""

import cmath
from fractions import Fraction
from math import gcd, isqrt, prod, sqrt

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, close, family
from nlac_bench.envs.math500_hard.generator.latex import frac, par, poly, show, terms

ALGEBRA, INTERMEDIATE = "algebra", "intermediate_algebra"


@family(ALGEBRA, 5)
def constrained_minimum(draw: Draw, level: int) -> Draft:
    """Make a problem: minimise a linear form under a condition on reciprocals (Cauchy or AM-GM)."""
    a, b, c, d = (draw.integer(2, 20) for _ in range(4))
    draw.need((a, c) != (b, d) and gcd(c, d) == 1)
    draw.claim(*sorted(((a, c), (b, d))))
    value = a * c + b * d + 2 * sympy.sqrt(a * b * c * d)

    def total(x: float) -> float:  # y = b x / (x - a) by the condition, and x > a
        return c * x + d * b * x / (x - a)

    low, high = a + 1e-9, a + 1e4
    for _ in range(300):  # ternary search: the total is convex in x
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if total(left) < total(right) else (left, high)
    condition = rf"\frac{{{a}}}{{x}} + \frac{{{b}}}{{y}} = 1"
    return Draft(
        draw.phrase(
            f"The positive real numbers $x$ and $y$ satisfy ${condition}$. Find the smallest possible value "
            f"of "
            f"${c}x + {d}y$.",
            f"What is the minimum of ${c}x + {d}y$ over all positive real $x$ and $y$ with ${condition}$?",
        ),
        value,
        rf"$({c}x + {d}y) \left( {condition.removesuffix(' = 1')} \right) = {a * c + b * d} + {b * c} "
        rf"\frac{{x}}{{y}} + "
        rf"{a * d} \frac{{y}}{{x}}$, and by AM-GM the last two terms add up to at least "
        rf"$2 \sqrt{{{a * b * c * d}}}$; the minimum is ${show(value)}$.",
        check=close(value, total((low + high) / 2)),
    )


@family(ALGEBRA, 5)
def power_sums(draw: Draw, level: int) -> Draft:
    """Make a problem: from the sum of two numbers and of their cubes to the sum of higher powers."""
    s, product, power = draw.nonzero(-8, 8), draw.nonzero(-12, 12), draw.integer(4, 6)
    draw.need(s * s > 4 * product)
    cubes = s**3 - 3 * s * product
    draw.need(cubes != 0)
    draw.claim(s, product, power)
    before, value = s, s * s - 2 * product  # Newton: p_n = s p_(n-1) - q p_(n-2)
    for _ in range(power - 2):
        before, value = value, s * value - product * before
    root = sqrt(s * s - 4 * product)
    return Draft(
        draw.phrase(
            f"The real numbers $x$ and $y$ satisfy $x + y = {s}$ and $x^3 + y^3 = {cubes}$. Find $x^{power} "
            f"+ "
            f"y^{power}$.",
            f"Two real numbers have the sum ${s}$, and their cubes have the sum ${cubes}$. What is the sum "
            f"of "
            f"their {({4: 'fourth', 5: 'fifth', 6: 'sixth'})[power]} powers?",
        ),
        value,
        rf"$(x + y)^3 = x^3 + y^3 + 3xy(x + y)$ gives $xy = {product}$, and $p_n = (x + y) p_{{n-1}} - xy\, "
        rf"p_{{n-2}}$ with $p_1 = {s}$, $p_2 = {s * s - 2 * product}$ leads to ${value}$.",
        check=close(value, ((s + root) / 2) ** power + ((s - root) / 2) ** power),
    )


@family(ALGEBRA, 5)
def floor_quadratic(draw: Draw, level: int) -> Draft:
    """Make a problem: a quadratic equation in x and the integer part of x."""
    a, b = draw.integer(5, 24), draw.integer(2, 120)
    fits = [k for k in range(a + 1) if k * k <= a * k - b < (k + 1) ** 2]
    draw.need(3 <= len(fits) <= 9)
    kind = draw.choice(("number", "squares"))
    draw.claim(a, b, kind)
    squares = [a * k - b for k in fits]
    value = len(fits) if kind == "number" else sum(squares)
    direct = [a * k - b for k in range(3 * a) if a * k >= b and isqrt(a * k - b) == k]
    equation = rf"x^2 - {a} \lfloor x \rfloor + {b} = 0"
    floor = r"Here $\lfloor x \rfloor$ is the greatest integer not greater than $x$."
    statement = (
        draw.phrase(
            f"How many real numbers $x$ satisfy ${equation}$? {floor}",
            f"Find the number of real solutions of ${equation}$. {floor}",
        )
        if kind == "number"
        else draw.phrase(
            f"Find the sum of the squares of all real solutions of ${equation}$. {floor}",
            f"The squares of all real numbers $x$ with ${equation}$ are added. What is the sum? {floor}",
        )
    )
    return Draft(
        statement,
        value,
        rf"With $k = \lfloor x \rfloor$ the equation gives $x^2 = {a}k - {b}$, and $k^2 \le {a}k - {b} < "
        rf"(k+1)^2$ "
        f"holds for $k = {', '.join(map(str, fits))}$; the answer is ${value}$.",
        check=value == (len(direct) if kind == "number" else sum(direct)),
    )


@family(INTERMEDIATE, 5)
def roots_of_unity_product(draw: Draw, level: int) -> Draft:
    """Make a problem: a product over all roots of unity other than 1."""
    n, a, b = draw.integer(4, 11), draw.integer(1, 6), draw.nonzero(-6, 6)
    draw.need(abs(a) != abs(b) and gcd(a, b) == 1 and max(a, abs(b)) ** n < 10**7)
    draw.claim(n, a, b)
    value = (a**n - (-b) ** n) // (a + b)
    direct = prod(a + b * cmath.exp(2j * cmath.pi * k / n) for k in range(1, n))
    factor = terms((a, ""), (b, r"\omega^k"))
    omega = rf"\omega = \cos \frac{{2\pi}}{{{n}}} + i \sin \frac{{2\pi}}{{{n}}}"
    return Draft(
        draw.phrase(
            rf"Let ${omega}$. Compute $\prod_{{k=1}}^{{{n - 1}}} ({factor})$.",
            rf"If ${omega}$, what is the value of the product $\prod_{{k=1}}^{{{n - 1}}} ({factor})$?",
        ),
        value,
        rf"$z^{{{n}}} - 1 = (z - 1) \prod (z - \omega^k)$; at $z = {frac(Fraction(-a, b))}$, multiplied by "
        rf"${par(-b)}^{{{n - 1}}}$, the product is ${value}$.",
        check=close(value, direct),
    )


@family(INTERMEDIATE, 5)
def shifted_reciprocal_roots(draw: Draw, level: int) -> Draft:
    """Make a problem: the sum of squared reciprocals of the shifted roots of a cubic."""
    b, c, d, shift = draw.nonzero(-7, 7), draw.integer(-9, 9), draw.nonzero(-9, 9), draw.nonzero(-3, 3)
    last = shift**3 + b * shift**2 + c * shift + d
    draw.need(last != 0)
    draw.claim(b, c, d, shift)
    # P(u + shift) = u^3 + e u^2 + f u + last has the roots r - shift.
    e, f = 3 * shift + b, 3 * shift**2 + 2 * b * shift + c
    value = Fraction(f * f - 2 * e * last, last * last)
    companion = sympy.Matrix([[0, 0, -d], [1, 0, -c], [0, 1, -b]]) - shift * sympy.eye(3)
    trace = (companion.inv() ** 2).trace()
    cubic = poly([1, b, c, d])
    asked = " + ".join(rf"\frac{{1}}{{({poly([1, -shift], name)})^2}}" for name in "rst")
    return Draft(
        draw.phrase(
            f"Let $r$, $s$ and $t$ be the roots of ${cubic}$. Compute ${asked}$.",
            f"The equation ${cubic} = 0$ has the solutions $r$, $s$ and $t$. Find ${asked}$.",
        ),
        value,
        f"The numbers $u = {poly([1, -shift], 'r')}$ and so on are the roots of "
        f"${poly([1, e, f, last], 'u')}$; the "
        f"sum of the squares of their reciprocals is ${frac(value)}$.",
        check=trace == sympy.Rational(value.numerator, value.denominator),
    )


@family(INTERMEDIATE, 5)
def functional_equation(draw: Draw, level: int) -> Draft:
    """Make a problem: a functional equation with a substitution of order three."""
    m, a, b = draw.choice((1, 2, 3, -2, -3)), draw.nonzero(-9, 9), draw.integer(-9, 9)
    t = draw.choice((2, 3, 4, 5, -1, -2, -3, -4))
    draw.claim(m, a, b, t)

    def given(point: Fraction) -> Fraction:
        return a * point + b

    first = Fraction(t)
    second = 1 / (1 - first)
    third = 1 / (1 - second)
    value = (given(first) - m * given(second) + m * m * given(third)) / (1 + m**3)
    f = sympy.Matrix([[1, m, 0], [0, 1, m], [m, 0, 1]]).LUsolve(
        sympy.Matrix(
            [sympy.Rational(given(p).numerator, given(p).denominator) for p in (first, second, third)]
        )
    )[0]
    sign = "+" if m > 0 else "-"
    factor = "" if abs(m) == 1 else f"{abs(m)}"
    equation = rf"f(x) {sign} {factor}f \left( \frac{{1}}{{1 - x}} \right) = {poly([a, b])}"
    return Draft(
        draw.phrase(
            f"A function $f$ satisfies ${equation}$ for all real $x$ other than $0$ and $1$. Find $f({t})$.",
            f"For every real number $x$ except $0$ and $1$, ${equation}$. What is $f({t})$?",
        ),
        value,
        f"Putting ${frac(first)}$, ${frac(second)}$ and ${frac(third)}$ for $x$ gives three linear equations "
        f"for "
        f"three values of $f$, with $f({t}) = {frac(value)}$.",
        check=f == sympy.Rational(value.numerator, value.denominator),
    )
