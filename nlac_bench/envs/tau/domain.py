"""Reads a τ-bench domain from a data folder: tables, policy text, tool schemas and tasks.

The folder's format is described in docs/data.md: ``retail/*.json`` and ``airline/*.json``, each table an
object by id, each task list an array of ``{annotator, user_id, instruction, actions, outputs}``.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, SupportsIndex, TypeAlias

from nlac_bench.envs.datasets import DataSource, open_dataset
from nlac_bench.envs.tau.database import Database, Tables
from nlac_bench.errors import DataError, UnknownIdError

DomainName: TypeAlias = Literal["retail", "airline"]

TABLES: Mapping[str, tuple[str, ...]] = {
    "retail": ("orders", "products", "users"),
    "airline": ("flights", "reservations", "users"),
}
SPLITS: Mapping[str, tuple[str, ...]] = {"retail": ("train", "dev", "test"), "airline": ("test",)}


@dataclass(frozen=True, slots=True)
class GoldCall:
    """One call of a tool by name, with its arguments."""

    name: str
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """The wishes of a user and the criteria of the judgement.

    ``actions`` are the gold calls, ``outputs`` the strings that the user must be told. ``index`` is the
    position in the split. Only generated tasks have ``level`` and ``intent``. The agent must not receive gold
    calls or outputs.
    """

    task_id: str
    index: int
    user_id: str
    instruction: str
    actions: tuple[GoldCall, ...]
    outputs: tuple[str, ...]
    level: str | None = None
    intent: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Domain:
    """All read-only data of an episode. Compared by identity."""

    name: DomainName
    tables: Tables
    policy: str
    tools: tuple[dict[str, Any], ...]
    """Tool schemas as OpenAI-compatible servers take them."""
    tasks: Mapping[str, tuple[Task, ...]]
    """Split → tasks in file order."""
    source: DataSource

    origin: "Callable[[], Domain] | None" = None
    """Loads this domain in any process. Pickles contain it instead of the data: a worker has one copy."""

    @cached_property
    def _pristine(self) -> Database:
        origin = None if self.origin is None else partial(_pristine_of, self.origin, self.source.sha256)
        return Database(self.tables, origin)

    def new_database(self) -> Database:
        """Return the database at the start of an episode. Copies nothing: all databases share ``tables``."""
        return self._pristine.fork()

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        if self.origin is None:
            return super().__reduce_ex__(protocol)
        return _again, (self.origin, self.source.sha256)

    def task(self, split: str, index: int) -> Task:
        """Return the task at ``index`` of ``split``.

        Raises:
            UnknownIdError: there is no such split or index.
        """
        if split not in self.tasks:
            raise UnknownIdError(
                f"{self.name} has no split {split!r}; its splits are {', '.join(self.tasks)}"
            )
        tasks = self.tasks[split]
        if not 0 <= index < len(tasks):
            raise UnknownIdError(
                f"{self.name}/{split} has no task {index}; its tasks are 0 to {len(tasks) - 1}"
            )
        return tasks[index]


def _again(origin: Callable[[], Domain], sha256: str) -> Domain:
    domain = origin()
    if domain.source.sha256 != sha256:
        raise DataError(
            f"the data of τ-bench {domain.name} have changed since the environment was pickled (sha256 was "
            f"{sha256[:12]}…)"
        )
    return domain


def _pristine_of(origin: Callable[[], Domain], sha256: str) -> Database:
    return _again(origin, sha256)._pristine


_loaded: dict[tuple[str, str | None, str], Domain] = {}


def load_official(name: str, data: str | os.PathLike[str] = "official") -> Domain:
    """Load the domain ``name`` from ``data``: ``"official"`` or a folder in the same format.

    The same files are read once per process, so that all environments share one read-only database.

    Raises:
        DataError: a file is missing, altered (official), truncated, or lacks data that the tools read.
        UnknownIdError: ``name`` is neither ``retail`` nor ``airline``.
    """
    if name not in TABLES:
        raise UnknownIdError(f"unknown τ-bench domain {name!r}; the domains are airline and retail")
    domain: DomainName = "retail" if name == "retail" else "airline"
    tables = {table: f"{name}/{table}.json" for table in TABLES[name]}
    splits = {split: f"{name}/tasks_{split}.json" for split in SPLITS[name]}
    policy, tools = f"{name}/wiki.md", f"{name}/tools.json"
    dataset = open_dataset("tau", data, (*tables.values(), *splits.values(), policy, tools))
    source = dataset.source
    key = name, source.path, source.sha256
    if key not in _loaded:

        def read(file: str, shape: _Shape) -> Any:
            content = dataset.json(file)
            check_shape(content, shape, f"{dataset.folder / file}")
            return content

        _loaded[key] = Domain(
            name=domain,
            tables={table: read(file, ROWS[name][table]) for table, file in tables.items()},
            policy=dataset.text(policy),
            tools=tuple(read(tools, _TOOLS)),
            tasks={s: tasks_from_json(name, s, read(file, _TASKS)) for s, file in splits.items()},
            source=source,
            origin=partial(load_official, name, source.path or data),
        )
    return _loaded[key]


def tasks_from_json(name: str, split: str, rows: list[dict[str, Any]]) -> tuple[Task, ...]:
    """Return tasks with ids such as ``retail/test/12`` from the rows of a task file."""
    return tuple(
        Task(
            task_id=f"{name}/{split}/{index}",
            index=index,
            user_id=row["user_id"],
            instruction=row["instruction"],
            actions=tuple(GoldCall(call["name"], call["kwargs"]) for call in row["actions"]),
            outputs=tuple(row["outputs"]),
        )
        for index, row in enumerate(rows)
    )


# Shapes: a type; a dict of required keys; [shape] for a list; _Each(shape) for an object whose values have
# the shape; a function that raises ValueError. Other keys are kept and shown, but no tool reads them.


@dataclass(frozen=True, slots=True)
class _Each:
    shape: "_Shape"


_Shape: TypeAlias = type | Callable[[object], None] | _Each | list["_Shape"] | dict[str, "_Shape"]


def _number(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number")


def check_shape(value: Any, shape: _Shape, place: str) -> None:
    """Check the types of a JSON value.

    Args:
        place: where the value is, for error messages.

    Raises:
        DataError: a type is wrong, or a field is missing.
    """
    if isinstance(shape, type):
        if not isinstance(value, shape):
            raise DataError(_wrong(place, shape.__name__, value))
    elif isinstance(shape, list):
        check_shape(value, list, place)
        for index, item in enumerate(value):
            check_shape(item, shape[0], f"{place}[{index}]")
    elif isinstance(shape, _Each):
        check_shape(value, dict, place)
        for key, item in value.items():
            check_shape(item, shape.shape, f"{place}[{key!r}]")
    elif isinstance(shape, dict):
        check_shape(value, dict, place)
        for key, item in shape.items():
            if key not in value:
                raise DataError(
                    f"{place} lacks the key {key!r}; it has {', '.join(map(repr, value)) or 'none'}"
                )
            check_shape(value[key], item, f"{place}[{key!r}]")
    else:
        _by_function(value, shape, place)


def _by_function(value: object, shape: Callable[[object], None], place: str) -> None:
    try:
        shape(value)
    except ValueError as error:
        raise DataError(_wrong(place, str(error), value)) from None


def _wrong(place: str, wanted: str, value: object) -> str:
    return f"{place} should be {wanted}, but is {type(value).__name__} {repr(value)[:80]}"


def _flight_day(value: object) -> None:
    if not isinstance(value, dict) or not isinstance(value.get("status"), str):
        raise ValueError("an object with a 'status'")
    if value["status"] == "available":
        for key in ("available_seats", "prices"):
            cabins = value.get(key)
            if not isinstance(cabins, dict) or not {"basic_economy", "economy", "business"} <= cabins.keys():
                raise ValueError(f"an available flight with {key!r} for basic_economy, economy and business")
            for number in cabins.values():
                _number(number)


_NAME: dict[str, _Shape] = {"first_name": str, "last_name": str}
_USER: dict[str, _Shape] = {
    "name": _NAME,
    "address": {"zip": str},
    "email": str,
    "payment_methods": _Each({"source": str}),
}
_ITEM: dict[str, _Shape] = {"name": str, "product_id": str, "item_id": str, "price": _number, "options": dict}
ROWS: Mapping[str, Mapping[str, _Shape]] = {
    "retail": {
        "orders": _Each(
            {
                "user_id": str,
                "status": str,
                "items": [_ITEM],
                "payment_history": [{"transaction_type": str, "amount": _number, "payment_method_id": str}],
            }
        ),
        "products": _Each(
            {"name": str, "variants": _Each({"available": bool, "price": _number, "options": dict})}
        ),
        "users": _Each(_USER),
    },
    "airline": {
        "flights": _Each(
            {
                "flight_number": str,
                "origin": str,
                "destination": str,
                "scheduled_departure_time_est": str,
                "scheduled_arrival_time_est": str,
                "dates": _Each(_flight_day),
            }
        ),
        "reservations": _Each(
            {
                "reservation_id": str,
                "user_id": str,
                "cabin": str,
                "flights": [{"flight_number": str, "date": str, "price": _number}],
                "passengers": list,
                "payment_history": [{"payment_id": str, "amount": _number}],
                "total_baggages": _number,
                "nonfree_baggages": _number,
            }
        ),
        "users": _Each({**_USER, "reservations": [str]}),
    },
}
_TASKS: _Shape = [
    {
        "user_id": str,
        "instruction": str,
        "actions": [{"name": str, "kwargs": dict}],
        "outputs": [str],
    }
]
_TOOLS: _Shape = [
    {"type": str, "function": {"name": str, "description": str, "parameters": {"properties": dict}}}
]
