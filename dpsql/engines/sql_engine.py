"""An engine that answers SQL: all of it that is the same for every database.

Guarantee: whatever goes wrong in a call is one fixed text to an analyst, and the error that leaves holds no error of
the database as its cause or context. A call runs in a turn of the engine, until its deadline or its cancellation.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from sqlglot import exp

from dpsql.engines import failures
from dpsql.engines.deadlines import Cancellation, Deadlines
from dpsql.engines.exact_table import CursorRows, read_table, read_tables
from dpsql.engines.failures import cancelled, failed, not_ready, too_large, too_long, waited_too_long
from dpsql.engines.key_check import key_scan, reference_scan, seems_to_refer
from dpsql.engines.schema import PROFILED_ROWS, Concern, Look, Profile, Schema, SchemaTable
from dpsql.engines.turns import Load, Turn
from dpsql.engines.way_check import Rows, Way, way_scan
from dpsql.errors import Error
from dpsql.releases import ExactTable
from rewriter.declared import Column, Interval, Kind, Scalar
from rewriter.dialects import Dialect
from rewriter.front_door import OneScan, read_column
from rewriter.plan import Plan

_MEASURED = (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE, Kind.DATE, Kind.TIMESTAMP)


class Answered(CursorRows, Protocol):
    """A statement that has run."""

    def fetchone(self) -> Any: ...


class SQLSession(Protocol):
    """One connection or cursor, which nobody else uses."""

    def execute(self, sql: str, /) -> Answered: ...


S = TypeVar("S", bound=SQLSession)
_S = TypeVar("_S", bound=SQLSession, covariant=True)
_R = TypeVar("_R")


class Attempt(Protocol[_S]):
    """A session for one piece of work, which another thread may interrupt."""

    def interrupt(self) -> None: ...

    def run(self, work: Callable[[_S], _R]) -> _R: ...


class SQLEngine(ABC, Generic[S]):
    """A database that answers the SQL of its dialect. Its engine says how to reach it, and reads its schema."""

    dialect: ClassVar[Dialect]
    zones_sql: ClassVar[str]
    """SQL of a row for each time zone that the database knows, by name."""

    def __init__(self, most: int) -> None:
        """``most`` calls are computed at once."""
        self.load = Load(most)
        self._deadlines = Deadlines()
        self._schema: Schema | None = None

    @abstractmethod
    def _attempt(self, timeout: float | None, turn: Turn | None = None) -> AbstractContextManager[Attempt[S]]:
        """A session for one call, in this turn."""

    @abstractmethod
    def _read_schema(self, session: S) -> Schema: ...

    def _read(self, table: SchemaTable, name: str) -> exp.Expr:
        """A column in the rewriter's type, with what has no such value as NULL."""
        column, type_ = table.readable(name)
        known = Column(column.name, type_, engine_type=column.engine_type)
        return read_column(known, exp.column(column.name, quoted=True), self.dialect)

    def _on_one_state(self, session: S, texts: Sequence[str], work: Callable[[], _R]) -> _R:
        """Work by these ``texts`` of SQL over the rows of one moment, at which tables are declared as they were."""
        return work()

    @abstractmethod
    def _unreadable(self, session: S, name: str, columns: Sequence[str]) -> str | None:
        """Why columns of a table cannot be read."""

    @abstractmethod
    def _is_too_large(self, error: Exception) -> bool:
        """Whether memory gave out."""

    def lasting(self, table: str) -> bool:
        """Whether nobody can change the rows of a table while it is open here: never, where others write."""
        return False

    def _kind(self, error: Exception) -> str:
        """The kind of an error, for the owner's log: none of its words."""
        return type(error).__name__

    def schema(self) -> Schema:
        """The declared schema: tables, views, columns, keys. It is read once, when a policy is opened: a statement that
        holds a turn takes none beside it."""
        if self._schema is None:
            self._schema = self._call(self._read_schema)
        return self._schema

    def state(self, tables: Iterable[str]) -> str:
        """Nobody can say in which state rows are that others write."""
        return ""

    @contextmanager
    def ready(
        self,
        turn: Turn,
        tables: Iterable[str],
        state: str,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
    ) -> Iterator[None]:
        """A block in which what runs in the turn finds the database, which has answered. Raises before any charge."""
        problem: Error | None = None
        try:
            self._call(lambda session: self._prove(session, turn), timeout, cancellation, turn)
        except Error as error:
            problem = _uncharged(error, timeout, cancellation)
        if problem is not None:
            raise problem
        yield

    def _prove(self, session: S, turn: Turn) -> None:
        """Raise where the database does not answer: nothing is read of a table."""
        session.execute("SELECT 1").fetchone()

    def run(
        self,
        plan: Plan,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
        turn: Turn | None = None,
    ) -> ExactTable:
        """The exact integers of a release, groups in the order of their keys. Secret.

        Raises :class:`OperationalError`: 57014 after ``timeout`` seconds or when it is cancelled, else one text
        whatever went wrong.
        """
        texts = [plan.sql, *(choice.sql for choice in plan.choices)]

        def work(session: S) -> ExactTable:
            return self._on_one_state(session, texts, lambda: read_table(session.execute, plan))

        return self._call(work, timeout, cancellation, turn)

    def run_together(
        self,
        scan: OneScan,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
        turn: Turn | None = None,
    ) -> tuple[ExactTable, ...]:
        """The same of several plans."""
        texts = [scan.sql, *(choice.sql for plan in scan.plans for choice in plan.choices)]

        def work(session: S) -> tuple[ExactTable, ...]:
            return self._on_one_state(session, texts, lambda: read_tables(session.execute, scan))

        return self._call(work, timeout, cancellation, turn)

    def zones(self) -> frozenset[str]:
        """The time zones that it knows, by name."""
        return self._call(lambda session: frozenset(str(row[0]) for row in session.execute(self.zones_sql).fetchall()))

    def look(self, table: str, columns: Sequence[str], timeout: float | None = None) -> Look:
        """Whether columns are a key of a table, as the rewriter reads them. For the owner's eyes alone."""
        source = self.schema().table(table)
        scan = key_scan(self._from(source), [self._read(source, name) for name in columns])
        repeats, nulls = self._one_row(scan, timeout)
        return Look(bool(repeats), bool(nulls), self.lasting(table))

    def agree(
        self, table: str, people: tuple[str, str], own: Way, others: Sequence[Way], timeout: float | None = None
    ) -> tuple[bool, ...]:
        """For each other way, whether no row leads to somebody else by it than by its own. For the owner alone."""
        return tuple(
            not differs for differs in self._one_row(way_scan(self._rows, table, people, own, others), timeout)
        )

    def refers(self, column: tuple[str, str], key: tuple[str, str], timeout: float | None = None) -> bool:
        """Whether a column of one table seems to hold keys of another. For the owner's eyes alone."""
        table, parent = (self.schema().table(name) for name, _ in (column, key))
        read, held = self._read(table, column[1]), self._read(parent, key[1])
        scan = reference_scan(read, self._from(table), held, self._from(parent))
        return seems_to_refer(*self._one_row(scan, timeout))

    def figures(self, scan: Callable[[Rows], exp.Select], timeout: float | None = None) -> tuple[Any, ...]:
        """The one row of a scan of our own. For the owner's eyes alone."""
        return self._one_row(scan(self._rows), timeout)

    def unreadable(self, columns: Mapping[str, Sequence[str]]) -> tuple[Concern, ...]:
        """Why columns of tables cannot be read, though the schema has them."""

        self.schema()

        def tried(session: S) -> tuple[Concern, ...]:
            reasons = {name: self._unreadable(session, name, names) for name, names in columns.items()}
            return tuple(Concern(why, name, "error") for name, why in reasons.items() if why)

        return self._call(tried)

    def _from(self, table: SchemaTable) -> exp.Table:
        return exp.table_(table.own_name, db=table.schema or self.dialect.default_schema, quoted=True)

    def _rows(self, table: str, columns: Mapping[str, str]) -> exp.Select:
        """Columns of a table as they are read, each under the name that the mapping gives."""
        source = self.schema().table(table)
        items = (exp.alias_(self._read(source, name), new) for new, name in columns.items())
        return exp.select(*items).from_(self._from(source))

    def _named_rows(self, table: str, columns: Sequence[str]) -> exp.Select:
        """Columns of a table as they are read, under the names that are asked for."""
        source = self.schema().table(table)
        items: list[exp.Expr] = [exp.alias_(self._read(source, name), name, quoted=True) for name in columns]
        return exp.select(*items).from_(self._from(source))

    def public_profile(self, table: str) -> Profile:
        """The measured profile of a table that the owner declared public; no other table may be profiled.

        Rows that others can change, and those of a view that the clock or a file changes, are planned to become some
        more, and no column is unique but those that the database keeps so: one row more shall not double what a person
        adds to a join. Ranges have room around then: what lies outside is clipped.
        """
        source, lasting = self.schema().table(table), self.lasting(table)
        rows = int(self._one_row(exp.select("COUNT(*)").from_(self._from(source)))[0])
        if not lasting:
            seen = {} if rows > PROFILED_ROWS else self._seen(source)
            return Profile(with_room(rows), grows=True, seen={name: roomy(one) for name, one in seen.items()})
        if rows > PROFILED_ROWS:
            return Profile(rows)
        return Profile(rows, unique=self._distinct(source, rows), seen=self._seen(source))

    def _distinct(self, source: SchemaTable, rows: int) -> frozenset[str]:
        """The columns in which no two rows share a value, as it is read, and none is NULL."""
        names = [column.name for column in source.columns.values() if column.type is not None]
        if not names:
            return frozenset()
        items = [exp.Count(this=exp.Distinct(expressions=[self._read(source, name)])) for name in names]
        counts = self._one_row(exp.select(*items).from_(self._from(source)))
        return frozenset(name for name, count in zip(names, counts, strict=True) if count == rows)

    def _seen(self, source: SchemaTable) -> dict[str, Interval]:
        """Where the numbers and dates of a table lie that is public."""
        names = [name for name, one in source.columns.items() if one.type is not None and one.type.kind in _MEASURED]
        if not names:
            return {}
        reads = [self._read(source, name) for name in names]
        ends = [end(this=read.copy()) for read in reads for end in (exp.Min, exp.Max)]
        row = self._one_row(exp.select(*ends).from_(self._from(source)))
        found = {name: _between(*row[2 * at : 2 * at + 2]) for at, name in enumerate(names)}
        return {name: one for name, one in found.items() if one is not None}

    def _one_row(self, query: exp.Query, timeout: float | None = None) -> tuple[Any, ...]:
        """The row of an aggregation without groups."""
        sql = self.dialect.sql(query)
        row: tuple[Any, ...] | None = self._call(lambda session: session.execute(sql).fetchone(), timeout)
        if row is None:
            raise AssertionError("an aggregate has one row")
        return row

    def _call(
        self,
        work: Callable[[S], _R],
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
        turn: Turn | None = None,
    ) -> _R:
        """Run ``work`` on a session, in a turn that is handed on or one of its own.

        A failure is told outside the handler, so that no error holds its cause.
        """
        started = time.monotonic()
        cancellation = cancellation or Cancellation()
        problem: Error
        with self.load.within(timeout, turn) as ours:
            if not ours:
                raise too_long(timeout)
            left = None if timeout is None else timeout - (time.monotonic() - started)
            with (
                self._attempt(timeout, turn) as attempt,
                self._deadlines.within(left, attempt.interrupt) as deadline,
                cancellation.watching(attempt.interrupt),
            ):
                try:
                    if cancellation.cancelled:
                        raise InterruptedError
                    return attempt.run(work)
                except Exception as error:
                    failures.log(self._kind(error), error)
                    problem = too_large() if self._is_too_large(error) else failed()
                    if deadline.passed:
                        problem = too_long(timeout)
                    if cancellation.cancelled:
                        problem = cancelled()
        raise problem


def _uncharged(error: Error, timeout: float | None, cancellation: Cancellation | None) -> Error:
    """What is said of a call that failed before a charge."""
    if cancellation is not None and cancellation.cancelled:
        return cancelled(charged=False)
    return waited_too_long(timeout) if error.sqlstate == "57014" and timeout is not None else not_ready()


def _between(low: Scalar | None, high: Scalar | None) -> Interval | None:
    """Between two values of a column; None where there are none, or one is no number."""
    if low is None or high is None:
        return None
    ends = [end for end in (low, high) if isinstance(end, float | Decimal)]
    return Interval.of(low, high) if all(math.isfinite(end) for end in ends) else None


def with_room(rows: int) -> int:
    """How many rows are planned for where more may come: at least one more, and two; in few steps, so that rows that
    come later change plans seldom.

    >>> [with_room(rows) for rows in (0, 1, 2, 5, 8, 11, 12, 100)]
    [2, 2, 3, 6, 12, 12, 16, 128]
    """
    power = 1 << (rows + 1).bit_length() - 1
    return max(2, next(most for most in (power, power * 3 // 2, power * 2) if most > rows))


def roomy(seen: Interval) -> Interval:
    """Ends outward to two digits of the width, so that rows that come later move them seldom.

    >>> roomy(Interval.of(0, 487)), roomy(Interval.of(-3, 1234))
    (Interval(low=Fraction(0, 1), high=Fraction(490, 1)), Interval(low=Fraction(-100, 1), high=Fraction(1300, 1)))
    """
    step = Fraction(10) ** (math.floor(math.log10(seen.width)) - 1) if seen.width else Fraction(1)
    return Interval(math.floor(seen.low / step) * step, math.ceil(seen.high / step) * step)
