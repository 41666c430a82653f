"""Generates problems of intermediate algebra: complex numbers, series, logarithms."""

from fractions import Fraction
from math import gcd

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, close, family
from nlac_bench.envs.math500_hard.generator.latex import Value, frac, gaussian, poly, terms

SUBJECT = "intermediate_algebra"
X = sympy.Symbol("x")


@family(SUBJECT, 1, 2, 3)
def complex_arithmetic(draw: Draw, level: int) -> Draft:
    """Make a problem: sums, products or quotients of complex numbers."""
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
        check=close(value, direct),
    )


@family(SUBJECT, 3, 4, 5)
def infinite_series(draw: Draw, level: int) -> Draft:
    r"""Make a problem: a geometric series, or at level 5 the series $\sum k r^k$."""
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
            rf"With $r = {frac(r)}$, $\sum k r^k = \frac{{r}}{{(1-r)^2}}$ and $\sum r^k = "
            rf"\frac{{r}}{{1-r}}$, in total ${frac(value)}$.",
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
                f"An infinite geometric series has first term ${frac(first)}$ and common ratio ${frac(r)}$. "
                "What is its sum?",
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
            f"The terms of an infinite geometric series add up to ${frac(total)}$; its first term is "
            f"${frac(first)}$. "
            "Find the sum of the series of the squared terms.",
        ),
        squares,
        f"The ratio is ${frac(r)}$, so the squares have ratio ${frac(r * r)}$ and the sum ${frac(squares)}$.",
        check=1 - first / total == r and squares * (1 - (1 - first / total) ** 2) == first**2,
    )


@family(SUBJECT, 5)
def telescoping_sum(draw: Draw, level: int) -> Draft:
    """Make a problem: a sum of reciprocals of products, as a fraction."""
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
        rf"Each term is $\frac{{{scale}}}{{{gap}}} \left( \frac{{1}}{{k}} - \frac{{1}}{{k+{gap}}} \right)$, "
        "the sum telescopes "
        rf"to $\frac{{{scale}}}{{{gap}}} \left( {frac(heads)} - {frac(tails)} \right) = {frac(value)}$.",
        check=abs(direct - float(value)) < 1e-10,
    )


@family(SUBJECT, 2, 3, 4)
def logarithm(draw: Draw, level: int) -> Draft:
    """Make a problem: the value of a logarithm, or an equation with logarithms."""
    base = draw.integer(2, 7)
    if level == 2:
        root, m, n = draw.integer(2, 15), draw.integer(1, 5), draw.integer(1, 6) * draw.choice((1, -1))
        draw.need(root**m <= 1100 and root ** abs(n) <= 5000 and abs(n) != m)
        draw.claim(2, root, m, n)
        argument = str(root**n) if n > 0 else rf"\frac{{1}}{{{root**-n}}}"
        value = Fraction(n, m)
        return Draft(
            draw.phrase(
                rf"Evaluate $\log_{{{root**m}}} {argument}$.", rf"What is $\log_{{{root**m}}} {argument}$?"
            ),
            value,
            rf"Both are powers of ${root}$: $({root}^{{{m}}})^y = {root}^{{{n}}}$ gives $y = {frac(value)}$.",
            check=Fraction(root**m) ** value.numerator == Fraction(root) ** (n * value.denominator),
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
            rf"Find the real solution of $\log_{{{base}}} ({poly([1, -p])}) + \log_{{{base}}} "
            f"({poly([1, -q])}) = {c}$.",
            rf"Solve for $x$: $\log_{{{base}}} ({poly([1, -p])}) + \log_{{{base}}} ({poly([1, -q])}) = {c}$.",
        ),
        valid[0],
        f"$({poly([1, -p])})({poly([1, -q])}) = {target}$; of its two roots only $x = {valid[0]}$ makes "
        "both logarithms real.",
        check=len(valid) == 1 and (valid[0] - p) * (valid[0] - q) == target,
    )
