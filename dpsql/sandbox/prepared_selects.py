"""Cursors of the sandbox that are kept with a SELECT prepared: planning a small one takes longer than running it.

Guarantee: a kept cursor is found only by the same text over tables of the same names, columns and types, in the same
zone, and is of one statement while it runs. Between statements it holds no table: the places where its tables stand are
empty, and one that is read then is an error. What did not run to its end is not kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

_MOST = 64

SelectKey = tuple[object, ...]


class TablePlace:
    """Where a table stands in a prepared SELECT: at each run, DuckDB reads the one that is there."""

    __slots__ = ("schema", "table")

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.table: pa.Table | None = None

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if self.table is None:
            raise RuntimeError("no table stands here now")
        return self.table.__arrow_c_stream__(requested_schema)


@dataclass(slots=True)
class PreparedSelect:
    """A cursor, and the places of its tables. The text is prepared once it comes again."""

    cursor: duckdb.DuckDBPyConnection
    places: dict[str, TablePlace] = field(default_factory=dict)
    runs: int = 0

    def run(self, sql: str, tables: Mapping[str, pa.Table]) -> duckdb.DuckDBPyConnection:
        """The cursor, with the answer to ``sql``: the same text each time."""
        for name, table in tables.items():
            if name not in self.places:
                self.places[name] = TablePlace(table.schema)
                # A view of this cursor's own; it goes with the cursor.
                self.cursor.register(name, self.places[name])
            self.places[name].table = table
        self.runs += 1
        if self.runs == 1:
            return self.cursor.execute(sql)
        if self.runs == 2:
            self.cursor.execute(f"PREPARE dpsql_select AS {sql}")
        return self.cursor.execute("EXECUTE dpsql_select")

    def clear(self) -> None:
        for place in self.places.values():
            place.table = None


class PreparedSelects:
    """The cursors that wait for their text to come again, the latest of them. Thread-safe."""

    def __init__(self) -> None:
        self._idle: OrderedDict[SelectKey, PreparedSelect] = OrderedDict()
        self._lock = threading.Lock()

    @staticmethod
    def key(sql: str, tables: Mapping[str, pa.Table], zone: str) -> SelectKey:
        return (sql, zone, *((name, *table.column_names, *table.schema.types) for name, table in tables.items()))

    def take(self, key: SelectKey) -> PreparedSelect | None:
        """One that nobody else has, until it is kept again."""
        with self._lock:
            return self._idle.pop(key, None)

    def keep(self, key: SelectKey, select: PreparedSelect) -> None:
        """For the next time. Its answer has been read."""
        select.clear()
        with self._lock:
            one = self._idle.pop(key, None)
            self._idle[key] = select
            oldest = self._idle.popitem(last=False)[1] if len(self._idle) > _MOST else None
        for closed in (one, oldest):
            if closed is not None:
                closed.cursor.close()

    def close(self) -> None:
        with self._lock:
            while self._idle:
                self._idle.popitem()[1].cursor.close()
