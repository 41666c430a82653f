"""Number theory: remainders, divisors, bases, congruences, powers."""

from math import gcd, lcm, prod

import sympy
from sympy.ntheory.modular import crt

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import Value

SUBJECT = "number_theory"


def _factored(n: int) -> str:
    """A number as a product of prime powers, in LaTeX."""
    return r" \cdot ".join(f"{p}^{{{e}}}" if e > 1 else str(p) for p, e in sympy.factorint(n).items())


def _digits(n: int, base: int) -> str:
    """Digits of ``n`` by repeated division."""
    text = ""
    while n:
        n, digit = divmod(n, base)
        text = str(digit) + text
    return text or "0"


@family(SUBJECT, 1, 2, 3)
def remainder(draw: Draw, level: int) -> Draft:
    """Remainder of a number, a sum of products, a power."""
    if level == 1:
        n, m = draw.integer(10, 199), draw.integer(3, 12)
        draw.claim(1, n, m)
        value, text = n % m, str(n)
        work = rf"${n} = {n // m} \cdot {m} + {value}$."
        check = (n - value) % m == 0 and 0 <= value < m
    elif level == 2:
        a, b, c, m = draw.integer(11, 99), draw.integer(11, 99), draw.integer(11, 999), draw.integer(5, 19)
        draw.claim(2, *sorted((a, b)), c, m)
        value, text = (a * b + c) % m, rf"{a} \cdot {b} + {c}"
        work = rf"Modulo ${m}$ this is ${a % m} \cdot {b % m} + {c % m}$, which leaves ${value}$."
        check = value == ((a % m) * (b % m) + c % m) % m
    else:
        a, k, m = draw.integer(2, 29), draw.integer(20, 400), draw.integer(5, 29)
        draw.need(gcd(a, m) == 1 and a % m not in (1, m - 1))
        draw.claim(3, a, k, m)
        value, text = pow(a, k, m), f"{a}^{{{k}}}"
        order = int(sympy.n_order(a, m))
        work = rf"${a}^{{{order}}}$ leaves remainder $1$, and ${k}$ leaves ${k % order}$ modulo ${order}$; the remainder is ${value}$."
        check = value == a ** (k % order) % m
    return Draft(
        draw.phrase(
            f"What is the remainder when ${text}$ is divided by ${m}$?",
            f"Find the remainder of ${text}$ upon division by ${m}$.",
        ),
        value,
        work,
        check,
    )


@family(SUBJECT, 1, 2, 3)
def gcd_lcm(draw: Draw, level: int) -> Draft:
    """Greatest common divisors and least common multiples."""
    top = {1: 60, 2: 180, 3: 600}[level]
    unit = draw.integer(2, 12 * level)
    a, b = unit * draw.integer(1, top // unit + 1), unit * draw.integer(1, top // unit + 1)
    draw.need(a != b)
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
        return Draft(statement, value, f"${a} = {_factored(a)}$ and ${b} = {_factored(b)}$, which gives ${value}$.", check)
    # From the product of the two numbers and one of gcd and lcm to the other.
    g, m = gcd(a, b), lcm(a, b)
    draw.claim("product", g, m)
    value = int(sympy.Integer(a) * b / m)
    return Draft(
        draw.phrase(
            f"Two positive integers have product ${a * b}$ and least common multiple ${m}$. What is their greatest common "
            "divisor?",
            f"The least common multiple of two positive integers is ${m}$ and their product is ${a * b}$. Find their greatest "
            "common divisor.",
        ),
        value,
        rf"The product of both is the product of the numbers, so it is ${a * b} \div {m} = {value}$.",
        check=value == g,
    )


@family(SUBJECT, 2, 3, 4)
def divisor_count(draw: Draw, level: int) -> Draft:
    """How many divisors a number has: all, even ones, perfect squares."""
    n = draw.integer(20, {2: 900, 3: 2000, 4: 5000}[level])
    kind = {2: "all", 3: draw.choice(("even", "odd")), 4: "square"}[level]
    factors = sympy.factorint(n)
    draw.need(len(factors) > 1 and (level < 3 or sum(factors.values()) >= 4))
    draw.need(kind not in ("even", "odd") or n % 2 == 0)
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
    word = {"all": "positive divisors", "even": "even positive divisors", "odd": "odd positive divisors",
            "square": "positive divisors that are perfect squares"}[kind]  # fmt: skip
    return Draft(
        draw.phrase(f"How many {word} does ${n}$ have?", f"Count the {word} of ${n}$."),
        value,
        f"${n} = {_factored(n)}$; choosing the exponents gives ${value}$.",
        check=sum(map(tests[kind], divisors)) == value,
    )


@family(SUBJECT, 3, 4, 5)
def divisor_sum(draw: Draw, level: int) -> Draft:
    """Sums of divisors, of prime factors, of reciprocals of divisors."""
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
        draw.phrase(f"What is the sum of the {word} of ${n}$?", f"Add up the {word} of ${n}$. What is the result?"),
        value,
        work,
        check,
    )


@family(SUBJECT, 2, 3, 4)
def number_base(draw: Draw, level: int) -> Draft:
    """From and to other bases, and sums in them."""
    base = draw.integer(2, 9)
    n = draw.integer(base**2, min(base**5, 2000))
    if level == 2:
        draw.claim("to ten", n, base)
        text = _digits(n, base)
        value: Value = int(text, base)
        statement = draw.phrase(f"Write ${text}_{{{base}}}$ in base ten.", f"What is the base-ten value of ${text}_{{{base}}}$?")
        powers = " + ".join(rf"{d} \cdot {base}^{{{len(text) - 1 - i}}}" for i, d in enumerate(text) if d != "0")
        work, check = f"${powers} = {n}$.", value == n
    elif level == 3:
        draw.claim("from ten", n, base)
        value = "".join(str(d) for d in sympy.ntheory.digits(n, base)[1:])
        statement = draw.phrase(
            f"Write the base-ten number ${n}$ in base ${base}$. Give the digits only.",
            f"What are the digits of ${n}$ in base ${base}$?",
        )
        work, check = f"Repeated division by ${base}$ leaves the digits ${value}$.", int(value, base) == n
    else:
        m = draw.integer(base**2, min(base**5, 2000))
        draw.claim("sum", *sorted((n, m)), base)
        value = "".join(str(d) for d in sympy.ntheory.digits(n + m, base)[1:])
        first, second = _digits(n, base), _digits(m, base)
        statement = draw.phrase(
            f"Compute ${first}_{{{base}}} + {second}_{{{base}}}$ and write the sum in base ${base}$. Give the digits only.",
            f"The numbers ${first}$ and ${second}$ are written in base ${base}$. What are the digits of their sum in that base?",
        )
        work = f"In base ten the sum is ${n} + {m} = {n + m}$, which has the digits ${value}$ in base ${base}$."
        check = int(first, base) + int(second, base) == int(value, base)
    return Draft(statement, value, work, check)


@family(SUBJECT, 4, 5)
def chinese_remainders(draw: Draw, level: int) -> Draft:
    """The smallest positive integer with given remainders."""
    moduli = sorted(draw.several(range(3, 14 if level == 4 else 12), level - 2))
    draw.need(all(gcd(a, b) == 1 for i, a in enumerate(moduli) for b in moduli[:i]))
    residues = [draw.integer(0, m - 1) for m in moduli]
    draw.need(len(set(residues)) > 1)  # equal ones would be the answer
    draw.claim(*zip(moduli, residues, strict=True))
    value = int(crt(moduli, residues)[0])
    found = next(n for n in range(1, prod(moduli) + 1) if all(n % m == r for m, r in zip(moduli, residues, strict=True)))
    pairs = draw.several(list(zip(moduli, residues, strict=True)), len(moduli))
    listed = [f"remainder ${r}$ when divided by ${m}$" for m, r in pairs]
    signs = r", \quad ".join(rf"n \equiv {r} \pmod{{{m}}}" for m, r in pairs)
    return Draft(
        draw.phrase(
            f"What is the smallest positive integer that leaves {', '.join(listed[:-1])} and {listed[-1]}?",
            rf"Find the least positive integer $n$ with \[{signs}.\]",
        ),
        value,
        f"The remainders repeat with period ${prod(moduli)}$; the only number in the first period is ${value}$.",
        check=found == value,
    )


@family(SUBJECT, 3, 4, 5)
def linear_congruence(draw: Draw, level: int) -> Draft:
    """Inverses and linear congruences."""
    m = draw.integer(7, {3: 60, 4: 80, 5: 150}[level])
    a = draw.integer(2, m - 1)
    if level == 3:
        draw.need(gcd(a, m) == 1)
        draw.claim("inverse", a, m)
        value = int(sympy.mod_inverse(a, m))
        statement = draw.phrase(
            f"Find the inverse of ${a}$ modulo ${m}$, as a number from $0$ to ${m - 1}$.",
            rf"What integer $x$ with $0 \le x < {m}$ satisfies ${a}x \equiv 1 \pmod{{{m}}}$?",
        )
        work, check = rf"${a} \cdot {value} = {a * value} = {a * value // m} \cdot {m} + 1$.", a * value % m == 1
    elif level == 4:
        b = draw.integer(2, m - 1)
        draw.need(gcd(a, m) == 1)
        draw.claim("solve", a, b, m)
        value = int(sympy.mod_inverse(a, m)) * b % m
        statement = draw.phrase(
            rf"Find the smallest non-negative integer $x$ with ${a}x \equiv {b} \pmod{{{m}}}$.",
            rf"What is the least integer $x \ge 0$ such that ${a}x - {b}$ is divisible by ${m}$?",
        )
        work = rf"${a} \cdot {value} = {a * value}$, which leaves ${b}$ modulo ${m}$."
        check = next(x for x in range(m) if (a * x - b) % m == 0) == value
    else:
        g = gcd(a, m)
        draw.need(g > 1)
        b, top = g * draw.integer(1, m // g - 1), 10 * draw.integer(15, 100)
        draw.claim("count", a, b, m, top)
        period = m // g
        first = int(sympy.mod_inverse(a // g, period)) * (b // g) % period if period > 1 else 0
        value = len(range(first, top + 1, period)) - (first == 0)
        statement = draw.phrase(
            rf"How many integers $x$ with $1 \le x \le {top}$ satisfy ${a}x \equiv {b} \pmod{{{m}}}$?",
            rf"For how many positive integers $x$ not greater than ${top}$ is ${a}x - {b}$ a multiple of ${m}$?",
        )
        work = rf"Dividing by ${g}$, the solutions are $x \equiv {first} \pmod{{{period}}}$, and ${value}$ of them are in range."
        check = sum((a * x - b) % m == 0 for x in range(1, top + 1)) == value
    return Draft(statement, value, work, check)


@family(SUBJECT, 3, 4, 5)
def last_digits(draw: Draw, level: int) -> Draft:
    """The last digits of powers and of sums of powers."""
    a, k = draw.integer(2, 99), draw.integer(15, 300)
    draw.need(a % 10 not in (0, 1, 5))
    if level == 5:
        b, j = draw.integer(2, 99), draw.integer(15, 300)
        draw.need((a, k) != (b, j))
        draw.claim(5, *sorted(((a, k), (b, j))))
        value = (pow(a, k, 100) + pow(b, j, 100)) % 100
        text, word, modulus = f"{a}^{{{k}}} + {b}^{{{j}}}", "remainder on division by $100$", 100
        direct = (a**k + b**j) % 100
    else:
        modulus = 10 if level == 3 else 100
        draw.claim(level, a, k)
        value = int(sympy.Mod(sympy.Integer(a) ** k, modulus))
        text = f"{a}^{{{k}}}"
        word = "units digit" if level == 3 else "remainder on division by $100$"
        direct = 1
        for _ in range(k):
            direct = direct * a % modulus
    return Draft(
        draw.phrase(f"What is the {word} of ${text}$?", f"Find the {word} of ${text}$."),
        value,
        f"The powers repeat modulo ${modulus}$; the result is ${value}$.",
        check=value == direct,
    )


@family(SUBJECT, 4, 5)
def coprime_count(draw: Draw, level: int) -> Draft:
    """How many numbers up to a bound share no factor with another."""
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
        f"${n}$ has the prime factors ${', '.join(map(str, primes))}$; leaving out their multiples, ${value}$ remain.",
        check=sum(gcd(k, n) == 1 for k in range(1, top + 1)) == value,
    )


@family(SUBJECT, 3, 4, 5)
def factorial_power(draw: Draw, level: int) -> Draft:
    """Zeros at the end of a factorial; the exponent of a number in it."""
    n = draw.integer(20, 1500)
    if level == 3:
        draw.claim(3, n)
        base, statement = 10, draw.phrase(
            f"With how many zeros does ${n}!$ end?", f"How many zeros are at the end of the decimal digits of ${n}!$?"
        )  # fmt: skip
    else:
        base = draw.choice((2, 3, 5, 7, 11, 13)) if level == 4 else draw.choice((6, 12, 18, 20, 24, 36, 45, 72))
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
