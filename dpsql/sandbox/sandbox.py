"""The DuckDB that runs the outer SELECT: in memory, locked, limited, with nothing in it but what is public already.

Guarantee: a statement reaches its own released tables and the public ones, and nothing else: no file, no network, no
extension, no setting, no other statement's tables. It ends within a time and a memory, and leaves nothing behind. The
configuration is locked before the first statement runs.

PostgreSQL's arithmetic comes from settings: ``/`` of integers truncates (``integer_division``). Where PostgreSQL raises
because a divisor is zero, the quotient is NULL, so that a paid answer is not lost for one cell of noise. For the same
reason :meth:`Sandbox.answer` computes a SELECT that fails over released values again, with its operations made total.
"""

from __future__ import annotations

import datetime
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from typing import NamedTuple, TypeVar

import duckdb
import pyarrow as pa

from dpsql.engines import Cancellation, cancelled
from dpsql.engines.duckdb import LOCKED, column_type
from dpsql.errors import Error, OperationalError, error
from dpsql.memory import Memory
from dpsql.releases import (
    ColumnarRows,
    ReleasedTable,
    ValueColumn,
    arrow_type,
    columns_of,
    concatenated,
    let_copy,
    rounded,
)
from dpsql.sandbox.array_text import array_text
from dpsql.sandbox.interval_text import interval_text
from dpsql.sandbox.plain_selects import PlainSelect, plain_select
from dpsql.sandbox.prepared_selects import PreparedSelect, PreparedSelects
from dpsql.sandbox.sandbox_errors import UNDEFINED, sandbox_error
from rewriter.declared import DOUBLES, INTERVAL, LISTS, TEXT, TEXTS, UTC, Kind, Scalar, Type
from rewriter.front_door import constants_sql, total_sql

Columns = tuple[tuple[str, Type], ...]
Rows = Sequence[tuple[Scalar | None, ...]]


class OuterAnswer(NamedTuple):
    """What a SELECT over released tables comes to; ``undefined``: some value has no result, and is NULL."""

    columns: Columns
    rows: Rows
    undefined: bool = False


class _Read(NamedTuple):
    """A text as a plain SELECT, if it is one and came ``again``."""

    select: PlainSelect | None
    again: bool


_R = TypeVar("_R")

MEMORY = "512MB"
SECONDS = 10.0
CELLS = 5_000_000
"""The most values that one answer holds."""
_BATCH = 2_000
"""Rows that are fetched as Python's values; what has more is fetched as Arrow's columns."""
_BATCHES = 100_000
_REMEMBERED = 512


class Sandbox:
    """The post-processing of one proxy. Thread-safe; every statement runs on one thread, in a fixed order of rows."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, seconds: float, cells: int) -> None:
        self._connection = connection
        self._seconds = seconds
        self._cells = cells
        self._lock = threading.Lock()
        self._locked = False
        self._prepared = PreparedSelects()
        self._plains: Memory[str, _Read] = Memory("plain SELECTs", _REMEMBERED)
        self.memory: Memory[tuple[object, ...], Columns] = Memory("columns of outer SELECTs", _REMEMBERED)

    @classmethod
    def open(cls, memory: str = MEMORY, seconds: float = SECONDS, cells: int = CELLS) -> Sandbox:
        config: dict[str, str | bool | int | float | list[str]] = {
            # Once there is no external access, there is no choice of a temporary directory either; none is wanted.
            **{name: value for name, value in LOCKED.items() if name != "enable_external_access"},
            "memory_limit": memory,
            # One thread: the order of rows, and with it every answer, repeats.
            "threads": 1,
            "temp_directory": "",
            "integer_division": "true",
            "error_on_division_by_zero": "false",
            "ieee_floating_point_ops": "false",
        }
        connection = duckdb.connect(":memory:", config=config)
        connection.execute("SET GLOBAL enable_external_access = false")
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        # Each statement has its session's zone: all that may still be set.
        connection.execute("SET GLOBAL allowed_configs = ['timezone']")
        return cls(connection, seconds, cells)

    def close(self) -> None:
        self._prepared.close()
        self._connection.close()

    def load_public(self, name: str, rows: pa.Table) -> None:
        """Copy a public table in, to stay. Raises :class:`OperationalError` where it does not fit into the memory.

        Before the first statement, so that the time of a statement does not limit it: opening is nobody's statement.
        """
        problem: OperationalError
        quoted = '"' + name.replace('"', '""') + '"'
        with self._lock:
            if self._locked:
                raise RuntimeError("public tables come before statements")
            cursor = self._connection.cursor()
        with closing(cursor):
            try:
                cursor.register("dpsql_loaded", rows)
                cursor.execute(f"CREATE TABLE {quoted} AS SELECT * FROM dpsql_loaded")
                return
            except duckdb.OutOfMemoryException:
                problem = OperationalError(
                    f"the public table {name} is too large to compute with",
                    sqlstate="53200",
                    hint="declare fewer of its columns",
                )
            except duckdb.Error as raised:
                hint = "declare fewer of its columns, or a table that DuckDB can hold"
                problem = OperationalError(
                    f"the public table {name} cannot be copied: {type(raised).__name__}", sqlstate="58000", hint=hint
                )
        raise problem

    def run(
        self,
        sql: str,
        tables: Mapping[str, ReleasedTable],
        cancellation: Cancellation | None = None,
        zone: str = UTC,
    ) -> tuple[Columns, Rows]:
        """Columns and rows of a SELECT made by :func:`rewriter.outer.checks.outer_sql`. Raises
        :class:`dpsql.errors.Error`.

        Instants are plain times of UTC in the rows, whatever the ``zone`` is in which the statement has its days.
        """
        columns, rows = self._rows(sql, tables, cancellation, zone)
        if _places_beyond_calendar(columns, rows):
            raise error("a time lies outside the years 1 to 9999", sqlstate="22008", hint="leave such times out")
        return columns, rows

    def answer(
        self,
        sql: str,
        tables: Mapping[str, ReleasedTable],
        cancellation: Cancellation | None = None,
        zone: str = UTC,
    ) -> OuterAnswer:
        """The same of released values, which were paid for: where :meth:`run` fails for one of them, NULL is there.

        Raises :class:`dpsql.errors.Error` where it takes too long or too much, or is cancelled.
        """
        try:
            return OuterAnswer(*self.run(sql, tables, cancellation, zone))
        except Error as raised:
            if raised.sqlstate not in UNDEFINED:
                raise
            problem = raised
        columns = self.describe(
            sql, {name: [(one.name, one.type) for one in table.columns] for name, table in tables.items()}
        )
        for in_doubles in (False, True):
            total = total_sql(sql, in_doubles=in_doubles)
            try:
                if total is not None:
                    return OuterAnswer(columns, _retyped(*self._rows(total, tables, cancellation, zone), columns), True)
            except Error as raised:
                if raised.sqlstate not in UNDEFINED:
                    raise
        raise problem

    def _rows(
        self, sql: str, tables: Mapping[str, ReleasedTable], cancellation: Cancellation | None, zone: str
    ) -> tuple[Columns, Rows]:
        plain = self._plain(sql)
        if plain is not None and not (cancellation is not None and cancellation.cancelled):
            found = plain.answer(tables)
            if found is not None:
                _check_length(len(found[1]), self._cells // max(len(found[0]), 1))
                return found
        arrow = {name: _arrow_table(table) for name, table in tables.items()}
        key = PreparedSelects.key(sql, arrow, zone)
        select = self._prepared.take(key) or PreparedSelect(self._new_cursor())
        rows: Rows | None = None

        def answer(cursor: duckdb.DuckDBPyConnection) -> tuple[Columns, Rows]:
            if zone != UTC and not select.runs:
                cursor.execute(f"SET TimeZone = '{zone}'")
            select.run(sql, arrow)
            columns = _columns(cursor)
            spelt = {place: _TEXTS_OF[kind] for place, (_, kind) in enumerate(columns) if kind in _TEXTS_OF}
            if spelt:
                # Python's timedelta has no months: the text has.
                cursor.execute(_with_texts(sql, len(columns), spelt))
            return columns, self._fetch(cursor, columns)

        try:
            columns, rows = self._call(answer, select.cursor, cancellation)
        finally:
            if rows is not None and len(rows) < _BATCH:
                self._prepared.keep(key, select)
            else:
                select.cursor.close()
        return columns, rows

    def _plain(self, sql: str) -> PlainSelect | None:
        """A text as a plain SELECT, once it comes again: reading it takes longer than running it once."""
        known = self._plains.known(sql)
        if known is None:
            self._plains.keep(sql, _Read(None, again=False))
            return None
        if not known.again:
            known = _Read(plain_select(sql), again=True)
            self._plains.keep(sql, known)
        return known.select

    def describe(self, sql: str, tables: Mapping[str, Sequence[tuple[str, Type]]]) -> Columns:
        """The columns that :meth:`run` would answer with, from the types of its tables alone."""

        def bind(cursor: duckdb.DuckDBPyConnection) -> Columns:
            for name, columns in tables.items():
                fields = [(column, arrow_type(type_)) for column, type_ in columns]
                cursor.register(name, pa.schema(fields).empty_table())
            # Without a row, what fails is in the text: a pattern that is none, and no value that would be paid for.
            cursor.execute(sql)
            described = _columns(cursor)
            cursor.fetchone()
            # Nor is what the text computes alone computed without rows.
            if (constants := constants_sql(sql)) is not None:
                cursor.execute(constants).fetchone()
            return described

        # Statements that differ in their private part alone have the same outer SELECT.
        key = (sql, tuple((name, tuple(columns)) for name, columns in tables.items()))
        return self.memory.get(key, lambda: self._called(bind))

    def _fetch(self, cursor: duckdb.DuckDBPyConnection, columns: Columns) -> Rows:
        """The rows; those of a long answer column by column."""
        rows: list[tuple[Scalar | None, ...]] = []
        lists = [place for place, column in enumerate(cursor.description or ()) if str(column[1]).endswith("[]")]
        spans = [place for place, (_, kind) in enumerate(columns) if kind in _TEXTS_OF]
        most = self._cells // max(len(columns), 1)
        while batch := cursor.fetchmany(_BATCH):
            rows += [_with_texts_of(row, lists, spans) for row in batch] if lists or spans else batch
            _check_length(len(rows), most)
            if len(batch) == _BATCH and not (lists or spans) and not any(kind.temporal for _, kind in columns):
                let_copy()
                return _long(rows, cursor.to_arrow_reader(_BATCHES), [kind for _, kind in columns], most)
        instants = [place for place, (_, type_) in enumerate(columns) if type_.kind is Kind.TIMESTAMPTZ]
        return tuple([_in_utc(row, instants) for row in rows]) if instants else tuple(rows)

    def zones(self) -> frozenset[str]:
        """The time zones that statements may be answered in."""
        with self._cursor() as cursor:
            return frozenset(row[0] for row in cursor.execute("SELECT name FROM pg_timezone_names()").fetchall())

    def _called(self, work: Callable[[duckdb.DuckDBPyConnection], _R]) -> _R:
        with self._cursor() as cursor:
            return self._call(work, cursor)

    def _call(
        self,
        work: Callable[[duckdb.DuckDBPyConnection], _R],
        cursor: duckdb.DuckDBPyConnection,
        cancellation: Cancellation | None = None,
    ) -> _R:
        problem: Error
        cancellation = cancellation or Cancellation()
        with cancellation.watching(cursor.interrupt):
            try:
                return work(cursor)
            except Error as ours:
                problem = ours
            except Exception as raised:
                problem = cancelled() if cancellation.cancelled else sandbox_error(raised, self._seconds)
        raise problem

    def _new_cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if not self._locked:
                self._connection.execute(f"SET GLOBAL max_execution_time = {int(self._seconds * 1000)}")
                self._connection.execute("SET GLOBAL lock_configuration = true")
                self._locked = True
            return self._connection.cursor()

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = self._new_cursor()
        try:
            yield cursor
        finally:
            cursor.close()


def _check_length(rows: int, most: int) -> None:
    if rows > most:
        raise error(f"the answer has more than {most} rows", sqlstate="54000", hint="aggregate further, or use LIMIT")


def _long(
    rows: Sequence[tuple[Scalar | None, ...]], rest: pa.RecordBatchReader, kinds: Sequence[Type], most: int
) -> ColumnarRows:
    """Rows, and those that Arrow reads after them."""
    batches: list[pa.RecordBatch] = []
    count = len(rows)
    for batch in rest:
        batches.append(batch)
        count += batch.num_rows
        _check_length(count, most)
    columns: list[ValueColumn] = []
    for place, (kind, values) in enumerate(zip(kinds, columns_of(rows, len(kinds)), strict=True)):
        parts = [ValueColumn(kind, values)]
        for batch in batches:
            array = batch.column(place)
            same = array.type == arrow_type(kind)
            parts.append(ValueColumn(kind, arrow=array) if same else ValueColumn(kind, array.to_pylist()))
        columns.append(concatenated(parts))
    return ColumnarRows(columns, count)


def _with_texts_of(
    row: tuple[Scalar | None, ...], lists: Sequence[int], spans: Sequence[int]
) -> tuple[Scalar | None, ...]:
    """A row with its lists and intervals as PostgreSQL's texts."""
    cells: list[object] = list(row)
    for place in spans:
        cells[place] = _interval_texts(cells[place])
    for place in lists:
        cells[place] = array_text(cells[place])
    return tuple(cells)  # type: ignore[arg-type]


def _interval_texts(value: object) -> object:
    if isinstance(value, list):
        return [_interval_texts(item) for item in value]
    return interval_text(value) if isinstance(value, str) else None


def _with_texts(sql: str, width: int, places: Mapping[int, str]) -> str:
    """A SELECT with some columns cast to texts, in the same order of rows."""
    names = [f"c{place}" for place in range(width)]
    shown = [f"CAST({name} AS {places[place]})" if place in places else name for place, name in enumerate(names)]
    return f"SELECT {', '.join(shown)} FROM ({sql}) AS t({', '.join(names)})"


def _in_utc(row: tuple[Scalar | None, ...], places: Sequence[int]) -> tuple[Scalar | None, ...]:
    cells = list(row)
    for place in places:
        value = cells[place]
        if isinstance(value, datetime.datetime):
            cells[place] = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return tuple(cells)


def _columns(cursor: duckdb.DuckDBPyConnection) -> Columns:
    return tuple((column[0], _described(column[0], str(column[1]))) for column in cursor.description or ())


INTERVALS = Type(Kind.INTERVALS)
_TEXTS_OF = {INTERVAL: "VARCHAR", INTERVALS: "VARCHAR[]"}
"""Types that are fetched as texts, and the type of the text."""
_ARRAYS = {
    "DOUBLE[]": DOUBLES,
    "VARCHAR[]": TEXTS,
    "BOOLEAN[]": Type(Kind.BOOLEANS),
    "DATE[]": Type(Kind.DATES),
    "TIMESTAMP[]": Type(Kind.TIMESTAMPS),
    "TIMESTAMP WITH TIME ZONE[]": Type(Kind.TIMESTAMPTZS),
    "TIME[]": Type(Kind.TIMES),
    "INTERVAL[]": INTERVALS,
    **{f"{spelt}[]": Type(Kind.INTEGERS, bits=bits) for spelt, bits in
       (("SMALLINT", 16), ("INTEGER", 32), ("BIGINT", 64), ("HUGEINT", 128))},
}  # fmt: skip
"""Arrays whose items are told as what they are. Others are told as texts."""
_DECIMALS = re.compile(r"DECIMAL\((\d+),(\d+)\)\[\]")


def _described(name: str, spelt: str) -> Type:
    """The type of an answer's column. SUM over BIGINT is a HUGEINT there, whose values are plain integers."""
    if (listed := _ARRAYS.get(spelt)) is not None:
        return listed
    if (decimals := _DECIMALS.fullmatch(spelt)) is not None:
        return Type(Kind.DECIMALS, precision=int(decimals[1]), scale=int(decimals[2]))
    if spelt in ('"NULL"', "NULL") or spelt.endswith("[]"):
        return TEXT
    if spelt == "INTERVAL":
        return INTERVAL
    found = column_type(spelt)
    if found is None:
        word = spelt.split("(")[0].lower()
        told = f"the column {name} has the type {word}, which is not answered"
        raise error(told, sqlstate="0A000", hint="CAST(… AS TEXT)")
    return found


def _places_beyond_calendar(columns: Columns, rows: Rows) -> list[int]:
    """The columns with a time that Python cannot hold, which is fetched as a text."""
    times = [place for place, (_, kind) in enumerate(columns) if kind.temporal]
    return [place for place in times if any(isinstance(row[place], str) for row in rows)]


def _retyped(found: Columns, rows: Rows, wanted: Columns) -> Rows:
    """Rows of a total SELECT in the types of the SELECT as it was written: what does not fit is NULL."""
    beyond = _places_beyond_calendar(found, rows)
    other = {place: wanted[place][1] for place, (_, kind) in enumerate(found) if not _is_alike(kind, wanted[place][1])}
    if not beyond and not other:
        return rows
    retyped = []
    for row in rows:
        cells = list(row)
        for place in beyond:
            cells[place] = None if isinstance(cells[place], str) else cells[place]
        for place, kind in other.items():
            cells[place] = _fitted(cells[place], kind)
        retyped.append(tuple(cells))
    return tuple(retyped)


def _is_alike(kind: Type, wanted: Type) -> bool:
    """Whether values are of a type already: arrays of numbers are texts, however many digits their type has."""
    return kind == wanted or (kind.kind is wanted.kind and kind.kind in LISTS)


def _fitted(value: Scalar | None, kind: Type) -> Scalar | None:
    """A number in another type; None where it does not fit."""
    if not isinstance(value, int | float | Decimal) or not math.isfinite(value):
        return None
    if kind.kind is Kind.INTEGER:
        low, high = kind.limits
        return round(value) if low <= value <= high else None
    if kind.kind is Kind.DECIMAL:
        return rounded(value, kind) if abs(value) < 10 ** (kind.precision - kind.scale) else None
    return float(value)


def _arrow_table(table: ReleasedTable) -> pa.Table:
    return pa.table([column.column.arrow for column in table.columns], names=[column.name for column in table.columns])
