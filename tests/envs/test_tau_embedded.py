"""The embedded τ domains: what they hold, that their gold is right, and what doing nothing earns."""

import copy
import hashlib
import itertools
import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs.tau import airline, retail
from nlac_bench.envs.tau.database import Database
from nlac_bench.envs.tau.domain import ROWS, Domain, Task, check_shape, load_official
from nlac_bench.envs.tau.embedded import SPLITS, domains, load_embedded
from nlac_bench.envs.tau.embedded.draws import Draws
from nlac_bench.envs.tau.env import TauAirlineEnv, TauEnv, TauRetailEnv
from nlac_bench.envs.tau.invoke import TRANSFER, invoke
from nlac_bench.envs.tau.reward import TauGrader
from nlac_bench.errors import UnknownIdError

NAMES = ("retail", "airline")
NOW = "2024-05-15T15:00:00"
LEVELS = ("easy", "medium", "hard")
TOOLS = {"retail": retail.TOOLS, "airline": airline.EMBEDDED_TOOLS}
SHA256 = {
    ("retail", "test"): "8f416ecad149e8671fc03277f3f62d79264f673d252ce1afc29459483fbb5952",
    ("airline", "test"): "be090f9974209c116e5d234977d22290a4db0ab3b84cec6051530abf50002aca",
    ("retail", "validation"): "fb822437d3e83684943a89b65280869dcd7eb14016a3b1fcf6db2fd417b433a1",
    ("airline", "validation"): "45c4e9dc71d0cf79580bed256904e830edb1d919526a46aa1fbf0a9f93684d19",
}
"""Change these only together with ``env_version``: results on other data must not share a board."""
BEFORE = {
    ("retail", "train"): "81ad25e228265bcb69b8974ef5b02668f75d3322379bc0f089a02cfbbbb830aa",
    ("retail", "test"): "1b414004537107f112d6b3b36a0e9dbc5b8870f5e4c14c6a0c81bb1b197221ea",
    ("airline", "train"): "0cd1042ccadf57d74037763332ffd65f13b589503c2ed3a698d28cf70b725f26",
    ("airline", "test"): "b112bd002e822505c2a9b1da3af1265a1acde697f19ebb5b386d6af5c0553008",
}


SIZES = {"train": 400, "validation": 100, "test": 120}
"""Tasks of each level."""


@pytest.fixture(params=SHA256, ids="-".join)
def domain(request: pytest.FixtureRequest) -> Domain:
    """The domain of train and test, and that of validation."""
    return load_embedded(*request.param)


def tasks(domain: Domain) -> list[Task]:
    """All tasks."""
    return list(itertools.chain.from_iterable(domain.tasks.values()))


def writes(task: Task) -> list[Any]:
    """Gold calls that count."""
    return [call for call in task.actions if call.name != TRANSFER]


def test_the_data_are_the_same_everywhere(domain: Domain) -> None:
    assert domain.source.kind == "embedded"
    split = list(domain.tasks)[-1]
    assert domain.source.sha256 == SHA256[domain.name, split]
    domains.cache_clear()
    assert load_embedded(domain.name, split).source == domain.source


def test_draws_are_pinned() -> None:
    draws = Draws(1)
    assert [draws.below(100) for _ in range(6)] == [13, 84, 76, 25, 49, 44]
    assert draws.some("abcde", 3) == ["d", "e", "a"]


def test_sizes(domain: Domain) -> None:
    users = len(domain.tables["users"])
    assert users == (150 if "validation" in domain.tasks else 450)
    if domain.name == "retail":
        assert len(domain.tables["orders"]) >= 2 * users
        assert len(domain.tables["products"]) >= 25
        assert all(len(product["variants"]) >= 4 for product in domain.tables["products"].values())
    else:
        assert len(domain.tables["flights"]) >= 150
        assert {len(flight["dates"]) for flight in domain.tables["flights"].values()} == {30}
        assert len(domain.tables["reservations"]) == 2 * users
    counts = Counter((split, task.level) for split, found in domain.tasks.items() for task in found)
    assert counts == {(split, level): SIZES[split] for split in domain.tasks for level in LEVELS}


def test_tables_and_tools_fit_the_engine(domain: Domain) -> None:
    for table, shape in ROWS[domain.name].items():  # as of a table of a data folder
        check_shape(domain.tables[table], shape, f"{domain.name}.{table}")
    offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in domain.tools}
    assert list(offered) == list(TOOLS[domain.name])
    for name, parameters in offered.items():
        assert tuple(parameters["properties"]) == TOOLS[domain.name][name].parameters
        assert parameters["required"] == list(parameters["properties"])
    assert len(domain.policy) > 1500


def test_rows_agree_with_each_other(domain: Domain) -> None:
    owned = "orders" if domain.name == "retail" else "reservations"
    for user_id, user in domain.tables["users"].items():
        for row_id in user[owned]:
            row = domain.tables[owned][row_id]
            assert row["user_id"] == user_id
            key = "payment_method_id" if domain.name == "retail" else "payment_id"
            assert all(payment[key] in user["payment_methods"] for payment in row["payment_history"])
    assert sum(len(user[owned]) for user in domain.tables["users"].values()) == len(domain.tables[owned])


def test_ids_and_order(domain: Domain) -> None:
    for split, found in domain.tasks.items():
        assert [task.index for task in found] == list(range(len(found)))
        for level in LEVELS:
            ids = [task.task_id for task in found if task.level == level]
            assert ids == [f"{domain.name}/{split}/{level}/{number:03d}" for number in range(len(ids))]


@pytest.mark.lists
@pytest.mark.parametrize("name", NAMES)
def test_splits_share_nobody(name: str) -> None:
    owned = "orders" if name == "retail" else "reservations"
    users, rows, texts = {}, {}, {}
    for split in SPLITS:
        domain = load_embedded(name, split)
        users[split] = {task.user_id for task in domain.tasks[split]}
        rows[split] = {row for user in users[split] for row in domain.tables["users"][user][owned]}
        texts[split] = " ".join(
            f"{task.instruction} {[dict(call.kwargs) for call in task.actions]}"
            for task in domain.tasks[split]
        )
    for split, other in itertools.permutations(SPLITS, 2):
        assert not users[split] & users[other] and not rows[split] & rows[other]
        assert [row for row in rows[split] | users[split] if row in texts[other]] == []


@pytest.mark.parametrize("name", NAMES)
def test_validation_has_customers_of_its_own_in_the_same_place(name: str) -> None:
    owned, offered = ("orders", "products") if name == "retail" else ("reservations", "flights")
    taught, held_out = load_embedded(name, "train"), load_embedded(name, "validation")
    assert taught is load_embedded(name, "test") is load_embedded(name)
    assert (taught.policy, taught.tools) == (held_out.policy, held_out.tools)
    assert taught.tables[offered] == held_out.tables[offered]
    for table in ("users", owned):
        assert not taught.tables[table].keys() & held_out.tables[table].keys()
    if name == "retail":  # a customer may be identified by name and zip code
        rows = held_out.tables["users"].values()
        assert len({(*user["name"].values(), user["address"]["zip"]) for user in rows}) == len(rows)
    assert pickle.loads(pickle.dumps(held_out)) is held_out


@pytest.mark.parametrize("name", NAMES)
def test_the_tasks_from_before_there_was_a_validation_split_are_unchanged(name: str) -> None:
    """All of a task, and of its scripted user, which the hash of the data does not cover."""
    for split in ("train", "test"):
        rows = [
            [
                t.task_id,
                t.index,
                t.user_id,
                t.instruction,
                t.level,
                repr(t.actions).replace("GoldCall(", "ToolCall("),  # the name when the hash was taken
                t.outputs,
                repr(t.intent),
            ]
            for t in load_embedded(name, split).tasks[split]
        ]
        stated = json.dumps(rows, separators=(",", ":"))
        assert hashlib.sha256(stated.encode()).hexdigest() == BEFORE[name, split]


@pytest.mark.parametrize("env_class", [TauRetailEnv, TauAirlineEnv])
def test_embedded_splits(env_class: type[TauEnv]) -> None:
    for split in SPLITS:
        env = env_class(split=split, level="hard")
        assert env.splits == SPLITS and len(env.task_ids) == SIZES[split]
        assert all(f"/{split}/hard/" in task_id for task_id in env.task_ids)
    with pytest.raises(UnknownIdError, match="has no split 'dev'; it has train, validation, test"):
        env_class(split="dev")


@pytest.mark.official
def test_official_data_have_no_validation_split() -> None:
    assert TauRetailEnv(split="train", data="official").splits == ("train", "dev", "test")
    assert TauAirlineEnv(data="official").splits == ("test",)
    with pytest.raises(UnknownIdError, match="no split 'validation'; it has train, dev, test"):
        TauRetailEnv(split="validation", data="official")
    with pytest.raises(UnknownIdError, match="no split 'validation'; it has test"):
        TauAirlineEnv(split="validation", data="official")


def test_instructions_differ(domain: Domain) -> None:
    assert len({task.instruction for task in tasks(domain)}) == len(tasks(domain))
    openings = Counter(task.instruction.split()[0] for task in tasks(domain))
    assert len(openings) >= 2


def test_every_gold_call_succeeds_and_changes_something(domain: Domain) -> None:
    start = Database(domain.tables)
    for task in tasks(domain):
        db = start.fork()
        for call in writes(task):
            result = invoke(TOOLS[domain.name], db, call.name, copy.deepcopy(dict(call.kwargs)))
            assert not result.error, f"{task.task_id}: {call} gives {result.observation}"
        assert db.same_as(start) == (not writes(task)), task.task_id


def test_the_replay_of_gold_leaves_the_tasks_alone(domain: Domain) -> None:
    before = json.dumps([dict(call.kwargs) for task in tasks(domain) for call in task.actions])
    split = list(domain.tasks)[-1]
    env: TauEnv = TauRetailEnv(split=split) if domain.name == "retail" else TauAirlineEnv(split=split)
    for task_id in env.task_ids[:40]:
        env.reset(seed=0, options={"task_id": task_id})
        over = False
        while not over:
            *_, over, _, info = env.step(env.oracle_action())
        assert info["success"], task_id
    after = json.dumps([dict(call.kwargs) for task in tasks(domain) for call in task.actions])
    assert before == after


def test_doing_nothing_earns_little(domain: Domain) -> None:
    for split, found in domain.tasks.items():
        for level in LEVELS:
            mine = [task for task in found if task.level == level]
            idle = [task.task_id for task in mine if not writes(task) and not task.outputs]
            print(f"{domain.name}/{split}/{level}: floor {len(idle) / len(mine):.4f}")
            assert len(idle) <= 0.02 * len(mine)


def test_all_kinds_of_requests_occur(domain: Domain) -> None:
    for split, found in domain.tasks.items():
        goals = [goal for task in found for goal in task.intent["script"].goals]  # type: ignore[index]
        kinds = {goal.kind for goal in goals}
        common = {"cancel", "ask", "other"}
        own = {
            "retail": {
                "return",
                "exchange",
                "modify_items",
                "order_address",
                "order_payment",
                "user_address",
            },
            "airline": {
                "book",
                "change_flights",
                "change_cabin",
                "add_bags",
                "change_passengers",
                "compensation",
            },
        }[domain.name]
        assert kinds == common | own, split
        assert any(goal.forbidden for goal in goals)
        assert any(goal.fallback for goal in goals)
        assert any(goal.change for goal in goals)
        assert max(len(task.intent["script"].goals) for task in found) >= 3  # type: ignore[index]


def test_easy_tasks_have_short_observations(domain: Domain) -> None:
    db = Database(domain.tables)
    owned, tool, key = {
        "retail": ("orders", "get_order_details", "order_id"),
        "airline": ("reservations", "get_reservation_details", "reservation_id"),
    }[domain.name]
    for task in tasks(domain):
        if task.level != "easy":
            continue
        user = invoke(TOOLS[domain.name], db, "get_user_details", {"user_id": task.user_id}).observation
        assert len(user) <= 700
        for row in domain.tables["users"][task.user_id][owned]:
            assert len(invoke(TOOLS[domain.name], db, tool, {key: row}).observation) <= 850
    if domain.name == "retail":
        longest = max(len(json.dumps(product)) for product in domain.tables["products"].values())
        assert longest <= 1500


def departure(tables: Any, leg: Any) -> str:
    """When a flight of a reservation departs by the timetable."""
    time: str = tables["flights"][leg["flight_number"]]["scheduled_departure_time_est"]
    return f"{leg['date']}T{time}"


def test_reservations_are_made_before_their_first_flight() -> None:
    airline_ = load_embedded("airline")
    tables, seen = airline_.tables, set()
    for task in tasks(airline_):
        for code in tables["users"][task.user_id]["reservations"]:
            row = tables["reservations"][code]
            first = min(departure(tables, leg) for leg in row["flights"])
            assert row["created_at"] < min(first, NOW), (task.task_id, code)
            seen.add(code)
    assert len(seen) == len(tables["reservations"]) == 900


def test_the_past_flights_of_a_trip_that_has_begun_have_landed() -> None:
    tables = load_embedded("airline").tables
    legs = [leg for row in tables["reservations"].values() for leg in row["flights"]]
    past = [leg for leg in legs if departure(tables, leg) < NOW]
    assert past  # a cancelled one would let the user cancel the trip, and no tool shows it
    assert {tables["flights"][leg["flight_number"]]["dates"][leg["date"]]["status"] for leg in past} == {
        "landed"
    }


def test_the_searches_show_a_cancelled_flight_as_the_policy_says() -> None:
    airline_ = load_embedded("airline")
    said = " ".join(airline_.policy.split())
    assert "does not list its number, that flight has been cancelled" in said
    db, cancelled = airline_.new_database(), 0
    for row in airline_.tables["reservations"].values():
        for leg in row["flights"]:
            asked = {"origin": leg["origin"], "destination": leg["destination"], "date": leg["date"]}
            listed = json.loads(invoke(TOOLS["airline"], db, "search_direct_flight", asked).observation)
            if leg["date"] <= NOW[:10]:
                assert listed == []  # "and none on 2024-05-15 or before"
                continue
            status = airline_.tables["flights"][leg["flight_number"]]["dates"][leg["date"]]["status"]
            assert status in ("available", "cancelled")
            found = leg["flight_number"] in {flight["flight_number"] for flight in listed}
            assert found == (status == "available"), leg
            cancelled += not found
    assert cancelled >= 20


def test_a_changed_cabin_is_shown_on_embedded_data_and_forgotten_by_the_originals_tool() -> None:
    airline_ = load_embedded("airline")
    changed = 0
    for task in tasks(airline_):
        for call in (call for call in task.actions if call.name == "update_reservation_flights"):
            code, cabin = call.kwargs["reservation_id"], call.kwargs["cabin"]
            before = airline_.tables["reservations"][code]["cabin"]
            states = {}
            for tools, expected in ((TOOLS["airline"], cabin), (airline.TOOLS, before)):
                db = airline_.new_database()
                answer = json.loads(
                    invoke(tools, db, call.name, copy.deepcopy(dict(call.kwargs))).observation
                )
                assert answer["cabin"] == expected, task.task_id
                assert (
                    json.loads(
                        invoke(tools, db, "get_reservation_details", {"reservation_id": code}).observation
                    )
                    == answer
                )
                states[expected] = {**answer, "cabin": None}
            assert len({json.dumps(state) for state in states.values()}) == 1  # nothing else differs
            changed += cabin != before
    assert changed >= 50
    assert TauGrader(airline_).tools is airline.EMBEDDED_TOOLS


def test_a_refused_change_of_cabin_changes_nothing() -> None:
    airline_ = load_embedded("airline")
    code, row = next(iter(airline_.tables["reservations"].items()))
    db = airline_.new_database()
    legs = [{"flight_number": leg["flight_number"], "date": leg["date"]} for leg in row["flights"]]
    other = "business" if row["cabin"] != "business" else "economy"
    for wrong in (
        {"payment_id": "credit_card_0"},
        {"reservation_id": "NONE00"},
        {"flights": [{**legs[0], "date": "2025-01-01"}]},
    ):
        kwargs = {
            "reservation_id": code,
            "cabin": other,
            "flights": copy.deepcopy(legs),
            "payment_id": "credit_card_0",
        } | wrong
        assert invoke(TOOLS["airline"], db, "update_reservation_flights", kwargs).error
    assert db.same_as(airline_.new_database())


@pytest.mark.official
def test_official_data_keep_the_originals_tools() -> None:
    for name in NAMES:
        domain = load_official(name)
        assert TauGrader(domain).tools is {"retail": retail.TOOLS, "airline": airline.TOOLS}[name]


def test_unknown_domain() -> None:
    with pytest.raises(UnknownIdError, match="'cinema'"):
        load_embedded("cinema")


@pytest.mark.official
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_taken_from_the_official_data(name: str) -> None:
    own, other = load_embedded(name), load_official(name)
    for table, rows in own.tables.items():
        assert not rows.keys() & other.tables[table].keys()
    emails = {user["email"] for user in own.tables["users"].values()}
    assert not emails & {user["email"] for user in other.tables["users"].values()}
    streets = {user["address"]["address1"].split(" ", 1)[1] for user in own.tables["users"].values()}
    assert not streets & {u["address"]["address1"].split(" ", 1)[1] for u in other.tables["users"].values()}
    if name == "retail":
        goods = {product["name"] for product in own.tables["products"].values()}
        assert not goods & {product["name"] for product in other.tables["products"].values()}
    sentences = {line.strip("- ").strip() for line in own.policy.splitlines() if len(line) > 40}
    assert not sentences & {line.strip("- ").strip() for line in other.policy.splitlines()}
    described = {tool["function"]["description"] for tool in own.tools}
    assert not described & {tool["function"]["description"] for tool in other.tools}


def test_policies_are_in_the_package() -> None:
    folder = Path(retail.__file__).parents[1] / "embedded"
    assert {path.name for path in folder.glob("*_policy.md")} == {"retail_policy.md", "airline_policy.md"}
