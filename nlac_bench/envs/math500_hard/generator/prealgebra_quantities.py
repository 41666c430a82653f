"""Generates problems of prealgebra: percentages, proportions, means, ratios, rates."""

from fractions import Fraction
from math import gcd

import sympy

from nlac_bench.envs.math500_hard.generator.family import Draft, Draw, family
from nlac_bench.envs.math500_hard.generator.latex import frac

SUBJECT = "prealgebra"
PEOPLE = ("Ada", "Bruno", "Chen", "Dina", "Emil", "Farah", "Goran", "Hana", "Ivo", "Jun")
GOODS = ("pencils", "apples", "tickets", "stickers", "candles", "notebooks", "oranges", "marbles")


@family(SUBJECT, 1, 2, 3)
def percentage(draw: Draw, level: int) -> Draft:
    """Make a problem: a percentage of a number, a number as a percentage, or two successive discounts."""
    if level == 1:
        p, n = 5 * draw.integer(1, 19), 20 * draw.integer(1, 60)
        draw.claim(1, p, n)
        value = p * n // 100
        return Draft(
            draw.phrase(rf"What is ${p}\%$ of ${n}$?", rf"Find ${p}$ percent of ${n}$."),
            value,
            rf"${n} \times \frac{{{p}}}{{100}} = {value}$.",
            check=Fraction(value, n) == Fraction(p, 100),
        )
    if level == 2:
        p, n = draw.integer(2, 99), draw.choice((25, 50, 75, 150, 200, 250, 300, 350, 400, 450, 500, 800))
        draw.need(p * n % 100 == 0)
        draw.claim(2, p, n)
        part = p * n // 100
        return Draft(
            draw.phrase(
                f"What percent of ${n}$ is ${part}$?",
                f"${part}$ is what percent of ${n}$? Give the number only.",
            ),
            p,
            rf"$\frac{{{part}}}{{{n}}} = \frac{{{p}}}{{100}}$, which is {p} percent.",
            check=Fraction(part, n) * 100 == p,
        )
    p, q, price = 5 * draw.integer(1, 12), 5 * draw.integer(1, 12), 100 * draw.integer(1, 40)
    draw.need(price * (100 - p) * (100 - q) % 10_000 == 0)
    draw.claim(3, *sorted((p, q)), price)
    value = int(sympy.Rational(price * (100 - p) * (100 - q), 10_000))
    first = Fraction(price * (100 - p), 100)
    return Draft(
        draw.phrase(
            rf"A bicycle costs \${price}. Its price is reduced by ${p}\%$ and the reduced price is then "
            rf"reduced by ${q}\%$. How many dollars does it cost now?",
            rf"The price of a sofa was \${price}. A shop takes ${p}\%$ off it, and later ${q}\%$ off the new "
            "price. What is the final price in dollars?",
        ),
        value,
        rf"After the first reduction the price is ${frac(first)}$ dollars, after the second ${value}$.",
        check=first - first * q / 100 == value,
    )


@family(SUBJECT, 2, 3)
def proportion(draw: Draw, level: int) -> Draft:
    """Make a problem: direct proportion (level 2) or inverse proportion (level 3)."""
    if level == 2:
        a, b, each = draw.integer(2, 12), draw.integer(2, 20), draw.integer(2, 25)
        goods = draw.choice(GOODS)
        draw.need(a != b)
        draw.claim(2, a, b, each)
        value = b * each
        return Draft(
            draw.phrase(
                f"If ${a}$ {goods} cost ${a * each}$ cents, how many cents do ${b}$ {goods} cost?",
                f"At the same price each, ${a}$ {goods} cost ${a * each}$ cents. What is the price of ${b}$ "
                f"{goods}, "
                "in cents?",
            ),
            value,
            rf"One costs ${a * each} \div {a} = {each}$ cents, so {b} cost ${value}$ cents.",
            check=Fraction(value, b) == Fraction(a * each, a),
        )
    workers, others, days = draw.integer(2, 15), draw.integer(2, 20), draw.integer(2, 30)
    draw.need(workers != others and workers * days % others == 0)
    draw.claim(3, workers, others, days)
    value = workers * days // others
    return Draft(
        draw.phrase(
            f"${workers}$ painters paint a school in ${days}$ days. Working at the same rate, how many days "
            f"would ${others}$ painters need?",
            f"A harvest takes ${workers}$ workers ${days}$ days. How many days does it take ${others}$ "
            "workers who "
            "work equally fast?",
        ),
        value,
        rf"The job is ${workers} \times {days} = {workers * days}$ days of work; ${workers * days} \div "
        f"{others} = {value}$.",
        check=value * others == workers * days,
    )


@family(SUBJECT, 2, 3, 4)
def mean_problem(draw: Draw, level: int) -> Draft:
    """Make a problem: the mean of a list, a missing entry, or an entry that was removed."""
    if level == 4:
        n, mean, new = draw.integer(4, 15), draw.integer(10, 90), draw.integer(10, 90)
        value = n * mean - (n - 1) * new
        draw.need(mean != new and 0 < value < 300)
        draw.claim(4, n, mean, new)
        return Draft(
            draw.phrase(
                f"The mean of ${n}$ numbers is ${mean}$. When one number is removed, the mean of the others "
                "is "
                f"${new}$. What number was removed?",
                f"A list of ${n}$ numbers has average ${mean}$. After one of them is deleted, the average is "
                f"${new}$. "
                "Find the deleted number.",
            ),
            value,
            f"The sums are ${n * mean}$ and ${(n - 1) * new}$; their difference is ${value}$.",
            check=Fraction((n - 1) * new + value, n) == mean,
        )
    count = draw.integer(3, 5) if level == 2 else draw.integer(4, 6)
    numbers = [draw.integer(1, 40) for _ in range(count)]
    draw.need(sum(numbers) % count == 0)
    mean = sum(numbers) // count
    if level == 2:
        draw.claim(2, *sorted(numbers))
        listed = ", ".join(str(n) for n in numbers)
        return Draft(
            draw.phrase(f"What is the mean of ${listed}$?", f"Find the average of the numbers ${listed}$."),
            mean,
            rf"Their sum is ${sum(numbers)}$, and ${sum(numbers)} \div {count} = {mean}$.",
            check=sum(n - mean for n in numbers) == 0,
        )
    *given, value = numbers
    draw.claim(3, *sorted(given), mean)
    listed = ", ".join(str(n) for n in given)
    return Draft(
        draw.phrase(
            f"The mean of ${listed}$ and $x$ is ${mean}$. What is $x$?",
            f"A list holds the numbers ${listed}$ and one more, and its average is ${mean}$. Find that "
            "number.",
        ),
        value,
        f"The sum must be ${count * mean}$; the given numbers add up to ${sum(given)}$, so the other is "
        f"${value}$.",
        check=sum(n - mean for n in given) + value - mean == 0,
    )


@family(SUBJECT, 3, 4)
def ratio_share(draw: Draw, level: int) -> Draft:
    """Make a problem: share a total in a given ratio among two or three people."""
    parts = [draw.integer(1, 9) for _ in range(level - 1)]
    draw.need(gcd(*parts) == 1 and len(set(parts)) == len(parts))
    unit = draw.integer(2, 20)
    draw.claim(level, *parts, unit)
    names = draw.several(PEOPLE, len(parts))
    total, ratio = unit * sum(parts), ":".join(str(p) for p in parts)
    who = f"{', '.join(names[:-1])} and {names[-1]}"
    if level == 3:
        value, ask = unit * parts[0], f"How many does {names[0]} get?"
        work = (
            f"There are ${sum(parts)}$ parts of ${unit}$ each; {names[0]} gets ${parts[0]}$ of them, "
            f"${value}$."
        )
    else:
        most, least = max(parts), min(parts)
        value, ask = (
            unit * (most - least),
            "How many more does the one with the most get than the one with the least?",
        )
        work = (
            f"There are ${sum(parts)}$ parts of ${unit}$ each; the difference is ${most - least}$ parts, "
            f"${value}$."
        )
    goods = draw.choice(GOODS)
    x = sympy.Symbol("x")
    solved = sympy.Poly(sum(p * x for p in parts) - total, x)
    share = -solved.coeff_monomial(1) / solved.coeff_monomial(x)
    return Draft(
        draw.phrase(
            f"{who} share ${total}$ {goods} in the ratio ${ratio}$, in that order. {ask}",
            f"${total}$ {goods} are divided among {who} in the ratio ${ratio}$, in this order. {ask}",
        ),
        value,
        work,
        check=value == share * (parts[0] if level == 3 else max(parts) - min(parts)),
    )


@family(SUBJECT, 5)
def filling_a_tank(draw: Draw, level: int) -> Draft:
    """Make a problem: two pipes fill a tank while a third empties it."""
    a, b, c = draw.integer(2, 20), draw.integer(2, 20), draw.integer(2, 40)
    rate = sympy.Rational(1, a) + sympy.Rational(1, b) - sympy.Rational(1, c)
    draw.need(a != b and c not in (a, b) and rate > 0)
    draw.claim(*sorted((a, b)), c)
    exact = 1 / rate
    value = Fraction(int(exact.p), int(exact.q))
    return Draft(
        draw.phrase(
            f"One pipe fills a tank in ${a}$ hours, a second one in ${b}$ hours, and a drain empties the "
            "full tank "
            f"in ${c}$ hours. With all three open, how many hours does it take to fill the empty tank?",
            f"Two taps alone fill a pool in ${a}$ and in ${b}$ hours; a leak alone would empty it in ${c}$ "
            "hours. "
            "With both taps open and the leak not mended, in how many hours is the empty pool full?",
        ),
        value,
        rf"In one hour $\frac{{1}}{{{a}}} + \frac{{1}}{{{b}}} - \frac{{1}}{{{c}}} = "
        rf"{frac(1 / value)}$ of it is filled, so it takes ${frac(value)}$ hours.",
        check=value * (b * c + a * c - a * b) == a * b * c,
    )


@family(SUBJECT, 4, 5)
def average_speed(draw: Draw, level: int) -> Draft:
    """Make a problem: the average speed of two legs with different speeds."""
    u, v = draw.integer(10, 90), draw.integer(10, 90)
    share = 1 if level == 4 else draw.integer(2, 4)
    draw.need(u != v)
    draw.need((v + share * u) // gcd((1 + share) * u * v, v + share * u) < 200)
    draw.claim(share, *((u, v) if share > 1 else sorted((u, v))))
    # The second leg is `share` times as long as the first.
    exact = sympy.Rational(1 + share) / (sympy.Rational(1, u) + sympy.Rational(share, v))
    value = Fraction(int(exact.p), int(exact.q))
    hours = Fraction(u * v, u) + Fraction(share * u * v, v)
    often = {1: "", 2: "twice", 3: "three times", 4: "four times"}[share]
    if share == 1:
        statement = draw.phrase(
            f"A bus drives to a town at ${u}$ km/h and returns by the same road at ${v}$ km/h. What is its "
            "average "
            "speed for the whole trip, in km/h?",
            f"A motorcycle climbs a pass at ${u}$ km/h and rides the same way back at ${v}$ km/h. Find the "
            "average speed over both ways, in km/h.",
        )
    else:
        statement = draw.phrase(
            f"A train covers the first part of a journey at ${u}$ km/h and the rest, which is {often} as "
            f"long, at ${v}$ km/h. What is its average speed, in km/h?",
            f"A car travels some distance at ${u}$ km/h and then {often} that distance at ${v}$ km/h. "
            "Find its average speed for the whole way, in km/h.",
        )
    return Draft(
        statement,
        value,
        rf"For a first leg of 1 km the time is $\frac{{1}}{{{u}}} + \frac{{{share}}}{{{v}}}$ hours for "
        rf"${1 + share}$ km, so the average is ${frac(value)}$ km/h.",
        check=value * hours == (1 + share) * u * v,
    )
