"""Implements an episode's database: shared read-only tables and a private overlay of the changed rows.

A reset or a fork does not copy rows. A row is copied when it is first edited, so the cost of an episode is
proportional to what it changes.
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any, TypeAlias

from nlac_bench.errors import NlacBenchError

Row: TypeAlias = dict[str, Any]
Tables: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Table name → row id → row (nested dicts and lists as parsed from JSON); shared and therefore read-only."""

_Key = tuple[str, str]


class Database:
    """Tables of JSON rows by id, copied on write.

    ``tables`` (table name → row id → row) is not changed and can be shared by any number of databases. Rows
    returned by :meth:`get` and :meth:`rows` must not be changed; those returned by :meth:`edit` can be.
    ``origin`` is a picklable function that returns a database with these tables in any process; if it is
    given, a pickle contains it instead of the tables.
    """

    __slots__ = ("_base", "_owned", "_rows")

    def __init__(self, tables: Tables, origin: "Callable[[], Database] | None" = None) -> None:
        self._base = _Base(tables, origin)
        self._rows: dict[_Key, Row] = {}
        self._owned: set[_Key] = set()

    def fork(self) -> "Database":
        """Return an independent database in the same state; copies one reference per row in the overlay."""
        twin = Database.__new__(Database)
        twin._base = self._base
        twin._rows = self._rows.copy()
        twin._owned = set()
        self._owned = set()  # the rows are shared from now on, so this database must copy them too
        return twin

    def get(self, table: str, row_id: Any) -> Row | None:
        """Return the row, which must not be changed, or None.

        Raises:
            TypeError: ``row_id`` is unhashable.
        """
        row = self._rows.get((table, row_id))
        return self._base.tables[table].get(row_id) if row is None else row

    def rows(self, table: str) -> Iterator[tuple[str, Row]]:
        """Yield ids and rows in file order, new rows last. The rows must not be changed."""
        base = self._base.tables[table]
        for row_id, row in base.items():
            changed = self._rows.get((table, row_id))
            yield row_id, row if changed is None else changed
        for (owner, row_id), row in self._rows.items():
            if owner == table and row_id not in base:
                yield row_id, row

    def edit(self, table: str, row_id: str) -> Row:
        """Return a private copy of the row, which can be changed in place.

        Raises:
            KeyError: there is no such row.
        """
        key = table, row_id
        if key not in self._owned:
            row = self._rows.get(key)
            self._rows[key] = copied(self._base.tables[table][row_id] if row is None else row)
            self._owned.add(key)
        return self._rows[key]

    def put(self, table: str, row_id: str, row: Row) -> Row:
        """Insert or overwrite a row; returns the stored copy."""
        key = table, row_id
        self._rows[key] = copied(row)
        self._owned.add(key)
        return self._rows[key]

    def changed(self) -> dict[str, tuple[Row | None, Row]]:
        """Return the rows in the overlay by ``table/id``: as they were at first (None if new), and copies."""
        base = self._base.tables
        return {
            f"{table}/{row_id}": (base[table].get(row_id), copied(row))
            for (table, row_id), row in self._rows.items()
        }

    def same_as(self, other: "Database") -> bool:
        """Return whether both have the same :meth:`hash`; compares only the rows in the overlays.

        Raises:
            NlacBenchError: the two do not share their tables, so their overlays cannot be compared.
        """
        if self._base is not other._base:
            raise NlacBenchError("only databases that were forked from the same database can be compared")
        for key in self._rows.keys() | other._rows.keys():
            mine, theirs = self._rows.get(key), other._rows.get(key)
            if mine is not theirs and self._canonical(key, mine) != self._canonical(key, theirs):
                return False
        return True

    def hash(self) -> str:
        """Return the sha256 (hex) of the whole content, equal to τ-bench's: of ``str()`` of sorted tuples."""
        tables = []
        for table in sorted(self._base.tables):
            ids = {row_id for owner, row_id in self._rows if owner == table}
            ids.update(self._base.tables[table])
            rows = [
                f"({row_id!r}, {self._canonical((table, row_id), self._rows.get((table, row_id)))})"
                for row_id in sorted(ids)
            ]
            tables.append(f"({table!r}, {_tuple(rows)})")
        return sha256(_tuple(tables).encode()).hexdigest()

    def _canonical(self, key: _Key, row: Row | None) -> str | None:
        return self._base.canonical(key) if row is None else canonical(row)


class _Base:
    """Shared tables, and a cache of the canonical text of their rows."""

    __slots__ = ("_texts", "origin", "tables")

    def __init__(self, tables: Tables, origin: Callable[[], Database] | None) -> None:
        self.tables = tables
        self.origin = origin
        self._texts: dict[_Key, str] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return (_Base, (self.tables, None)) if self.origin is None else (_base_of, (self.origin,))

    def canonical(self, key: _Key) -> str | None:
        text = self._texts.get(key)
        if text is None:
            row = self.tables[key[0]].get(key[1])
            if row is None:
                return None
            text = self._texts[key] = canonical(row)
        return text


def _base_of(origin: Callable[[], Database]) -> _Base:
    return origin()._base


def canonical(value: object) -> str:
    """Return the text that τ-bench hashes: ``str()`` of a JSON value with objects as sorted tuples of pairs.

    Two values have the same text if and only if they have the same hash: 250, 250.0 and "250" differ, as do
    1 and True, and 0.0 and -0.0; NaN equals NaN; an empty object equals an empty list.
    """
    return repr(_as_tuples(value))


def copied(value: Any) -> Any:
    """Return a deep copy of a JSON value (many times faster than ``copy.deepcopy``)."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def _as_tuples(value: object) -> object:
    if isinstance(value, dict):
        return tuple([(key, _as_tuples(value[key])) for key in sorted(value)])
    if isinstance(value, list):
        return tuple([_as_tuples(item) for item in value])
    return value


def _tuple(texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
