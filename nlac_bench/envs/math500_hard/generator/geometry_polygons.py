"""Generates geometry problems: rectangles, triangles and other polygons."""

from fractions import Fraction
from math import gcd, isqrt, sqrt

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, close, family
from nlac_bench.envs.math500_hard.generator.latex import Value, frac, show

SUBJECT = "geometry"


def _lattice_points_inside(points: list[tuple[int, int]]) -> int:
    """Count the integer points strictly inside a polygon, row by row.

    A ray to the right from a point crosses the boundary an odd number of times if and only if the point is
    inside; points on the boundary are not counted.
    """
    edges = list(zip(points, points[1:] + points[:1], strict=True))
    count = 0
    for y in range(min(p[1] for p in points) + 1, max(p[1] for p in points)):
        cuts = []  # x of crossings with the open half-row, each edge half-open so that vertices count once
        on_boundary: set[Fraction] = set()
        spans = []
        for (x1, y1), (x2, y2) in edges:
            if y1 == y2:
                if y1 == y:
                    spans.append((min(x1, x2), max(x1, x2)))
                continue
            if min(y1, y2) <= y <= max(y1, y2):
                x = x1 + Fraction((y - y1) * (x2 - x1), y2 - y1)
                on_boundary.add(x)
                if y < max(y1, y2):
                    cuts.append(x)
        for x_int in range(min(p[0] for p in points), max(p[0] for p in points) + 1):
            if x_int in on_boundary or any(low <= x_int <= high for low, high in spans):
                continue
            count += sum(cut > x_int for cut in cuts) % 2
    return count


@family(SUBJECT, 1, 2, 3)
def rectangle(draw: Draw, level: int) -> Draft:
    """Make a problem: perimeter or area of a rectangle, given the other."""
    a, b = draw.integer(2, 40), draw.integer(2, 40)
    draw.need(a != b)
    sides = sorted((a, b))
    if level == 1:
        kind = draw.choice(("area", "perimeter"))
        draw.claim(1, kind, *sides)
        value = a * b if kind == "area" else int(2 * (sympy.Integer(a) + b))
        work = rf"${a} \times {b} = {value}$." if kind == "area" else rf"$2({a} + {b}) = {value}$."
        check = sum(a for _ in range(b)) == value if kind == "area" else a + b + a + b == value
        statement = draw.phrase(
            f"What is the {kind} of a rectangle with sides ${a}$ and ${b}$?",
            f"A rectangle is ${a}$ long and ${b}$ wide. Find its {kind}.",
        )
    elif level == 2:
        draw.claim(2, a, b)
        value = int(sympy.Integer(a * b) / a)
        work = f"The other side is ${a * b} \\div {a} = {b}$."
        statement = draw.phrase(
            f"A rectangle has area ${a * b}$ and one side of length ${a}$. How long is the other side?",
            f"One side of a rectangle of area ${a * b}$ is ${a}$. Find the side next to it.",
        )
        check = a * value == a * b
    else:
        draw.claim(3, *sides)
        value = a * a + b * b
        statement = draw.phrase(
            f"A rectangle has perimeter ${2 * (a + b)}$ and area ${a * b}$. What is the square of the length "
            "of its diagonal?",
            f"The perimeter of a rectangle is ${2 * (a + b)}$ and its area ${a * b}$. Its diagonal is $d$. "
            "Find $d^2$.",
        )
        work = f"The sides add up to ${a + b}$, and $d^2 = {a + b}^2 - 2 \\cdot {a * b} = {value}$."
        check = value == (a + b) ** 2 - 2 * a * b
    return Draft(statement, value, work, check)


@family(SUBJECT, 1, 2, 3)
def right_triangle(draw: Draw, level: int) -> Draft:
    """Make a problem: the theorem of Pythagoras with integer sides, an unknown leg, or square roots."""
    if level < 3:
        m, n = draw.integer(2, 12), draw.integer(1, 11)
        k = draw.integer(1, 40)
        draw.need(m > n)
        legs, hypotenuse = sorted((k * (m * m - n * n), 2 * k * m * n)), k * (m * m + n * n)
        draw.need(hypotenuse < 500)
        one, other = draw.several(legs, 2)
        if level == 1:
            draw.claim(1, *legs)
            value = hypotenuse
            statement = draw.phrase(
                f"A right triangle has legs ${one}$ and ${other}$. How long is its hypotenuse?",
                f"The legs of a right triangle measure ${one}$ and ${other}$. Find the hypotenuse.",
            )
            work = f"${one}^2 + {other}^2 = {hypotenuse**2} = {hypotenuse}^2$."
        else:
            draw.claim(2, one, hypotenuse)
            value = int(sympy.sqrt(hypotenuse**2 - one**2))
            statement = draw.phrase(
                f"A right triangle has hypotenuse ${hypotenuse}$ and one leg ${one}$. How long is the other "
                "leg?",
                f"In a right triangle the hypotenuse is ${hypotenuse}$ and a leg is ${one}$. Find the other "
                "leg.",
            )
            work = f"${hypotenuse}^2 - {one}^2 = {other**2} = {other}^2$."
        return Draft(statement, value, work, check=one**2 + other**2 == hypotenuse**2)
    a, b = draw.integer(1, 40), draw.integer(1, 40)
    square = a * a + b * b
    draw.need(isqrt(square) ** 2 != square)
    draw.claim(3, *sorted((a, b)))
    exact = sympy.sqrt(square)
    return Draft(
        draw.phrase(
            f"The legs of a right triangle are ${a}$ and ${b}$. Find the hypotenuse in simplest radical "
            "form.",
            f"What is the length of the diagonal of a rectangle with sides ${a}$ and ${b}$? Give an exact "
            "answer.",
        ),
        exact,
        rf"$\sqrt{{{a}^2 + {b}^2}} = \sqrt{{{square}}}$"
        + ("." if show(exact) == rf"\sqrt{{{square}}}" else f" $= {show(exact)}$."),
        check=close(exact, abs(complex(a, b))),
    )


@family(SUBJECT, 1, 2, 3)
def triangle_angles(draw: Draw, level: int) -> Draft:
    """Make a problem: the third angle of a triangle, angles of an isosceles one, or angles in a ratio."""
    if level == 1:
        a, b = draw.integer(15, 120), draw.integer(15, 120)
        draw.need(a + b < 170)
        draw.claim(1, *sorted((a, b)))
        value = 180 - a - b
        statement = draw.phrase(
            rf"Two angles of a triangle are ${a}^\circ$ and ${b}^\circ$. How many degrees is the third?",
            rf"In triangle $ABC$, $\angle A = {a}^\circ$ and $\angle B = {b}^\circ$. Find $\angle C$ in "
            "degrees.",
        )
        work, check = f"$180 - {a} - {b} = {value}$.", a + b + value == 180
    elif level == 2:
        outer = draw.integer(95, 175)
        a = draw.integer(10, 85)
        draw.need(outer - a > 5)
        draw.claim(2, outer, a)
        value = outer - a
        statement = draw.phrase(
            rf"An exterior angle of a triangle is ${outer}^\circ$. One of the two interior angles not next "
            "to it is "
            rf"${a}^\circ$. Find the other one, in degrees.",
            rf"In triangle $ABC$ the exterior angle at $C$ is ${outer}^\circ$ and $\angle A = {a}^\circ$. "
            "How many degrees is "
            r"$\angle B$?",
        )
        work = f"The exterior angle is the sum of the two, so the other is ${outer} - {a} = {value}$."
        check = value + a + (180 - outer) == 180
    else:
        parts = [draw.integer(1, 30) for _ in range(3)]
        draw.need(180 % sum(parts) == 0 and gcd(*parts) == 1 and len(set(parts)) == 3)
        offset = draw.integer(2, 15) * draw.choice((1, -1))
        unit = 180 // sum(parts)
        largest = max(parts) * unit
        draw.need(largest + offset > 0)
        draw.claim(3, *sorted(parts), offset)
        value = largest + offset
        ratio = ":".join(str(p) for p in parts)
        statement = draw.phrase(
            f"The angles of a triangle are in the ratio ${ratio}$. An angle of $x$ degrees is "
            f"${abs(offset)}$ degrees {'larger' if offset > 0 else 'smaller'} than the largest of them. What "
            f"is $x$?",
            f"A triangle has angles in the ratio ${ratio}$. How many degrees does an angle have that is "
            f"${abs(offset)}$ degrees {'larger' if offset > 0 else 'smaller'} than the largest of them?",
        )
        work = (
            rf"One part is $180 \div {sum(parts)} = {unit}$ degrees, the largest angle ${largest}$, so $x "
            f"= {value}$."
        )
        check = sum(p * unit for p in parts) == 180 and value - offset == largest
    return Draft(statement, value, work, check)


@family(SUBJECT, 2, 3)
def regular_polygon(draw: Draw, level: int) -> Draft:
    """Make a problem: angles, diagonals or number of sides of a polygon."""
    n = draw.integer(5, 200)
    kind = draw.choice(("sum", "diagonals") if level == 2 else ("sides", "sides_from_diagonals", "interior"))
    draw.claim(kind, n)
    if kind == "sum":
        value: Value = 180 * (n - 2)
        statement = draw.phrase(
            f"What is the sum of the interior angles of a convex polygon with ${n}$ sides, in degrees?",
            f"How many degrees do the interior angles of a convex ${n}$-gon add up to?",
        )
        work, check = rf"$({n} - 2) \cdot 180 = {value}$.", n * 180 - 360 == value
    elif kind == "diagonals":
        value = int(sympy.binomial(n, 2)) - n
        statement = draw.phrase(
            f"How many diagonals does a convex polygon with ${n}$ sides have?",
            f"Count the diagonals of a convex ${n}$-gon.",
        )
        work, check = rf"$\frac{{{n} \cdot {n - 3}}}{{2}} = {value}$.", n * (n - 3) == 2 * value
    elif kind == "sides_from_diagonals":
        diagonals, value = n * (n - 3) // 2, n
        statement = draw.phrase(
            f"A convex polygon has ${diagonals}$ diagonals. How many sides does it have?",
            f"How many sides does a convex polygon with exactly ${diagonals}$ diagonals have?",
        )
        work, check = (
            f"$n(n - 3) = {2 * diagonals}$ has the positive solution $n = {n}$.",
            n * (n - 3) == 2 * diagonals,
        )
    else:
        angle = Fraction(180 * (n - 2), n)
        if kind == "sides":
            value = n
            statement = draw.phrase(
                rf"Each interior angle of a regular polygon is $\left({frac(angle)}\right)^\circ$. How many "
                "sides does it have?",
                rf"A regular polygon has interior angles of $\left({frac(angle)}\right)^\circ$. Find its "
                "number of sides.",
            )
            work = (
                rf"Each exterior angle is ${frac(180 - angle)}$ degrees, and $360 \div "
                f"{frac(180 - angle)} = {n}$."
            )
            check = 360 / (180 - angle) == n
        else:
            value = angle
            statement = draw.phrase(
                f"How many degrees is each interior angle of a regular polygon with ${n}$ sides?",
                f"Find the interior angle of a regular ${n}$-gon in degrees.",
            )
            work, check = rf"$180 - \frac{{360}}{{{n}}} = {frac(angle)}$.", (180 - angle) * n == 360
    return Draft(statement, value, work, check)


@family(SUBJECT, 3, 4)
def coordinate_area(draw: Draw, level: int) -> Draft:
    """Make a problem: area of a triangle or quadrilateral, given its vertices."""
    if level == 3:
        points = [(draw.integer(-9, 9), draw.integer(-9, 9)) for _ in range(3)]
    else:  # one vertex in each quadrant, so that the quadrilateral does not cross itself
        signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))
        points = [(sx * draw.integer(1, 9), sy * draw.integer(1, 9)) for sx, sy in signs]
    edges = list(zip(points, points[1:] + points[:1], strict=True))
    twice = sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in edges)
    draw.need(twice != 0)
    draw.claim(*sorted(points))
    value = Fraction(abs(twice), 2)
    # Pick's theorem: A = I + B/2 - 1, by counting lattice points.
    boundary = sum(gcd(x2 - x1, y2 - y1) for (x1, y1), (x2, y2) in edges)
    interior = _lattice_points_inside(points)
    listed = ", ".join(f"({x},{y})" for x, y in points)
    what, order = ("triangle", "") if level == 3 else ("quadrilateral", ", in order,")
    return Draft(
        draw.phrase(
            f"Find the area of the {what} with vertices{order} ${listed}$.",
            f"What is the area of the {what} whose vertices are{order} ${listed}$?",
        ),
        value,
        rf"The shoelace formula gives $\frac{{1}}{{2}} \cdot {abs(twice)} = {frac(value)}$.",
        check=value == interior + Fraction(boundary, 2) - 1,
    )


@family(SUBJECT, 2, 3, 4)
def similar_triangles(draw: Draw, level: int) -> Draft:
    """Make a problem: sides, shadows or areas of similar figures."""
    p, q = draw.integer(2, 24), draw.integer(2, 24)
    draw.need(gcd(p, q) == 1)
    if level == 2:
        k = draw.integer(2, 12)
        draw.claim(2, p, q, k)
        value: Value = q * k
        statement = draw.phrase(
            f"A stick of height ${p}$ throws a shadow of length ${q}$. At the same time a tree of height "
            f"${p * k}$ throws a "
            "shadow of what length?",
            f"Triangles $ABC$ and $DEF$ are similar, with $AB = {p}$, $BC = {q}$ and $DE = {p * k}$. Find "
            "$EF$.",
        )
        work, check = (
            rf"The ratio is ${k}$, so the length is ${q} \cdot {k} = {value}$.",
            Fraction(p * k, p) == Fraction(q * k, q),
        )
    elif level == 3:
        area = draw.integer(1, 20) * p * p
        draw.claim(3, p, q, area)
        value = area * q * q // (p * p)
        statement = draw.phrase(
            f"The sides of two similar triangles are in the ratio ${p}:{q}$. The first has area ${area}$. "
            "What is the area of "
            "the second?",
            f"Two similar triangles have corresponding sides ${p}$ and ${q}$, and the first one's area is "
            f"${area}$. Find the "
            "other's area.",
        )
        work = rf"Areas go with the square: ${area} \cdot \frac{{{q**2}}}{{{p**2}}} = {value}$."
        check = Fraction(area, value) == Fraction(p, q) ** 2
    else:
        # In trapezoid ABCD with bases a and b the parallel through the diagonals' meeting point is 2ab/(a+b).
        scale = draw.integer(1, 6)
        p, q = p * scale, q * scale
        draw.claim(4, *sorted((p, q)))
        exact = sympy.Rational(2 * p * q, p + q)
        value = Fraction(int(exact.p), int(exact.q))
        # Second method: with A(0,0), B(p,0), C(q,1), D(0,1), AC and BD meet at height p/(p+q).
        height = Fraction(p, p + q)
        width = p + (q - p) * height
        statement = draw.phrase(
            f"A trapezoid has parallel sides ${p}$ and ${q}$. A line parallel to them passes through the "
            "point where the "
            "diagonals meet. How long is the part of it inside the trapezoid?",
            f"The bases of a trapezoid are ${p}$ and ${q}$. Find the length of the segment through the "
            "intersection of its "
            "diagonals, parallel to the bases, with ends on the legs.",
        )
        work = rf"By similar triangles it is $\frac{{2 \cdot {p} \cdot {q}}}{{{p} + {q}}} = {frac(value)}$."
        check = value == width
    return Draft(statement, value, work, check)


@family(SUBJECT, 4, 5)
def triangle_radii(draw: Draw, level: int) -> Draft:
    """Make a problem: area, inradius or circumradius of a triangle with integer sides."""
    a, b, c = sorted(draw.integer(3, 30) for _ in range(3))
    draw.need(a + b > c)
    sixteen = (a + b + c) * (-a + b + c) * (a - b + c) * (a + b - c)
    kind = "area" if level == 4 else draw.choice(("inradius", "circumradius"))
    draw.need(sixteen < 10**6 and (level == 4 or sixteen < 3 * 10**5))
    draw.claim(kind, a, b, c)
    area = sympy.sqrt(sixteen) / 4
    cosine = (a * a + b * b - c * c) / (2 * a * b)
    sine = sqrt(1 - cosine**2)
    if kind == "area":
        value, number = area, a * b * sine / 2
    elif kind == "inradius":
        value, number = sympy.Rational(2, a + b + c) * area, a * b * sine / (a + b + c)
    else:
        value, number = sympy.radsimp(sympy.Rational(a * b * c, 4) / area), c / (2 * sine)
    listed = ", ".join(str(s) for s in draw.several((a, b, c), 3))
    meaning = {
        "area": "area",
        "inradius": "radius of the inscribed circle",
        "circumradius": "radius of the circumscribed circle",
    }[kind]
    return Draft(
        draw.phrase(
            f"A triangle has sides ${listed}$. Find the {meaning}. Give an exact answer.",
            f"What is the {meaning} of a triangle with side lengths ${listed}$? Answer exactly.",
        ),
        value,
        f"By Heron's formula the area is ${show(area)}$"
        + ("." if kind == "area" else f", so the {meaning} is ${show(value)}$."),
        check=close(value, number),
    )
