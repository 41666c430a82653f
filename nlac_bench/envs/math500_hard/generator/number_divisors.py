"""Generates problems of number theory: divisors, common divisors, factorials."""

from math import gcd, lcm, prod

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import Value

SUBJECT = "number_theory"


def _factored(n: int) -> str:
    """Return a number as a product of prime powers, in LaTeX."""
    return r" \cdot ".join(f"{p}^{{{e}}}" if e > 1 else str(p) for p, e in sympy.factorint(n).items())


@family(SUBJECT, 1, 2, 3)
def gcd_lcm(draw: Draw, level: int) -> Draft:
    """Make a problem: a greatest common divisor or least common multiple."""
    top = {1: 60, 2: 180, 3: 600}[level]
    unit = draw.integer(2, 12 * level)
    a, b = unit * draw.integer(1, top // unit + 1), unit * draw.integer(1, top // unit + 1)
    draw.need(a % b != 0 and b % a != 0)
    kind = draw.choice(("gcd", "lcm"))
    if level < 3:
        draw.claim(kind, *sorted((a, b)))
        value = int(sympy.igcd(a, b) if kind == "gcd" else sympy.ilcm(a, b))
        if kind == "gcd":
            check = max(d for d in range(1, min(a, b) + 1) if a % d == 0 and b % d == 0) == value
            statement = draw.phrase(
                f"What is the greatest common divisor of ${a}$ and ${b}$?", rf"Find $\gcd({a}, {b})$."
            )
        else:
            check = next(m for m in range(a, a * b + 1, a) if m % b == 0) == value
            statement = draw.phrase(
                f"What is the least common multiple of ${a}$ and ${b}$?",
                f"Find the smallest positive integer that is divisible by both ${a}$ and ${b}$.",
            )
        return Draft(
            statement,
            value,
            f"${a} = {_factored(a)}$ and ${b} = {_factored(b)}$, which gives ${value}$.",
            check,
        )
    # Given the product of the two numbers and one of gcd and lcm, find the other.
    g, m = gcd(a, b), lcm(a, b)
    draw.claim("product", g, m)
    value = int(sympy.Integer(a) * b / m)
    return Draft(
        draw.phrase(
            f"Two positive integers have product ${a * b}$ and least common multiple ${m}$. What is their "
            "greatest common "
            "divisor?",
            f"The least common multiple of two positive integers is ${m}$ and their product is ${a * b}$. "
            "Find their greatest "
            "common divisor.",
        ),
        value,
        rf"The product of both is the product of the numbers, so it is ${a * b} \div {m} = {value}$.",
        check=value == g,
    )


@family(SUBJECT, 2, 3, 4)
def divisor_count(draw: Draw, level: int) -> Draft:
    """Make a problem: number of divisors, all of them, even ones, or perfect squares."""
    n = draw.integer(20, {2: 900, 3: 2000, 4: 5000}[level])
    kind = {2: "all", 3: draw.choice(("even", "odd")), 4: "square"}[level]
    factors = sympy.factorint(n)
    draw.need(len(factors) > 1 and (level < 3 or sum(factors.values()) >= 4))
    draw.need(kind not in ("even", "odd") or n % 2 == 0)
    draw.need(kind != "square" or max(factors.values()) > 1)
    draw.claim(kind, n)
    two = factors.get(2, 0)
    if kind == "all":
        value = int(sympy.divisor_count(n))
    elif kind == "odd":
        value = int(sympy.divisor_count(n // 2**two))
    elif kind == "even":
        value = two * int(sympy.divisor_count(n // 2**two))
    else:
        value = prod(e // 2 + 1 for e in factors.values())
    small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    divisors = set(small) | {n // d for d in small}
    tests = {
        "all": lambda d: True,
        "even": lambda d: d % 2 == 0,
        "odd": lambda d: d % 2 == 1,
        "square": lambda d: round(d**0.5) ** 2 == d,
    }
    if kind == "square":
        statement = draw.phrase(
            f"How many positive divisors of ${n}$ are perfect squares?",
            f"Count the positive divisors of ${n}$ that are perfect squares.",
        )
    else:
        what = "positive divisors" if kind == "all" else f"{kind} positive divisors"
        statement = draw.phrase(f"How many {what} does ${n}$ have?", f"Find the number of {what} of ${n}$.")
    return Draft(
        statement,
        value,
        f"${n} = {_factored(n)}$; choosing the exponents gives ${value}$.",
        check=sum(map(tests[kind], divisors)) == value,
    )


@family(SUBJECT, 3, 4, 5)
def divisor_sum(draw: Draw, level: int) -> Draft:
    """Make a problem: sum of divisors, of prime factors, or of reciprocals of divisors."""
    n = draw.integer(12, {3: 2000, 4: 1000, 5: 1500}[level])
    factors = sympy.factorint(n)
    draw.need(len(factors) > 1)
    draw.claim(level, n)
    small = [d for d in range(1, n + 1) if n % d == 0]
    value: Value
    if level == 3:
        value, word = sum(factors), "distinct prime factors"
        check = value == sum(d for d in small if d > 1 and all(d % k for k in range(2, d)))
        work = f"${n} = {_factored(n)}$, and the primes add up to ${value}$."
    elif level == 4:
        value, word = int(sympy.divisor_sigma(n)), "positive divisors"
        check = value == sum(small)
        work = f"${n} = {_factored(n)}$, and the product of the sums of powers is ${value}$."
    else:
        exact = sympy.divisor_sigma(n) / sympy.Integer(n)
        value, word = exact, "reciprocals of the positive divisors"
        common = lcm(*small)
        check = sympy.Rational(sum(common // d for d in small), common) == exact
        work = f"The reciprocals add up to the sum of the divisors over ${n}$: ${sympy.latex(exact)}$."
    return Draft(
        draw.phrase(
            f"What is the sum of the {word} of ${n}$?", f"Add up the {word} of ${n}$. What is the result?"
        ),
        value,
        work,
        check,
    )


@family(SUBJECT, 4, 5)
def coprime_count(draw: Draw, level: int) -> Draft:
    """Make a problem: how many numbers up to a bound are coprime to a number."""
    n = draw.integer(20, 2400 if level == 4 else 1200)
    primes = list(sympy.factorint(n))
    draw.need(len(primes) >= 2)
    if level == 4:
        draw.claim(4, n)
        value = int(sympy.totient(n))
        top, bound = n, f"less than ${n}$"
    else:
        top = draw.integer(2, 6) * n + draw.integer(1, n - 1)
        draw.claim(5, n, top)
        value = 0
        for mask in range(2 ** len(primes)):  # inclusion and exclusion over the prime factors
            chosen = [p for i, p in enumerate(primes) if mask >> i & 1]
            value += (-1) ** len(chosen) * (top // prod(chosen))
        bound = f"not greater than ${top}$"
    return Draft(
        draw.phrase(
            f"How many positive integers {bound} are relatively prime to ${n}$?",
            f"Count the positive integers {bound} that have no common factor with ${n}$ other than $1$.",
        ),
        value,
        f"${n}$ has the prime factors ${', '.join(map(str, primes))}$; leaving out their multiples, "
        f"${value}$ remain.",
        check=sum(gcd(k, n) == 1 for k in range(1, top + 1)) == value,
    )


@family(SUBJECT, 3, 4, 5)
def factorial_power(draw: Draw, level: int) -> Draft:
    """Make a problem: number of zeros at the end of a factorial, or the exponent of a number in it."""
    n = draw.integer(20, 1500)
    if level == 3:
        draw.claim(3, n)
        base, statement = 10, draw.phrase(
            f"With how many zeros does ${n}!$ "
            "end?", f"How many zeros are at the end of the decimal digits of ${n}!$?"
        )  # fmt: skip
    else:
        base = (
            draw.choice((2, 3, 5, 7, 11, 13)) if level == 4 else draw.choice((6, 12, 18, 20, 24, 36, 45, 72))
        )
        draw.claim(level, n, base)
        statement = draw.phrase(
            f"What is the largest integer $k$ such that ${base}^k$ divides ${n}!$?",
            f"Find the greatest $k$ for which ${n}!$ is a multiple of ${base}^k$.",
        )
    factors = sympy.factorint(base)

    def legendre(p: int) -> int:
        total, power = 0, p
        while power <= n:
            total += n // power
            power *= p
        return total

    value = min(legendre(p) // e for p, e in factors.items())

    def digit_formula(p: int) -> int:  # (n - sum of the digits of n in base p) / (p - 1)
        rest, digits = n, 0
        while rest:
            rest, digit = divmod(rest, p)
            digits += digit
        return (n - digits) // (p - 1)

    listed = " and ".join(rf"${legendre(p)}$ factors ${p}$" for p in factors)
    return Draft(
        statement,
        value,
        rf"Adding up $\lfloor {n} / p^i \rfloor$, the factorial has {listed}, which allows ${value}$.",
        check=min(digit_formula(p) // e for p, e in factors.items()) == value,
    )
