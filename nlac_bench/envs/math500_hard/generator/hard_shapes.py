"""Generates problems of geometry and precalculus of MATH's level 5: each needs several ideas in turn."""

from fractions import Fraction
from math import atan2, cos, gcd, sin, sqrt

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, close, family
from nlac_bench.envs.math500_hard.generator.latex import Value, frac, show, terms

GEOMETRY, PRECALCULUS = "geometry", "precalculus"


@family(GEOMETRY, 5)
def cevian_areas(draw: Draw, level: int) -> Draft:
    """Make a problem: the area of a part into which two cevians divide a triangle."""
    p, q, r, s = (draw.integer(1, 7) for _ in range(4))
    draw.need(gcd(p, q) == 1 and gcd(r, s) == 1 and (p, q) != (1, 1) and (r, s) != (1, 1))
    a_weight, b_weight, c_weight = p * r, q * s, p * s  # P = (a A + b B + c C) / (a + b + c)
    whole = a_weight + b_weight + c_weight
    area = whole * draw.integer(1, 20)
    draw.need(20 <= area <= 900)
    kind = draw.choice(("$ABP$", "$APE$", "$BDP$", "$CDPE$"))
    draw.claim(p, q, r, s, area, kind)
    abp = Fraction(area * c_weight, whole)
    bpc, cpa = Fraction(area * a_weight, whole), Fraction(area * b_weight, whole)
    value = {
        "$ABP$": abp,
        "$APE$": cpa * Fraction(s, r + s),
        "$BDP$": bpc * Fraction(p, p + q),
        "$CDPE$": bpc * Fraction(q, p + q) + cpa * Fraction(r, r + s),
    }[kind]
    # Second method: coordinates A(0,0), B(1,0), C(0,1) and the shoelace formula.
    zero, one = Fraction(0), Fraction(1)
    points = {
        **{"A": (zero, zero), "B": (one, zero), "C": (zero, one)},
        **{"D": (Fraction(q, p + q), Fraction(p, p + q)), "E": (zero, Fraction(s, r + s))},
    }
    (dx, dy), height = points["D"], points["E"][1]
    t = height / (dy + height * dx)  # t D lies on BE, the line x + y / height = 1
    points["P"] = (t * dx, t * dy)
    corners = [points[name] for name in kind.strip("$")]
    edges = zip(corners, corners[1:] + corners[:1], strict=True)
    twice = sum((x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in edges), Fraction(0))
    shape = "quadrilateral" if kind == "$CDPE$" else "triangle"
    return Draft(
        draw.phrase(
            f"Triangle $ABC$ has area ${area}$. Point $D$ on $BC$ and point $E$ on $CA$ satisfy $BD:DC = "
            f"{p}:{q}$ and "
            f"$CE:EA = {r}:{s}$. The segments $AD$ and $BE$ meet at $P$. Find the area of {shape} {kind}.",
            f"In a triangle $ABC$ of area ${area}$, $D$ divides $BC$ so that $BD:DC = {p}:{q}$, and $E$ "
            f"divides $CA$ so "
            f"that $CE:EA = {r}:{s}$. Let $P$ be the intersection of $AD$ and $BE$. What is the area of "
            f"{shape} {kind}?",
        ),
        value,
        f"Masses ${a_weight}$, ${b_weight}$ and ${c_weight}$ at $A$, $B$ and $C$ balance at $P$, so the "
        f"triangles $BCP$, "
        f"$CAP$ and $ABP$ have areas ${frac(bpc)}$, ${frac(cpa)}$ and ${frac(abp)}$, and the answer is "
        f"${frac(value)}$.",
        check=abs(twice) * area == value,
    )


@family(GEOMETRY, 5)
def lattice_points_inside(draw: Draw, level: int) -> Draft:
    """Make a problem: the number of lattice points strictly inside a triangle (Pick's theorem)."""
    points = [(draw.integer(-15, 15), draw.integer(-15, 15)) for _ in range(3)]
    edges = list(zip(points, points[1:] + points[:1], strict=True))
    twice = abs(sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in edges))
    boundary = sum(gcd(x2 - x1, y2 - y1) for (x1, y1), (x2, y2) in edges)
    draw.need(twice >= 60 and boundary >= 6)
    draw.claim(*sorted(points))
    value = (twice - boundary + 2) // 2

    def strictly_inside(x: int, y: int) -> bool:
        turns = [(x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) for (x1, y1), (x2, y2) in edges]
        return all(t > 0 for t in turns) or all(t < 0 for t in turns)

    counted = sum(strictly_inside(x, y) for x in range(-15, 16) for y in range(-15, 16))
    listed = ", ".join(f"({x},{y})" for x, y in points)
    return Draft(
        draw.phrase(
            f"How many points with integer coordinates lie strictly inside the triangle with vertices "
            f"${listed}$?",
            f"A triangle has the vertices ${listed}$. Count the points in its interior, not on its sides, "
            f"whose two "
            "coordinates are integers.",
        ),
        value,
        rf"Its area is $\frac{{{twice}}}{{2}}$, and ${boundary}$ lattice points lie on its sides; by Pick's "
        rf"theorem "
        f"${value}$ lie inside.",
        check=counted == value,
    )


@family(GEOMETRY, 5)
def tangent_cut_off(draw: Draw, level: int) -> Draft:
    """Make a problem: the triangle that a tangent of the incircle, parallel to a side, cuts off."""
    a, b, c = (draw.integer(4, 30) for _ in range(3))
    draw.need(a < b + c and b < a + c and c < a + b and a != b)
    sixteen = (a + b + c) * (-a + b + c) * (a - b + c) * (a + b - c)
    draw.need(sixteen < 3 * 10**6 and max(sympy.factorint(sixteen)) < 60)
    draw.claim(a, *sorted((b, c)))
    ratio = sympy.Rational(b + c - a, a + b + c)
    value = ratio**2 * sympy.sqrt(sixteen) / 4
    area = sqrt(sixteen) / 4
    height, radius = 2 * area / a, 2 * area / (a + b + c)
    sides = f"$AB = {c}$, $BC = {a}$ and $CA = {b}$"
    return Draft(
        draw.phrase(
            f"In triangle $ABC$, {sides}. A line parallel to $BC$, other than $BC$, is tangent to the "
            f"inscribed circle and "
            "cuts $AB$ at $D$ and $AC$ at $E$. Find the area of triangle $ADE$. Give an exact answer.",
            f"Triangle $ABC$ has the sides {sides}. Points $D$ on $AB$ and $E$ on $AC$ are chosen so that "
            f"$DE$ is parallel "
            "to $BC$ and touches the incircle. What is the exact area of triangle $ADE$?",
        ),
        value,
        rf"Tangents from $A$ show that $ADE$ has perimeter ${b + c - a}$, so it is similar to $ABC$ with "
        rf"ratio "
        f"${sympy.latex(ratio)}$; by Heron's formula its area is ${show(value)}$.",
        check=close(value, area * ((height - 2 * radius) / height) ** 2),
    )


@family(PRECALCULUS, 5)
def arctangent_combination(draw: Draw, level: int) -> Draft:
    """Make a problem: the tangent of a combination of arctangents."""
    fractions = []
    for _ in range(3):
        q = draw.integer(2, 9)
        p = draw.integer(1, q - 1)
        draw.need(gcd(p, q) == 1)
        fractions.append(Fraction(p, q))
    draw.need(len(set(fractions)) == 3)
    one, two, three = fractions
    sign = draw.choice((1, -1))
    double = 2 * two / (1 - two * two)
    draw.need(one * double != 1)
    pair = (one + double) / (1 - one * double)
    draw.need(sign * pair * three != 1)
    value = (pair + sign * three) / (1 - sign * pair * three)
    draw.need(value not in (0, 1, -1))
    draw.claim(str(one), str(two), str(three), sign)
    real, imaginary = 1, 0  # second method: multiply the Gaussian integers q + p i
    for part, turn in ((one, 1), (two, 1), (two, 1), (three, sign)):
        x, y = part.denominator, turn * part.numerator
        real, imaginary = real * x - imaginary * y, real * y + imaginary * x
    text = rf"\arctan {frac(one)} + 2 \arctan {frac(two)} {'+' if sign > 0 else '-'} \arctan {frac(three)}"
    return Draft(
        draw.phrase(
            rf"Find the exact value of $\tan \left( {text} \right)$.",
            rf"Let $\alpha = {text}$. What is $\tan \alpha$?",
        ),
        value,
        rf"The doubled angle has tangent ${frac(double)}$, and with the first one added ${frac(pair)}$; the "
        rf"result is "
        f"${frac(value)}$.",
        check=Fraction(imaginary, real) == value,
    )


@family(PRECALCULUS, 5)
def rotated_and_moved(draw: Draw, level: int) -> Draft:
    """Make a problem: a point after many rounds of a rotation followed by a translation."""
    centre = draw.integer(-5, 5), draw.integer(-5, 5)
    shift = draw.nonzero(-6, 6), draw.nonzero(-6, 6)
    x, y, n = draw.integer(-9, 9), draw.integer(-9, 9), draw.integer(50, 3000)
    clockwise = draw.choice((True, False))
    draw.need(n % 4 != 0 and centre != (0, 0))
    draw.claim(centre, shift, x, y, n, clockwise)
    # z -> u (z - c) + c + t has the fixed point w = c + t / (1 - u), about which it turns by the same angle.
    u = -1j if clockwise else 1j
    fixed = complex(*centre) + complex(*shift) / (1 - u)
    end = fixed + u ** (n % 4) * (complex(x, y) - fixed)
    value: Value = (round(end.real), round(end.imag))
    here = (x, y)
    for _ in range(n):
        dx, dy = here[0] - centre[0], here[1] - centre[1]
        dx, dy = (dy, -dx) if clockwise else (-dy, dx)
        here = (centre[0] + dx + shift[0], centre[1] + dy + shift[1])
    way = "clockwise" if clockwise else "counterclockwise"
    start, pivot, arrow = (
        f"({x}, {y})",
        f"({centre[0]}, {centre[1]})",
        rf"\langle {shift[0]}, {shift[1]} \rangle",
    )
    return Draft(
        draw.phrase(
            rf"A move rotates a point of the plane by $90^\circ$ {way} about ${pivot}$ and then translates "
            rf"it by "
            rf"${arrow}$. A point starts at ${start}$. Where is it after ${n}$ moves? Answer with an ordered "
            rf"pair.",
            rf"The point ${start}$ is turned $90^\circ$ {way} about ${pivot}$ and then shifted by the vector "
            rf"${arrow}$. "
            f"This pair of steps is carried out ${n}$ times in all. Find the final position as an ordered "
            f"pair.",
        ),
        value,
        f"One move is itself a quarter turn, about another centre, so four moves change nothing; ${n}$ moves "
        f"act like "
        f"${n % 4}$, and the point ends at ${show(value)}$.",
        check=here == value,
    )


@family(PRECALCULUS, 5)
def trigonometric_extremum(draw: Draw, level: int) -> Draft:
    """Make a problem: the largest or smallest value of a quadratic form in sine and cosine."""
    a, b, c = draw.nonzero(-9, 9), draw.nonzero(-12, 12), draw.nonzero(-9, 9)
    draw.need(a != c)
    largest = draw.choice((True, False))
    draw.claim(a, b, c, largest)
    sign = 1 if largest else -1
    value = sympy.Rational(a + c, 2) + sign * sympy.sqrt((a - c) ** 2 + b * b) / 2
    # Second method: evaluate at the angle where the derivative vanishes, (a - c) sin 2x + b cos 2x = 0.
    angle = atan2(sign * b, sign * (c - a)) / 2
    number = a * sin(angle) ** 2 + b * sin(angle) * cos(angle) + c * cos(angle) ** 2
    text = terms((a, r"\sin^2 x"), (b, r"\sin x \cos x"), (c, r"\cos^2 x"))
    which = "largest" if largest else "smallest"
    return Draft(
        draw.phrase(
            f"Find the {which} value of ${text}$ for real $x$. Give an exact answer.",
            f"As $x$ runs through all real numbers, what is the {'maximum' if largest else 'minimum'} of "
            f"${text}$? Answer "
            "exactly.",
        ),
        value,
        rf"With the double angle it is ${frac(Fraction(a + c, 2))}$ plus a sinusoid in $2x$ of amplitude "
        rf"$\frac{{\sqrt{{{(a - c) ** 2 + b * b}}}}}{{2}}$; the {which} value is ${show(value)}$.",
        check=close(value, number),
    )
