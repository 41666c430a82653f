"""Generates counting problems: choices, arrangements, paths, inclusion and exclusion."""

from fractions import Fraction
from math import comb, factorial, prod

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import Value

SUBJECT = "counting_and_probability"
WORDS = (
    "BANANA", "LETTER", "COFFEE", "PEPPER", "BALLOON", "SUCCESS", "TOMATO", "POTATO", "RABBIT",
    "SUMMER", "MIRROR", "YELLOW", "COMMITTEE", "PARALLEL", "CANADA", "ALGEBRA", "GEOMETRY", "CIRCLE",
    "TRIANGLE", "NUMBER", "SQUARE", "VECTOR", "MATRIX", "PRIME", "RADIUS", "DEGREE", "ANGLE", "TENNIS",
    "HOCKEY", "VIOLIN", "GUITAR", "TRUMPET", "CELLO", "PIANO", "OBOE", "LLAMA", "GIRAFFE", "PANDA",
    "ZEBRA", "MAMMOTH", "PARROT", "RACCOON", "SALMON", "LOBSTER", "BEETLE", "COCOA", "PAPAYA", "CHERRY",
    "BUTTER", "CHEESE", "PASTA", "MUFFIN", "COOKIE", "PUDDING", "NOODLE", "ROCKET", "PLANET", "GALAXY",
    "COMET", "ECLIPSE", "SATURN", "MERCURY", "NEPTUNE", "LAGOON", "ISLAND", "DESERT", "GLACIER",
    "VALLEY", "CANYON", "MEADOW", "FOREST", "WILLOW", "POPPY", "DAFFODIL", "ORCHID", "TULIP", "COTTON",
    "RIBBON", "BUTTON", "ZIPPER", "SLIPPER", "MITTEN", "SWEATER", "JACKET", "PILLOW", "CARPET",
    "MARBLE", "PEBBLE", "COPPER", "SILVER", "NICKEL", "CARBON", "HELIUM", "OXYGEN", "NITROGEN",
    "TEAPOT", "KETTLE",
)  # fmt: skip
"""Words whose letters are rearranged."""


@family(SUBJECT, 1, 2)
def independent_choices(draw: Draw, level: int) -> Draft:
    """Make a problem: the product rule; numbers and code words at level 2."""
    if level == 1:
        counts = [draw.integer(2, 20) for _ in range(3)]
        draw.claim(1, *sorted(counts))
        a, b, c = counts
        value = int(prod(sympy.Integer(k) for k in counts))
        return Draft(
            draw.phrase(
                f"Mia has ${a}$ shirts, ${b}$ skirts and ${c}$ hats. How many outfits of one shirt, one "
                "skirt and one hat can she wear?",
                f"A menu offers ${a}$ soups, ${b}$ main dishes and ${c}$ desserts. How many meals of three "
                "courses are there?",
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
    check = value == extra * (
        factorial(letters) // factorial(letters - n) if distinct else prod([letters] * n)
    )
    return Draft(
        draw.phrase(
            f"A code is made of ${n}$ letters from an alphabet of ${letters}$ letters, where {rule}, "
            "followed by one of "
            f"${extra}$ symbols. How many codes are there?",
            f"Number plates show ${n}$ letters, each one of ${letters}$ possible letters ({rule}), and then "
            f"one of ${extra}$ "
            "signs. How many different plates can be made?",
        ),
        value,
        f"There are ${words}$ ways for the letters and ${extra}$ for the last place: ${value}$.",
        check,
    )


@family(SUBJECT, 1, 2, 3)
def arrangements(draw: Draw, level: int) -> Draft:
    """Make a problem: permutations of different things, or of the letters of a word, with a condition."""
    if level == 1:
        n, k = draw.integer(4, 99), draw.integer(2, 3)
        draw.need(n > k)
        draw.claim(1, n, k)
        value = int(sympy.ff(n, k))
        factors = r" \cdot ".join(str(n - i) for i in range(k))
        places = {2: "a first and a second", 3: "a first, a second and a third"}[k]
        return Draft(
            draw.phrase(
                f"${n}$ runners start in a race. In how many ways can {places} place be decided, without "
                f"ties?",
                f"A contest has ${n}$ entries and awards {places} prize to different entries. How many "
                "results are possible?",
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
                f"How many different arrangements {f'that begin with {first} ' if first else ''}are there "
                "of the letters of "
                rf"$\text{{{word}}}$?",
                rf"In how many distinguishable ways can the letters of $\text{{{word}}}$ be put in a row"
                f"{f', if the first letter must be {first}' if first else ''}?",
            ),
            value,
            f"${total}$ letters are free to move; dividing ${total}!$ by the orders of equal ones gives "
            f"${value}$.",
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
        condition = (
            f"the ${m}$ youngest, who differ in age, must appear in order of age from left to right, "
            "not necessarily side by side"
        )
        check = comb(n, m) * factorial(n - m) == value
    else:
        value = total // n
        check = factorial(n - 1) == value
        statement = draw.phrase(
            f"In how many ways can ${n}$ people sit at a round table, if rotations count as the same?",
            f"${n}$ guests are seated around a circular table. How many seatings are there, not counting "
            "rotations?",
        )
        return Draft(
            statement, value, f"One person can be fixed; the others sit in ${n - 1}! = {value}$ ways.", check
        )
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
    """Make a problem: choose people from one group, from two, or with a minimum from one of them."""
    w, m = draw.integer(4, 12), draw.integer(4, 12)
    if level == 2:
        n, k = draw.integer(6, 60), draw.integer(2, 5)
        draw.claim(2, n, k)
        value = int(sympy.binomial(n, k))
        return Draft(
            draw.phrase(
                f"How many ways are there to choose ${k}$ people from a group of ${n}$?",
                f"A club of ${n}$ members elects a board of ${k}$, all with equal duties. How many different "
                f"boards "
                "are possible?",
            ),
            value,
            rf"$\binom{{{n}}}{{{k}}} = {value}$.",
            check=value * factorial(k) == prod(range(n - k + 1, n + 1)),
        )
    a, b = draw.integer(1, 4), draw.integer(1, 4)
    if level == 3:
        draw.need(a < w and b < m)
        draw.claim(3, *sorted(((w, a), (m, b))))
        value = int(sympy.binomial(w, a) * sympy.binomial(m, b))
        return Draft(
            draw.phrase(
                f"A class has ${w}$ girls and ${m}$ boys. In how many ways can a team of ${a}$ girls and "
                f"${b}$ boys be chosen?"
                if a > 1 and b > 1
                else f"There are ${w}$ pens and ${m}$ pencils, all different. In how many ways can one take "
                f"exactly ${a}$ of the pens and exactly ${b}$ of the pencils?",
                f"A box has ${w}$ different red and ${m}$ different blue cards. In how many ways can one "
                f"take ${a}$ red and ${b}$ blue card{'s' if b > 1 else ''}, regardless of order?",
            ),
            value,
            rf"$\binom{{{w}}}{{{a}}} \binom{{{m}}}{{{b}}} = {comb(w, a)} \cdot {comb(m, b)} = {value}$.",
            check=value
            == prod(range(w - a + 1, w + 1)) * prod(range(m - b + 1, m + 1)) // (factorial(a) * factorial(b)),
        )
    size, least = draw.integer(3, 6), draw.integer(1, 2)
    draw.need(size <= w and size - m < least)  # without the condition there can be too few
    draw.claim(4, w, m, size, least)
    value = int(sum(sympy.binomial(w, i) * sympy.binomial(m, size - i) for i in range(least, size + 1)))
    without = sum(comb(w, i) * comb(m, size - i) for i in range(least))
    return Draft(
        draw.phrase(
            f"A committee of ${size}$ people is chosen from ${w}$ teachers and ${m}$ parents. In how many "
            f"ways can "
            "it be chosen if it "
            f"must have at least ${least}$ teacher{'s' if least > 1 else ''}?",
            f"A group of ${size}$ people is formed from ${w}$ singers and ${m}$ dancers, with at least "
            f"${least}$ "
            f"singer{'s' if least > 1 else ''}. How many groups are possible?",
        ),
        value,
        rf"All choices less those with too few: ${comb(w + m, size)} - {without} = {value}$.",
        check=comb(w + m, size) - without == value,
    )


@family(SUBJECT, 3, 4, 5)
def grid_paths(draw: Draw, level: int) -> Draft:
    """Make a problem: shortest paths on a grid, all of them, through a point, or avoiding a point."""
    w, h = draw.integer(2, 9 if level > 3 else 16), draw.integer(2, 9 if level > 3 else 16)
    a, b = draw.integer(1, w - 1), draw.integer(1, h - 1)  # both parts of a path through it have choices
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
            f"How many paths from $({x0},{y0})$ to $({x0 + w},{y0 + h})$ are there{condition}, if every step "
            "goes one unit to the right or one "
            "unit up?",
            "A robot moves on a grid one unit right or one unit up at a time. Count its routes from "
            f"$({x0},{y0})$ to "
            f"$({x0 + w},{y0 + h})${condition}.",
        ),
        value,
        rf"There are $\binom{{{w + h}}}{{{w}}} = {comb(w + h, w)}$ paths in all; the number asked for is "
        f"${value}$.",
        check=ways[w][h] == value,
    )


@family(SUBJECT, 3, 4, 5)
def multiples_of_either(draw: Draw, level: int) -> Draft:
    """Make a problem: count multiples of two or three numbers with inclusion and exclusion."""
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


@family(SUBJECT, 4, 5)
def stars_and_bars(draw: Draw, level: int) -> Draft:
    """Make a problem: count integer solutions with lower and upper bounds."""
    kinds, n = draw.integer(3, 5), draw.integer(4, 60 if level == 4 else 24)
    least = draw.integer(0, 2)
    free = n - least * kinds
    draw.need(free >= 3)
    most = draw.integer(2, free - 1) if level == 5 else free
    draw.need(kinds * most >= free + 2)  # otherwise all get the most, or one gets one less
    draw.claim(kinds, n, least, least + most)
    left = [free - j * (most + 1) for j in range(kinds + 1)]  # left to share if j children get too much
    value = int(
        sum(
            (-1) ** j * sympy.binomial(kinds, j) * sympy.binomial(rest + kinds - 1, kinds - 1)
            for j, rest in enumerate(left)
            if rest >= 0
        )
    )
    ways = [1] + [0] * n
    for _ in range(kinds):
        ways = [
            sum(ways[s - part] for part in range(least, least + most + 1) if part <= s) for s in range(n + 1)
        ]
    bound = rf"{least} \le x_i" + (rf" \le {least + most}" if level == 5 else "")
    unknowns = " + ".join(f"x_{i + 1}" for i in range(kinds))
    story = f"at least ${least}$" + (f" and at most ${least + most}$" if level == 5 else "") if least else (
        f"at most ${most}$, possibly none" if level == 5 else "any number, possibly none"
    )  # fmt: skip
    return Draft(
        draw.phrase(
            f"How many solutions in integers does ${unknowns} = {n}$ have, if ${bound}$ for all $i$?",
            f"In how many ways can ${n}$ identical coins be shared among ${kinds}$ children, if each child "
            f"gets "
            f"{story}?",
        ),
        value,
        f"Taking away the lower bounds leaves ${free}$ to share; counting with inclusion and exclusion gives "
        f"${value}$.",
        check=ways[n] == value,
    )


@family(SUBJECT, 2, 3)
def two_groups(draw: Draw, level: int) -> Draft:
    """Make a problem: how many belong to both, to neither, or to exactly one of two groups."""
    both, only_a, only_b, none = (draw.integer(2, 40) for _ in range(4))
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
        ask = draw.phrase(
            "How many play exactly one of the two?", "How many play one of them but not the other?"
        )
        work, check = (
            f"${a + b - inside}$ play both, so ${value}$ play exactly one.",
            value == only_a + only_b,
        )
    else:
        share = sympy.Rational(a + b - inside, a)
        value = Fraction(int(share.p), int(share.q))
        ask = draw.phrase(
            f"One of those who play {first} is picked at random. What is the probability that this student "
            f"also plays {second}?",
            f"Find the probability that a student who is picked at random from those who play {first} plays "
            f"{second} too.",
        )
        work, check = f"${a + b - inside}$ of those ${a}$ play both.", value * a == both
    return Draft(f"{opening} {ask}", value, work, check)
