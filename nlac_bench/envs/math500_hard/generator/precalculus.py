"""Precalculus: angles, trigonometry, vectors, matrices, polar form."""

import cmath
from fractions import Fraction
from math import acos, cos, gcd, isqrt, pi, radians, sin, sqrt, tan

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import Value, column, gaussian, matrix, par, show, terms

SUBJECT = "precalculus"


def _close(value: object, number: complex) -> bool:
    """Whether the exact ``value`` is ``number``, computed in another way."""
    return abs(complex(sympy.sympify(value).evalf(20)) - number) <= 1e-9 * max(1.0, abs(number))


@family(SUBJECT, 1, 2)
def degrees_and_radians(draw: Draw, level: int) -> Draft:
    """Angles from degrees to radians and back."""
    if level == 1:
        degrees = draw.choice((1, -1)) * 3 * draw.integer(1, 240)
        draw.claim("radians", degrees)
        value: Value = sympy.pi * sympy.Rational(degrees, 180)
        return Draft(
            draw.phrase(
                rf"Convert ${degrees}^\circ$ to radians. Answer in terms of $\pi$.",
                rf"How many radians are ${degrees}^\circ$? Give a multiple of $\pi$.",
            ),
            value,
            rf"${degrees} \cdot \frac{{\pi}}{{180}} = {show(value)}$.",
            check=_close(value, radians(degrees)),
        )
    q = draw.choice((2, 3, 4, 5, 6, 9, 10, 12, 15, 18, 20, 30, 36))
    p = draw.nonzero(-8 * q, 8 * q)
    draw.need(gcd(p, q) == 1)
    draw.claim("degrees", p, q)
    value = int(sympy.deg(sympy.pi * sympy.Rational(p, q)))
    angle = show(sympy.pi * sympy.Rational(p, q))
    return Draft(
        draw.phrase(f"Convert ${angle}$ radians to degrees.", f"How many degrees is an angle of ${angle}$ radians?"),
        value,
        rf"$\pi$ radians are $180$ degrees, so the angle has ${value}$ degrees.",
        check=Fraction(value, 180) == Fraction(p, q),
    )


@family(SUBJECT, 1, 2, 3, 4)
def exact_trigonometry(draw: Draw, level: int) -> Draft:
    """Exact values of trigonometric functions at multiples of 15, 30 and 45 degrees."""
    names = {1: ("sin", "cos"), 2: ("sin", "cos", "tan"), 3: ("sin", "cos", "tan"), 4: ("sin", "cos", "tan", "cot", "sec", "csc")}[level]
    name = draw.choice(names)
    degrees = 15 * (draw.integer(-24, 96) if level == 1 else draw.integer(-60, 120))
    if level < 4:
        draw.need(degrees % 30 == 0 or degrees % 45 == 0)
    else:
        draw.need(degrees % 30 != 0 and degrees % 45 != 0)
    draw.need(not (name in ("tan", "sec") and degrees % 180 == 90) and not (name in ("cot", "csc") and degrees % 180 == 0))
    in_radians = level == 3
    angle = sympy.pi * sympy.Rational(degrees, 180)
    draw.claim(name, degrees, in_radians)
    exact = sympy.radsimp(sympy.expand(sympy.sqrtdenest(sympy.radsimp(getattr(sympy, name)(angle)))))
    text = rf"\{name} {show(angle)}" if in_radians and degrees > 0 else rf"\{name} \left( {show(angle)} \right)"
    if not in_radians:
        text = rf"\{name} {degrees}^\circ" if degrees >= 0 else rf"\{name} ({degrees}^\circ)"
    t = radians(degrees)
    number = {"sin": sin, "cos": cos, "tan": tan, "cot": lambda u: cos(u) / sin(u), "sec": lambda u: 1 / cos(u),
              "csc": lambda u: 1 / sin(u)}[name](t)  # fmt: skip
    turn = degrees % 360
    return Draft(
        draw.phrase(f"Compute ${text}$.", f"Find the exact value of ${text}$.", f"What is ${text}$?"),
        exact,
        rf"The angle has the same terminal side as ${turn}^\circ$, so the value is ${show(exact)}$.",
        check=_close(exact, number),
    )


@family(SUBJECT, 1, 2, 3, 4)
def vector_products(draw: Draw, level: int) -> Draft:
    """Sums, dot products, orthogonality and angles of vectors."""
    size = 2 if level == 1 else 3
    u, v = ([draw.integer(-9, 9) for _ in range(size)] for _ in range(2))
    draw.need(any(u) and any(v))
    dot = int(sympy.Matrix(u).dot(sympy.Matrix(v)))
    direct = sum(a * b for a, b in zip(u, v, strict=True))
    if level <= 2:
        draw.claim("dot", *sorted((tuple(u), tuple(v))))
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
                rf"For what $k$ are ${column(u)}$ and $\begin{{pmatrix}} {body} \end{{pmatrix}}$ perpendicular?",
                rf"The vectors ${column(u)}$ and $\begin{{pmatrix}} {body} \end{{pmatrix}}$ are orthogonal. Find $k$.",
            ),
            value,
            f"The dot product ${rest} + {par(u[place])}k$ must be $0$, so $k = {show(value)}$.",
            check=sum(a * (value if i == place else b) for i, (a, b) in enumerate(zip(u, v, strict=True))) == 0,
        )
    draw.claim("cosine", *sorted((tuple(u), tuple(v))))
    uu, vv = sum(a * a for a in u), sum(b * b for b in v)
    exact = sympy.radsimp(dot / sympy.sqrt(uu * vv))
    # Second method: the law of cosines in the triangle 0, u, v.
    side = sqrt(sum((a - b) ** 2 for a, b in zip(u, v, strict=True)))
    number = (uu + vv - side * side) / (2 * sqrt(uu) * sqrt(vv))
    return Draft(
        draw.phrase(
            rf"Let $\theta$ be the angle between ${column(u)}$ and ${column(v)}$. Find $\cos \theta$.",
            f"What is the cosine of the angle between the vectors ${column(u)}$ and ${column(v)}$?",
        ),
        exact,
        rf"$\cos \theta = \frac{{{dot}}}{{\sqrt{{{uu}}} \sqrt{{{vv}}}}} = {show(exact)}$.",
        check=_close(exact, number),
    )


@family(SUBJECT, 2, 3, 4)
def determinant(draw: Draw, level: int) -> Draft:
    """Determinants, and the parameter that makes one vanish."""
    size = 2 if level == 2 else 3
    bound = 12 if level == 2 else 6
    rows = [[draw.integer(-bound, bound) for _ in range(size)] for _ in range(size)]
    if level < 4:
        draw.claim("value", *map(tuple, rows))
        value: Value = int(sympy.Matrix(rows).det())
        statement = draw.phrase(
            f"Find the determinant of ${matrix(rows)}$.", f"Compute the determinant of the matrix ${matrix(rows)}$."
        )
        return Draft(statement, value, f"Expanding along the first row gives ${value}$.", check=_det(rows) == value)
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
    body = r" \\ ".join(" & ".join("k" if (r, c) == (i, j) else str(e) for c, e in enumerate(row)) for r, row in enumerate(rows))
    text = rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"
    return Draft(
        draw.phrase(f"For what value of $k$ is the matrix ${text}$ not invertible?", f"The determinant of ${text}$ is $0$. Find $k$."),
        value,
        f"The determinant is ${terms((slope, 'k'), (base, ''))}$, which vanishes at $k = {show(value)}$.",
        check=base + slope * value == 0,
    )


def _det(rows: list[list[int]]) -> int:
    """Determinant by expansion along the first row."""
    if len(rows) == 1:
        return rows[0][0]
    return sum((-1) ** j * entry * _det([r[:j] + r[j + 1 :] for r in rows[1:]]) for j, entry in enumerate(rows[0]))


@family(SUBJECT, 2, 3, 4)
def matrix_algebra(draw: Draw, level: int) -> Draft:
    """Products, inverses and powers of two by two matrices."""
    a, b, c, d, e, f, g, h = (draw.integer(-6, 6) for _ in range(8))
    first, second = [[a, b], [c, d]], [[e, f], [g, h]]
    left, right = sympy.Matrix(first), sympy.Matrix(second)
    if level == 2:
        draw.claim("product", a, b, c, d, e, f, g, h)
        found = left * right
        text = f"{matrix(first)} {matrix(second)}"
        statement = draw.phrase(f"Compute ${text}$.", f"Find the matrix product ${text}$.")
        direct = [[a * e + b * g, a * f + b * h], [c * e + d * g, c * f + d * h]]
        work = "Multiplying rows by columns gives the product."
        check = found.tolist() == direct
    elif level == 3:
        det = a * d - b * c
        draw.need(det != 0 and any((b, c)))
        draw.claim("inverse", a, b, c, d)
        found = left.inv()
        statement = draw.phrase(
            f"Find the inverse of the matrix ${matrix(first)}$.", rf"If $\mathbf{{A}} = {matrix(first)}$, compute $\mathbf{{A}}^{{-1}}$."
        )
        work = f"The determinant is ${det}$; swapping the diagonal, changing the other signs and dividing gives the inverse."
        check = left * found == sympy.eye(2)
    else:
        n = draw.integer(3, 5)
        draw.need(max(abs(x) for x in (a, b, c, d)) <= 4 and any((b, c)))
        draw.claim("power", a, b, c, d, n)
        found = left**n
        statement = draw.phrase(
            rf"Let $\mathbf{{A}} = {matrix(first)}$. Find $\mathbf{{A}}^{n}$.", rf"Compute ${matrix(first)}^{n}$."
        )
        work = f"Multiplying ${n}$ times gives the power."
        # Second method, Cayley-Hamilton: A^(k+1) = t A^k - D A^(k-1).
        previous, current = sympy.eye(2), left
        for _ in range(n - 1):
            previous, current = current, (a + d) * current - (a * d - b * c) * previous
        check = current == found
    entries = [show(Fraction(int(x.p), int(x.q))) for x in found]
    body = rf"{entries[0]} & {entries[1]} \\ {entries[2]} & {entries[3]}"
    return Draft(statement, rf"\begin{{pmatrix}} {body} \end{{pmatrix}}", work, check)


@family(SUBJECT, 2, 3, 4)
def polar_coordinates(draw: Draw, level: int) -> Draft:
    """Between polar and rectangular coordinates, and to spherical ones at level 4."""
    r = draw.integer(1, 24) * (1 if level == 2 else 2)
    steps = draw.integer(0, 23) if level == 3 else draw.integer(-12, 36)
    theta = sympy.pi * sympy.Rational(steps, 12)
    draw.need(steps % 2 == 0 or steps % 3 == 0)
    t = pi * steps / 12
    if level == 2:
        draw.claim("to rectangular", r, steps)
        value: Value = (sympy.expand(r * sympy.cos(theta)), sympy.expand(r * sympy.sin(theta)))
        statement = draw.phrase(
            f"Convert the point $({r}, {show(theta)})$ from polar to rectangular coordinates.",
            f"A point has the polar coordinates $r = {r}$ and $\\theta = {show(theta)}$. Find its rectangular coordinates $(x, y)$.",
        )
        check = _close(value[0], r * cos(t)) and _close(value[1], r * sin(t))
        work = rf"$x = r \cos \theta = {show(value[0])}$ and $y = r \sin \theta = {show(value[1])}$."
    elif level == 3:
        draw.claim("to polar", r, steps)
        x, y = sympy.expand(r * sympy.cos(theta)), sympy.expand(r * sympy.sin(theta))
        value = (sympy.Integer(r), theta)
        number = cmath.phase(complex(float(x), float(y))) % (2 * pi)
        check = _close(theta, number) or abs(number - 2 * pi) < 1e-9
        statement = draw.phrase(
            rf"Convert $({show(x)}, {show(y)})$ to polar coordinates $(r, \theta)$ with $r > 0$ and $0 \le \theta < 2\pi$.",
            rf"Find polar coordinates $(r, \theta)$, where $r > 0$ and $0 \le \theta < 2\pi$, of the point $({show(x)}, {show(y)})$.",
        )
        work = rf"$r = \sqrt{{x^2 + y^2}} = {r}$, and the direction is $\theta = {show(theta)}$."
    else:
        tilt = draw.choice((2, 3, 4, 6, 8, 9, 10))
        phi = sympy.pi * sympy.Rational(tilt, 12)
        draw.need(0 <= steps < 24)
        draw.claim("spherical", r, steps, tilt)
        value = tuple(sympy.expand(part) for part in (
            r * sympy.sin(phi) * sympy.cos(theta), r * sympy.sin(phi) * sympy.sin(theta), r * sympy.cos(phi)))  # fmt: skip
        p = pi * tilt / 12
        numbers = (r * sin(p) * cos(t), r * sin(p) * sin(t), r * cos(p))
        check = all(_close(part, number) for part, number in zip(value, numbers, strict=True))
        statement = draw.phrase(
            rf"Convert $(\rho, \theta, \phi) = ({r}, {show(theta)}, {show(phi)})$ from spherical to rectangular coordinates.",
            rf"A point has spherical coordinates $\rho = {r}$, $\theta = {show(theta)}$ and $\phi = {show(phi)}$, where $\phi$ is "
            "measured from the positive $z$-axis. Find its rectangular coordinates.",
        )
        work = rf"$(\rho \sin \phi \cos \theta, \rho \sin \phi \sin \theta, \rho \cos \phi) = {show(value)}$."
    return Draft(statement, value, work, check)


@family(SUBJECT, 4, 5)
def cross_product(draw: Draw, level: int) -> Draft:
    """Cross products, and areas and volumes in space."""
    a, b, c = ([draw.integer(-6, 6) for _ in range(3)] for _ in range(3))
    ab, ac = [q - p for p, q in zip(a, b, strict=True)], [q - p for p, q in zip(a, c, strict=True)]
    if level == 4:
        found = sympy.Matrix(a).cross(sympy.Matrix(b))
        entries = [int(x) for x in found]
        draw.need(any(entries))
        draw.claim("cross", tuple(a), tuple(b))
        orthogonal = all(sum(x * y for x, y in zip(entries, v, strict=True)) == 0 for v in (a, b))
        lagrange = sum(x * x for x in entries) == (
            sum(x * x for x in a) * sum(x * x for x in b) - sum(x * y for x, y in zip(a, b, strict=True)) ** 2
        )
        oriented = _det([a, b, entries]) > 0
        return Draft(
            draw.phrase(f"Compute the cross product ${column(a)} \\times {column(b)}$.", f"Find ${column(a)} \\times {column(b)}$."),
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
    angle = acos(max(-1.0, min(1.0, (sides[0] ** 2 + sides[2] ** 2 - sides[1] ** 2) / (2 * sides[0] * sides[2]))))
    listed = ", ".join(f"({', '.join(map(str, p))})" for p in draw.several(points, 3))
    return Draft(
        draw.phrase(
            f"Find the area of the triangle with vertices ${listed}$.",
            f"A triangle in space has the vertices ${listed}$. What is its area?",
        ),
        exact,
        rf"Half the length of the cross product of two sides is $\frac{{\sqrt{{{square}}}}}{{2}} = {show(exact)}$.",
        check=abs(float(exact) - sides[0] * sides[2] * sin(angle) / 2) < 1e-6,
    )


@family(SUBJECT, 4, 5)
def trigonometric_equation(draw: Draw, level: int) -> Draft:
    """How many solutions, or their sum, in a range of degrees."""
    name, k = draw.choice(("sin", "cos")), draw.integer(1, 6)
    top = 90 * draw.integer(2, 12)
    if level == 4:
        level_value = sympy.Rational(draw.integer(-9, 9), 10)
        draw.claim("count", name, k, top, str(level_value))
        # One full turn of the angle holds two solutions, except at the extremes.
        wanted = float(level_value)
        base = acos(wanted) if name == "cos" else pi / 2 - acos(wanted)
        firsts = {base % (2 * pi), (-base if name == "cos" else pi - base) % (2 * pi)}
        count = 0
        for first in firsts:
            turn = 0
            while (first + 2 * pi * turn) / k < radians(top) - 1e-9:
                count += 1
                turn += 1
        # Second method: sign changes on a fine grid, which no solution hits (see the offset).
        grid = [radians(top) * (i + 0.137) / 4000 for i in range(-1, 4000)]
        function = {"sin": sin, "cos": cos}[name]
        inside = [t for t in grid if t >= 0]
        signs = [function(k * t) > wanted for t in [1e-12, *inside, radians(top) - 1e-12]]
        changes = sum(s != t for s, t in zip(signs, signs[1:], strict=False))
        starts = abs(function(0.0) - wanted) < 1e-12
        value = count
        check = changes + starts == count
        text = rf"\{name} {k if k > 1 else ''}x = {show(level_value)}"
        return Draft(
            draw.phrase(
                rf"How many solutions does ${text}$ have in the interval $0^\circ \le x < {top}^\circ$?",
                rf"In how many points of $0^\circ \le x < {top}^\circ$ is ${text}$?",
            ),
            value,
            rf"The angle ${k if k > 1 else ''}x$ runs through ${show(sympy.Rational(k * top, 360))}$ turns; counting gives ${value}$.",
            check,
        )
    target, angle = draw.choice(((sympy.Rational(1, 2), 30), (sympy.sqrt(2) / 2, 45), (sympy.sqrt(3) / 2, 60)))
    sign, power, top = draw.choice((1, -1)), draw.choice((1, 2)), 90 * draw.integer(2, 12)
    exact = target * sign if power == 1 else target**2
    first = angle if name == "sin" else 90 - angle
    if power == 1:
        bases = [first, 180 - first] if name == "sin" else [first, -first]
        if sign < 0:
            bases = [-b for b in bases] if name == "sin" else [180 - b for b in bases]
        period = 360
    else:
        bases, period = [first, -first], 180
    solutions = sorted({Fraction(b + period * turn, k) for b in bases for turn in range(-12, 90)})
    solutions = [s for s in solutions if 0 <= s <= top]
    total = sum(solutions, Fraction(0))
    draw.need(len(solutions) > 1)
    draw.claim("sum", name, k, top, angle, sign if power == 1 else 2)
    function = {"sin": sin, "cos": cos}[name]
    # Second method: try every multiple of 15/k degrees, which includes every solution.
    tried = [Fraction(15 * i, k) for i in range(top * k // 15 + 1)]
    hits = [t for t in tried if abs(function(radians(float(k * t))) ** power - float(exact)) < 1e-9]
    inner = f"{k if k > 1 else ''}x"
    text = rf"\{name} {inner} = {show(exact)}" if power == 1 else rf"\{name}^2 {inner} = {show(exact)}"
    return Draft(
        draw.phrase(
            rf"Find the sum of all $x$, in degrees, with $0^\circ \le x \le {top}^\circ$ and ${text}$.",
            rf"The equation ${text}$ has several solutions with $0^\circ \le x \le {top}^\circ$. What is their sum, in degrees?",
        ),
        total,
        f"There are ${len(solutions)}$ solutions, the smallest is ${show(solutions[0])}$ degrees, and the sum is ${show(total)}$.",
        check=hits == solutions,
    )


@family(SUBJECT, 4, 5)
def complex_power(draw: Draw, level: int) -> Draft:
    """Powers of complex numbers by De Moivre's theorem."""
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
        steps = {(True, 1, 1): 1, (True, -1, 1): 5, (True, -1, -1): 7, (True, 1, -1): 11,
                 (False, 1, 1): 2, (False, -1, 1): 4, (False, -1, -1): 8, (False, 1, -1): 10}[first, s, u]  # fmt: skip
        number = (2 * scale) ** n * cmath.exp(1j * pi * steps * n / 6)
        check = _close(exact, number)
        answer = show(exact)
    return Draft(
        draw.phrase(f"Compute $({base})^{{{n}}}$.", f"Find $({base})^{{{n}}}$ in the form $a + bi$."),
        exact,
        f"In polar form the modulus is raised to the power and the angle multiplied; the result is ${answer}$.",
        check,
    )


@family(SUBJECT, 3, 4, 5)
def law_of_cosines(draw: Draw, level: int) -> Draft:
    """Sides, angles and medians of a triangle."""
    a, b = draw.integer(2, 40), draw.integer(2, 40)
    if level < 5:
        angle = draw.choice((60, 120) if level == 3 else (30, 45, 135, 150))
        draw.claim("side", *sorted((a, b)), angle)
        square = a * a + b * b - 2 * a * b * sympy.cos(sympy.pi * sympy.Rational(angle, 180))
        if level == 3:
            value: Value = sympy.sqrt(square)
            ask, root = "Find the length of the third side.", True
        else:
            value = sympy.expand(square)
            ask, root = "Find the square of the length of the third side.", False
        span = abs(b * cmath.exp(1j * radians(angle)) - a)
        return Draft(
            draw.phrase(
                rf"Two sides of a triangle are ${a}$ and ${b}$, and the angle between them is ${angle}^\circ$. {ask}",
                rf"In a triangle, sides of length ${a}$ and ${b}$ enclose an angle of ${angle}^\circ$. {ask}",
            ),
            value,
            rf"${a}^2 + {b}^2 - 2 \cdot {a} \cdot {b} \cos {angle}^\circ = {show(sympy.expand(square))}$"
            + (f", whose root is ${show(value)}$." if root else "."),
            check=_close(value, span if root else span**2),
        )
    c = draw.integer(2, 30)
    draw.need(abs(a - b) < c < a + b and a != b)
    draw.claim("median", *sorted((a, b)), c)
    quadruple = 2 * a * a + 2 * b * b - c * c
    value = sympy.sqrt(quadruple) / 2
    # Second method, in coordinates: A(0,0), B(c,0), C from its distances.
    x = (b * b - a * a + c * c) / (2 * c)
    y = sqrt(max(0.0, b * b - x * x))
    rational = isqrt(quadruple) ** 2 == quadruple
    return Draft(
        draw.phrase(
            f"Triangle $ABC$ has $BC = {a}$, $CA = {b}$ and $AB = {c}$. How long is the median from $C$?",
            f"In a triangle with sides $BC = {a}$, $CA = {b}$, $AB = {c}$, let $M$ be the midpoint of $AB$. Find $CM$.",
        ),
        value,
        rf"$4 \cdot CM^2 = 2 \cdot {a}^2 + 2 \cdot {b}^2 - {c}^2 = {quadruple}$, so $CM = {show(value)}$"
        + (", a rational number." if rational else "."),
        check=_close(value, abs(complex(x - c / 2, y))),
    )
