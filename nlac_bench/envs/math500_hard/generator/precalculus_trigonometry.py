"""Generates problems of precalculus: angles, trigonometric functions and equations, polar coordinates."""

import cmath
from fractions import Fraction
from itertools import pairwise
from math import acos, cos, gcd, isqrt, pi, radians, sin, sqrt, tan

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, close, family
from nlac_bench.envs.math500_hard.generator.latex import Value, show

SUBJECT = "precalculus"


@family(SUBJECT, 1, 2)
def degrees_and_radians(draw: Draw, level: int) -> Draft:
    """Make a problem: convert an angle from degrees to radians or back."""
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
            check=close(value, radians(degrees)),
        )
    q = draw.choice((2, 3, 4, 5, 6, 9, 10, 12, 15, 18, 20, 30, 36))
    p = draw.nonzero(-8 * q, 8 * q)
    draw.need(gcd(p, q) == 1)
    draw.claim("degrees", p, q)
    value = int(sympy.deg(sympy.pi * sympy.Rational(p, q)))
    angle = show(sympy.pi * sympy.Rational(p, q))
    return Draft(
        draw.phrase(
            f"Convert ${angle}$ radians to degrees.", f"How many degrees is an angle of ${angle}$ radians?"
        ),
        value,
        rf"$\pi$ radians are $180$ degrees, so the angle has ${value}$ degrees.",
        check=Fraction(value, 180) == Fraction(p, q),
    )


@family(SUBJECT, 1, 2, 3, 4)
def exact_trigonometry(draw: Draw, level: int) -> Draft:
    """Make a problem: exact values of trigonometric functions at multiples of 15, 30 and 45 degrees."""
    names = {
        1: ("sin", "cos"),
        2: ("sin", "cos", "tan"),
        3: ("sin", "cos", "tan"),
        4: ("sin", "cos", "tan", "cot", "sec", "csc"),
    }[level]
    name = draw.choice(names)
    degrees = 15 * (draw.integer(-24, 96) if level == 1 else draw.integer(-60, 120))
    if level < 4:
        draw.need(degrees % 30 == 0 or degrees % 45 == 0)
    else:
        draw.need(degrees % 30 != 0 and degrees % 45 != 0)
    draw.need(
        not (name in ("tan", "sec") and degrees % 180 == 90)
        and not (name in ("cot", "csc") and degrees % 180 == 0)
    )
    in_radians = level == 3
    angle = sympy.pi * sympy.Rational(degrees, 180)
    draw.claim(name, degrees, in_radians)
    exact = sympy.radsimp(sympy.expand(sympy.sqrtdenest(sympy.radsimp(getattr(sympy, name)(angle)))))
    text = (
        rf"\{name} {show(angle)}" if in_radians and degrees > 0 else rf"\{name} \left( {show(angle)} \right)"
    )
    if not in_radians:
        text = rf"\{name} {degrees}^\circ" if degrees >= 0 else rf"\{name} ({degrees}^\circ)"
    t = radians(degrees)
    number = {
        "sin": sin,
        "cos": cos,
        "tan": tan,
        "cot": lambda u: cos(u) / sin(u),
        "sec": lambda u: 1 / cos(u),
        "csc": lambda u: 1 / sin(u),
    }[name](t)
    turn = degrees % 360
    return Draft(
        draw.phrase(f"Compute ${text}$.", f"Find the exact value of ${text}$.", f"What is ${text}$?"),
        exact,
        rf"The angle has the same terminal side as ${turn}^\circ$, so the value is ${show(exact)}$.",
        check=close(exact, number),
    )


@family(SUBJECT, 2, 3, 4)
def polar_coordinates(draw: Draw, level: int) -> Draft:
    """Make a problem: convert between polar and rectangular coordinates; to spherical ones at level 4."""
    r = draw.integer(1, 24) * (1 if level == 2 else 2)
    steps = draw.integer(0, 23) if level == 3 else draw.integer(-12, 36)
    theta = sympy.pi * sympy.Rational(steps, 12)
    draw.need(steps % 2 == 0 or steps % 3 == 0)
    t = pi * steps / 12
    if level == 2:
        draw.claim("to rectangular", r, steps)
        x, y = sympy.expand(r * sympy.cos(theta)), sympy.expand(r * sympy.sin(theta))
        value: Value = (x, y)
        statement = draw.phrase(
            f"Convert the point $({r}, {show(theta)})$ from polar to rectangular coordinates.",
            f"A point has the polar coordinates $r = {r}$ and $\\theta = {show(theta)}$. Find its "
            "rectangular coordinates $(x, y)$.",
        )
        check = close(x, r * cos(t)) and close(y, r * sin(t))
        work = rf"$x = r \cos \theta = {show(x)}$ and $y = r \sin \theta = {show(y)}$."
    elif level == 3:
        draw.claim("to polar", r, steps)
        x, y = sympy.expand(r * sympy.cos(theta)), sympy.expand(r * sympy.sin(theta))
        value = (sympy.Integer(r), theta)
        number = cmath.phase(complex(float(x), float(y))) % (2 * pi)
        check = close(theta, number) or abs(number - 2 * pi) < 1e-9
        statement = draw.phrase(
            rf"Convert $({show(x)}, {show(y)})$ to polar coordinates $(r, \theta)$ with $r > 0$ and $0 \le "
            r"\theta < 2\pi$.",
            r"Find polar coordinates $(r, \theta)$, where $r > 0$ and $0 \le \theta < 2\pi$, of the point "
            f"$({show(x)}, {show(y)})$.",
        )
        work = rf"$r = \sqrt{{x^2 + y^2}} = {r}$, and the direction is $\theta = {show(theta)}$."
    else:
        tilt = draw.choice((2, 3, 4, 6, 8, 9, 10))
        phi = sympy.pi * sympy.Rational(tilt, 12)
        draw.need(0 <= steps < 24)
        draw.claim("spherical", r, steps, tilt)
        flat = r * sympy.sin(phi)  # distance from the z-axis
        parts = (flat * sympy.cos(theta), flat * sympy.sin(theta), r * sympy.cos(phi))
        value = tuple(sympy.expand(part) for part in parts)
        p = pi * tilt / 12
        numbers = (r * sin(p) * cos(t), r * sin(p) * sin(t), r * cos(p))
        check = all(close(part, number) for part, number in zip(value, numbers, strict=True))
        statement = draw.phrase(
            rf"Convert $(\rho, \theta, \phi) = ({r}, {show(theta)}, {show(phi)})$ from spherical to "
            "rectangular coordinates.",
            rf"A point has spherical coordinates $\rho = {r}$, $\theta = {show(theta)}$ and $\phi = "
            rf"{show(phi)}$, where $\phi$ is "
            "measured from the positive $z$-axis. Find its rectangular coordinates.",
        )
        work = rf"$(\rho \sin \phi \cos \theta, \rho \sin \phi \sin \theta, \rho \cos \phi) = {show(value)}$."
    return Draft(statement, value, work, check)


@family(SUBJECT, 4, 5)
def trigonometric_equation(draw: Draw, level: int) -> Draft:
    """Make a problem: the number of solutions, or their sum, in a range of degrees."""
    name, k = draw.choice(("sin", "cos")), draw.integer(1, 6)
    top = 90 * draw.integer(2, 12)
    if level == 4:
        level_value = sympy.Rational(draw.integer(-9, 9), 10)
        draw.claim("count", name, k, top, str(level_value))
        # One full turn of the angle has two solutions, except at the extremes.
        wanted = float(level_value)
        base = acos(wanted) if name == "cos" else pi / 2 - acos(wanted)
        firsts = {base % (2 * pi), (-base if name == "cos" else pi - base) % (2 * pi)}
        count = 0
        for first in firsts:
            turn = 0
            while (first + 2 * pi * turn) / k < radians(top) - 1e-9:
                count += 1
                turn += 1
        # Second method: sign changes on a fine grid, which contains no solution (see the offset).
        grid = [radians(top) * (i + 0.137) / 4000 for i in range(-1, 4000)]
        function = {"sin": sin, "cos": cos}[name]
        inside = [t for t in grid if t >= 0]
        signs = [function(k * t) > wanted for t in [1e-12, *inside, radians(top) - 1e-12]]
        changes = sum(s != t for s, t in pairwise(signs))
        starts = abs(function(0.0) - wanted) < 1e-12
        value = count
        check = changes + starts == count
        text = rf"\{name} {k if k > 1 else ''}x = {show(level_value)}"
        return Draft(
            draw.phrase(
                rf"How many solutions does ${text}$ have in the interval $0^\circ \le x < {top}^\circ$?",
                rf"For how many values of $x$ with $0^\circ \le x < {top}^\circ$ is ${text}$?",
            ),
            value,
            f"The angle ${k if k > 1 else ''}x$ runs through ${show(sympy.Rational(k * top, 360))}$ turns; "
            f"counting gives ${value}$.",
            check,
        )
    target, angle = draw.choice(
        ((sympy.Rational(1, 2), 30), (sympy.sqrt(2) / 2, 45), (sympy.sqrt(3) / 2, 60))
    )
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
    angles = {b + period * turn for b in bases for turn in range(-12, 90)}
    solutions = [Fraction(each, k) for each in sorted(angles) if 0 <= each <= top * k]
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
            rf"The equation ${text}$ has several solutions with $0^\circ \le x \le {top}^\circ$. What is "
            "their sum, in degrees?",
        ),
        total,
        f"There are ${len(solutions)}$ solutions, the smallest is ${show(solutions[0])}$ degrees, and the "
        f"sum is ${show(total)}$.",
        check=hits == solutions,
    )


@family(SUBJECT, 3, 4, 5)
def law_of_cosines(draw: Draw, level: int) -> Draft:
    """Make a problem: sides, angles or medians of a triangle."""
    a, b = draw.integer(2, 40), draw.integer(2, 40)
    if level < 5:
        angle = draw.choice((60, 120) if level == 3 else (30, 45, 135, 150))
        draw.need(a != b)
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
                f"Two sides of a triangle are ${a}$ and ${b}$, and the angle between them is "
                rf"${angle}^\circ$. {ask}",
                rf"In a triangle, sides of length ${a}$ and ${b}$ enclose an angle of ${angle}^\circ$. {ask}",
            ),
            value,
            rf"${a}^2 + {b}^2 - 2 \cdot {a} \cdot {b} \cos {angle}^\circ = {show(sympy.expand(square))}$"
            + (f", whose root is ${show(value)}$." if root else "."),
            check=close(value, span if root else span**2),
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
            f"In a triangle with sides $BC = {a}$, $CA = {b}$, $AB = {c}$, let $M$ be the midpoint of $AB$. "
            "Find $CM$.",
        ),
        value,
        rf"$4 \cdot CM^2 = 2 \cdot {a}^2 + 2 \cdot {b}^2 - {c}^2 = {quadruple}$, so $CM = {show(value)}$"
        + (", a rational number." if rational else "."),
        check=close(value, abs(complex(x - c / 2, y))),
    )
