"""Geometry: angles, triangles, circles, coordinates, solids."""

from fractions import Fraction
from math import gcd, isqrt, pi, sqrt

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import Value, frac, par, show, terms

SUBJECT = "geometry"


def _close(value: object, number: float) -> bool:
    """Whether the exact ``value`` is ``number``, computed in another way."""
    exact = float(value) if isinstance(value, (int, Fraction)) else float(sympy.sympify(value).evalf(20))
    return abs(exact - number) <= 1e-9 * max(1.0, abs(number))


@family(SUBJECT, 1, 2, 3)
def rectangle(draw: Draw, level: int) -> Draft:
    """Perimeter and area of a rectangle, one from the other."""
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
            f"A rectangle has perimeter ${2 * (a + b)}$ and area ${a * b}$. What is the square of the length of its diagonal?",
            f"The perimeter of a rectangle is ${2 * (a + b)}$ and its area ${a * b}$. Its diagonal is $d$. Find $d^2$.",
        )
        work = f"The sides add up to ${a + b}$, and $d^2 = {a + b}^2 - 2 \\cdot {a * b} = {value}$."
        check = value == (a + b) ** 2 - 2 * a * b
    return Draft(statement, value, work, check)


@family(SUBJECT, 1, 2, 3)
def right_triangle(draw: Draw, level: int) -> Draft:
    """The theorem of Pythagoras: whole sides, a leg, square roots."""
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
                f"A right triangle has hypotenuse ${hypotenuse}$ and one leg ${one}$. How long is the other leg?",
                f"In a right triangle the hypotenuse is ${hypotenuse}$ and a leg is ${one}$. Find the other leg.",
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
            f"The legs of a right triangle are ${a}$ and ${b}$. Find the hypotenuse in simplest radical form.",
            f"What is the length of the diagonal of a rectangle with sides ${a}$ and ${b}$? Give an exact answer.",
        ),
        exact,
        rf"$\sqrt{{{a}^2 + {b}^2}} = \sqrt{{{square}}}$" + ("." if show(exact) == rf"\sqrt{{{square}}}" else f" $= {show(exact)}$."),
        check=_close(exact, abs(complex(a, b))),
    )


@family(SUBJECT, 1, 2, 3)
def triangle_angles(draw: Draw, level: int) -> Draft:
    """Angles of a triangle: the third one, an isosceles one, angles in a ratio."""
    if level == 1:
        a, b = draw.integer(15, 120), draw.integer(15, 120)
        draw.need(a + b < 170)
        draw.claim(1, *sorted((a, b)))
        value = 180 - a - b
        statement = draw.phrase(
            rf"Two angles of a triangle are ${a}^\circ$ and ${b}^\circ$. How many degrees is the third?",
            rf"In triangle $ABC$, $\angle A = {a}^\circ$ and $\angle B = {b}^\circ$. Find $\angle C$ in degrees.",
        )
        work, check = f"$180 - {a} - {b} = {value}$.", a + b + value == 180
    elif level == 2:
        outer = draw.integer(95, 175)
        a = draw.integer(10, 85)
        draw.need(outer - a > 5)
        draw.claim(2, outer, a)
        value = outer - a
        statement = draw.phrase(
            rf"An exterior angle of a triangle is ${outer}^\circ$. One of the two interior angles not next to it is "
            rf"${a}^\circ$. Find the other one, in degrees.",
            rf"In triangle $ABC$ the exterior angle at $C$ is ${outer}^\circ$ and $\angle A = {a}^\circ$. How many degrees is "
            r"$\angle B$?",
        )
        work = f"The exterior angle is the sum of the two, so the other is ${outer} - {a} = {value}$."
        check = value + a + (180 - outer) == 180
    else:
        parts = [draw.integer(1, 30) for _ in range(3)]
        draw.need(180 % sum(parts) == 0 and gcd(*parts) == 1 and len(set(parts)) == 3)
        offset = draw.integer(1, 15) * draw.choice((1, -1))
        unit = 180 // sum(parts)
        largest = max(parts) * unit
        draw.need(largest + offset > 0)
        draw.claim(3, *sorted(parts), offset)
        value = largest + offset
        ratio = ":".join(str(p) for p in parts)
        word = "more" if offset > 0 else "less"
        statement = draw.phrase(
            f"The angles of a triangle are in the ratio ${ratio}$. An angle $x$ is ${abs(offset)}$ degrees {word} than the "
            "largest of them. How many degrees is $x$?",
            f"A triangle has angles in the ratio ${ratio}$. What is ${abs(offset)}$ degrees {word} than its largest angle, "
            "in degrees?",
        )
        work = rf"One part is $180 \div {sum(parts)} = {unit}$ degrees, the largest angle ${largest}$, so $x = {value}$."
        check = sum(p * unit for p in parts) == 180 and value - offset == largest
    return Draft(statement, value, work, check)


@family(SUBJECT, 2, 3)
def regular_polygon(draw: Draw, level: int) -> Draft:
    """Angles, diagonals and number of sides of polygons."""
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
            f"How many diagonals does a convex polygon with ${n}$ sides have?", f"Count the diagonals of a convex ${n}$-gon."
        )
        work, check = rf"$\frac{{{n} \cdot {n - 3}}}{{2}} = {value}$.", n * (n - 3) == 2 * value
    elif kind == "sides_from_diagonals":
        diagonals, value = n * (n - 3) // 2, n
        statement = draw.phrase(
            f"A convex polygon has ${diagonals}$ diagonals. How many sides does it have?",
            f"How many sides has a convex polygon with exactly ${diagonals}$ diagonals?",
        )
        work, check = f"$n(n - 3) = {2 * diagonals}$ has the positive solution $n = {n}$.", n * (n - 3) == 2 * diagonals
    else:
        angle = Fraction(180 * (n - 2), n)
        if kind == "sides":
            value = n
            statement = draw.phrase(
                rf"Each interior angle of a regular polygon is $\left({frac(angle)}\right)^\circ$. How many sides does it have?",
                rf"A regular polygon has interior angles of $\left({frac(angle)}\right)^\circ$. Find its number of sides.",
            )
            work = rf"Each exterior angle is ${frac(180 - angle)}$ degrees, and $360 \div {frac(180 - angle)} = {n}$."
            check = 360 / (180 - angle) == n
        else:
            value = angle
            statement = draw.phrase(
                f"How many degrees is each interior angle of a regular polygon with ${n}$ sides?",
                f"Find the interior angle of a regular ${n}$-gon in degrees.",
            )
            work, check = rf"$180 - \frac{{360}}{{{n}}} = {frac(angle)}$.", (180 - angle) * n == 360
    return Draft(statement, value, work, check)


@family(SUBJECT, 2, 3, 4)
def circle_measure(draw: Draw, level: int) -> Draft:
    r"""Area, circumference, sector and ring, as multiples of $\pi$."""
    r = draw.integer(2, 150)
    if level == 2:
        kind = draw.choice(("area", "circumference"))
        draw.claim(kind, r)
        value = sympy.pi * (r * r if kind == "area" else 2 * r)
        by_diameter = draw.choice((True, False))
        given = f"diameter ${2 * r}$" if by_diameter else f"radius ${r}$"
        statement = draw.phrase(
            rf"What is the {kind} of a circle with {given}? Answer in terms of $\pi$.",
            rf"Find the {kind} of a circle of {given}, in terms of $\pi$.",
        )
        work = rf"$\pi \cdot {r}^2 = {show(value)}$." if kind == "area" else rf"$2 \pi \cdot {r} = {show(value)}$."
        check = _close(value, pi * r**2 if kind == "area" else pi * (2 * r))
    elif level == 3:
        angle = 5 * draw.integer(2, 70)
        draw.need(angle != 180)
        draw.claim("sector", r, angle)
        value = sympy.pi * sympy.Rational(angle * r * r, 360)
        statement = draw.phrase(
            rf"A sector of a circle of radius ${r}$ has a central angle of ${angle}^\circ$. Find its area in terms of $\pi$.",
            rf"What is the area, in terms of $\pi$, of a ${angle}^\circ$ sector of a circle with radius ${r}$?",
        )
        work = rf"$\frac{{{angle}}}{{360}} \cdot \pi \cdot {r}^2 = {show(value)}$."
        check = _close(value, 0.5 * r * r * (angle * pi / 180))
    else:
        chord = draw.integer(3, 500)
        draw.claim("ring", chord)
        # The ring between two concentric circles depends only on the chord that touches the inner one.
        value = sympy.pi * sympy.Rational(chord, 2) ** 2
        statement = draw.phrase(
            rf"A chord of the larger of two concentric circles has length ${chord}$ and touches the smaller circle. Find the "
            r"area between the circles in terms of $\pi$.",
            rf"Two circles share their centre. A tangent to the inner circle cuts the outer one in points ${chord}$ apart. "
            r"What is the area of the ring between them, in terms of $\pi$?",
        )
        work = rf"Half the chord and the radii give $R^2 - r^2 = ({frac(Fraction(chord, 2))})^2$, so the area is ${show(value)}$."
        inner = 3.0
        outer = sqrt(inner**2 + (chord / 2) ** 2)
        check = _close(value, pi * outer**2 - pi * inner**2)
    return Draft(statement, value, work, check)


@family(SUBJECT, 3, 4)
def coordinate_area(draw: Draw, level: int) -> Draft:
    """Area of a triangle or quadrilateral from its vertices."""
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
    what = "triangle" if level == 3 else "quadrilateral"
    return Draft(
        draw.phrase(
            f"Find the area of the {what} with vertices ${listed}$.",
            f"What is the area of the {what} whose vertices are, in order, ${listed}$?",
        ),
        value,
        rf"The shoelace formula gives $\frac{{1}}{{2}} \cdot {abs(twice)} = {frac(value)}$.",
        check=value == interior + Fraction(boundary, 2) - 1,
    )


def _lattice_points_inside(points: list[tuple[int, int]]) -> int:
    """Whole-number points strictly inside a polygon, row by row.

    A ray to the right from each point crosses the boundary an odd number of times exactly for points
    inside; points on the boundary are left out.
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


@family(SUBJECT, 2, 3, 4)
def similar_triangles(draw: Draw, level: int) -> Draft:
    """Sides, shadows and areas of similar figures."""
    p, q = draw.integer(2, 24), draw.integer(2, 24)
    draw.need(gcd(p, q) == 1)
    if level == 2:
        k = draw.integer(1, 12)
        draw.claim(2, p, q, k)
        value: Value = q * k
        statement = draw.phrase(
            f"A stick of height ${p}$ throws a shadow of length ${q}$. At the same time a tree of height ${p * k}$ throws a "
            "shadow of what length?",
            f"Triangles $ABC$ and $DEF$ are similar, with $AB = {p}$, $BC = {q}$ and $DE = {p * k}$. Find $EF$.",
        )
        work, check = rf"The ratio is ${k}$, so the length is ${q} \cdot {k} = {value}$.", Fraction(p * k, p) == Fraction(q * k, q)
    elif level == 3:
        area = draw.integer(1, 20) * p * p
        draw.claim(3, p, q, area)
        value = area * q * q // (p * p)
        statement = draw.phrase(
            f"The sides of two similar triangles are in the ratio ${p}:{q}$. The first has area ${area}$. What is the area of "
            "the second?",
            f"Two similar triangles have corresponding sides ${p}$ and ${q}$, and the first one's area is ${area}$. Find the "
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
        # Second method in coordinates: A(0,0), B(p,0), C(q,1), D(0,1); diagonals AC and BD meet at height p/(p+q).
        height = Fraction(p, p + q)
        width = p + (q - p) * height
        statement = draw.phrase(
            f"A trapezoid has parallel sides ${p}$ and ${q}$. A line parallel to them passes through the point where the "
            "diagonals meet. How long is the part of it inside the trapezoid?",
            f"The bases of a trapezoid are ${p}$ and ${q}$. Find the length of the segment through the intersection of its "
            "diagonals, parallel to the bases, with ends on the legs.",
        )
        work = rf"By similar triangles it is $\frac{{2 \cdot {p} \cdot {q}}}{{{p} + {q}}} = {frac(value)}$."
        check = value == width
    return Draft(statement, value, work, check)


@family(SUBJECT, 4, 5)
def triangle_radii(draw: Draw, level: int) -> Draft:
    """Area, inradius and circumradius of a triangle with whole sides."""
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
        f"By Heron's formula the area is ${show(area)}$" + ("." if kind == "area" else f", so the {meaning} is ${show(value)}$."),
        check=_close(value, number),
    )


@family(SUBJECT, 3, 4, 5)
def solid_volume(draw: Draw, level: int) -> Draft:
    """Volumes and surfaces of cylinders, cones, spheres and frustums."""
    r, h = draw.integer(1, 24), draw.integer(1, 30)
    if level == 3:
        kind = draw.choice(("cylinder", "cone"))
        draw.claim(kind, r, h)
        value = sympy.pi * sympy.Rational(r * r * h, 1 if kind == "cylinder" else 3)
        number = pi * r**2 * h / (1 if kind == "cylinder" else 3)
        given = f"{kind} with base radius ${r}$ and height ${h}$"
        third = "" if kind == "cylinder" else r"\frac{1}{3} "
        work = rf"$V = {third}\pi \cdot {r}^2 \cdot {h} = {show(value)}$."
        asked = "volume"
    elif level == 4:
        draw.claim("dome", r, h)
        value = sympy.pi * (sympy.Integer(r * r * h) + sympy.Rational(2 * r**3, 3))
        number = pi * r * r * h + 0.5 * (4 / 3 * pi * r**3)
        given = f"body made of a cylinder of radius ${r}$ and height ${h}$ with a half ball of radius ${r}$ on top"
        work = rf"$\pi \cdot {r}^2 \cdot {h} + \frac{{2}}{{3}} \pi \cdot {r}^3 = {show(value)}$."
        asked = "volume"
    else:
        s = draw.integer(1, 24)
        draw.need(s < r)
        draw.claim("frustum", r, s, h)
        value = sympy.pi * sympy.Rational(h * (r * r + r * s + s * s), 3)
        whole = Fraction(h * r, r - s)  # height of the cone that the frustum was cut from
        number = pi * float(r * r * whole - s * s * (whole - h)) / 3
        given = f"frustum of a cone with base radii ${r}$ and ${s}$ and height ${h}$"
        work = rf"$\frac{{\pi \cdot {h}}}{{3}} ({r}^2 + {r} \cdot {s} + {s}^2) = {show(value)}$."
        asked = "volume"
    return Draft(
        draw.phrase(
            rf"What is the {asked} of a {given}? Answer in terms of $\pi$.", rf"Find the {asked}, in terms of $\pi$, of a {given}."
        ),
        value,
        work,
        check=_close(value, number),
    )


@family(SUBJECT, 4, 5)
def distance_to_line(draw: Draw, level: int) -> Draft:
    """Distance from a point to a line; area cut off or reflection at level 5."""
    a, b, c = draw.nonzero(-9, 9), draw.nonzero(-9, 9), draw.integer(-20, 20)
    x, y = draw.integer(-9, 9), draw.integer(-9, 9)
    draw.need(gcd(a, b, c) == 1 and a * x + b * y != c and a > 0)
    line = f"{terms((a, 'x'), (b, 'y'))} = {c}"
    norm = a * a + b * b
    gap = a * x + b * y - c
    draw.claim(level, a, b, c, x, y)
    if level == 4:
        value: Value = sympy.sqrt(sympy.Rational(gap * gap, norm))
        # Second method: the foot of the perpendicular.
        foot = (x - a * gap / norm, y - b * gap / norm)
        return Draft(
            draw.phrase(
                f"What is the distance from the point $({x}, {y})$ to the line ${line}$?",
                f"Find the distance between the line ${line}$ and the point $({x}, {y})$. Give an exact answer.",
            ),
            value,
            rf"$\frac{{|{a} \cdot {par(x)} + {par(b)} \cdot {par(y)} - {par(c)}|}}{{\sqrt{{{norm}}}}} = {show(value)}$.",
            check=_close(value, abs(complex(foot[0] - x, foot[1] - y))) and abs(a * foot[0] + b * foot[1] - c) < 1e-9,
        )
    image = (Fraction(x) - Fraction(2 * a * gap, norm), Fraction(y) - Fraction(2 * b * gap, norm))
    middle = ((x + image[0]) / 2, (y + image[1]) / 2)
    return Draft(
        draw.phrase(
            f"The point $({x}, {y})$ is reflected over the line ${line}$. What are the coordinates of its image?",
            f"Find the mirror image of $({x}, {y})$ in the line ${line}$. Answer with an ordered pair.",
        ),
        image,
        rf"Moving by $-2 \cdot \frac{{{gap}}}{{{norm}}}$ times $({a}, {b})$ gives ${show(image)}$.",
        check=a * middle[0] + b * middle[1] == c and (image[0] - x) * b == (image[1] - y) * a,
    )


@family(SUBJECT, 3, 4, 5)
def circle_chords(draw: Draw, level: int) -> Draft:
    """Chords, tangents and secants of one circle."""
    a, b, c = draw.integer(2, 36), draw.integer(2, 36), draw.integer(2, 24)
    if level == 3:
        draw.need(a * b % c == 0 and c not in (a, b))
        draw.claim(3, *sorted((a, b)), c)
        value: Value = a * b // c
        statement = draw.phrase(
            f"Chords $AB$ and $CD$ of a circle meet at $P$ inside it. If $AP = {a}$, $PB = {b}$ and $CP = {c}$, find $PD$.",
            f"Two chords cross inside a circle. One is cut into pieces of length ${a}$ and ${b}$; one piece of the other is "
            f"${c}$. How long is its other piece?",
        )
        work, check = rf"$AP \cdot PB = CP \cdot PD$ gives ${value}$.", a * b == c * value
    elif level == 4:
        draw.claim(4, a, b)
        value = sympy.sqrt(a * (a + b))
        statement = draw.phrase(
            f"From a point $P$ outside a circle a secant meets the circle at $A$ and $B$ with $PA = {a}$ and $AB = {b}$. "
            "How long is a tangent from $P$ to the circle?",
            f"A line through $P$ cuts a circle first at $A$, then at $B$; $PA = {a}$ and $AB = {b}$. Find the length of the "
            "tangent segment from $P$.",
        )
        work = rf"The power of $P$ is ${a} \cdot {a + b} = {a * (a + b)}$, and its root is ${show(value)}$."
        # Second method: with the secant through the centre, the radius is b/2.
        check = _close(value, sqrt((a + b / 2) ** 2 - (b / 2) ** 2))
    else:
        r, s = a, b
        d = c + r + s
        kind = draw.choice(("external", "internal"))
        draw.need(r != s)
        draw.claim(5, *sorted((r, s)), d, kind)
        reach = r - s if kind == "external" else r + s
        value = sympy.sqrt(d * d - reach * reach)
        statement = draw.phrase(
            f"Two circles with radii ${r}$ and ${s}$ have centres ${d}$ apart. How long is a common {kind} tangent segment, "
            "from one point of contact to the other?",
            f"Circles of radius ${r}$ and ${s}$ have their centres at distance ${d}$. Find the length of their common {kind} "
            "tangent, measured between the points of contact.",
        )
        work = rf"$\sqrt{{{d}^2 - {abs(reach)}^2}} = {show(value)}$."
        # Second method, in coordinates: centres 0 and d, unit normal n of the tangent, contacts 0 + r n and d ± s n.
        normal = complex(reach / d, sqrt(1 - (reach / d) ** 2))
        check = _close(value, abs(r * normal - (d + (s if kind == "external" else -s) * normal)))
    return Draft(statement, value, work, check)
