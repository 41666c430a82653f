"""Counting and probability: choices, arrangements, dice, draws, paths, expectation."""

from fractions import Fraction
from functools import cache
from itertools import product as cartesian
from math import comb, factorial, prod

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import Value, frac

SUBJECT = "counting_and_probability"
WORDS = (
    "BANANA", "LETTER", "COFFEE", "PEPPER", "BALLOON", "SUCCESS", "TOMATO", "POTATO", "RABBIT", "SUMMER",
    "MIRROR", "YELLOW", "COMMITTEE", "PARALLEL", "CANADA", "ALGEBRA", "GEOMETRY", "CIRCLE", "TRIANGLE", "NUMBER",
    "SQUARE", "VECTOR", "MATRIX", "PRIME", "RADIUS", "DEGREE", "ANGLE", "TENNIS", "HOCKEY", "VIOLIN", "GUITAR",
    "TRUMPET", "CELLO", "PIANO", "OBOE", "LLAMA", "GIRAFFE", "PANDA", "ZEBRA", "MAMMOTH", "PARROT", "RACCOON",
    "SALMON", "LOBSTER", "BEETLE", "COCOA", "PAPAYA", "CHERRY", "BUTTER", "CHEESE", "PASTA", "MUFFIN", "COOKIE",
    "PUDDING", "NOODLE", "ROCKET", "PLANET", "GALAXY", "COMET", "ECLIPSE", "SATURN", "MERCURY", "NEPTUNE", "LAGOON",
    "ISLAND", "DESERT", "GLACIER", "VALLEY", "CANYON", "MEADOW", "FOREST", "WILLOW", "POPPY", "DAFFODIL", "ORCHID",
    "TULIP", "COTTON", "RIBBON", "BUTTON", "ZIPPER", "SLIPPER", "MITTEN", "SWEATER", "JACKET", "PILLOW", "CARPET",
    "MARBLE", "PEBBLE", "COPPER", "SILVER", "NICKEL", "CARBON", "HELIUM", "OXYGEN", "NITROGEN", "TEAPOT", "KETTLE",
)  # fmt: skip
"""Words to rearrange: the letters matter, not the meaning."""


@cache
def _dice_ways(count: int, sides: int) -> dict[int, int]:
    """Number of outcomes of ``count`` dice for each total, by listing them all."""
    ways: dict[int, int] = {}
    for roll in cartesian(range(1, sides + 1), repeat=count):
        ways[sum(roll)] = ways.get(sum(roll), 0) + 1
    return ways


@family(SUBJECT, 1, 2)
def independent_choices(draw: Draw, level: int) -> Draft:
    """The product rule; numbers and code words at level 2."""
    if level == 1:
        counts = [draw.integer(2, 20) for _ in range(3)]
        draw.claim(1, *sorted(counts))
        a, b, c = counts
        value = int(prod(sympy.Integer(k) for k in counts))
        return Draft(
            draw.phrase(
                f"Mia has ${a}$ shirts, ${b}$ skirts and ${c}$ hats. How many outfits of one of each can she wear?",
                f"A menu offers ${a}$ soups, ${b}$ main dishes and ${c}$ desserts. How many meals of three courses are there?",
            ),
            value,
            rf"${a} \cdot {b} \cdot {c} = {value}$.",
            check=len(range(a)) * sum(c for _ in range(b)) == value,
        )
    letters, n, distinct = draw.integer(3, 12), draw.integer(2, 4), draw.choice((True, False))
    draw.need(letters > n)
    extra = draw.integer(2, 30)
    draw.claim(2, letters, n, distinct, extra)
    words = int(sympy.ff(letters, n)) if distinct else letters**n
    value = words * extra
    rule = "no letter may be used twice" if distinct else "letters may be repeated"
    check = value == extra * (factorial(letters) // factorial(letters - n) if distinct else prod([letters] * n))
    return Draft(
        draw.phrase(
            f"A code is made of ${n}$ letters from an alphabet of ${letters}$ letters, where {rule}, followed by one of "
            f"${extra}$ symbols. How many codes are there?",
            f"Number plates show ${n}$ letters, each one of ${letters}$ possible letters ({rule}), and then one of ${extra}$ "
            "signs. How many different plates can be made?",
        ),
        value,
        f"There are ${words}$ ways for the letters and ${extra}$ for the last place: ${value}$.",
        check,
    )


@family(SUBJECT, 1, 2, 3)
def arrangements(draw: Draw, level: int) -> Draft:
    """Orders of different things, of the letters of a word, with a condition."""
    if level == 1:
        n, k = draw.integer(4, 99), draw.integer(2, 3)
        draw.need(n > k)
        draw.claim(1, n, k)
        value = int(sympy.ff(n, k))
        factors = r" \cdot ".join(str(n - i) for i in range(k))
        places = {2: "a first and a second", 3: "a first, a second and a third"}[k]
        return Draft(
            draw.phrase(
                f"${n}$ runners start in a race. In how many ways can {places} be decided, without ties?",
                f"A contest has ${n}$ entries and awards {places} prize to different entries. How many results are possible?",
            ),
            value,
            f"${factors} = {value}$.",
            check=comb(n, k) * factorial(k) == value,
        )
    word = draw.choice(WORDS)
    counts = {letter: word.count(letter) for letter in word}
    if level == 2:
        first = draw.choice(sorted(counts)) if draw.integer(0, 3) else ""
        draw.claim(2, word, first)
        if first:
            counts[first] -= 1
        value = factorial(sum(counts.values())) // prod(factorial(c) for c in counts.values())
        left, check_value = sum(counts.values()), 1
        total = left
        for count in counts.values():
            check_value *= comb(left, count)
            left -= count
        return Draft(
            draw.phrase(
                rf"How many different arrangements {f'that begin with {first} ' if first else ''}are there of the letters of "
                rf"$\text{{{word}}}$?",
                rf"In how many distinguishable ways can the letters of $\text{{{word}}}$ be put in a row"
                f"{f', if the first letter must be {first}' if first else ''}?",
            ),
            value,
            f"${total}$ letters are free to move; dividing ${total}!$ by the orders of equal ones gives ${value}$.",
            check=check_value == value,
        )
    n = draw.integer(4, 12)
    kind = draw.choice(("together", "together", "ends", "ends", "before", "before", "apart", "round"))
    m = draw.integer(2, n - 2)
    draw.claim(3, kind, n, m if kind in ("together", "ends", "before") else 2)
    total = factorial(n)
    if kind == "together":
        value = int(sympy.factorial(n - m + 1) * sympy.factorial(m))
        condition = f"${m}$ of them, who are friends, insist on standing next to each other"
        check = (n - m + 1) * factorial(m) * factorial(n - m) == value
    elif kind == "apart":
        value = total - 2 * factorial(n - 1)
        condition = "two of them, who have quarrelled, refuse to stand next to each other"
        check = factorial(n - 2) * (n - 1) * (n - 2) == value
    elif kind == "ends":
        value = int(sympy.ff(m, 2) * sympy.factorial(n - 2))
        condition = f"both ends must be taken by one of the ${m}$ tallest"
        check = comb(m, 2) * 2 * factorial(n - 2) == value
    elif kind == "before":
        value = int(sympy.factorial(n) / sympy.factorial(m))
        condition = f"the ${m}$ youngest, who differ in age, must appear in order of age from left to right, not necessarily side by side"
        check = comb(n, m) * factorial(n - m) == value
    else:
        value = total // n
        check = factorial(n - 1) == value
        statement = draw.phrase(
            f"In how many ways can ${n}$ people sit at a round table, if rotations count as the same?",
            f"${n}$ guests are seated around a circular table. How many seatings are there, not counting rotations?",
        )
        return Draft(statement, value, f"One person can be fixed; the others sit in ${n - 1}! = {value}$ ways.", check)
    return Draft(
        draw.phrase(
            f"In how many ways can ${n}$ people stand in a row, if {condition}?",
            f"${n}$ people line up for a photograph, and {condition}. How many orders are possible?",
        ),
        value,
        f"Of the ${total}$ orders, ${value}$ meet the condition.",
        check,
    )


@family(SUBJECT, 2, 3, 4)
def committees(draw: Draw, level: int) -> Draft:
    """Choosing people from one group, from two, with at least some of one."""
    w, m = draw.integer(4, 12), draw.integer(4, 12)
    if level == 2:
        n, k = draw.integer(6, 60), draw.integer(2, 5)
        draw.claim(2, n, k)
        value = int(sympy.binomial(n, k))
        return Draft(
            draw.phrase(
                f"How many ways are there to choose ${k}$ people from a group of ${n}$?",
                f"A club of ${n}$ members elects a board of ${k}$ equal members. In how many ways?",
            ),
            value,
            rf"$\binom{{{n}}}{{{k}}} = {value}$.",
            check=value * factorial(k) == prod(range(n - k + 1, n + 1)),
        )
    a, b = draw.integer(1, 4), draw.integer(1, 4)
    if level == 3:
        draw.claim(3, *sorted(((w, a), (m, b))))
        value = int(sympy.binomial(w, a) * sympy.binomial(m, b))
        return Draft(
            draw.phrase(
                f"A class has ${w}$ girls and ${m}$ boys. In how many ways can a team of ${a}$ girls and ${b}$ boys be chosen?"
                if a > 1 and b > 1
                else f"From ${w}$ pens and ${m}$ pencils, all different, one takes exactly ${a}$ of the pens and exactly ${b}$ "
                "of the pencils. In how many ways?",
                f"A box has ${w}$ different red and ${m}$ different blue cards. In how many ways can one take ${a}$ red and "
                f"${b}$ blue cards, regardless of order?",
            ),
            value,
            rf"$\binom{{{w}}}{{{a}}} \binom{{{m}}}{{{b}}} = {comb(w, a)} \cdot {comb(m, b)} = {value}$.",
            check=value == prod(range(w - a + 1, w + 1)) * prod(range(m - b + 1, m + 1)) // (factorial(a) * factorial(b)),
        )
    size, least = draw.integer(3, 6), draw.integer(1, 2)
    draw.need(size <= w)
    draw.claim(4, w, m, size, least)
    value = int(sum(sympy.binomial(w, i) * sympy.binomial(m, size - i) for i in range(least, size + 1)))
    without = sum(comb(w, i) * comb(m, size - i) for i in range(least))
    return Draft(
        draw.phrase(
            f"A committee of ${size}$ is chosen from ${w}$ teachers and ${m}$ parents. In how many ways can it be chosen if it "
            f"must have at least ${least}$ teacher{'s' if least > 1 else ''}?",
            f"From ${w}$ singers and ${m}$ dancers a group of ${size}$ is formed that includes at least ${least}$ "
            f"singer{'s' if least > 1 else ''}. How many groups are possible?",
        ),
        value,
        rf"All choices less those with too few: ${comb(w + m, size)} - {without} = {value}$.",
        check=comb(w + m, size) - without == value,
    )


@family(SUBJECT, 2, 3, 4)
def dice_total(draw: Draw, level: int) -> Draft:
    """Probabilities of totals of two or three dice."""
    count, sides = (2, draw.integer(4, 20)) if level < 4 else (3, draw.integer(4, 12))
    low, high = count, count * sides
    total = draw.integer(low + 1, high - 1)
    kind = {2: draw.choice(("exactly", "exactly", "at least")), 3: draw.choice(("at least", "at most", "a multiple of")),
            4: draw.choice(("exactly", "at least", "at most"))}[level]  # fmt: skip
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
            f"{number} fair dice with faces numbered $1$ to ${sides}$ are rolled. What is the probability that the sum is {ask}?",
            f"{number} fair ${sides}$-sided dice, numbered from $1$, are thrown. Find the probability of a total of {ask}."
            if kind == "exactly"
            else f"{number} fair ${sides}$-sided dice, numbered from $1$, are thrown. Find the probability that the total is {ask}.",
        ),
        value,
        rf"Of the ${sides**count}$ outcomes ${favourable}$ are favourable, so the probability is ${frac(value)}$.",
        check=sum(w for s, w in _dice_ways(count, sides).items() if chosen(s)) == favourable,
    )


@family(SUBJECT, 1, 2, 3, 4)
def drawing_marbles(draw: Draw, level: int) -> Draft:
    """Marbles drawn without replacement."""
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
        ask = "Two are drawn without putting back. What is the probability that both are red?"
        check = Fraction(comb(red, 2), comb(n, 2)) == value
        work = rf"$\frac{{{red}}}{{{n}}} \cdot \frac{{{red - 1}}}{{{n - 1}}} = {frac(value)}$."
    elif level == 3:
        draw.claim(3, *sorted((red, blue)))
        exact = sympy.Rational(sympy.binomial(red, 1) * sympy.binomial(blue, 1), sympy.binomial(n, 2))
        value = Fraction(int(exact.p), int(exact.q))
        ask = "Two are drawn without putting back. What is the probability that they have different colours?"
        same = Fraction(red * (red - 1) + blue * (blue - 1), n * (n - 1))
        check = value + same == 1
        work = rf"$\frac{{{red} \cdot {blue}}}{{\binom{{{n}}}{{2}}}} = {frac(value)}$."
    else:
        k = draw.integer(3, 5)
        r = draw.integer(1, k - 1)
        draw.need(red >= r and blue >= k - r)
        draw.claim(4, *sorted(((red, r), (blue, k - r))))
        exact = sympy.binomial(red, r) * sympy.binomial(blue, k - r) / sympy.binomial(n, k)
        value = Fraction(int(exact.p), int(exact.q))
        ask = f"${k}$ are drawn without putting back. What is the probability that exactly ${r}$ of them {'is' if r == 1 else 'are'} red?"
        one_order = Fraction(prod(range(red - r + 1, red + 1)) * prod(range(blue - k + r + 1, blue + 1)), prod(range(n - k + 1, n + 1)))
        check = one_order * comb(k, r) == value
        work = rf"$\binom{{{red}}}{{{r}}} \binom{{{blue}}}{{{k - r}}} / \binom{{{n}}}{{{k}}} = {frac(value)}$."
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
def grid_paths(draw: Draw, level: int) -> Draft:
    """Shortest paths on a grid: all, through a point, avoiding a point."""
    w, h = draw.integer(2, 9 if level > 3 else 16), draw.integer(2, 9 if level > 3 else 16)
    a, b = draw.integer(1, w), draw.integer(1, h)
    draw.need((a, b) != (w, h))
    x0, y0 = (draw.integer(-4, 4), draw.integer(-4, 4)) if level == 3 else (0, 0)
    if level == 3:
        draw.claim(3, w, h, x0, y0)
        value = int(sympy.binomial(w + h, w))
        condition = ""
    else:
        draw.claim(level, w, h, a, b)
        through = int(sympy.binomial(a + b, a) * sympy.binomial(w + h - a - b, w - a))
        value = through if level == 4 else int(sympy.binomial(w + h, w)) - through
        condition = f" that {'pass' if level == 4 else 'do not pass'} through $({a},{b})$"
    ways = [[0] * (h + 1) for _ in range(w + 1)]
    for x in range(w + 1):
        for y in range(h + 1):
            if level == 5 and (x, y) == (a, b):
                continue
            if level == 4 and ((x > a and y < b) or (x < a and y > b)):
                continue
            ways[x][y] = 1 if x == y == 0 else (ways[x - 1][y] if x else 0) + (ways[x][y - 1] if y else 0)
    return Draft(
        draw.phrase(
            f"How many paths from $({x0},{y0})$ to $({x0 + w},{y0 + h})$ are there{condition}, if every step goes one unit to the right or one "
            "unit up?",
            f"A robot moves on a grid one unit right or one unit up at a time. Count its routes from $({x0},{y0})$ to "
            f"$({x0 + w},{y0 + h})${condition}.",
        ),
        value,
        rf"There are $\binom{{{w + h}}}{{{w}}} = {comb(w + h, w)}$ paths in all; the number asked for is ${value}$.",
        check=ways[w][h] == value,
    )


@family(SUBJECT, 3, 4, 5)
def repeated_trials(draw: Draw, level: int) -> Draft:
    """Probabilities of a number of successes in independent trials."""
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
    exact = sum((sympy.binomial(n, i) * chance**i * (1 - chance) ** (n - i) for i in wanted), sympy.Integer(0))
    value = Fraction(int(exact.p), int(exact.q))
    spread = [Fraction(1)]  # distribution of successes, trial by trial
    for _ in range(n):
        spread = [
            (spread[i] * (1 - p) if i < len(spread) else 0) + (spread[i - 1] * p if i else 0) for i in range(len(spread) + 1)
        ]
    times_ = f"{kind} ${k}$ {'time' if k == 1 else 'times'}"
    if level == 3:
        statement = draw.phrase(
            f"A fair coin is tossed ${n}$ times. What is the probability that it shows heads {times_}?",
            f"Find the probability of heads {times_} in ${n}$ tosses of a fair coin.",
        )
    else:
        statement = draw.phrase(
            f"An archer hits the target with probability ${frac(p)}$ at each shot, independently. What is the probability that "
            f"${n}$ shots hit {times_}?",
            f"A spinner lands on green with probability ${frac(p)}$. It is spun ${n}$ times. Find the probability that it lands "
            f"on green {times_}.",
        )
    return Draft(
        statement,
        value,
        rf"Adding $\binom{{{n}}}{{i}} p^i (1-p)^{{{n}-i}}$ with $p = {frac(p)}$ over the wanted $i$ gives ${frac(value)}$.",
        check=sum((spread[i] for i in wanted), Fraction(0)) == value,
    )


@family(SUBJECT, 3, 4, 5)
def multiples_of_either(draw: Draw, level: int) -> Draft:
    """Counting multiples of two or three numbers with inclusion and exclusion."""
    divisors = sorted(draw.several(range(2, 13), 2 if level == 3 else 3))
    draw.need(all(b % a for i, a in enumerate(divisors) for b in divisors[i + 1 :]))
    top = draw.integer(50, 600)
    kind = "some" if level < 5 else draw.choice(("none", "exactly one"))
    draw.claim(kind, *divisors, top)
    total = 0
    for mask in range(1, 2 ** len(divisors)):
        chosen = [d for i, d in enumerate(divisors) if mask >> i & 1]
        weight = (-1) ** (len(chosen) + 1) * (len(chosen) if kind == "exactly one" else 1)
        total += weight * (top // int(sympy.ilcm(1, *chosen)))
    value = top - total if kind == "none" else total
    listed = ", ".join(f"${d}$" for d in divisors[:-1]) + f" or ${divisors[-1]}$"
    rule = {
        "some": f"divisible by {listed}",
        "none": f"not divisible by any of {listed.replace(' or ', ' and ')}",
        "exactly one": f"divisible by exactly one of {listed.replace(' or ', ' and ')}",
    }[kind]
    hits = [sum(n % d == 0 for d in divisors) for n in range(1, top + 1)]
    counted = {"some": sum(h > 0 for h in hits), "none": hits.count(0), "exactly one": hits.count(1)}[kind]
    return Draft(
        draw.phrase(
            f"How many positive integers not greater than ${top}$ are {rule}?",
            rf"How many of the numbers $1, 2, \ldots, {top}$ are {rule}?",
        ),
        value,
        f"Counting multiples with inclusion and exclusion gives ${value}$.",
        check=counted == value,
    )


@family(SUBJECT, 3, 4, 5)
def expected_value(draw: Draw, level: int) -> Draft:
    """Expected winnings, maxima of dice, waiting times."""
    sides = draw.integer(4, 30)
    if level == 3:
        k, win, lose = draw.integer(1, sides - 1), draw.integer(1, 30), draw.integer(1, 20)
        draw.claim(3, sides, k, win, lose)
        value = Fraction(k * win - (sides - k) * lose, sides)
        statement = draw.phrase(
            f"A fair die has ${sides}$ faces, of which ${k}$ {'is' if k == 1 else 'are'} gold. You win ${win}$ points if a gold "
            f"face comes up and lose ${lose}$ points otherwise. What is the expected gain, in points?",
            f"A wheel has ${sides}$ equal fields, ${k}$ of them lucky. A lucky field pays ${win}$ points, any other costs "
            f"${lose}$. Find the expected number of points won in one spin.",
        )
        work = rf"$\frac{{{k}}}{{{sides}}} \cdot {win} - \frac{{{sides - k}}}{{{sides}}} \cdot {lose} = {frac(value)}$."
        check = sum([win] * k + [-lose] * (sides - k)) == value * sides
    elif level == 4:
        kind, low = draw.choice(("larger", "smaller", "absolute difference")), draw.integer(1, 12)
        draw.claim(4, kind, sides, low)
        numbers = range(low, low + sides)
        pick = {"larger": max, "smaller": min, "absolute difference": lambda a, b: abs(a - b)}[kind]
        value = Fraction(sum(pick(a, b) for a in numbers for b in numbers), sides**2)
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
            f"A fair die has ${sides}$ faces numbered ${low}$ to ${low + sides - 1}$ and is rolled twice. What is the expected value "
            f"of the {what}? (If they are equal, take that number.)"
            if kind != "absolute difference"
            else f"A fair die with faces numbered ${low}$ to ${low + sides - 1}$ is rolled twice. What is the expected value of the "
            f"{what}?",
            f"Two numbers are drawn independently and uniformly from ${low}$ to ${low + sides - 1}$, both included. Find the "
            f"expected value of the {what}.",
        )
        work = f"Adding over all ${sides**2}$ equally likely pairs and dividing gives ${frac(value)}$."
        check = formula.subs(n, sides) == sympy.Rational(value.numerator, value.denominator)
    else:
        n, k, have = draw.integer(3, 16), draw.integer(2, 12), draw.integer(1, 6)
        draw.need(have < k - 1 and k <= n)
        draw.claim(5, n, k, have)
        value = sum((Fraction(n, n - i) for i in range(have, k)), Fraction(0))
        # Second method: first-step equations, from the last new kind backwards,
        steps = Fraction(0)
        for seen in reversed(range(have, k)):
            # E = 1 + (seen/n) E + (1 - seen/n) E', where E' is the expectation with one more kind.
            steps = (1 + Fraction(n - seen, n) * steps) / (1 - Fraction(seen, n))
        statement = draw.phrase(
            f"Each packet holds one of ${n}$ kinds of cards, all equally likely. A collector has ${have}$ different kinds "
            f"already. How many more packets must be opened, on average, to have ${k}$ different kinds?",
            f"A fair ${n}$-sided die has shown ${have}$ different faces so far. What is the expected number of further rolls "
            f"until ${k}$ different faces have been seen?",
        )
        work = rf"The waiting times add up to $\sum_{{i={have}}}^{{{k - 1}}} \frac{{{n}}}{{{n} - i}} = {frac(value)}$."
        check = steps == value
    return Draft(statement, value, work, check)


@family(SUBJECT, 4, 5)
def stars_and_bars(draw: Draw, level: int) -> Draft:
    """Solutions in whole numbers with lower and upper bounds."""
    kinds, n = draw.integer(2, 5), draw.integer(4, 60 if level == 4 else 24)
    least = draw.integer(0, 2)
    free = n - least * kinds
    draw.need(free >= 2)
    most = draw.integer(max(1, free // kinds), free - 1) if level == 5 else free
    draw.need(kinds * most >= free)
    draw.claim(kinds, n, least, least + most)
    value = int(
        sum((-1) ** j * sympy.binomial(kinds, j) * sympy.binomial(free - j * (most + 1) + kinds - 1, kinds - 1)
            for j in range(kinds + 1) if free - j * (most + 1) >= 0)
    )  # fmt: skip
    ways = [1] + [0] * n
    for _ in range(kinds):
        ways = [sum(ways[s - part] for part in range(least, least + most + 1) if part <= s) for s in range(n + 1)]
    bound = rf"{least} \le x_i" + (rf" \le {least + most}" if level == 5 else "")
    unknowns = " + ".join(f"x_{i + 1}" for i in range(kinds))
    story = f"at least ${least}$" + (f" and at most ${least + most}$" if level == 5 else "") if least else (
        f"at most ${most}$" if level == 5 else "any number, also none"
    )  # fmt: skip
    return Draft(
        draw.phrase(
            f"How many solutions in integers does ${unknowns} = {n}$ have, if ${bound}$ for all $i$?",
            f"In how many ways can ${n}$ equal coins be shared among ${kinds}$ children, if each child gets {story}?",
        ),
        value,
        f"Taking away the lower bounds leaves ${free}$ to share; counting with inclusion and exclusion gives ${value}$.",
        check=ways[n] == value,
    )


@family(SUBJECT, 2, 3)
def two_groups(draw: Draw, level: int) -> Draft:
    """How many belong to both, to neither, or to exactly one of two groups."""
    both, only_a, only_b, none = (draw.integer(1, 40) for _ in range(4))
    a, b, n = both + only_a, both + only_b, both + only_a + only_b + none
    kind = "both" if level == 2 else draw.choice(("exactly one", "probability"))
    draw.claim(kind, *sorted((a, b)), n, none)
    first, second = draw.several(("chess", "tennis", "the piano", "football", "the violin", "hockey"), 2)
    opening = f"Of ${n}$ students, ${a}$ play {first}, ${b}$ play {second} and ${none}$ play neither."
    inside = n - none
    if kind == "both":
        value: Value = a + b - inside
        ask = draw.phrase("How many play both?", "What is the number of those who play both?")
        work, check = f"${a} + {b} - ({n} - {none}) = {value}$.", value == both
    elif kind == "exactly one":
        value = 2 * inside - a - b
        ask = draw.phrase("How many play exactly one of the two?", "How many play one of them but not the other?")
        work, check = f"${a + b - inside}$ play both, so ${value}$ play exactly one.", value == only_a + only_b
    else:
        share = sympy.Rational(a + b - inside, a)
        value = Fraction(int(share.p), int(share.q))
        ask = f"One of those who play {first} is picked at random. What is the probability that this student also plays {second}?"
        work, check = f"${a + b - inside}$ of those ${a}$ play both.", value * a == both
    return Draft(f"{opening} {ask}", value, work, check)
