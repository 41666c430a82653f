"""Makes the tasks: customers of the embedded shop with one to three requests, the same in every world."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from nlac_bench.envs.shop_worlds.procedures import Procedure
from nlac_bench.envs.shop_worlds.requests import BUILDERS, Request
from nlac_bench.envs.tau.domain import Task
from nlac_bench.envs.tau.embedded.draws import Draws
from nlac_bench.envs.tau.embedded.retail_parts import Shopper
from nlac_bench.envs.tau.embedded.retail_tables import LEVELS, RetailTables, make_retail_tables
from nlac_bench.envs.tau.embedded.retail_tasks import VOCABULARY
from nlac_bench.simulators.customer import goals
from nlac_bench.simulators.customer import phrases as say

TASKS: Mapping[str, int] = {"train": 240, "validation": 48, "test": 120}
"""Number of tasks of each level by split; each kind of request comes first in a sixth of them."""
REQUESTS: Mapping[str, int] = {"easy": 1, "medium": 2, "hard": 3}
"""Number of requests of each task by level, all of different kinds."""
VALIDATION_USERS = 20
"""Number of the shop's training customers of each level that are customers of validation tasks only."""

_SEED = 20_261_124


@dataclass(frozen=True)
class Case:
    """A task without a world: the customer and the requests."""

    task_id: str
    level: str
    user_id: str
    requests: tuple[Request, ...]
    script: goals.Script
    instruction: str

    def task(self, index: int, procedures: Mapping[str, Procedure]) -> Task:
        """Return the task of the world that demands ``procedures``; ``index`` is that in its split."""
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


@cache
def cases() -> Mapping[str, tuple[Case, ...]]:
    """Return the cases of each split, ordered by level. No customer, and so no order, is in two splits."""
    made, draws = make_retail_tables()[0], Draws(_SEED)  # the database of the training customers
    splits: dict[str, tuple[Case, ...]] = {}
    for split, count in TASKS.items():
        of_split: list[Case] = []
        for level in LEVELS:
            users = _users(made, split, level)
            seen: set[str] = set()
            tried = 0
            while len(seen) < count:
                user_id = users[tried % len(users)]
                tried += 1
                first = tuple(BUILDERS)[len(seen) % len(BUILDERS)]
                requests = _requests(Shopper(draws, "easy", user_id, made.tables), first, REQUESTS[level])
                if requests is None or repr(requests) in seen:
                    continue
                task_id = f"worlds/{split}/{level}/{len(seen):03d}"
                of_split.append(_case(made, task_id, level, user_id, requests))
                seen.add(repr(requests))
        splits[split] = tuple(of_split)
    return splits


def case_of(task_id: str) -> Case:
    """Return the case of a task."""
    return _by_id()[task_id]


@cache
def _by_id() -> Mapping[str, Case]:
    return {case.task_id: case for of_split in cases().values() for case in of_split}


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
