"""Generates problems of number theory and prealgebra of MATH's level 5: each needs several ideas in turn."""

from fractions import Fraction
from math import floor, gcd

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import frac, terms

THEORY, PREALGEBRA = "number_theory", "prealgebra"


@family(THEORY, 5)
def recurrence_remainder(draw: Draw, level: int) -> Draft:
    """Make a problem: the remainder of a far term of a linear recurrence."""
    first, second = draw.integer(1, 9), draw.integer(1, 9)
    p, q = draw.integer(1, 5), draw.nonzero(-4, 5)
    modulus, n = draw.integer(7, 40), draw.integer(200, 3000)
    states = [(first % modulus, second % modulus)]
    while (last := (states[-1][1], (p * states[-1][1] + q * states[-1][0]) % modulus)) not in states:
        states.append(last)
    start = states.index(last)
    period = len(states) - start
    value = states[start + (n - 1 - start) % period][0]
    draw.need(4 <= period <= 24 and value > 1)
    draw.claim(first, second, p, q, modulus, n)
    step = sympy.Matrix([[0, 1], [q, p]])
    power, result = n - 1, sympy.eye(2)
    while power:  # second method: the power of the matrix modulo m, by squaring
        if power & 1:
            result = (result * step).applyfunc(lambda entry: entry % modulus)
        step, power = (step * step).applyfunc(lambda entry: entry % modulus), power >> 1
    checked = (result * sympy.Matrix([first, second]))[0] % modulus
    rule = f"a_{{n+2}} = {terms((p, 'a_{n+1}'), (q, 'a_n'))}"
    return Draft(
        draw.phrase(
            rf"A sequence has $a_1 = {first}$, $a_2 = {second}$ and ${rule}$ for $n \ge 1$. What is the "
            rf"remainder when "
            f"$a_{{{n}}}$ is divided by ${modulus}$?",
            rf"Let $a_1 = {first}$, $a_2 = {second}$, and let ${rule}$ for all $n \ge 1$. Find the remainder "
            rf"of "
            f"$a_{{{n}}}$ upon division by ${modulus}$.",
        ),
        value,
        f"Modulo ${modulus}$ the sequence is periodic with period ${period}$; term ${n}$ leaves ${value}$.",
        check=value == checked,
    )


@family(THEORY, 5)
def power_tower(draw: Draw, level: int) -> Draft:
    """Make a problem: the remainder of a power whose exponent is a power."""
    a, b, c = draw.integer(2, 40), draw.integer(2, 12), draw.integer(3, 60)
    modulus = draw.choice((25, 35, 45, 55, 64, 77, 81, 91, 99, 100, 101, 103, 125, 128, 144, 175))
    draw.need(gcd(a, modulus) == 1)
    order = int(sympy.n_order(a, modulus))
    value = pow(a, pow(b, c, order), modulus)
    draw.need(order >= 6 and value not in (1, a))
    draw.claim(a, b, c, modulus)
    direct = a % modulus
    for _ in range(c):  # second method: raise to the power b, c times
        direct = pow(direct, b, modulus)
    tower = f"{a}^{{{b}^{{{c}}}}}"
    return Draft(
        draw.phrase(
            f"Find the remainder when ${tower}$ is divided by ${modulus}$.",
            rf"What is the smallest non-negative integer that is congruent to ${tower}$ modulo ${modulus}$?",
        ),
        value,
        f"${a}$ has order ${order}$ modulo ${modulus}$, and ${b}^{{{c}}}$ leaves ${pow(b, c, order)}$ modulo "
        f"${order}$; "
        f"the remainder is ${value}$.",
        check=value == direct,
    )


@family(THEORY, 5)
def floor_sum(draw: Draw, level: int) -> Draft:
    """Make a problem: a sum of integer parts of multiples of a fraction."""
    m, turns = draw.integer(5, 40), draw.integer(1, 6)
    a = draw.integer(2, 60)
    draw.need(gcd(a, m) == 1)
    n = m * turns
    draw.claim(a, m, turns)
    value = (a * n * (n + 1) // m - turns * (m - 1)) // 2
    text = rf"\sum_{{k=1}}^{{{n}}} \left\lfloor \frac{{{a}k}}{{{m}}} \right\rfloor"
    meaning = r"where $\lfloor x \rfloor$ is the greatest integer not greater than $x$"
    return Draft(
        draw.phrase(f"Compute ${text}$, {meaning}.", f"What is the value of ${text}$, {meaning}?"),
        value,
        rf"The fractions add up to $\frac{{{a}}}{{{m}}} \cdot \frac{{{n} \cdot {n + 1}}}{{2}}$. In each "
        rf"block of ${m}$ "
        rf"terms the remainders of ${a}k$ are $0$ to ${m - 1}$, so ${turns} \cdot \frac{{{m - 1}}}{{2}}$ is "
        rf"taken away: "
        f"${value}$.",
        check=value == sum(a * k // m for k in range(1, n + 1)),
    )


@family(THEORY, 5)
def unknown_digits(draw: Draw, level: int) -> Draft:
    """Make a problem: unknown digits of a number in another base, of which two divisors are known."""
    base = draw.integer(5, 9)
    known = [draw.integer(1, base - 1), draw.integer(0, base - 1), draw.integer(0, base - 1)]
    below, above = base - 1, base + 1
    fitting = [
        (x, y)
        for x in range(base)
        for y in range(base)
        if (sum(known) + x + y) % below == 0 and (known[0] - x + y - known[1] + known[2]) % above == 0
    ]
    draw.need(bool(fitting))
    draw.claim(base, *known)
    x, y = max(fitting)
    value = 0
    for digit in (known[0], x, y, known[1], known[2]):
        value = value * base + digit
    text = f"{known[0]}XY{known[1]}{known[2]}"
    numbers = [
        int(text.replace("X", str(x)).replace("Y", str(y)), base) for x in range(base) for y in range(base)
    ]
    shown = rf"\mathrm{{{text}}}_{{{base}}}"
    return Draft(
        draw.phrase(
            f"The number ${shown}$, written in base ${base}$ with two unknown digits $X$ and $Y$ that may be "
            f"equal, is "
            f"divisible by both ${below}$ and ${above}$. What is the largest possible value of the number, "
            f"in base ten?",
            f"For some base-${base}$ digits $X$ and $Y$, equal or not, the number ${shown}$ is a multiple of "
            f"both "
            f"${below}$ and ${above}$. Find the greatest such number and write it in base ten.",
        ),
        value,
        f"The digit sum must be divisible by ${below}$ and the alternating digit sum by ${above}$; the "
        f"largest choice is "
        f"$X = {x}$ and $Y = {y}$, which gives ${value}$.",
        check=value == max(n for n in numbers if n % below == n % above == 0),
    )


@family(PREALGEBRA, 5)
def alternating_work(draw: Draw, level: int) -> Draft:
    """Make a problem: two machines work by turns, an hour each, until the job is done."""
    a, b = draw.integer(3, 30), draw.integer(3, 30)
    draw.need(a != b and 1 / Fraction(a) + 1 / Fraction(b) < Fraction(1, 2))
    draw.claim(a, b)
    pair = Fraction(1, a) + Fraction(1, b)
    rounds = floor(1 / pair)
    left = 1 - rounds * pair
    first = min(left, Fraction(1, a))  # the first machine's share of what is left
    value = 2 * rounds + first * a + (left - first) * b
    hours, done = Fraction(0), Fraction(0)
    turn = 0
    while done < 1:  # second method: hour by hour
        rate = Fraction(1, (a, b)[turn % 2])
        part = min(Fraction(1), (1 - done) / rate)
        hours, done, turn = hours + part, done + part * rate, turn + 1
    return Draft(
        draw.phrase(
            f"One machine alone does a job in ${a}$ hours, another alone in ${b}$ hours. They work by turns, "
            f"one hour "
            "each, and the first machine begins. How many hours pass until the job is done?",
            f"Nora needs ${a}$ hours to copy a book and Omar needs ${b}$ hours. They relieve each other "
            f"after every hour, "
            "and Nora starts. After how many hours is the copy finished?",
        ),
        value,
        f"Two hours do ${frac(pair)}$ of it. After ${2 * rounds}$ hours ${frac(left)}$ of it is left, and it "
        f"takes "
        f"${frac(value)}$ hours in all.",
        check=value == hours,
    )


@family(PREALGEBRA, 5)
def page_digits(draw: Draw, level: int) -> Draft:
    """Make a problem: how often a digit is written on numbered pages, or how many pages there are."""
    n = draw.integer(120, 2500)
    kind = draw.choice(("digit", "pages"))
    digit = draw.integer(1, 9)
    draw.claim(kind, n, digit if kind == "digit" else 0)
    written = sum(n - 10**k + 1 for k in range(4) if n >= 10**k)
    if kind == "digit":
        value = 0
        for place in (1, 10, 100, 1000):  # full cycles of the place, and the rest
            cycles, rest = divmod(n + 1, 10 * place)
            value += cycles * place + min(max(rest - digit * place, 0), place)
        statement = draw.phrase(
            f"The pages of a book are numbered from $1$ to ${n}$. How many times is the digit ${digit}$ "
            f"printed in the "
            "page numbers?",
            f"Someone writes down all whole numbers from $1$ to ${n}$. How often is the digit ${digit}$ "
            f"written?",
        )
        work = f"Counting the ones, tens, hundreds and thousands places separately gives ${value}$."
        check = value == sum(str(k).count(str(digit)) for k in range(1, n + 1))
    else:
        value = n
        statement = draw.phrase(
            f"Numbering all pages of a book from $1$ on takes ${written}$ digits. How many pages does it "
            f"have?",
            f"Tickets are numbered $1, 2, 3$ and so on, and ${written}$ digits are printed in all. How many "
            f"tickets are "
            "there?",
        )
        work = (
            "Numbers of one, two and three digits take $9$, $180$ and up to $2700$ digits; the last "
            f"number is ${n}$."
        )
        check = sum(len(str(k)) for k in range(1, n + 1)) == written
    return Draft(statement, value, work, check)


@family(PREALGEBRA, 5)
def repeated_dilution(draw: Draw, level: int) -> Draft:
    """Make a problem: what remains after a mixture has been replaced in part several times."""
    whole, part, times = draw.integer(5, 60), draw.integer(2, 40), draw.integer(2, 4)
    draw.need(part < whole)
    share = Fraction(whole - part, whole)
    draw.need(share.denominator <= 12 and share != Fraction(1, 2))
    kind = draw.choice(("left", "water"))
    draw.claim(kind, whole, part, times)
    left = whole * share**times
    value = left if kind == "left" else whole - left
    rest = Fraction(whole)
    for _ in range(times):
        rest -= rest * Fraction(part, whole)
    often = {2: "twice", 3: "three times", 4: "four times"}[times]
    asked = "juice" if kind == "left" else "water"
    return Draft(
        draw.phrase(
            f"A barrel holds ${whole}$ litres of juice. In one round, ${part}$ litres of its contents are "
            f"drained and "
            f"replaced by water, and all is stirred. How many litres of {asked} does it hold after ${times}$ "
            f"rounds?",
            f"A tank holds ${whole}$ litres of juice. Now ${part}$ litres of the well-mixed contents are let "
            f"out and "
            f"replaced by water, and this is done {often} in all. Find the number of litres of {asked} in "
            f"the tank at "
            "the end.",
        ),
        value,
        rf"Each time ${frac(share)}$ of the juice stays, so ${whole} \cdot "
        rf"\left({frac(share)}\right)^{times} = "
        rf"{frac(left)}$ litres of juice are left; the answer is ${frac(value)}$.",
        check=rest == (value if kind == "left" else whole - value),
    )
