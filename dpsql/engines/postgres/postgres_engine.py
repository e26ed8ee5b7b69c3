"""The owner's PostgreSQL: read-only, under a role of its own, and silent about what goes wrong.

Guarantee: it runs :attr:`rewriter.plan.Plan.sql` and SQL of its own making, never a client's text, in read-only
transactions. The rows of a plan and the constraints that it relies on are read in one snapshot. Whatever PostgreSQL
says when it fails (its messages hold values of rows) stays here: an analyst gets one fixed text, the owner's log the
class and the SQLSTATE of the error.

The role that it connects as needs no more than this::

    CREATE ROLE dpsql LOGIN PASSWORD '…' NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
    GRANT USAGE ON SCHEMA public TO dpsql;
    GRANT SELECT ON patient, visit, region TO dpsql;      -- only what the policy declares
    ALTER ROLE dpsql SET default_transaction_read_only = on;
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;           -- what was upgraded from 14 allows it to all

Why no pool of another's making: a pool that connects in the background lets a statement wait for a server that is
down, and its budget is charged already. Here a connection that has died while it was idle is replaced once, at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import psycopg
from sqlglot import exp

from dpsql.engines.deadlines import Cancellation
from dpsql.engines.postgres.line import Interruption, Line
from dpsql.engines.postgres.postgres_connection import WORK_MEM, cannot_open, check, connect
from dpsql.engines.postgres.postgres_schema import read_concerns, read_declared, read_schema
from dpsql.engines.schema import Concern, Schema, SchemaTable
from dpsql.engines.sql_engine import SQLEngine
from dpsql.engines.turns import Turn
from dpsql.errors import OperationalError
from dpsql.releases import arrow_type
from rewriter.dialects import POSTGRES

if TYPE_CHECKING:
    import pyarrow as pa

    from dpsql.engines.engine import Engine

_R = TypeVar("_R")


class SchemaChanged(Exception):
    """A table is not declared any more as it was when the policy was opened: dpsql has to be started again."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Work on a connection that is chosen when it begins, since one that has died meanwhile is replaced."""

    engine: PostgresEngine
    timeout: float | None
    interrupt: Interruption
    turn: Turn | None

    def run(self, work: Callable[[Line], _R]) -> _R:
        return self.engine._answer(work, self.timeout, self.interrupt, self.turn)


class PostgresEngine(SQLEngine[Line]):
    """A PostgreSQL database, open for reading. Thread-safe: a call has a connection to itself while it runs."""

    dialect = POSTGRES
    zones_sql = "SELECT name FROM pg_catalog.pg_timezone_names"

    def __init__(self, url: str, work_mem: str = WORK_MEM) -> None:
        super().__init__(max(4, os.cpu_count() or 1))
        self._url = url
        self._work_mem = work_mem
        self._lock = threading.Lock()
        self._idle: list[Line] = []
        self._held: dict[Turn, Line | None] = {}
        self._closed = False
        self._relied: Mapping[str, SchemaTable] = {}
        self._declared: object = None

    @classmethod
    def open(cls, url: str, *, work_mem: str | None = None) -> PostgresEngine:
        """Open the database at ``url``. Raises :class:`OperationalError`, whose text is for the owner."""
        problem: OperationalError
        engine = cls(url, work_mem or WORK_MEM)
        try:
            connection = connect(url, engine._work_mem)
        except psycopg.Error as error:
            problem = cannot_open(url, error)
        else:
            try:
                check(connection)
            except BaseException:
                connection.close()
                raise
            engine._idle.append(Line(connection))
            return engine
        raise problem

    def close(self) -> None:
        """No call is answered any more; a connection in use is closed when its call ends."""
        self._deadlines.close()
        self._closed = True
        self._forget()

    def _read_schema(self, session: Line) -> Schema:
        return read_schema(session.connection)

    def concerns(self) -> tuple[Concern, ...]:
        """Warnings about the role, and about row-level policies that hide rows from it."""
        return self._call(lambda line: read_concerns(line.connection))

    def _unreadable(self, session: Line, name: str, columns: Sequence[str]) -> str | None:
        """Why a view or a foreign table cannot be read: its tables are gone or forbidden, or its server does not
        answer."""
        table = self.schema().table(name)
        items = [self._read(table, column) for column in columns] or [exp.Literal.number(1)]
        try:
            session.execute(POSTGRES.sql(exp.select(*items).from_(self._from(table)).limit(0)))
        except psycopg.Error as error:
            if session.lost:
                raise
            return _why_unreadable(error)
        return None

    def rely_on(self, tables: Iterable[str], agrees: Callable[[Engine], bool] | None = None) -> None:
        """From now on :meth:`run` answers only while these tables are declared as they were when they were read."""
        known = self.schema().tables
        self._relied = {name: known[name] for name in tables}
        self._declared = None

    def public_rows(self, table: str, columns: Sequence[str]) -> pa.Table:
        """The rows of a table that the owner declared public, read as the rewriter reads them, as an Arrow table."""
        import pyarrow as pa

        source = self.schema().table(table)
        sql = self.dialect.sql(self._named_rows(table, columns))
        rows = self._call(lambda line: line.execute(sql).fetchall())
        values = list(zip(*rows, strict=True)) or [()] * len(columns)
        types = [arrow_type(source.readable(name)[1]) for name in columns]
        return pa.table([pa.array(v, t) for v, t in zip(values, types, strict=True)], names=list(columns))

    def _on_one_state(self, line: Line, texts: Sequence[str], work: Callable[[], _R]) -> _R:
        """Work over the rows of one moment, at which the tables that plans rely on are declared as they were.

        Its snapshot is that of the first statement, which reads the catalog: a constraint that is dropped later, and
        rows that break it, are not in it.
        """
        with line.connection.transaction():
            self._verify(line)
            return work()

    def _verify(self, line: Line) -> None:
        """Raise where a table that plans rely on has changed; all of the schema is read where something of it has."""
        if not self._relied:
            return
        # Relatives of PostgreSQL may not tell which transaction wrote a row.
        marked = all(table.told_apart for table in self._relied.values())
        declared = read_declared(line.connection, self._relied.values()) if marked else None
        if declared is None or declared != self._declared:
            found = read_schema(line.connection).tables
            if any(found.get(name) != table for name, table in self._relied.items()):
                raise SchemaChanged
            self._declared = declared

    @contextmanager
    def _attempt(self, timeout: float | None, turn: Turn | None = None) -> Iterator[_Attempt]:
        yield _Attempt(self, timeout, Interruption(), turn)

    @contextmanager
    def ready(
        self,
        turn: Turn,
        tables: Iterable[str],
        state: str,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
    ) -> Iterator[None]:
        """The connection that has answered is the turn's own from then on: nobody else takes it, and it is not made
        after the charge."""
        try:
            with super().ready(turn, tables, state, timeout, cancellation):
                yield
        finally:
            with self._lock:
                line = self._held.pop(turn, None)
                if line is not None and not self._closed:
                    self._idle.append(line)
                elif line is not None:
                    line.close()

    def _prove(self, session: Line, turn: Turn) -> None:
        super()._prove(session, turn)
        self._verify(session)
        with self._lock:
            self._held.setdefault(turn, None)

    def _kind(self, error: Exception) -> str:
        """Its class and SQLSTATE."""
        sqlstate = error.sqlstate if isinstance(error, psycopg.Error) else None
        return super()._kind(error) + (f" {sqlstate}" if sqlstate else "")

    def _is_too_large(self, error: Exception) -> bool:
        """Whether memory or the disk for what does not fit into it gave out, or ``temp_file_limit`` was reached."""
        return isinstance(error, psycopg.Error) and error.sqlstate in ("53000", "53100", "53200", "53400")

    def _answer(
        self, work: Callable[[Line], _R], timeout: float | None, interruption: Interruption, turn: Turn | None
    ) -> _R:
        """Work on the turn's connection or an idle one; on a new one where there is none, or where it has died since
        it was used."""
        with self._lock:
            if self._closed:
                raise InterruptedError
            held = self._held.get(turn) if turn is not None else None
            if held is not None and turn is not None:
                self._held[turn] = None
            line = held or (self._idle.pop() if self._idle else None)
        if line is not None:
            try:
                return self._on(line, work, timeout, interruption, turn)
            except psycopg.Error:
                if interruption.wanted or not line.lost:
                    raise
            self._forget()
        return self._on(Line(connect(self._url, self._work_mem)), work, timeout, interruption, turn)

    def _on(
        self,
        line: Line,
        work: Callable[[Line], _R],
        timeout: float | None,
        interruption: Interruption,
        turn: Turn | None,
    ) -> _R:
        """Work on one connection, and keep it for its turn or for anybody, unless something went wrong with it."""
        finished = False
        try:
            interruption.watch(line)
            line.limit(timeout)
            result = work(line)
            finished = True
            return result
        finally:
            unharmed = interruption.leave() and finished
            with self._lock:
                if unharmed and not self._closed:
                    if turn is not None and self._held.get(turn, line) is None:
                        self._held[turn] = line
                    else:
                        self._idle.append(line)
                else:
                    line.close()

    def _forget(self) -> None:
        with self._lock:
            while self._idle:
                self._idle.pop().close()


def _why_unreadable(error: psycopg.Error) -> str:
    """Before any row is read, for the owner: what is wrong with a table, and what to do."""
    match error.sqlstate or "":
        case "42501":
            return "dpsql's role may not read all that it is made of: GRANT SELECT, to the owner of a view too"
        case "55000":
            return "it has no rows to read yet: REFRESH MATERIALIZED VIEW"
        case state if state.startswith(("08", "HV")):
            return "the server that its rows are on does not answer: check its address and USER MAPPING"
        case state:
            return f"it cannot be read (SQLSTATE {state or 'unknown'}): does SELECT * FROM it work as dpsql's role?"
