"""Makes the tasks of the embedded shop on three levels."""

from collections.abc import Mapping, Sequence

from nlac_bench.envs.tau.domain import Task
from nlac_bench.envs.tau.embedded import retail_parts as parts
from nlac_bench.envs.tau.embedded.catalogue import CATALOGUE
from nlac_bench.envs.tau.embedded.draws import Draws
from nlac_bench.envs.tau.embedded.parts import TaskPart, make_task, weighted
from nlac_bench.envs.tau.embedded.retail_tables import DATABASES, LEVELS, SEED, RetailTables
from nlac_bench.simulators.customer import goals

TASKS: Mapping[str, int] = {"train": 400, "test": 120, "validation": 100}
"""Number of tasks of each level."""

VOCABULARY = {name: options for name, _, options in CATALOGUE}

_EASY = (
    (parts.cancel, 22), (parts.give_back, 20), (parts.order_payment, 12), (parts.order_address, 11),
    (parts.user_address, 9), (parts.exchange, 8), (parts.modify_items, 6), (parts.ask_total, 4),
    (parts.ask_tracking, 3), (parts.ask_balance, 2), (parts.refused_cancel, 3),
)  # fmt: skip
_MEDIUM = (
    (parts.cancel, 12), (parts.give_back, 14), (parts.exchange, 14), (parts.modify_items, 12),
    (parts.order_payment, 8), (parts.order_address, 8), (parts.user_address, 6), (parts.ask_total, 4),
    (parts.ask_price, 4), (parts.ask_tracking, 3), (parts.ask_balance, 2), (parts.refused_cancel, 4),
    (parts.refused_return, 4), (parts.keep_one, 3), (parts.cancel_instead, 3),
)  # fmt: skip
_HARD = (
    (parts.cancel, 9), (parts.give_back, 11), (parts.exchange, 14), (parts.modify_items, 13),
    (parts.order_payment, 7), (parts.order_address, 7), (parts.user_address, 5), (parts.ask_price, 4),
    (parts.ask_variants, 4), (parts.ask_spent, 4), (parts.refused_cancel, 5), (parts.refused_return, 5),
    (parts.refused_stranger, 2), (parts.keep_one, 5), (parts.cancel_instead, 4),
)  # fmt: skip
_BUILDERS = {"easy": _EASY, "medium": _MEDIUM, "hard": _HARD}
_GOALS = {"easy": (1, 1), "medium": (1, 2), "hard": (2, 3)}


def make_retail_tasks(databases: Sequence[RetailTables]) -> dict[str, tuple[Task, ...]]:
    """Return the tasks of each split, ordered by level."""
    draws = Draws(SEED + 1)
    splits: dict[str, tuple[Task, ...]] = {}
    for split, made in ((split, made) for made, of in zip(databases, DATABASES, strict=True) for split in of):
        tasks: list[Task] = []
        for level in LEVELS:
            users = made.groups[split, level]
            for number in range(TASKS[split]):
                user_id = users[number % len(users)]
                shopper = parts.Shopper(draws, level, user_id, made.tables, users)
                chosen = _parts(shopper)
                script = _script(shopper, chosen)
                place = "retail", split, level
                tasks.append(
                    make_task(
                        draws,
                        place,
                        index=len(tasks),
                        number=number,
                        user_id=user_id,
                        script=script,
                        parts=chosen,
                    )
                )
        splits[split] = tuple(tasks)
    return splits


def _parts(shopper: parts.Shopper) -> list[TaskPart]:
    draws = shopper.draws
    chosen: list[TaskPart] = []
    kinds = set()
    wanted = draws.between(*_GOALS[shopper.level])
    for _ in range(200):
        builder = weighted(draws, _BUILDERS[shopper.level])
        if builder in kinds and builder is not parts.cancel:
            continue
        used = set(shopper.used)
        part = builder(shopper)
        if part is None:
            shopper.used = used
            continue
        kinds.add(builder)
        chosen.append(part)
        if len(chosen) == wanted:
            break
    if shopper.level == "hard" and draws.chance(0.08):
        beyond = parts.beyond_tools(shopper)
        chosen += [beyond] if beyond else []
    return chosen


def _script(shopper: parts.Shopper, chosen: list[TaskPart]) -> goals.Script:
    draws, user = shopper.draws, shopper.user
    first, last = user["name"]["first_name"], user["name"]["last_name"]
    if draws.chance(0.6):
        person = goals.Person(first, last, email=user["email"])
    else:
        person = goals.Person(first, last, zip=user["address"]["zip"])
    openings = {"easy": ("all",), "medium": ("all", "request", "request"), "hard": ("request", "bare")}
    opening = draws.pick(openings[shopper.level])
    return goals.Script(person, tuple(part.goal for part in chosen), opening, VOCABULARY)  # type: ignore[arg-type]
