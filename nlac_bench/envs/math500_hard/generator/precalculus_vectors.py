"""Generates problems of precalculus: vectors, matrices, complex numbers."""

import cmath
from fractions import Fraction
from math import acos, pi, sin, sqrt

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, close, family
from nlac_bench.envs.math500_hard.generator.latex import Value, column, gaussian, matrix, par, show, terms

SUBJECT = "precalculus"


def _det(rows: list[list[int]]) -> int:
    """Return the determinant, computed by expansion along the first row."""
    if len(rows) == 1:
        return rows[0][0]
    return sum(
        (-1) ** j * entry * _det([r[:j] + r[j + 1 :] for r in rows[1:]]) for j, entry in enumerate(rows[0])
    )


@family(SUBJECT, 1, 2, 3, 4)
def vector_products(draw: Draw, level: int) -> Draft:
    """Make a problem: sums, dot products, orthogonality or angles of vectors."""
    size = 2 if level == 1 else 3
    u, v = ([draw.integer(-9, 9) for _ in range(size)] for _ in range(2))
    draw.need(any(u) and any(v))
    direct = sum(a * b for a, b in zip(u, v, strict=True))
    if level <= 2:
        draw.claim("dot", *sorted((tuple(u), tuple(v))))
        dot = int(sympy.Matrix(u).dot(sympy.Matrix(v)))
        shown = r" + ".join(rf"{par(a)} \cdot {par(b)}" for a, b in zip(u, v, strict=True))
        return Draft(
            draw.phrase(
                f"What is the dot product of the vectors ${column(u)}$ and ${column(v)}$?",
                rf"Compute ${column(u)} \cdot {column(v)}$.",
            ),
            dot,
            f"${shown} = {dot}$.",
            check=dot == direct,
        )
    if level == 3:
        place = draw.integer(0, 2)
        draw.need(u[place] != 0)
        rest = direct - u[place] * v[place]
        draw.claim("perpendicular", tuple(u), tuple(v[:place] + v[place + 1 :]), place)
        value = Fraction(-rest, u[place])
        body = r" \\ ".join("k" if i == place else str(entry) for i, entry in enumerate(v))
        return Draft(
            draw.phrase(
                rf"For what $k$ are ${column(u)}$ and $\begin{{pmatrix}} {body} \end{{pmatrix}}$ "
                "perpendicular?",
                rf"The vectors ${column(u)}$ and $\begin{{pmatrix}} {body} \end{{pmatrix}}$ are orthogonal. "
                "Find $k$.",
            ),
            value,
            f"The dot product ${rest} + {par(u[place])}k$ must be $0$, so $k = {show(value)}$.",
            check=sum(a * (value if i == place else b) for i, (a, b) in enumerate(zip(u, v, strict=True)))
            == 0,
        )
    draw.claim("cosine", *sorted((tuple(u), tuple(v))))
    uu, vv = sum(a * a for a in u), sum(b * b for b in v)
    exact = sympy.radsimp(direct / sympy.sqrt(uu * vv))
    # Second method: the law of cosines in the triangle 0, u, v.
    side = sqrt(sum((a - b) ** 2 for a, b in zip(u, v, strict=True)))
    number = (uu + vv - side * side) / (2 * sqrt(uu) * sqrt(vv))
    return Draft(
        draw.phrase(
            rf"Let $\theta$ be the angle between ${column(u)}$ and ${column(v)}$. Find $\cos \theta$.",
            f"What is the cosine of the angle between the vectors ${column(u)}$ and ${column(v)}$?",
        ),
        exact,
        rf"$\cos \theta = \frac{{{direct}}}{{\sqrt{{{uu}}} \sqrt{{{vv}}}}} = {show(exact)}$.",
        check=close(exact, number),
    )


@family(SUBJECT, 2, 3, 4)
def determinant(draw: Draw, level: int) -> Draft:
    """Make a problem: a determinant, or the parameter for which it is 0."""
    size = 2 if level == 2 else 3
    bound = 12 if level == 2 else 6
    rows = [[draw.integer(-bound, bound) for _ in range(size)] for _ in range(size)]
    if level < 4:
        draw.claim("value", *map(tuple, rows))
        value: Value = int(sympy.Matrix(rows).det())
        statement = draw.phrase(
            f"Find the determinant of ${matrix(rows)}$.",
            f"Compute the determinant of the matrix ${matrix(rows)}$.",
        )
        return Draft(
            statement, value, f"Expanding along the first row gives ${value}$.", check=_det(rows) == value
        )
    i, j = draw.integer(0, 2), draw.integer(0, 2)
    rows[i][j] = 0
    base = _det(rows)
    rows[i][j] = 1
    slope = _det(rows) - base
    draw.need(slope != 0)
    rows[i][j] = 0
    draw.claim("parameter", *map(tuple, rows), i, j)
    k = sympy.Symbol("k")
    symbolic = sympy.Matrix(rows)
    symbolic[i, j] = k
    line = sympy.Poly(symbolic.det(method="berkowitz"), k)
    exact = -line.coeff_monomial(1) / line.coeff_monomial(k)
    value = Fraction(int(exact.p), int(exact.q))
    body = r" \\ ".join(
        " & ".join("k" if (r, c) == (i, j) else str(e) for c, e in enumerate(row))
        for r, row in enumerate(rows)
    )
    text = rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"
    return Draft(
        draw.phrase(
            f"For what value of $k$ is the matrix ${text}$ not invertible?",
            f"The determinant of ${text}$ is $0$. Find $k$.",
        ),
        value,
        f"The determinant is ${terms((slope, 'k'), (base, ''))}$, which vanishes at $k = {show(value)}$.",
        check=base + slope * value == 0,
    )


@family(SUBJECT, 2, 3, 4)
def matrix_algebra(draw: Draw, level: int) -> Draft:
    """Make a problem: products, inverses or powers of two by two matrices."""
    a, b, c, d, e, f, g, h = (draw.integer(-6, 6) for _ in range(8))
    first, second = [[a, b], [c, d]], [[e, f], [g, h]]
    if level == 2:
        draw.claim("product", a, b, c, d, e, f, g, h)
        result = sympy.Matrix(first) * sympy.Matrix(second)
        text = f"{matrix(first)} {matrix(second)}"
        statement = draw.phrase(f"Compute ${text}$.", f"Find the matrix product ${text}$.")
        direct = [[a * e + b * g, a * f + b * h], [c * e + d * g, c * f + d * h]]
        work = "Multiplying rows by columns gives the product."
        check = result.tolist() == direct
    elif level == 3:
        det = a * d - b * c
        draw.need(det != 0 and any((b, c)))
        draw.claim("inverse", a, b, c, d)
        left = sympy.Matrix(first)
        result = left.inv()
        statement = draw.phrase(
            f"Find the inverse of the matrix ${matrix(first)}$.",
            rf"If $\mathbf{{A}} = {matrix(first)}$, compute $\mathbf{{A}}^{{-1}}$.",
        )
        work = (
            f"The determinant is ${det}$; swapping the diagonal, changing the other signs and dividing "
            "gives the inverse."
        )
        check = left * result == sympy.eye(2)
    else:
        n = draw.integer(3, 5)
        draw.need(max(abs(x) for x in (a, b, c, d)) <= 4 and any((b, c)))
        draw.claim("power", a, b, c, d, n)
        left = sympy.Matrix(first)
        result = left**n
        statement = draw.phrase(
            rf"Let $\mathbf{{A}} = {matrix(first)}$. Find $\mathbf{{A}}^{n}$.",
            rf"Compute ${matrix(first)}^{n}$.",
        )
        work = f"Multiplying ${n}$ times gives the power."
        # Second method, Cayley-Hamilton: A^(k+1) = t A^k - D A^(k-1).
        previous, current = sympy.eye(2), left
        for _ in range(n - 1):
            previous, current = current, (a + d) * current - (a * d - b * c) * previous
        check = current == result
    entries = [show(Fraction(int(x.p), int(x.q))) for x in result]
    body = rf"{entries[0]} & {entries[1]} \\ {entries[2]} & {entries[3]}"
    return Draft(statement, rf"\begin{{pmatrix}} {body} \end{{pmatrix}}", work, check)


@family(SUBJECT, 4, 5)
def cross_product(draw: Draw, level: int) -> Draft:
    """Make a problem: cross products, or areas and volumes in space."""
    a, b, c = ([draw.integer(-6, 6) for _ in range(3)] for _ in range(3))
    ab, ac = [q - p for p, q in zip(a, b, strict=True)], [q - p for p, q in zip(a, c, strict=True)]
    if level == 4:
        product = sympy.Matrix(a).cross(sympy.Matrix(b))
        entries = [int(x) for x in product]
        draw.need(any(entries))
        draw.claim("cross", tuple(a), tuple(b))
        orthogonal = all(sum(x * y for x, y in zip(entries, v, strict=True)) == 0 for v in (a, b))
        lagrange = sum(x * x for x in entries) == (
            sum(x * x for x in a) * sum(x * x for x in b) - sum(x * y for x, y in zip(a, b, strict=True)) ** 2
        )
        oriented = _det([a, b, entries]) > 0
        return Draft(
            draw.phrase(
                f"Compute the cross product ${column(a)} \\times {column(b)}$.",
                f"Find ${column(a)} \\times {column(b)}$.",
            ),
            column(entries),
            f"The components are ${', '.join(map(str, entries))}$.",
            check=orthogonal and lagrange and oriented,
        )
    normal = sympy.Matrix(ab).cross(sympy.Matrix(ac))
    square = int(normal.dot(normal))
    draw.need(square > 0)
    points = sorted((tuple(a), tuple(b), tuple(c)))
    draw.claim("triangle", *points)
    exact = sympy.sqrt(square) / 2
    sides = [sqrt(sum((x - y) ** 2 for x, y in zip(p, q, strict=True))) for p, q in ((a, b), (b, c), (c, a))]
    angle = acos(
        max(-1.0, min(1.0, (sides[0] ** 2 + sides[2] ** 2 - sides[1] ** 2) / (2 * sides[0] * sides[2])))
    )
    listed = ", ".join(f"({', '.join(map(str, p))})" for p in draw.several(points, 3))
    return Draft(
        draw.phrase(
            f"Find the area of the triangle with vertices ${listed}$.",
            f"A triangle in space has the vertices ${listed}$. What is its area?",
        ),
        exact,
        rf"Half the length of the cross product of two sides is $\frac{{\sqrt{{{square}}}}}{{2}} = "
        f"{show(exact)}$.",
        check=abs(float(exact) - sides[0] * sides[2] * sin(angle) / 2) < 1e-6,
    )


@family(SUBJECT, 4, 5)
def complex_power(draw: Draw, level: int) -> Draft:
    """Make a problem: powers of complex numbers by De Moivre's theorem."""
    if level == 4:
        a, b = draw.nonzero(-6, 6), draw.nonzero(-6, 6)
        n = draw.integer(3, 12)
        draw.need(n <= 5 or abs(a) == abs(b) <= 3)
        draw.claim(a, b, n)
        exact = sympy.expand((a + b * sympy.I) ** n)
        base = gaussian(a, b)
        real, imaginary = 1, 0
        for _ in range(n):
            real, imaginary = real * a - imaginary * b, real * b + imaginary * a
        check = exact == real + imaginary * sympy.I
        answer = gaussian(real, imaginary)
    else:
        scale, n = draw.integer(1, 5), draw.integer(4, 20)
        first = draw.choice((True, False))
        s, u = draw.choice((1, -1)), draw.choice((1, -1))
        a_exact = s * scale * (sympy.sqrt(3) if first else sympy.Integer(1))
        b_exact = u * scale * (sympy.Integer(1) if first else sympy.sqrt(3))
        draw.need((2 * scale) ** n < 10**8)
        draw.claim(first, scale * s, scale * u, n)
        exact = sympy.expand((a_exact + b_exact * sympy.I) ** n)
        base = f"{show(a_exact)} {'+' if u > 0 else '-'} {show(abs(b_exact)) if abs(b_exact) != 1 else ''}i"
        angle = 30 if first else 60  # in the first quadrant; the signs reflect it into the others
        angle = {(1, 1): angle, (-1, 1): 180 - angle, (-1, -1): 180 + angle, (1, -1): -angle}[s, u]
        number = (2 * scale) ** n * cmath.exp(1j * pi * angle * n / 180)
        check = close(exact, number)
        answer = show(exact)
    return Draft(
        draw.phrase(f"Compute $({base})^{{{n}}}$.", f"Find $({base})^{{{n}}}$ in the form $a + bi$."),
        exact,
        "In polar form the modulus is raised to the power and the angle multiplied; the result is "
        f"${answer}$.",
        check,
    )
