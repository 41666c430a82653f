"""Generates problems of number theory: remainders, bases, congruences, powers."""

from math import gcd, prod

import sympy
from sympy.ntheory.modular import crt

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import Value

SUBJECT = "number_theory"


def _digits(n: int, base: int) -> str:
    """Return the digits of ``n``, computed by repeated division."""
    text = ""
    while n:
        n, digit = divmod(n, base)
        text = str(digit) + text
    return text or "0"


@family(SUBJECT, 1, 2, 3)
def remainder(draw: Draw, level: int) -> Draft:
    """Make a problem: remainder of a number, a sum of products, or a power."""
    if level == 1:
        n, m = draw.integer(15, 199), draw.integer(3, 12)
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
        work = (
            f"${a}^{{{order}}}$ leaves remainder $1$, and ${k}$ leaves ${k % order}$ modulo ${order}$; "
            f"the remainder is ${value}$."
        )
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


@family(SUBJECT, 2, 3, 4)
def number_base(draw: Draw, level: int) -> Draft:
    """Make a problem: convert from and to other bases, or add in them."""
    base = draw.integer(2, 9)
    n = draw.integer(base**2, min(base**5, 2000))
    if level == 2:
        draw.claim("to ten", n, base)
        text = _digits(n, base)
        value: Value = int(text, base)
        statement = draw.phrase(
            f"Write ${text}_{{{base}}}$ in base ten.", f"What is the base-ten value of ${text}_{{{base}}}$?"
        )
        powers = " + ".join(
            rf"{d} \cdot {base}^{{{len(text) - 1 - i}}}" for i, d in enumerate(text) if d != "0"
        )
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
            f"Compute ${first}_{{{base}}} + {second}_{{{base}}}$ and write the sum in base ${base}$. Give "
            "the digits only.",
            f"The numbers ${first}$ and ${second}$ are written in base ${base}$. What are the digits of "
            "their sum in that base?",
        )
        work = (
            f"In base ten the sum is ${n} + {m} = {n + m}$, which has the digits ${value}$ in base ${base}$."
        )
        check = int(first, base) + int(second, base) == int(value, base)
    return Draft(statement, value, work, check)


@family(SUBJECT, 4, 5)
def chinese_remainders(draw: Draw, level: int) -> Draft:
    """Make a problem: the smallest positive integer with given remainders."""
    moduli = sorted(draw.several(range(3, 14 if level == 4 else 12), level - 2))
    draw.need(all(gcd(a, b) == 1 for i, a in enumerate(moduli) for b in moduli[:i]))
    residues = [draw.integer(0, m - 1) for m in moduli]
    value = int(crt(moduli, residues)[0])
    draw.need(value > max(moduli))  # a smaller number would be one of the remainders
    draw.claim(*zip(moduli, residues, strict=True))
    smallest = next(
        n
        for n in range(1, prod(moduli) + 1)
        if all(n % m == r for m, r in zip(moduli, residues, strict=True))
    )
    pairs = draw.several(list(zip(moduli, residues, strict=True)), len(moduli))
    listed = [f"remainder ${r}$ when divided by ${m}$" for m, r in pairs]
    signs = r", \quad ".join(rf"n \equiv {r} \pmod{{{m}}}" for m, r in pairs)
    return Draft(
        draw.phrase(
            f"What is the smallest positive integer that leaves {', '.join(listed[:-1])} and {listed[-1]}?",
            rf"Find the least positive integer $n$ with \[{signs}.\]",
        ),
        value,
        f"The remainders repeat with period ${prod(moduli)}$; the only number in the first period is "
        f"${value}$.",
        check=smallest == value,
    )


@family(SUBJECT, 3, 4, 5)
def linear_congruence(draw: Draw, level: int) -> Draft:
    """Make a problem: a modular inverse or a linear congruence."""
    m = draw.integer(7, {3: 60, 4: 80, 5: 150}[level])
    a = draw.integer(2, m - 1)
    if level == 3:
        draw.need(gcd(a, m) == 1 and a * a % m != 1)
        draw.claim("inverse", a, m)
        value = int(sympy.mod_inverse(a, m))
        statement = draw.phrase(
            f"Find the inverse of ${a}$ modulo ${m}$, as a number from $0$ to ${m - 1}$.",
            rf"What integer $x$ with $0 \le x < {m}$ satisfies ${a}x \equiv 1 \pmod{{{m}}}$?",
        )
        work, check = (
            rf"${a} \cdot {value} = {a * value} = {a * value // m} \cdot {m} + 1$.",
            a * value % m == 1,
        )
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
            f"For how many positive integers $x$ not greater than ${top}$ is ${a}x - {b}$ a multiple of "
            f"${m}$?",
        )
        work = (
            rf"Dividing by ${g}$, the solutions are $x \equiv {first} \pmod{{{period}}}$, and ${value}$ "
            "of them are in range."
        )
        check = sum((a * x - b) % m == 0 for x in range(1, top + 1)) == value
    return Draft(statement, value, work, check)


@family(SUBJECT, 3, 4, 5)
def last_digits(draw: Draw, level: int) -> Draft:
    """Make a problem: the last digits of a power or of a sum of powers."""
    a, k = draw.integer(2, 99), draw.integer(15, 300)
    draw.need(a % 10 not in (0, 1, 5))
    if level == 5:
        b, j = draw.integer(2, 99), draw.integer(15, 300)
        draw.need((a, k) != (b, j))
        draw.claim(5, *sorted(((a, k), (b, j))))
        value = (pow(a, k, 100) + pow(b, j, 100)) % 100
        text, modulus = f"{a}^{{{k}}} + {b}^{{{j}}}", 100
        direct = (a**k + b**j) % 100
    else:
        modulus = 10 if level == 3 else 100
        draw.claim(level, a, k)
        value = int(sympy.Mod(sympy.Integer(a) ** k, modulus))
        text = f"{a}^{{{k}}}"
        direct = 1
        for _ in range(k):
            direct = direct * a % modulus
    return Draft(
        draw.phrase(f"What is the units digit of ${text}$?", f"Find the units digit of ${text}$.")
        if level == 3
        else draw.phrase(
            f"What is the remainder when ${text}$ is divided by $100$?",
            f"Find the remainder of ${text}$ upon division by $100$.",
        ),
        value,
        f"The powers repeat modulo ${modulus}$; the result is ${value}$.",
        check=value == direct,
    )
