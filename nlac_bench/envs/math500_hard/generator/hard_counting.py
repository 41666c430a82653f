"""Generates problems of counting and probability of MATH's level 5: each needs several ideas in turn."""

from fractions import Fraction
from itertools import product as cartesian

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import frac

SUBJECT = "counting_and_probability"
NUMBER_WORDS = {3: "three", 4: "four", 5: "five", 6: "six"}


@family(SUBJECT, 5)
def digit_sums(draw: Draw, level: int) -> Draft:
    """Make a problem: numbers of given digits that contain one of them, with a condition on the digit sum."""
    top, length, modulus = draw.integer(4, 8), draw.integer(3, 6), draw.integer(3, 7)
    digit = draw.integer(1, top)
    draw.need(top**length <= 5_000)
    draw.claim(top, length, modulus, digit)

    def with_sum(digits: list[int]) -> int:
        """Return how many numbers of these digits have a digit sum divisible by the modulus."""
        ways = [1] + [0] * (modulus - 1)
        for _ in range(length):
            ways = [sum(ways[(r - d) % modulus] for d in digits) for r in range(modulus)]
        return ways[0]

    everything = list(range(1, top + 1))
    value = with_sum(everything) - with_sum([d for d in everything if d != digit])
    counted = sum(
        digit in number and sum(number) % modulus == 0 for number in cartesian(everything, repeat=length)
    )
    return Draft(
        draw.phrase(
            f"How many {NUMBER_WORDS[length]}-digit numbers use only digits from $1$ to ${top}$, contain the "
            f"digit "
            f"${digit}$ at least once and have a digit sum that is divisible by ${modulus}$?",
            f"A password has {NUMBER_WORDS[length]} digits, each from $1$ to ${top}$. At least one of them "
            f"is "
            f"${digit}$, and their sum is a multiple of ${modulus}$. How many such passwords are there?",
        ),
        value,
        f"Of all such numbers ${with_sum(everything)}$ have a suitable digit sum; the "
        f"${with_sum(everything) - value}$ "
        f"of them without the digit ${digit}$ are taken away, which leaves ${value}$.",
        check=counted == value,
    )


@family(SUBJECT, 5)
def waiting_for_a_pattern(draw: Draw, level: int) -> Draft:
    """Make a problem: the expected number of tosses of a biased coin until a pattern appears."""
    pattern = "".join(draw.choice("HT") for _ in range(draw.integer(3, 4)))
    q = draw.integer(2, 8)
    p = Fraction(draw.integer(1, q - 1), q)
    mirrored = pattern.translate(str.maketrans("HT", "TH"))  # the same problem with the sides exchanged
    draw.claim(*min((pattern, str(p)), (mirrored, str(1 - p))))
    chance = {"H": p, "T": 1 - p}
    value = Fraction(0)  # each prefix that is also a suffix adds the reciprocal of its probability
    for size in range(1, len(pattern) + 1):
        if pattern[:size] == pattern[-size:]:
            term = Fraction(1)
            for side in pattern[:size]:
                term /= chance[side]
            value += term

    # Second method: E_s = 1 + sum over the two sides of its chance times E of the next state.
    n = len(pattern)
    rows, ones = [], []
    for state in range(n):
        row = [sympy.Integer(0)] * n
        row[state] += 1
        for side, share in chance.items():
            text = pattern[:state] + side
            following = max(k for k in range(n + 1) if text.endswith(pattern[:k]))
            if following < n:
                row[following] -= sympy.Rational(share.numerator, share.denominator)
        rows.append(row)
        ones.append(1)
    expected = sympy.Matrix(rows).LUsolve(sympy.Matrix(ones))[0]
    shown = ", ".join({"H": "heads", "T": "tails"}[side] for side in pattern)
    return Draft(
        draw.phrase(
            f"A coin shows heads with probability ${frac(p)}$. It is tossed until "
            f"{NUMBER_WORDS[len(pattern)]} consecutive "
            f"tosses show {shown}, in this order. What is the expected number of tosses?",
            f"A coin that lands heads with probability ${frac(p)}$ is tossed again and again. On average, "
            f"after how "
            f"many tosses has the sequence {shown} appeared for the first time?",
        ),
        value,
        f"First-step equations for the length of the part of the sequence that is already there give "
        f"${frac(value)}$.",
        check=expected == sympy.Rational(value.numerator, value.denominator),
    )


@family(SUBJECT, 5)
def moved_ball(draw: Draw, level: int) -> Draft:
    """Make a problem: which ball was moved, given the ball that was drawn afterwards (Bayes)."""
    a, b, c, d = (draw.integer(2, 12) for _ in range(4))
    moved, drawn = draw.choice(("red", "blue")), draw.choice(("red", "blue"))
    draw.claim(a, b, c, d, moved, drawn)
    share = {"red": Fraction(a, a + b), "blue": Fraction(b, a + b)}
    after = {
        "red": Fraction(c + 1 if drawn == "red" else d, c + d + 1),
        "blue": Fraction(c if drawn == "red" else d + 1, c + d + 1),
    }
    whole = sum((share[k] * after[k] for k in share), Fraction(0))
    value = share[moved] * after[moved] / whole
    cases = [
        (first, second)
        for first in ["red"] * a + ["blue"] * b
        for second in [*["red"] * c, *["blue"] * d, first]
        if second == drawn
    ]
    opening = f"Box A holds ${a}$ red and ${b}$ blue balls, and box B holds ${c}$ red and ${d}$ blue balls."
    return Draft(
        draw.phrase(
            f"{opening} A ball is taken at random from A and put into B; then a ball is drawn at random from "
            f"B. It "
            f"is {drawn}. What is the probability that the ball taken from A was {moved}?",
            f"{opening} One random ball is moved from A to B, and a random ball is then drawn from B. Given "
            f"that the "
            f"drawn ball is {drawn}, find the probability that the moved ball was {moved}.",
        ),
        value,
        f"A {drawn} ball is drawn with probability ${frac(whole)}$, and a {moved} ball is moved before it "
        f"with "
        f"probability ${frac(share[moved] * after[moved])}$; the quotient is ${frac(value)}$.",
        check=Fraction(sum(first == moved for first, _ in cases), len(cases)) == value,
    )
