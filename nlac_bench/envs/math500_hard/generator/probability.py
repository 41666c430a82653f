"""Generates problems of probability: dice, draws, repeated trials, expectation."""

from fractions import Fraction
from functools import cache
from itertools import product as cartesian
from math import comb, prod

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import frac

SUBJECT = "counting_and_probability"


@cache
def _dice_ways(count: int, sides: int) -> dict[int, int]:
    """Return the number of outcomes of ``count`` dice for each total, by enumeration."""
    ways: dict[int, int] = {}
    for roll in cartesian(range(1, sides + 1), repeat=count):
        ways[sum(roll)] = ways.get(sum(roll), 0) + 1
    return ways


@family(SUBJECT, 2, 3, 4)
def dice_total(draw: Draw, level: int) -> Draft:
    """Make a problem: the probability of a total of two or three dice."""
    count, sides = (2, draw.integer(4, 20)) if level < 4 else (3, draw.integer(4, 12))
    low, high = count, count * sides
    total = draw.integer(low + 1, high - 1)
    kinds = {
        2: ("exactly", "exactly", "at least"),
        3: ("at least", "at most", "a multiple of"),
        4: ("exactly", "at least", "at most"),
    }
    kind = draw.choice(kinds[level])
    if kind == "a multiple of":
        total = draw.integer(2, 7)
    draw.claim(count, sides, kind, total)
    z = sympy.Symbol("z")
    generating = sympy.Poly([1] * sides + [0], z) ** count
    chosen = {
        "exactly": lambda s: s == total,
        "at least": lambda s: s >= total,
        "at most": lambda s: s <= total,
        "a multiple of": lambda s: s % total == 0,
    }[kind]
    favourable = int(sum(c for (power,), c in generating.terms() if chosen(power)))
    value = Fraction(favourable, sides**count)
    number = {2: "Two", 3: "Three"}[count]
    ask = f"${total}$" if kind == "exactly" else f"{kind} ${total}$"
    return Draft(
        draw.phrase(
            f"{number} fair dice with faces numbered $1$ to ${sides}$ are rolled. What is the probability "
            f"that the sum is {ask}?",
            f"{number} fair ${sides}$-sided dice, numbered from $1$, are thrown. Find the probability of a "
            f"total of {ask}."
            if kind == "exactly"
            else f"{number} fair ${sides}$-sided dice, numbered from $1$, are thrown. Find the probability "
            f"that the total is {ask}.",
        ),
        value,
        f"Of the ${sides**count}$ outcomes ${favourable}$ are favourable, so the probability is "
        f"${frac(value)}$.",
        check=sum(w for s, w in _dice_ways(count, sides).items() if chosen(s)) == favourable,
    )


@family(SUBJECT, 1, 2, 3, 4)
def drawing_marbles(draw: Draw, level: int) -> Draft:
    """Make a problem: marbles drawn without replacement."""
    red, blue = (draw.integer(2, 40 if level < 4 else 15) for _ in range(2))
    n = red + blue
    if level == 1:
        draw.claim(1, red, blue)
        value, ask = Fraction(red, n), "One is drawn at random. What is the probability that it is red?"
        check = value * n == red
        work = rf"${red}$ of ${n}$ are red."
    elif level == 2:
        draw.claim(2, red, blue)
        value = Fraction(red, n) * Fraction(red - 1, n - 1)
        ask = "Two are drawn without replacement. What is the probability that both are red?"
        check = Fraction(comb(red, 2), comb(n, 2)) == value
        work = rf"$\frac{{{red}}}{{{n}}} \cdot \frac{{{red - 1}}}{{{n - 1}}} = {frac(value)}$."
    elif level == 3:
        draw.claim(3, *sorted((red, blue)))
        exact = sympy.Rational(sympy.binomial(red, 1) * sympy.binomial(blue, 1), sympy.binomial(n, 2))
        value = Fraction(int(exact.p), int(exact.q))
        ask = "Two are drawn without replacement. What is the probability that they have different colours?"
        same = Fraction(red * (red - 1) + blue * (blue - 1), n * (n - 1))
        check = value + same == 1
        work = rf"$\frac{{{red} \cdot {blue}}}{{\binom{{{n}}}{{2}}}} = {frac(value)}$."
    else:
        k = draw.integer(3, 5)
        r = draw.integer(1, k - 1)
        draw.need(red >= r and blue >= k - r and (red, blue) != (r, k - r))
        draw.claim(4, *sorted(((red, r), (blue, k - r))))
        exact = sympy.binomial(red, r) * sympy.binomial(blue, k - r) / sympy.binomial(n, k)
        value = Fraction(int(exact.p), int(exact.q))
        ask = (
            f"If ${k}$ are drawn without replacement, what is the probability that exactly ${r}$ of them "
            f"{'is' if r == 1 else 'are'} red?"
        )
        one_order = Fraction(
            prod(range(red - r + 1, red + 1)) * prod(range(blue - k + r + 1, blue + 1)),
            prod(range(n - k + 1, n + 1)),
        )
        check = one_order * comb(k, r) == value
        work = (
            rf"$\binom{{{red}}}{{{r}}} \binom{{{blue}}}{{{k - r}}} / \binom{{{n}}}{{{k}}} = {frac(value)}$."
        )
    return Draft(
        draw.phrase(
            f"A bag holds ${red}$ red and ${blue}$ blue marbles. {ask}",
            f"There are ${red}$ red and ${blue}$ blue balls in an urn. {ask}",
        ),
        value,
        work,
        check,
    )


@family(SUBJECT, 3, 4, 5)
def repeated_trials(draw: Draw, level: int) -> Draft:
    """Make a problem: the probability of a number of successes in independent trials."""
    n = draw.integer(3, 14) if level == 3 else draw.integer(3, 6)
    k = draw.integer(1, n - 1)
    p = Fraction(1, 2)
    if level > 3:
        q = draw.integer(3, 12)
        p = Fraction(draw.integer(1, q - 1), q)
        draw.need(p != Fraction(1, 2))
    kind = "exactly" if level == 4 else draw.choice(("exactly", "at least", "at most")[level == 5 :])
    draw.claim(kind, n, k, str(p))
    wanted = {"exactly": [k], "at least": range(k, n + 1), "at most": range(k + 1)}[kind]
    chance = sympy.Rational(p.numerator, p.denominator)
    exact = sum(
        (sympy.binomial(n, i) * chance**i * (1 - chance) ** (n - i) for i in wanted), sympy.Integer(0)
    )
    value = Fraction(int(exact.p), int(exact.q))
    spread = [Fraction(1)]  # distribution of successes, trial by trial
    for _ in range(n):
        spread = [
            (spread[i] if i < len(spread) else 0) * (1 - p) + (spread[i - 1] if i else 0) * p
            for i in range(len(spread) + 1)
        ]
    often = f"{kind} {'once' if k == 1 else 'twice' if k == 2 else f'${k}$ times'}"
    hits = f"{kind} ${k}$ of ${n}$ shots {'hits' if k == 1 else 'hit'} the target"
    if level == 3:
        statement = draw.phrase(
            f"A fair coin is tossed ${n}$ times. What is the probability that it shows heads {often}?",
            f"Find the probability of heads {often} in ${n}$ tosses of a fair coin.",
        )
    else:
        statement = draw.phrase(
            f"An archer hits the target with probability ${frac(p)}$ at each shot, independently. What is "
            f"the probability that {hits}?",
            f"A spinner lands on green with probability ${frac(p)}$. It is spun ${n}$ times. Find the "
            "probability that it lands "
            f"on green {often}.",
        )
    return Draft(
        statement,
        value,
        rf"Adding $\binom{{{n}}}{{i}} p^i (1-p)^{{{n}-i}}$ with $p = {frac(p)}$ over the wanted $i$ gives "
        f"${frac(value)}$.",
        check=sum((spread[i] for i in wanted), Fraction(0)) == value,
    )


@family(SUBJECT, 3, 4, 5)
def expected_value(draw: Draw, level: int) -> Draft:
    """Make a problem: expected winnings, maxima of dice, or waiting times."""
    sides = draw.integer(4, 30)
    if level == 3:
        k, win, lose = draw.integer(1, sides - 1), draw.integer(2, 30), draw.integer(2, 20)
        draw.claim(3, sides, k, win, lose)
        value = Fraction(k * win - (sides - k) * lose, sides)
        statement = draw.phrase(
            f"A fair die has ${sides}$ faces, of which ${k}$ {'is' if k == 1 else 'are'} gold. You win "
            f"${win}$ points if a gold "
            f"face comes up and lose ${lose}$ points otherwise. What is the expected gain, in points?",
            f"A wheel has ${sides}$ equal fields, ${k}$ of them lucky. A lucky field pays ${win}$ points, "
            "any other costs "
            f"${lose}$. Find the expected number of points won in one spin.",
        )
        work = (
            rf"$\frac{{{k}}}{{{sides}}} \cdot {win} - \frac{{{sides - k}}}{{{sides}}} \cdot {lose} = "
            f"{frac(value)}$."
        )
        check = sum([win] * k + [-lose] * (sides - k)) == value * sides
    elif level == 4:
        kind, low = draw.choice(("larger", "smaller", "absolute difference")), draw.integer(1, 12)
        draw.claim(4, kind, sides, low)
        numbers = range(low, low + sides)
        pairs = [(max(a, b), min(a, b)) for a in numbers for b in numbers]
        of_pair = {"larger": (1, 0), "smaller": (0, 1), "absolute difference": (1, -1)}[kind]
        value = Fraction(sum(of_pair[0] * a + of_pair[1] * b for a, b in pairs), sides**2)
        n = sympy.Symbol("n")
        mean_max = (n + 1) * (4 * n - 1) / (6 * n)  # of two fair n-sided dice numbered from 1
        formula = {
            "larger": mean_max + low - 1,
            "smaller": n + 1 - mean_max + low - 1,
            "absolute difference": (n**2 - 1) / (3 * n),
        }[kind]
        what = {"larger": "larger of the two numbers", "smaller": "smaller of the two numbers",
                "absolute difference": "absolute difference of the two numbers"}[kind]  # fmt: skip
        statement = draw.phrase(
            f"A fair die has ${sides}$ faces numbered ${low}$ to ${low + sides - 1}$ and is rolled twice. "
            "What is the expected value "
            f"of the {what}? If they are equal, that number counts."
            if kind != "absolute difference"
            else f"A fair die with faces numbered ${low}$ to ${low + sides - 1}$ is rolled twice. What is "
            "the expected value of the "
            f"{what}?",
            f"Two numbers are drawn independently and uniformly from ${low}$ to ${low + sides - 1}$, both "
            "included. Find the "
            f"expected value of the {what}.",
        )
        work = f"Adding over all ${sides**2}$ equally likely pairs and dividing gives ${frac(value)}$."
        check = formula.subs(n, sides) == sympy.Rational(value.numerator, value.denominator)
    else:
        n, k, have = draw.integer(4, 16), draw.integer(2, 12), draw.integer(2, 6)
        draw.need(have < k - 1 and k <= n)
        draw.claim(5, n, k, have)
        value = sum((Fraction(n, n - i) for i in range(have, k)), Fraction(0))
        # Second method: first-step equations, from the last new kind backwards:
        steps = Fraction(0)
        for seen in reversed(range(have, k)):
            # E = 1 + (seen/n) E + (1 - seen/n) E', where E' is the expectation with one more kind.
            steps = (1 + Fraction(n - seen, n) * steps) / (1 - Fraction(seen, n))
        statement = draw.phrase(
            f"Each packet holds one of ${n}$ kinds of cards, all equally likely. A collector has ${have}$ "
            "different kinds "
            f"already. How many more packets must be opened, on average, to have ${k}$ different kinds?",
            f"A fair ${n}$-sided die has shown ${have}$ different faces so far. What is the expected number "
            "of further rolls "
            f"until ${k}$ different faces have been seen?",
        )
        work = (
            rf"The waiting times add up to $\sum_{{i={have}}}^{{{k - 1}}} \frac{{{n}}}{{{n} - i}} = "
            f"{frac(value)}$."
        )
        check = steps == value
    return Draft(statement, value, work, check)
