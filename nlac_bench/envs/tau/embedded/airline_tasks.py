"""Makes the tasks of the embedded airline on three levels."""

from collections.abc import Sequence

from nlac_bench.envs.tau.domain import Task
from nlac_bench.envs.tau.embedded import airline_parts as parts
from nlac_bench.envs.tau.embedded.airline_tables import SEED, AirlineTables
from nlac_bench.envs.tau.embedded.draws import Draws
from nlac_bench.envs.tau.embedded.parts import TaskPart, make_task, weighted
from nlac_bench.envs.tau.embedded.retail_tables import DATABASES, LEVELS
from nlac_bench.envs.tau.embedded.retail_tasks import TASKS
from nlac_bench.simulators.customer import goals

_EASY = (
    (parts.cancel, 24), (parts.add_bags, 17), (parts.change_cabin, 14), (parts.change_flights, 14),
    (parts.change_passengers, 10), (parts.book, 8), (parts.ask_total, 4), (parts.ask_fare, 4),
    (parts.ask_balance, 2), (parts.compensation, 3), (parts.refused_cancel, 3), (parts.refused_flights, 2),
)  # fmt: skip
_MEDIUM = (
    (parts.cancel, 16), (parts.add_bags, 13), (parts.change_cabin, 13), (parts.change_flights, 15),
    (parts.change_passengers, 10), (parts.book, 10), (parts.ask_total, 4), (parts.ask_fare, 4),
    (parts.ask_balance, 2), (parts.compensation, 4), (parts.refused_cancel, 3), (parts.refused_flights, 2),
    (parts.refused_compensation, 2), (parts.refused_passenger, 2), (parts.other_cabin, 4),
)  # fmt: skip
_HARD = (
    (parts.cancel, 13), (parts.add_bags, 11), (parts.change_cabin, 12), (parts.change_flights, 15),
    (parts.change_passengers, 10), (parts.book, 12), (parts.ask_total, 3), (parts.ask_fare, 4),
    (parts.compensation, 5), (parts.refused_cancel, 5), (parts.refused_flights, 3),
    (parts.refused_compensation, 3), (parts.refused_passenger, 3), (parts.other_cabin, 5),
)  # fmt: skip
_BUILDERS = {"easy": _EASY, "medium": _MEDIUM, "hard": _HARD}
_GOALS = {"easy": (1, 1), "medium": (1, 2), "hard": (2, 3)}


def make_airline_tasks(databases: Sequence[AirlineTables]) -> dict[str, tuple[Task, ...]]:
    """Return the tasks of each split, ordered by level."""
    draws = Draws(SEED + 1)
    splits: dict[str, tuple[Task, ...]] = {}
    for split, made in ((split, made) for made, of in zip(databases, DATABASES, strict=True) for split in of):
        tasks: list[Task] = []
        for level in LEVELS:
            users = made.groups[split, level]
            for number in range(TASKS[split]):
                user_id = users[number % len(users)]
                user = parts.Traveller(draws, level, user_id, made)
                chosen = _parts(user)
                script = _script(user, chosen)
                place = "airline", split, level
                tasks.append(
                    make_task(
                        draws, place, index=len(tasks), number=number, user_id=user_id, script=script,
                        parts=chosen,
                    )
                )  # fmt: skip
        splits[split] = tuple(tasks)
    return splits


def _parts(user: parts.Traveller) -> list[TaskPart]:
    draws = user.draws
    chosen: list[TaskPart] = []
    kinds = set()
    wanted = draws.between(*_GOALS[user.level])
    for _ in range(200):
        builder = weighted(draws, _BUILDERS[user.level])
        if builder in kinds:
            continue
        used, spent = set(user.used), set(user.spent)
        part = builder(user)
        if part is None:
            user.used, user.spent = used, spent
            continue
        kinds.add(builder)
        chosen.append(part)
        if len(chosen) == wanted:
            break
    if user.level == "hard" and draws.chance(0.25):
        last = parts.flown(user) or (parts.beyond_tools(user) if draws.chance(0.3) else None)
        chosen += [last] if last else []
    return chosen


def _script(user: parts.Traveller, chosen: list[TaskPart]) -> goals.Script:
    name = user.user["name"]
    person = goals.Person(name["first_name"], name["last_name"], user_id=user.user_id, dob=user.user["dob"])
    openings = {"easy": ("all",), "medium": ("all", "request", "request"), "hard": ("request", "bare")}
    opening = user.draws.pick(openings[user.level])
    return goals.Script(person, tuple(part.goal for part in chosen), opening)  # type: ignore[arg-type]
