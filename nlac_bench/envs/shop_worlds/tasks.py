"""Makes the tasks: customers of the embedded shop with one to three requests, the same in every world."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from nlac_bench.envs.shop_worlds.conditions import CONDITIONS
from nlac_bench.envs.shop_worlds.procedures import Procedure
from nlac_bench.envs.shop_worlds.requests import BUILDERS, Request
from nlac_bench.envs.shop_worlds.worlds import ShopWorld
from nlac_bench.envs.tau.domain import Task
from nlac_bench.envs.tau.embedded import load_embedded
from nlac_bench.envs.tau.embedded.draws import Draws
from nlac_bench.envs.tau.embedded.retail_parts import Shopper
from nlac_bench.envs.tau.embedded.retail_tables import LEVELS, RetailTables, make_retail_tables
from nlac_bench.envs.tau.embedded.retail_tasks import VOCABULARY
from nlac_bench.envs.tau.rows import Order, RetailUser
from nlac_bench.simulators.customer import goals
from nlac_bench.simulators.customer import phrases as say

TASKS: Mapping[str, int] = {"train": 240, "validation": 48, "test": 120}
"""Number of tasks of each level by split; each kind of request comes first in a sixth of them."""
REQUESTS: Mapping[str, int] = {"easy": 1, "medium": 2, "hard": 3}
"""Number of requests of each task by level, all of different kinds."""
VALIDATION_USERS = 20
"""Number of the shop's training customers of each level that are customers of validation tasks only."""
CONDITIONAL = "conditional"
"""The level whose procedures depend on a condition. Its tasks have one request, of the customers of
the levels ``easy``, who have two orders, and ``medium``, who have three."""

_SEED = 20_261_124
_CONDITIONAL_SEED = 20_261_127
_MOST_REFUSED = 400


@dataclass(frozen=True)
class Case:
    """A task without a world: the customer and the requests."""

    task_id: str
    level: str
    user_id: str
    requests: tuple[Request, ...]
    script: goals.Script
    instruction: str

    def task(self, index: int, world: ShopWorld) -> Task:
        """Return the task of ``world``; ``index`` is that in its split."""
        procedures = self.demanded(world)
        return Task(
            task_id=self.task_id,
            index=index,
            user_id=self.user_id,
            instruction=self.instruction,
            actions=tuple(request.gold(procedures[request.goal.kind]) for request in self.requests),
            outputs=(),
            level=self.level,
            intent={"kinds": [request.goal.kind for request in self.requests], "script": self.script},
        )

    def demanded(self, world: ShopWorld) -> Mapping[str, Procedure]:
        """Return the procedures that ``world`` requires for the requests, by kind. With a condition there is
        one request, whose order decides."""
        tables = load_embedded("retail").tables
        order = cast(Order, tables["orders"][self.requests[0].order_id])
        return world.demanded(order, cast(RetailUser, tables["users"][self.user_id]))


@cache
def cases() -> Mapping[str, tuple[Case, ...]]:
    """Return the cases of each split, ordered by level. No customer, and so no order, is in two splits."""
    made, draws = make_retail_tables()[0], Draws(_SEED)  # the database of the training customers
    return {
        split: tuple(
            case
            for level in LEVELS
            for case in _drawn(made, draws, split, level, _users(made, split, level), REQUESTS[level])
        )
        for split in TASKS
    }


@cache
def conditional_cases() -> Mapping[str, tuple[Case, ...]]:
    """Return the cases of the level ``conditional`` of each split; no customer is in two splits.

    Of each kind of request in a split, each condition holds for about half of the cases.
    """
    made, draws = make_retail_tables()[0], Draws(_CONDITIONAL_SEED)
    splits: dict[str, tuple[Case, ...]] = {}
    for split in TASKS:
        users = [*_users(made, split, "easy"), *_users(made, split, "medium")]
        turns = draws.some(users, len(users))
        splits[split] = tuple(_drawn(made, draws, split, CONDITIONAL, turns, 1, _Balance(made).takes))
    return splits


class _Balance:
    """Counts for how many requests of a kind each condition holds."""

    def __init__(self, made: RetailTables) -> None:
        self._tables = made.tables
        self._surplus: Counter[tuple[str, str]] = Counter()
        """Kind and condition → requests for which it holds, minus those for which it does not."""
        self._refused = 0

    def takes(self, user_id: str, requests: Sequence[Request]) -> bool:
        """Count the only one of ``requests`` and return True; or return False, if a surplus would exceed 2
        and not too many were refused in a row."""
        (request,) = requests
        order, user = self._tables["orders"][request.order_id], self._tables["users"][user_id]
        added = {
            (request.goal.kind, name): 1 if condition.holds(order, user) else -1
            for name, condition in CONDITIONS.items()
        }
        one_sided = any(abs(self._surplus[place] + each) > 2 for place, each in added.items())
        if one_sided and self._refused < _MOST_REFUSED:
            self._refused += 1
            return False
        self._refused = 0
        self._surplus.update(added)
        return True


def case_of(task_id: str) -> Case:
    """Return the case of a task."""
    return _by_id(task_id.split("/")[2] == CONDITIONAL)[task_id]


@cache
def _by_id(conditional: bool) -> Mapping[str, Case]:
    splits = conditional_cases() if conditional else cases()
    return {case.task_id: case for of_split in splits.values() for case in of_split}


def _drawn(
    made: RetailTables,
    draws: Draws,
    split: str,
    level: str,
    users: Sequence[str],
    requests: int,
    takes: Callable[[str, Sequence[Request]], bool] = lambda user_id, requests: True,
) -> Iterator[Case]:
    """Yield the different cases of a level that ``takes`` accepts, with a number of ``requests`` of
    ``users``."""
    seen: set[str] = set()
    tried = 0
    while len(seen) < TASKS[split]:
        user_id = users[tried % len(users)]
        tried += 1
        first = tuple(BUILDERS)[len(seen) % len(BUILDERS)]
        wanted = _requests(Shopper(draws, "easy", user_id, made.tables), first, requests)
        if wanted is None or repr(wanted) in seen or not takes(user_id, wanted):
            continue
        yield _case(made, f"worlds/{split}/{level}/{len(seen):03d}", level, user_id, wanted)
        seen.add(repr(wanted))


def _users(made: RetailTables, split: str, level: str) -> Sequence[str]:
    if split == "test":
        return made.groups["test", level]
    users = made.groups["train", level]
    return users[-VALIDATION_USERS:] if split == "validation" else users[:-VALIDATION_USERS]


def _requests(shopper: Shopper, first: str, count: int) -> tuple[Request, ...] | None:
    """Draw ``count`` requests of different kinds, the first of kind ``first``; None if that is impossible."""
    kinds = [first, *shopper.draws.some([kind for kind in BUILDERS if kind != first], len(BUILDERS) - 1)]
    requests: list[Request] = []
    for kind in kinds:
        used, spent = set(shopper.used), set(shopper.spent)
        request = BUILDERS[kind](shopper)
        if request is None:
            if not requests:
                return None
            shopper.used, shopper.spent = used, spent
            continue
        requests.append(request)
        if len(requests) == count:
            return tuple(requests)
    return None


def _case(made: RetailTables, task_id: str, level: str, user_id: str, requests: tuple[Request, ...]) -> Case:
    user = made.tables["users"][user_id]
    person = goals.Person(**user["name"], email=user["email"], zip=user["address"]["zip"])
    wanted = tuple(request.goal for request in requests)
    wishes = "; then to ".join(say.request(goal, lambda wordings: wordings[0], full=False) for goal in wanted)
    instruction = say.second_person(f"{say.identity(person)}. You want to {wishes}.")
    return Case(
        task_id, level, user_id, requests, goals.Script(person, wanted, "all", VOCABULARY), instruction
    )
