"""Families of several ideas: each gold is found again from the text. Wordings and trivial draws of all."""

import cmath
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product
from math import isqrt, pi, sqrt
from pathlib import Path

import numpy as np
import pytest
import sympy

from nlac_bench.envs.math500_hard import generator
from nlac_bench.envs.math500_hard.generator.family import NEW_FAMILIES, close
from nlac_bench.envs.math500_hard.problem import SUBJECTS

Solve = Callable[[str, list[int]], object]
SOLVERS: dict[str, Solve] = {}


def solver(solve: Solve) -> Solve:
    """Register the independent solution of the family with the function's name."""
    SOLVERS[solve.__name__] = solve
    return solve


def drafts(name: str, level: int = 5, count: int = 30) -> list[generator.Draft]:
    subject = generator.FAMILIES[name].subject
    splits = ("test_new",) if name in NEW_FAMILIES else ("test", "test_new")  # all wordings
    return [
        generator.draft(f"{splits[i % len(splits)]}/{subject}/{name}/{level}/{i:06d}")[0]
        for i in range(count)
    ]


def fractions(text: str) -> list[Fraction]:
    return [Fraction(int(p), int(q)) for p, q in re.findall(r"\\frac\{(\d+)\}\{(\d+)\}", text)]


def coefficients(text: str, *symbols: str) -> list[int]:
    """The coefficients of the symbols in a sum; the last symbol may be empty, for the constant."""
    found = []
    for symbol in symbols:
        pattern = rf"([+-]?) ?(\d*){re.escape(symbol)}(?![\^\w])" if symbol else r"([+-]?) ?(\d+)(?![\^\w}])"
        hit = re.search(pattern, text)
        size = int(hit[2] or 1) if hit else 0
        found.append(-size if hit and hit[1] == "-" else size)
    return found


@solver
def constrained_minimum(text: str, numbers: list[int]) -> object:
    (a, b), (c, d) = re.findall(r"frac\{(\d+)\}", text), re.search(r"\$(\d+)x \+ (\d+)y\$", text).groups()  # type: ignore[union-attr]
    x = sympy.Symbol("x", positive=True)
    total = int(c) * x + int(d) * int(b) * x / (x - int(a))
    return min(total.subs(x, root) for root in sympy.solve(sympy.diff(total, x), x) if root > int(a))


@solver
def power_sums(text: str, numbers: list[int]) -> object:
    words = {"fourth": 4, "fifth": 5, "sixth": 6}
    sums = re.search(r"(?:x \+ y = |the sum \$)(-?\d+)\$.*?(?:= |the sum \$)(-?\d+)\$", text)
    s, cubes = (int(n) for n in sums.groups())  # type: ignore[union-attr]
    power = next((n for word, n in words.items() if word in text), 0) or int(
        text.rsplit("x^", maxsplit=1)[-1][0]
    )
    roots = np.roots([3 * s, -3 * s * s, s**3 - cubes])  # x^3 + (s - x)^3 = cubes, a quadratic in x
    return round(sum(complex(root) ** power for root in roots).real)


@solver
def floor_quadratic(text: str, numbers: list[int]) -> object:
    a, b = (int(n) for n in re.search(r"x\^2 - (\d+) \\lfloor x \\rfloor \+ (\d+)", text).groups())  # type: ignore[union-attr]
    squares = [n for n in range(4 * a * a) if n == a * isqrt(n) - b]  # n = x^2, floor(x) = isqrt(n)
    return sum(squares) if "squares" in text else len(squares)


@solver
def roots_of_unity_product(text: str, numbers: list[int]) -> object:
    n = int(re.search(r"2\\pi\}\{(\d+)\}", text)[1])  # type: ignore[index]
    a, b = re.search(r"\((\d+) ([+-] \d*)\\omega", text).groups()  # type: ignore[union-attr]
    b = b.replace(" ", "")
    factor = int(b) if b not in "+-" else int(b + "1")
    total = complex(1)
    for k in range(1, n):
        total *= int(a) + factor * cmath.exp(2j * pi * k / n)
    return round(total.real)


@solver
def shifted_reciprocal_roots(text: str, numbers: list[int]) -> object:
    cubic = re.search(r"(x\^\{3\}[^$=]*)", text)[1]  # type: ignore[index]
    p = [1, *coefficients(cubic.removeprefix("x^{3}"), "x^{2}", "x", "")]
    shift = -int(re.search(r"\(r ([+-] \d+)\)", text)[1].replace(" ", ""))  # type: ignore[index]
    x = sympy.Symbol("x")
    f = sympy.Poly(p, x)
    # f'/f is the sum of 1/(x - r), and its derivative is minus the sum of 1/(x - r)^2.
    return -sympy.diff(f.diff(x).as_expr() / f.as_expr(), x).subs(x, shift)


@solver
def functional_equation(text: str, numbers: list[int]) -> object:
    sign, size = re.search(r"f\(x\) ([+-]) (\d*)f", text).groups()  # type: ignore[union-attr]
    m = int(sign + (size or "1"))
    right = re.search(r"\\right\) = ([^$]*)\$", text)[1]  # type: ignore[index]
    a, b = coefficients(right, "x", "")
    t = Fraction(re.search(r"f\((-?\d+)\)", text)[1])  # type: ignore[index]
    orbit = [t]
    while (after := 1 / (1 - orbit[-1])) != t:
        orbit.append(after)
    size_ = len(orbit)
    system = sympy.zeros(size_)
    for i in range(size_):
        system[i, i] += 1
        system[i, (i + 1) % size_] += m
    given = [a * point + b for point in orbit]
    return (system.inv() * sympy.Matrix([sympy.Rational(g.numerator, g.denominator) for g in given]))[0]


@solver
def digit_sums(text: str, numbers: list[int]) -> object:
    length = {"three": 3, "four": 4, "five": 5, "six": 6}[re.search(r"(three|four|five|six)", text)[1]]  # type: ignore[index]
    low, top, digit, modulus = numbers
    return sum(str(digit) in "".join(map(str, w)) and sum(w) % modulus == 0
               for w in product(range(low, top + 1), repeat=length))  # fmt: skip


@solver
def waiting_for_a_pattern(text: str, numbers: list[int]) -> object:
    (p,) = fractions(text)
    pattern = "".join(
        "H" if side == "heads" else "T" for side in re.findall(r"heads(?=,|\.| appeared| in)|tails", text)
    )
    # Tail sums: the chance that the pattern has not appeared, over the distribution of the last tosses.
    share, expected = {"": 1.0}, 0.0
    for _ in range(200_000):
        left = sum(share.values())
        expected += left
        if left < 1e-13:
            break
        after: dict[str, float] = {}
        for tail, chance in share.items():
            for side, q in (("H", float(p)), ("T", float(1 - p))):
                if not (tail + side).endswith(pattern):
                    key = (tail + side)[-len(pattern) + 1 :]
                    after[key] = after.get(key, 0.0) + chance * q
        share = after
    return expected


@solver
def moved_ball(text: str, numbers: list[int]) -> object:
    a, b, c, d = numbers
    drawn = re.search(r"(?:It is|drawn ball is) (red|blue)", text)[1]  # type: ignore[index]
    moved = re.search(r"(?:taken from A|moved ball) was (red|blue)", text)[1]  # type: ignore[index]
    hits = {"red": 0, "blue": 0}
    for ball in "r" * a + "b" * b:
        hits["red" if ball == "r" else "blue"] += ("r" * c + "b" * d + ball).count(drawn[0])
    return Fraction(hits[moved], sum(hits.values()))


@solver
def recurrence_remainder(text: str, numbers: list[int]) -> object:
    first, second = (int(n) for n in re.search(r"a_1 = (\d+)\$, \$a_2 = (\d+)", text).groups())  # type: ignore[union-attr]
    p, q = coefficients(re.search(r"a_\{n\+2\} = ([^$]*)", text)[1], "a_{n+1}", "a_n")  # type: ignore[index]
    n, modulus = int(re.search(r"a_\{(\d+)\}", text)[1]), numbers[-1]  # type: ignore[index]
    for _ in range(n - 1):
        first, second = second, p * second + q * first
    return first % modulus


@solver
def power_tower(text: str, numbers: list[int]) -> object:
    a, b, c = (int(n) for n in re.search(r"(\d+)\^\{(\d+)\^\{(\d+)\}\}", text).groups())  # type: ignore[union-attr]
    return pow(a, b**c, numbers[-1])


@solver
def floor_sum(text: str, numbers: list[int]) -> object:
    n, a, m = (int(g) for g in re.search(r"\^\{(\d+)\} .*frac\{(\d+)k\}\{(\d+)\}", text).groups())  # type: ignore[union-attr]
    return sum(a * k // m for k in range(1, n + 1))


@solver
def unknown_digits(text: str, numbers: list[int]) -> object:
    shown, base = re.search(r"mathrm\{(\w+)\}_\{(\d)\}", text).groups()  # type: ignore[union-attr]
    below, above = (int(n) for n in re.search(r"both \$(\d+)\$ and \$(\d+)\$", text).groups())  # type: ignore[union-attr]
    digits = "0123456789"[: int(base)]
    values = [int(shown.replace("X", x).replace("Y", y), int(base)) for x in digits for y in digits]
    return max(n for n in values if n % below == 0 and n % above == 0)


@solver
def alternating_work(text: str, numbers: list[int]) -> object:
    done, hours, turn = Fraction(0), 0, 0
    while done + Fraction(1, numbers[turn]) < 1:
        done, hours, turn = done + Fraction(1, numbers[turn]), hours + 1, 1 - turn
    return hours + (1 - done) * numbers[turn]


@solver
def page_digits(text: str, numbers: list[int]) -> object:
    if "takes" in text or "Tickets" in text:
        written, n = numbers[-1], 0
        while written > 0:
            n += 1
            written -= len(str(n))
        return n if written == 0 else None
    last, digit = (int(n) for n in re.search(r"to \$(\d+)\$.*digit \$(\d)\$", text).groups())  # type: ignore[union-attr]
    return "".join(map(str, range(1, last + 1))).count(str(digit))


@solver
def repeated_dilution(text: str, numbers: list[int]) -> object:
    rounds = next((n for word, n in (("twice", 2), ("three times", 3), ("four times", 4)) if word in text), 0)
    whole, part = numbers[:2]
    juice, water = Fraction(whole), Fraction(0)
    for _ in range(rounds or numbers[2]):
        juice, water = juice - juice * part / whole, water - water * part / whole + part
    return juice if "litres of juice does" in text or "litres of juice in the tank at" in text else water


@solver
def cevian_areas(text: str, numbers: list[int]) -> object:
    area = int(re.search(r"area \$(\d+)\$", text)[1])  # type: ignore[index]
    p, q = (int(n) for n in re.search(r"BD:DC = (\d+):(\d+)", text).groups())  # type: ignore[union-attr]
    r, s = (int(n) for n in re.search(r"CE:EA = (\d+):(\d+)", text).groups())  # type: ignore[union-attr]
    a, b, c = sympy.Point(0, 0), sympy.Point(7, 0), sympy.Point(3, 5)
    d, e = b + (c - b) * sympy.Rational(p, p + q), c + (a - c) * sympy.Rational(r, r + s)
    places = {"A": a, "B": b, "C": c, "D": d, "E": e, "P": sympy.Line(a, d).intersection(sympy.Line(b, e))[0]}
    part = re.search(r"of (?:triangle|quadrilateral) \$(\w+)\$", text)[1]  # type: ignore[index]
    ratio = sympy.Polygon(*(places[n] for n in part)).area / sympy.Polygon(a, b, c).area
    return abs(ratio) * area


@solver
def lattice_points_inside(text: str, numbers: list[int]) -> object:
    triangle = [complex(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]

    def area(*corners: complex) -> float:
        return abs(((corners[1] - corners[0]).conjugate() * (corners[2] - corners[0])).imag)

    whole, inside = area(*triangle), 0
    for x, y in product(range(-15, 16), repeat=2):  # inside: three parts, none empty, make up the whole
        parts = [area(complex(x, y), triangle[i], triangle[i - 1]) for i in range(3)]
        inside += min(parts) > 0 and sum(parts) == whole
    return inside


@solver
def tangent_cut_off(text: str, numbers: list[int]) -> object:
    c, a, b = (int(re.search(rf"{side} = (\d+)", text)[1]) for side in ("AB", "BC", "CA"))  # type: ignore[index]
    # B(0,0), C(a,0), A(x,y): the tangent is the line at height 2r, and the incircle has radius area / s.
    x = (a * a + c * c - b * b) / (2 * a)
    y = sqrt(c * c - x * x)
    top = 2 * (a * y / 2) / ((a + b + c) / 2)
    left, right = x * top / y, a + (x - a) * top / y
    return (right - left) * (y - top) / 2


@solver
def arctangent_combination(text: str, numbers: list[int]) -> object:
    one, two, three = (float(f) for f in fractions(text))
    sign = -1 if r"- \arctan" in text else 1
    return float(np.tan(np.arctan(one) + 2 * np.arctan(two) + sign * np.arctan(three)))


@solver
def rotated_and_moved(text: str, numbers: list[int]) -> object:
    patterns = {
        "start": r"(?:starts at|The point) \$\((-?\d+), (-?\d+)\)",
        "pivot": r"about \$\((-?\d+), (-?\d+)\)",
        "shift": r"langle (-?\d+), (-?\d+)",
    }
    pairs = {
        name: np.array([int(n) for n in re.search(pattern, text).groups()])  # type: ignore[union-attr]
        for name, pattern in patterns.items()
    }
    n = int(re.search(r"(?:after|out) \$(\d+)\$", text)[1])  # type: ignore[index]
    turn = np.array([[0, -1], [1, 0]]) * (1 if "counterclockwise" in text else -1)
    here = pairs["start"]
    for _ in range(n):
        here = pairs["pivot"] + turn @ (here - pairs["pivot"]) + pairs["shift"]
    return tuple(int(v) for v in here)


@solver
def trigonometric_extremum(text: str, numbers: list[int]) -> object:
    form = text[text.index("value of $" if "value of $" in text else "imum of $") :].split("$")[1]
    a, b, c = coefficients(form, r"\sin^2 x", r"\sin x \cos x", r"\cos^2 x")
    values = np.linalg.eigvalsh([[a, b / 2], [b / 2, c]])
    return float(values[1] if "largest" in text or "maximum" in text else values[0])


def same(value: object, found: object) -> bool:
    if isinstance(found, float):
        return close(value, found)
    if isinstance(value, tuple):
        return value == found
    return bool(sympy.simplify(sympy.sympify(str(found)) - sympy.sympify(str(value))) == 0)


@pytest.mark.lists
@pytest.mark.parametrize("name", SOLVERS)
def test_the_text_alone_gives_the_gold(name: str) -> None:
    for draft in drafts(name):
        numbers = [int(n) for n in re.findall(r"-?\d+", draft.statement)]
        assert same(draft.value, SOLVERS[name](draft.statement, numbers)), (draft.statement, draft.value)


def test_every_family_of_several_ideas_is_solved_here_and_every_subject_has_three() -> None:
    hard = [f for f in generator.FAMILIES.values() if ".hard_" in f.make.__module__]
    assert {f.name for f in hard} == set(SOLVERS)
    assert len(hard) >= 12 and all(f.levels == (5,) for f in hard)
    assert {s: sum(f.subject == s for f in hard) >= 3 for s in SUBJECTS} == dict.fromkeys(SUBJECTS, True)


def test_the_documentation_counts_the_families_of_level_five() -> None:
    five = [f for f in generator.FAMILIES.values() if 5 in f.levels]
    several = [f.name for f in five if f.name in SOLVERS]
    listed = [task_id.split("/")[2] for task_id in generator.task_ids("test", (5,), 500)]
    share = round(100 * sum(name in several for name in listed) / 500)
    here = Path(__file__).parents[2]
    for file in ("docs/data.md", "nlac_bench/envs/math500_hard/env.py"):
        text = " ".join((here / file).read_text(encoding="utf-8").split())
        assert re.search(rf"{len(five) - len(several)} (with |\()one idea", text)
        assert re.search(rf"{len(several)} (with |\()several ideas in one problem", text)
    assert f"({share} % of the 500 test problems)" in (here / "docs/data.md").read_text(encoding="utf-8")


# --- wording and trivial draws, over every family --------------------------------------------------

ODD = {
    "a before a vowel sound": r"\b[Aa] [\\$({]*(?:8\d*|11|18)(?!\d)",
    "an before a consonant sound": r"\b[Aa]n [\\$({]*(?:[0-79]|1[02-79])(?!\d)",
    "one with a plural": r"(?<!exactly )\$1\$ (?!does |is |as |than )[a-z]+s\b",
    "1 time": r"\b1\$? times?\b",
    "2 times": r"\$2\$ times\b|\bwhich is \$\d\$ times",
    "doubled punctuation": r"\.\.|\?\?|,,| \.| ,(?!$)",
}


@pytest.mark.parametrize("count", [12, pytest.param(60, marks=pytest.mark.slow)])  # 60 of each: 13 s
@pytest.mark.parametrize("fam", generator.FAMILIES.values(), ids=lambda fam: fam.name)
def test_wordings_have_no_slips(fam: generator.Family, count: int) -> None:
    for level in fam.levels:
        for draft in drafts(fam.name, level, count):
            text = re.sub(r"counting \$1\$ as|\$1\$ is what percent", "", draft.statement)
            found = [why for why, pattern in ODD.items() if re.search(pattern, text)]
            assert not found, (found, draft.statement)


def test_no_draw_is_trivial() -> None:
    for level in (4, 5):
        for draft in drafts("grid_paths", level, 60):
            numbers = [int(n) for n in re.findall(r"-?\d+", draft.statement)]
            (w, h), (a, b) = numbers[2:4], numbers[4:6]
            assert 0 < a < w and 0 < b < h, draft.statement  # both parts of a path have choices
        assert all(draft.value > 2 for draft in drafts("stars_and_bars", level, 60))  # type: ignore[operator]
    for draft in drafts("committees", 4, 60):
        people, first, second, least = (int(n) for n in re.findall(r"\d+", draft.statement))
        assert people - second < least <= people <= first, draft.statement
    assert all(0 < Fraction(str(d.value)) < 1 for lv in (2, 3, 4) for d in drafts("drawing_marbles", lv, 60))
    for draft in drafts("chinese_remainders", 4, 40) + drafts("chinese_remainders", 5, 40):
        assert draft.value not in [int(n) for n in re.findall(r"\d+", draft.statement)]
    for level in (1, 2):
        for draft in drafts("gcd_lcm", level, 60):
            a, b = (int(n) for n in re.findall(r"\d+", draft.statement))
            assert all(m % n for m, n in permutations((a, b))), draft.statement
    for draft in drafts("filling_a_tank", 5, 60):
        a, b, c = (int(n) for n in re.findall(r"\d+", draft.statement))
        assert c not in (a, b), draft.statement
    assert all(draft.value > 1 for draft in drafts("divisor_count", 4, 60))  # type: ignore[operator]
    assert all(draft.value > 1 for draft in drafts("absolute_value_inequality", 3, 60))  # type: ignore[operator]
