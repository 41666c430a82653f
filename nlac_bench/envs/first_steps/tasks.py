"""Generates the tasks of ``first_steps``: small questions with one exact answer each."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations

import numpy as np

from nlac_bench.types import Message

SIZES: Mapping[str, int] = {"train": 400, "validation": 20, "test": 50}
"""Tasks of each family by split."""
_SHARES = {"test": range(3), "validation": range(3, 5), "train": range(5, 9), "example": range(9, 10)}
"""Tenths of all contents by split, so that no task is in two splits and none is an example."""


@dataclass(frozen=True, slots=True)
class Step:
    """A task. ``candidates`` are answers of the right form that follow from the statement alone."""

    family: str
    statement: str
    answer: str
    candidates: tuple[str, ...]


def _larger(rng: np.random.Generator) -> Step:
    first, second = (int(x) for x in rng.choice(np.arange(10, 100), 2, replace=False))
    statement = f"Which is larger, {first} or {second}? Answer with the number only."
    return Step("larger", statement, str(max(first, second)), (str(first), str(second)))


WORDS = (
    "apple", "ball", "cat", "dog", "egg", "fish", "girl", "hat", "ice", "jam", "king", "lamp", "moon", "nest",
    "orange", "pig", "queen", "rain", "sun", "tree", "wind", "yard", "zoo",
)  # fmt: skip


def _sort(rng: np.random.Generator) -> Step:
    orders = list(permutations(sorted(map(str, rng.choice(WORDS, 3, replace=False)))))
    words = orders[int(rng.integers(1, 6))]  # not yet sorted
    statement = f"Sort these words alphabetically: {', '.join(words)}."
    return Step("sort", statement, ", ".join(orders[0]), tuple(map(", ".join, orders)))


def _guess(rng: np.random.Generator) -> Step:
    low = int(rng.integers(1, 400))
    numbers = tuple(str(low + i) for i in range(3))
    statement = (
        f"I am thinking of a number from {numbers[0]} to {numbers[-1]}. You have three guesses; after a "
        "wrong one I say higher or lower. Answer with one number only."
    )
    return Step("guess", statement, numbers[int(rng.integers(3))], numbers)


MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_EVENTS = (
    "The meeting on {} was moved to a larger room.",
    "Our shop opened on {} and has been busy since.",
    "Her letter, dated {}, never arrived.",
    "The bridge was closed for repairs on {}.",
    "Please return the book before {}.",
)


def _date(rng: np.random.Generator) -> Step:
    year, month, day = int(rng.integers(1950, 2030)), int(rng.integers(12)), int(rng.integers(1, 29))
    sentence = _EVENTS[int(rng.integers(len(_EVENTS)))].format(f"{day} {MONTHS[month]} {year}")
    statement = f'Which date does this sentence name? "{sentence}" Answer with the date only, as YYYY-MM-DD.'
    months = tuple(f"{year}-{number:02d}-{day:02d}" for number in range(1, 13))
    return Step("date", statement, months[month], months)


CITIES = (
    "Oslo", "Lima", "Cairo", "Delhi", "Paris", "Quito", "Tokyo", "Rome", "Accra", "Dublin", "Havana",
    "Lisbon", "Madrid", "Nairobi", "Prague", "Seoul", "Vienna", "Warsaw", "Athens", "Berlin", "Bergen",
    "Bogota", "Boston", "Chicago", "Dallas", "Dakar", "Denver", "Geneva", "Hanoi", "Jakarta", "Kyoto",
    "London", "Lagos", "Manila", "Miami", "Milan", "Mumbai", "Naples", "Porto", "Zurich",
)  # fmt: skip
_ASKED = {
    "weather": (
        "Will it rain in {}?", "How warm is it in {}?", "Do I need an umbrella in {}?", "Is it windy in {}?",
        "Is it snowing in {} now?", "Is the sun shining in {}?", "How cold is it in {}?",
    ),
    "clock": (
        "What time is it in {}?", "Is it already midnight in {}?", "How late is it in {}?",
        "Is it still morning in {}?", "What is the local time in {}?", "Is it past noon in {}?",
        "Which hour is it in {}?",
    ),
}  # fmt: skip


def _call(rng: np.random.Generator) -> Step:
    tool = ("weather", "clock")[int(rng.integers(2))]
    city = str(rng.choice(CITIES))
    question = _ASKED[tool][int(rng.integers(len(_ASKED[tool])))].format(city)
    tools = ["weather(city)", "clock(city)"]
    rng.shuffle(tools)
    statement = (
        f'There are two tools: {tools[0]} and {tools[1]}. Which call answers "{question}"? Answer with the '
        "call only, such as name(City)."
    )
    return Step("call", statement, f"{tool}({city})", (f"weather({city})", f"clock({city})"))


FAMILIES: Mapping[str, Callable[[np.random.Generator], Step]] = {
    "larger": _larger, "sort": _sort, "guess": _guess, "date": _date, "call": _call,
}  # fmt: skip


def tasks(split: str, families: Sequence[str]) -> dict[str, Step]:
    """Return the tasks of a split by id, ``SIZES`` of each family."""
    return {
        f"{split}/{family}/{number:03d}": step
        for family in families
        for number, step in enumerate(islice(_drawn(split, family), SIZES[split]))
    }


def example(family: str) -> list[Message]:
    """Return a conversation in which a task of ``family`` that is in no split is answered rightly.

    A number is guessed rightly at the second attempt. With more examples, SmolLM2-135M gives nearly the same
    answer every time, so that groups of episodes have equal rewards.
    """
    step = next(_drawn("example", family))
    messages: list[Message] = [{"role": "user", "content": step.statement}]
    if family == "guess":
        wrong = next(number for number in step.candidates if number != step.answer)
        messages.append({"role": "assistant", "content": wrong})
        messages.append({"role": "user", "content": compared(step.answer, wrong)})
    return [*messages, {"role": "assistant", "content": step.answer}]


def compared(answer: str, guess: str) -> str:
    """Return what follows a wrong guess."""
    return "Higher." if int(answer) > int(guess) else "Lower."


def _drawn(split: str, family: str) -> Iterator[Step]:
    """Yield different tasks of ``family`` whose contents belong to ``split``, as long as there are any."""
    rng = np.random.default_rng(zlib.crc32(f"{split}/{family}".encode()))
    seen: set[str] = set()
    while True:
        step = FAMILIES[family](rng)
        content = _content(step)
        if zlib.crc32(content.encode()) % 10 in _SHARES[split] and step.statement + step.answer not in seen:
            seen.add(step.statement + step.answer)
            yield step


def _content(step: Step) -> str:
    """Return what tasks have in common that ask the same: the words of the statement in any order."""
    return " ".join(sorted(step.statement.replace(",", " ").replace("?", " ").replace(".", " ").split()))


def matches(reply: str, answer: str) -> bool:
    """Return whether ``reply`` is ``answer``: apart from case, spaces around it and a full stop at its end.

    A reply that contains more, such as both numbers, is wrong.
    """
    return reply.strip().removesuffix(".").strip().casefold() == answer.casefold()
