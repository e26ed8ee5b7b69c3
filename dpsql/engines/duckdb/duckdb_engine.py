"""The owner's DuckDB file, or files that are its tables: read-only, locked down, and silent about what goes wrong.

Guarantee: it runs :attr:`rewriter.plan.Plan.sql` and SQL of its own making, never a client's text. Whatever DuckDB says
when it fails (its messages hold values of rows) stays here: an analyst gets one fixed text, the owner's log the class
of the error. Of all files there are, it reads its own and those that the owner lists one by one, never a folder: DuckDB
writes (COPY … TO) wherever it may read, which is why a plan is a single SELECT too. An answer is given only if the
listed files are, before and after it, what they were when they were opened.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import duckdb
from sqlglot import exp

from dpsql.engines import failures
from dpsql.engines.deadlines import Cancellation
from dpsql.engines.duckdb.duckdb_schema import read_schema
from dpsql.engines.duckdb.file_views import readable_rows, write_views
from dpsql.engines.exact_table import read_table, read_tables, with_ranks
from dpsql.engines.failures import files_change, files_differ
from dpsql.engines.known_groups import KnownGroups, can_be_known, inhabited_table, known_groups
from dpsql.engines.listed_files import ListedFiles, WatchedFiles, glances, holds_texts
from dpsql.engines.schema import Concern, Schema, SchemaTable
from dpsql.engines.sql_engine import SQLEngine
from dpsql.engines.turns import Turn
from dpsql.errors import OperationalError
from dpsql.memory import Memory
from dpsql.releases import ExactTable
from rewriter.declared import Kind
from rewriter.dialects import DUCKDB
from rewriter.front_door import OneScan
from rewriter.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa

    from dpsql.engines.engine import Engine

_R = TypeVar("_R")

_ACCESS = "enable_external_access"

LOCKED = {
    _ACCESS: "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    # In DuckDB 2.0 these four answer wrongly. Two rewrite a query by the statistics of private rows: one narrows a
    # column until a sum no longer fits and fails; the other takes HAVING SUM(x) > 1 for never true below a LEFT JOIN
    # with an empty table. The third computes a join that a statement has twice once, and where a table is joined with
    # itself reads the columns of one side for those of the other. The fourth hands TRY_CAST of a text to the reader of
    # a CSV file, which raises where TRY_CAST gives NULL.
    "disabled_optimizers": "compressed_materialization,statistics_propagation,common_subplan,type_pushdown",
}
"""No files but the database, no network, no extensions, no Python objects: for every DuckDB that dpsql opens."""

_PREPARED = 64
_RENEWAL = 60.0
"""Seconds for which a statement waits while files that were replaced are opened and compared with the policy."""
_LISTED = 256
_CHANGED = "it does not work any more, since what it is made of has changed: CREATE OR REPLACE VIEW, or leave it out"


@dataclass(slots=True, eq=False)
class _Database:
    """A database with the files that are its tables, as they were when it was opened: files that are replaced are those
    of another one. ``own`` is the folder of a database that has views over files alone."""

    connection: duckdb.DuckDBPyConnection
    watched: WatchedFiles
    own: tempfile.TemporaryDirectory[str] | None
    idle: list[_Cursor] = field(default_factory=list)

    def close(self) -> None:
        """Who still reads has a cursor of its own."""
        while self.idle:
            self.idle.pop().cursor.close()
        self.connection.close()
        if self.own is not None:
            self.own.cleanup()


@dataclass(slots=True)
class _Cursor:
    """A cursor with the plans that it was asked before, by name: True where it holds a prepared statement.

    Only one that has ``finished`` a plan, and answered all of it, is used again.
    """

    database: _Database
    cursor: duckdb.DuckDBPyConnection
    plans: OrderedDict[str, bool] = field(default_factory=OrderedDict)
    finished: bool = False

    def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        return self.cursor.execute(sql)

    def interrupt(self) -> None:
        self.cursor.interrupt()

    def run(self, work: Callable[[_Cursor], _R]) -> _R:
        return work(self)

    def answer(self, plan: Plan, known: KnownGroups | None) -> ExactTable:
        exact = None
        if known is not None and plan.inhabited is not None:
            exact = inhabited_table(self._planned(plan, plan.inhabited.sql), known, plan)
        if exact is None:
            exact = read_table(lambda sql: self._planned(plan, sql) if sql is plan.sql else self.execute(sql), plan)
        else:
            exact = with_ranks(exact, self.execute, plan)
        self.finished = True
        return exact

    def answers(self, scan: OneScan) -> tuple[ExactTable, ...]:
        exact = read_tables(lambda sql: self._planned(scan, sql) if sql is scan.sql else self.execute(sql), scan)
        self.finished = True
        return exact

    def _planned(self, plan: Plan | OneScan, sql: str) -> duckdb.DuckDBPyConnection:
        """Run a plan's SQL, the same each time: what comes again is prepared, since DuckDB takes longer to plan a small
        release than to run it."""
        which = plan.identity if sql is plan.sql else f"{plan.identity}_inhabited"
        name = f"dpsql_{which}"
        prepared = self.plans.get(which)
        if prepared is None:
            statement = self._only_reads(sql)
            self._remember(which, prepared=False)
            return self.cursor.execute(statement)
        if not prepared:
            self.cursor.execute(f"PREPARE {name} AS {sql}")
            self._remember(which, prepared=True)
        return self.cursor.execute(f"EXECUTE {name}")

    def _only_reads(self, sql: str) -> duckdb.Statement:
        """The one SELECT that it is, parsed. Raises for anything else."""
        found = self.cursor.extract_statements(sql)
        if [one.type for one in found] != [duckdb.StatementType.SELECT]:
            raise duckdb.PermissionException
        return found[0]

    def _remember(self, identity: str, *, prepared: bool) -> None:
        self.plans[identity] = prepared
        if len(self.plans) > _PREPARED:
            oldest, was_prepared = self.plans.popitem(last=False)
            if was_prepared:
                self.cursor.execute(f"DEALLOCATE dpsql_{oldest}")


class DuckDBEngine(SQLEngine[_Cursor]):
    """A DuckDB file, open for reading. Thread-safe: a call has a cursor to itself while it runs."""

    dialect = DUCKDB
    zones_sql = "SELECT name FROM pg_timezone_names()"

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        watched: WatchedFiles | None = None,
        own: tempfile.TemporaryDirectory[str] | None = None,
        anew: Callable[[], DuckDBEngine] | None = None,
    ) -> None:
        """Over files that are ``watched``; ``own`` is the folder of a database that has their views alone. ``anew``
        opens them as they are now."""
        super().__init__(max(2, os.cpu_count() or 1))
        self._now = _Database(connection, watched or WatchedFiles(), own)
        self._anew = anew
        self._agrees: Callable[[Engine], bool] | None = None
        self._rejected: Mapping[str, object] | None = None
        self._lock = threading.Lock()
        self._renewing = threading.Lock()
        self._of_turns: dict[Turn, _Database] = {}
        self._groups: Memory[Hashable, KnownGroups | None] = Memory("public groups", _LISTED)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        threads: int | None = None,
        memory_limit: str | None = None,
        files: Mapping[str, ListedFiles] | None = None,
    ) -> DuckDBEngine:
        """Open the file ``path``, whose views may read ``files``. Raises :class:`OperationalError`, for the owner."""
        if not os.path.isfile(path):
            raise OperationalError(
                f"there is no DuckDB file {os.fspath(path)}", sqlstate="58P01", hint="check the path in the policy"
            )
        for name, listed in (files or {}).items():
            if listed.types:
                raise OperationalError(
                    f"the view {name} says the types of its columns", sqlstate="42804", hint="take type: away"
                )
        watched = _watched(files or {})

        def anew() -> DuckDBEngine:
            return cls.open(path, threads=threads, memory_limit=memory_limit, files=files)

        return cls._opened(os.fspath(path), watched, None, threads, memory_limit, anew)

    @classmethod
    def over(
        cls, files: Mapping[str, ListedFiles], *, threads: int | None = None, memory_limit: str | None = None
    ) -> DuckDBEngine:
        """Open tables that are files. Raises :class:`OperationalError`, whose text is for the owner."""
        watched = _watched(files)
        found = {name: (listed, watched.paths[name]) for name, listed in files.items()}

        def anew() -> DuckDBEngine:
            return cls.over(files, threads=threads, memory_limit=memory_limit)

        folder = tempfile.TemporaryDirectory(prefix="dpsql-files-")
        try:
            path = os.path.join(folder.name, "files.duckdb")
            write_views(path, found, {name: value for name, value in LOCKED.items() if name != _ACCESS})
            engine = cls._opened(path, watched, folder, threads, memory_limit, anew)
            for name, (listed, _) in found.items():
                if any(map(holds_texts, listed.patterns)):
                    readable_rows(engine._now.connection, name)
        except BaseException:
            folder.cleanup()
            raise
        return engine

    @classmethod
    def _opened(
        cls,
        path: str,
        watched: WatchedFiles,
        own: tempfile.TemporaryDirectory[str] | None,
        threads: int | None,
        memory_limit: str | None,
        anew: Callable[[], DuckDBEngine],
    ) -> DuckDBEngine:
        config: dict[str, str | bool | int | float | list[str]] = dict(LOCKED)
        if threads is not None:
            config["threads"] = threads
        if memory_limit is not None:
            config["memory_limit"] = memory_limit
        problem: OperationalError | None = None
        try:
            return cls(_locked(path, config, tuple(watched.fingerprints)), watched, own, anew)
        except duckdb.Error as error:
            problem = _cannot_open(path, error)
        raise problem

    def close(self) -> None:
        self._deadlines.close()
        with self._lock:
            self._now.close()

    def _read_schema(self, session: _Cursor) -> Schema:
        watched = session.database.watched if session.database.own is not None else WatchedFiles()
        return read_schema(session.cursor, [name for name, listed in watched.listed.items() if listed.numbered])

    def rely_on(self, tables: Iterable[str], agrees: Callable[[Engine], bool] | None = None) -> None:
        """Nobody writes to a file that is open for reading; listed files are read anew where the policy ``agrees``."""
        self._agrees = agrees

    def state(self, tables: Iterable[str]) -> str:
        """What tells the files of the tables; those that were replaced are opened anew, which all statements wait for.

        Raises :class:`OperationalError`, before any charge, where the policy does not agree with the new files.
        """
        listed = self._listed(tables)
        if not listed:
            return ""
        now = self._now
        if not now.watched.seem_same(listed):
            now = self._renewed(listed)
        return now.watched.state(listed)

    @contextmanager
    def ready(
        self,
        turn: Turn,
        tables: Iterable[str],
        state: str,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
    ) -> Iterator[None]:
        """What runs in the turn reads the files of this state, or nothing."""
        listed = self._listed(tables)
        with self._lock:
            now = self._of_turns[turn] = self._now
        try:
            if listed and (now.watched.state(listed) != state or not now.watched.seem_same(listed)):
                raise files_change()
            yield
        finally:
            with self._lock:
                del self._of_turns[turn]
                self._close_unused(now)

    def _close_unused(self, database: _Database) -> None:
        """Close a database whose files were replaced, once no turn reads it any more."""
        if database is not self._now and all(one is not database for one in self._of_turns.values()):
            database.close()

    def _listed(self, tables: Iterable[str] | None = None) -> tuple[str, ...]:
        """Those of the tables that are files. A view that the owner wrote may be over the files of any other."""
        every = tuple(self._now.watched.listed)
        if tables is None or not every:
            return every
        if self._now.own is None:
            known = self.schema().tables
            return every if any(name not in known or known[name].view for name in tables) else ()
        return tuple(name for name in dict.fromkeys(tables) if name in self._now.watched.listed)

    def _renewed(self, listed: Sequence[str]) -> _Database:
        """The database over the files that there are now. Where it does not fit, it is not tried again until a file
        changes once more."""
        if not self._renewing.acquire(timeout=_RENEWAL):
            raise files_change()
        try:
            now = self._now
            if now.watched.seem_same(listed):
                return now
            seen = glances(now.watched.listed)
            if seen == self._rejected or self._anew is None:
                raise files_differ()
            fresh = self._fitting(self._anew)
            if fresh is None:
                self._rejected = seen
                raise files_differ()
            fresh._deadlines.close()
            with self._lock:
                self._now = fresh._now
                self._close_unused(now)
            return self._now
        finally:
            self._renewing.release()

    def _fitting(self, anew: Callable[[], DuckDBEngine]) -> DuckDBEngine | None:
        """An engine over the files of now, where the policy agrees with it."""
        try:
            fresh = anew()
        except OperationalError as problem:
            failures.log("FilesDiffer", problem)
            return None
        try:
            fits = fresh.schema() == self.schema() and (self._agrees is None or self._agrees(fresh))
        except BaseException:
            fresh.close()
            raise
        if not fits:
            fresh.close()
            failures.log("FilesDiffer", OperationalError("the policy does not agree with the new files"))
            return None
        return fresh

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
        lists = self._can_list_groups(plan)
        return self._call(
            lambda cursor: cursor.answer(plan, self._known_groups(cursor, plan) if lists else None),
            timeout,
            cancellation,
            turn,
            plan.tables or None,
        )

    def run_together(
        self,
        scan: OneScan,
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
        turn: Turn | None = None,
    ) -> tuple[ExactTable, ...]:
        """The same of several plans."""
        tables = [table for plan in scan.plans for table in plan.tables]
        return self._call(lambda cursor: cursor.answers(scan), timeout, cancellation, turn, tables or None)

    def _can_list_groups(self, plan: Plan) -> bool:
        """Whether a public key set stays as it is: nobody writes to the file, but a view may change all the same."""
        if plan.inhabited is None or not can_be_known(plan):
            return False
        default = self.dialect.default_schema
        lasting = {(table.schema or default, table.own_name) for table in self.schema().tables.values() if table.stored}
        return plan.inhabited.tables <= lasting

    def _known_groups(self, cursor: _Cursor, plan: Plan) -> KnownGroups | None:
        """The groups of a public key set, listed once, in the turn of who asks: two statements that waited for another
        turn, each with one of its own, would wait for each other for ever."""
        key = (plan.groups, tuple(key.type for key in plan.keys))
        return self._groups.get(key, lambda: known_groups(cursor.execute, plan))

    def public_rows(self, table: str, columns: Sequence[str]) -> pa.Table:
        """The rows of a table that the owner declared public, read as the rewriter reads them, as an Arrow table."""
        source = self.schema().table(table)
        sql = self.dialect.sql(self._named_rows(table, columns))
        from dpsql.releases import arrow_type

        rows = self._call(lambda cursor: cursor.cursor.sql(sql).to_arrow_table())
        for place, name in enumerate(columns):
            if (type_ := source.readable(name)[1]).kind is Kind.TIMESTAMPTZ:
                rows = rows.set_column(place, name, rows.column(place).cast(arrow_type(type_)))
        return rows

    def lasting(self, table: str) -> bool:
        """Stored rows stay as they are, and those of watched files; another view, and a generated column, may follow
        the clock or chance."""
        return self._now.own is not None or self.schema().table(table).stored

    def concerns(self) -> tuple[Concern, ...]:
        """Nothing: the file is opened for reading, by this process alone."""
        return ()

    def _read(self, table: SchemaTable, name: str) -> exp.Expr:
        """A time outside the years 1 to 9999 is NULL, as it is for people's rows."""
        column, type_ = table.readable(name)
        whole = exp.column(column.name, quoted=True)
        if type_.nested:
            return DUCKDB.read_nested(whole, type_, column.engine_type)
        read = DUCKDB.read(whole, type_, column.engine_type)
        if not type_.temporal:
            return read
        return exp.Case(ifs=[exp.If(this=DUCKDB.in_calendar(read, type_), true=read.copy())])

    def _unreadable(self, session: _Cursor, name: str, columns: Sequence[str]) -> str | None:
        """A view over files, which are out of reach here, or one that does not work any more."""
        table, source = self.schema().table(name), self._from(self.schema().table(name))
        items = [self._read(table, column) for column in columns] or [exp.Literal.number(1)]
        try:
            changed = table.view and self._other_types(session, table, columns)
            session.execute(DUCKDB.sql(exp.select(*items).from_(source).limit(0)))
        except duckdb.Error as error:
            return _why_unreadable(error)
        return _CHANGED if changed else None

    def _other_types(self, session: _Cursor, view: SchemaTable, columns: Sequence[str]) -> bool:
        """Whether columns of a view have other types by now than it was made with: it is planned with those."""
        asked = exp.select(*(exp.column(column, quoted=True) for column in view.columns)).from_(self._from(view))
        types = {name: spelt for name, spelt, *_ in session.execute(f"DESCRIBE {DUCKDB.sql(asked)}").fetchall()}
        return any(types[one.name] != one.engine_type for one in map(view.columns.get, columns) if one)

    def _call(
        self,
        work: Callable[[_Cursor], _R],
        timeout: float | None = None,
        cancellation: Cancellation | None = None,
        turn: Turn | None = None,
        tables: Iterable[str] | None = None,
    ) -> _R:
        """What was computed while a file of the tables was changed is nobody's answer."""
        listed = self._listed(tables) if self._now.watched.listed else ()

        def watched(cursor: _Cursor) -> _R:
            cursor.database.watched.check(listed)
            found = work(cursor)
            cursor.database.watched.check(listed)
            return found

        return super()._call(watched, timeout, cancellation, turn)

    def _is_too_large(self, error: Exception) -> bool:
        return isinstance(error, duckdb.OutOfMemoryException | MemoryError)

    @contextmanager
    def _attempt(self, timeout: float | None, turn: Turn | None = None) -> Iterator[_Cursor]:
        """A cursor that nobody else uses, of the files that the turn was charged for."""
        with self._lock:
            now = self._now if turn is None else self._of_turns.get(turn, self._now)
            cursor = now.idle.pop() if now.idle else _Cursor(now, now.connection.cursor())
        cursor.finished = False
        try:
            yield cursor
        finally:
            with self._lock:
                kept = cursor.finished and cursor.database is self._now
                if kept:
                    cursor.database.idle.append(cursor)
            if not kept:
                cursor.cursor.close()


def _watched(listed: Mapping[str, ListedFiles]) -> WatchedFiles:
    try:
        return WatchedFiles.of(listed)
    except OSError as problem:
        why = problem.strerror or type(problem).__name__
        name = problem.filename
    raise OperationalError(f"the file {name} cannot be read: {why}", sqlstate="58030")


def _locked(
    path: str, config: dict[str, str | bool | int | float | list[str]], files: Sequence[str] = ()
) -> duckdb.DuckDBPyConnection:
    """A database that reads no file but its own and ``files``: these can be named only before it is locked."""
    allowed = {name: value for name, value in config.items() if name != _ACCESS} if files else config
    connection = duckdb.connect(path, read_only=True, config=allowed)
    try:
        # A database that this process has open already is shared with it, and locked already.
        if connection.execute("SELECT current_setting('lock_configuration')").fetchone() != (True,):
            connection.execute("SET GLOBAL TimeZone = 'UTC'")
            if files:
                named = exp.Array(expressions=[exp.Literal.string(name) for name in files])
                connection.execute(f"SET GLOBAL allowed_paths = {named.sql('duckdb')}")
                connection.execute(f"SET GLOBAL {_ACCESS} = false")
            connection.execute("SET GLOBAL lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


def _why_unreadable(error: duckdb.Error) -> str:
    """Before any row is read, for the owner: what is wrong with a view, and what to do."""
    if isinstance(error, duckdb.PermissionException):
        return (
            "it reads files, which dpsql opens only where the policy lists them: write files: beside its columns, and"
            " the view over exact files; or keep the rows here, with CREATE TABLE … AS SELECT * FROM the files"
        )
    if isinstance(error, duckdb.BinderException | duckdb.CatalogException):
        return (
            "it does not work any more, since what it is made of has changed: CREATE OR REPLACE VIEW, or leave it out"
        )
    return f"it cannot be read ({type(error).__name__}): does SELECT * FROM it work in DuckDB {duckdb.__version__}?"


def _cannot_open(path: str, error: duckdb.Error) -> OperationalError:
    """Opening is the owner's act and comes before any row is read: DuckDB's own words may be told from."""
    text = str(error)
    if isinstance(error, duckdb.ConnectionException) and "configuration" in text:
        why, hint = "this process has it open in another way", "close that connection first"
    elif "lock" in text and isinstance(error, duckdb.IOException):
        why, hint = "another process has it open for writing", "close it there, or serve a copy of the file"
    elif "not a valid DuckDB database" in text:
        why, hint = "it is not a DuckDB file", "write duckdb:PATH of a file that DuckDB made"
    else:
        why, hint = f"{type(error).__name__}", f"it opens with DuckDB {duckdb.__version__} elsewhere?"
    return OperationalError(f"the database {path} cannot be opened: {why}", sqlstate="58030", hint=hint)
