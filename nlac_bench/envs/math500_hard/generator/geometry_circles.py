"""Generates geometry problems: circles, solids, distances."""

from fractions import Fraction
from math import gcd, pi, sqrt

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, close, family
from nlac_bench.envs.math500_hard.generator.latex import Value, frac, par, show, terms

SUBJECT = "geometry"


@family(SUBJECT, 2, 3, 4)
def circle_measure(draw: Draw, level: int) -> Draft:
    r"""Make a problem: area, circumference, sector or ring, as a multiple of $\pi$."""
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
        work = (
            rf"$\pi \cdot {r}^2 = {show(value)}$."
            if kind == "area"
            else rf"$2 \pi \cdot {r} = {show(value)}$."
        )
        check = close(value, pi * r**2 if kind == "area" else pi * (2 * r))
    elif level == 3:
        angle = 5 * draw.integer(2, 70)
        draw.need(angle != 180)
        draw.claim("sector", r, angle)
        value = sympy.pi * sympy.Rational(angle * r * r, 360)
        statement = draw.phrase(
            rf"A sector of a circle of radius ${r}$ has a central angle of ${angle}^\circ$. Find its area in "
            r"terms of $\pi$.",
            rf"A circle of radius ${r}$ is cut along two radii that enclose an angle of ${angle}^\circ$. "
            r"What is the area, in terms of $\pi$, of the sector with that angle?",
        )
        work = rf"$\frac{{{angle}}}{{360}} \cdot \pi \cdot {r}^2 = {show(value)}$."
        check = close(value, 0.5 * r * r * (angle * pi / 180))
    else:
        chord = draw.integer(3, 500)
        draw.claim("ring", chord)
        # The ring between two concentric circles depends only on the chord that touches the inner one.
        value = sympy.pi * sympy.Rational(chord, 2) ** 2
        statement = draw.phrase(
            f"A chord of the larger of two concentric circles has length ${chord}$ and touches the smaller "
            "circle. Find the "
            r"area between the circles in terms of $\pi$.",
            "Two circles share their centre. A tangent to the inner circle cuts the outer one in points "
            f"${chord}$ apart. "
            r"What is the area of the ring between them, in terms of $\pi$?",
        )
        work = (
            f"Half the chord and the radii give $R^2 - r^2 = ({frac(Fraction(chord, 2))})^2$, so the "
            f"area is ${show(value)}$."
        )
        inner = 3.0
        outer = sqrt(inner**2 + (chord / 2) ** 2)
        check = close(value, pi * outer**2 - pi * inner**2)
    return Draft(statement, value, work, check)


@family(SUBJECT, 3, 4, 5)
def solid_volume(draw: Draw, level: int) -> Draft:
    """Make a problem: volume or surface of a cylinder, cone, sphere or frustum."""
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
        given = (
            f"solid made of a cylinder of radius ${r}$ and height ${h}$ with a hemisphere of radius ${r}$ "
            "on top"
        )
        work = rf"$\pi \cdot {r}^2 \cdot {h} + \frac{{2}}{{3}} \pi \cdot {r}^3 = {show(value)}$."
        asked = "volume"
    else:
        s = draw.integer(1, 24)
        draw.need(s < r)
        draw.claim("frustum", r, s, h)
        value = sympy.pi * sympy.Rational(h * (r * r + r * s + s * s), 3)
        whole = Fraction(h * r, r - s)  # height of the cone from which the frustum was cut
        number = pi * float(r * r * whole - s * s * (whole - h)) / 3
        given = f"frustum of a cone with base radii ${r}$ and ${s}$ and height ${h}$"
        work = rf"$\frac{{\pi \cdot {h}}}{{3}} ({r}^2 + {r} \cdot {s} + {s}^2) = {show(value)}$."
        asked = "volume"
    return Draft(
        draw.phrase(
            rf"What is the {asked} of a {given}? Answer in terms of $\pi$.",
            rf"Find the {asked}, in terms of $\pi$, of a {given}.",
        ),
        value,
        work,
        check=close(value, number),
    )


@family(SUBJECT, 4, 5)
def distance_to_line(draw: Draw, level: int) -> Draft:
    """Make a problem: distance from a point to a line; area cut off or reflection at level 5."""
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
                f"Find the distance between the line ${line}$ and the point $({x}, {y})$. Give an exact "
                "answer.",
            ),
            value,
            rf"$\frac{{|{a} \cdot {par(x)} + {par(b)} \cdot {par(y)} - {par(c)}|}}{{\sqrt{{{norm}}}}} = "
            f"{show(value)}$.",
            check=close(value, abs(complex(foot[0] - x, foot[1] - y)))
            and abs(a * foot[0] + b * foot[1] - c) < 1e-9,
        )
    image = (Fraction(x) - Fraction(2 * a * gap, norm), Fraction(y) - Fraction(2 * b * gap, norm))
    middle = ((x + image[0]) / 2, (y + image[1]) / 2)
    return Draft(
        draw.phrase(
            f"The point $({x}, {y})$ is reflected over the line ${line}$. What are the coordinates of its "
            "image?",
            f"Find the mirror image of $({x}, {y})$ in the line ${line}$. Answer with an ordered pair.",
        ),
        image,
        rf"Moving by $-2 \cdot \frac{{{gap}}}{{{norm}}}$ times $({a}, {b})$ gives ${show(image)}$.",
        check=a * middle[0] + b * middle[1] == c and (image[0] - x) * b == (image[1] - y) * a,
    )


@family(SUBJECT, 3, 4, 5)
def circle_chords(draw: Draw, level: int) -> Draft:
    """Make a problem: chords, tangents and secants of a circle."""
    a, b, c = draw.integer(2, 36), draw.integer(2, 36), draw.integer(2, 24)
    if level == 3:
        draw.need(a * b % c == 0 and c not in (a, b))
        draw.claim(3, *sorted((a, b)), c)
        value: Value = a * b // c
        statement = draw.phrase(
            f"Chords $AB$ and $CD$ of a circle meet at $P$ inside it. If $AP = {a}$, $PB = {b}$ and $CP = "
            f"{c}$, find $PD$.",
            f"Two chords cross inside a circle. One is cut into pieces of length ${a}$ and ${b}$; one piece "
            "of the other is "
            f"${c}$. How long is its other piece?",
        )
        work, check = rf"$AP \cdot PB = CP \cdot PD$ gives ${value}$.", a * b == c * value
    elif level == 4:
        draw.claim(4, a, b)
        value = sympy.sqrt(a * (a + b))
        statement = draw.phrase(
            f"From a point $P$ outside a circle a secant meets the circle at $A$ and $B$ with $PA = {a}$ and "
            f"$AB = {b}$. "
            "How long is a tangent from $P$ to the circle?",
            f"A line through $P$ cuts a circle first at $A$, then at $B$; $PA = {a}$ and $AB = {b}$. Find "
            "the length of the "
            "tangent segment from $P$.",
        )
        work = rf"The power of $P$ is ${a} \cdot {a + b} = {a * (a + b)}$, and its root is ${show(value)}$."
        # Second method: with the secant through the centre, the radius is b/2.
        check = close(value, sqrt((a + b / 2) ** 2 - (b / 2) ** 2))
    else:
        r, s = a, b
        d = c + r + s
        kind = draw.choice(("external", "internal"))
        draw.need(r != s)
        draw.claim(5, *sorted((r, s)), d, kind)
        reach = r - s if kind == "external" else r + s
        value = sympy.sqrt(d * d - reach * reach)
        statement = draw.phrase(
            f"Two circles with radii ${r}$ and ${s}$ have centres ${d}$ apart. How long is a common {kind} "
            "tangent segment, "
            "from one point of contact to the other?",
            f"Circles of radii ${r}$ and ${s}$ have centres at a distance of ${d}$. Find the length of "
            f"their common {kind} "
            "tangent, measured between the points of contact.",
        )
        work = rf"$\sqrt{{{d}^2 - {abs(reach)}^2}} = {show(value)}$."
        # Second method, in coordinates: centres 0 and d, unit normal n, points of contact r n and d ± s n.
        normal = complex(reach / d, sqrt(1 - (reach / d) ** 2))
        check = close(value, abs(r * normal - (d + (s if kind == "external" else -s) * normal)))
    return Draft(statement, value, work, check)
