"""The owner's Spark, over Spark Connect: one session for each turn, and silent about what goes wrong.

Guarantee: it runs :attr:`rewriter.plan.Plan.sql` and SQL of its own making, never a client's text, and SELECT alone.
Whatever Spark says when it fails (its messages hold values of rows) stays here: an analyst gets one fixed text, the
owner's log the class and the SQLSTATE of the error. An answer is given only if the files of the tables that it was read
from are the same before and after.

Spark Connect has no users of its own. Its endpoint should see tables that it may only read, and
:meth:`SparkEngine.concerns` says so where it may make some.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from dpsql.engines.listed_files import FilesChanged
from dpsql.engines.schema import Concern, QualifiedName, Schema
from dpsql.engines.spark.spark_schema import read_schema
from dpsql.engines.spark.spark_session import SparkLine, connect
from dpsql.engines.sql_engine import SQLEngine
from dpsql.engines.turns import Turn
from dpsql.errors import Error, OperationalError
from dpsql.releases import arrow_type
from rewriter.dialects import SPARK, tokens_of

if TYPE_CHECKING:
    import pyarrow as pa

    from dpsql.engines.engine import Engine

_R = TypeVar("_R")

_AGAIN = 0.2
"""Seconds until a statement that is to be stopped is stopped again: it may not have begun when it was asked to."""
_MOST_SEEN = 1000
"""Tables that are read together, of which it is remembered how they were."""
_WITHOUT_FILES = (
    "it does not show its files, so that nobody can tell whether others write to it while it is read: name tables of"
    " files (Parquet, Delta, Iceberg) in the policy, and not a view over several or a table of another database"
)
_LOST = ("UNAVAILABLE", "SESSION_CLOSED", "SESSION_CHANGED", "SESSION_NOT_FOUND", "INVALID_HANDLE", "RetriesExceeded")


@dataclass(slots=True, eq=False)
class _Attempt:
    """Work on a session that is chosen when it begins, since one whose server has gone is replaced."""

    engine: SparkEngine
    wanted: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)
    line: SparkLine | None = None

    def interrupt(self) -> None:
        """Returns at once, since who calls it watches other statements too."""
        if not self.wanted.is_set():
            self.wanted.set()
            threading.Thread(target=self._stop, name="dpsql-cancel", daemon=True).start()

    def _stop(self) -> None:
        while True:
            line = self.line
            if line is not None:
                line.stopped.set()
                line.interrupt()
            if self.left.wait(_AGAIN):
                return

    def run(self, work: Callable[[SparkLine], _R]) -> _R:
        try:
            return self.engine._answer(work, self)
        finally:
            self.left.set()


class SparkEngine(SQLEngine[SparkLine]):
    """Tables of Spark, open for reading. Thread-safe: a call has a session to itself while it runs."""

    dialect = SPARK
    zones_sql = ""

    def __init__(self, url: str) -> None:
        super().__init__(max(4, os.cpu_count() or 1))
        self._url = url
        self._lock = threading.Lock()
        self._idle: list[SparkLine] = []
        self._closed = False
        self._known: dict[QualifiedName, set[tuple[str, str]]] = {}
        self._remembered: dict[tuple[tuple[str, str], ...], object] = {}

    @classmethod
    def open(cls, url: str) -> SparkEngine:
        """Open the Spark at ``spark:sc://…``. Raises :class:`OperationalError`, whose text is for the owner."""
        engine = cls(url.removeprefix("spark:"))
        place = engine._url.partition(";")[0]
        problem: Error
        try:
            line = connect(engine._url)
        except Error:
            raise
        except Exception as error:
            problem = OperationalError(
                f"the Spark at {place} cannot be opened: {engine._kind(error)}",
                sqlstate="08001",
                hint="write spark:sc://HOST:PORT/;token=… of a Spark Connect server, version 4 or newer",
            )
        else:
            if int(str(line.session.version).partition(".")[0]) < 4:
                line.close()
                raise OperationalError(
                    f"Spark {line.session.version} is too old", sqlstate="0A000", hint="dpsql reads Spark 4 and newer"
                )
            engine._idle.append(line)
            return engine
        raise problem

    def close(self) -> None:
        """No call is answered any more; a session in use is closed when its call ends."""
        self._deadlines.close()
        self._closed = True
        self._forget()

    def zones(self) -> frozenset[str]:
        """Java knows the zones of the same source as Python."""
        return frozenset(zoneinfo.available_timezones())

    def _read_schema(self, session: SparkLine) -> Schema:
        return read_schema(session)

    def concerns(self) -> tuple[Concern, ...]:
        """A warning where its sessions may make a table: it is tried, and taken back."""
        name = f"dpsql_may_not_{uuid.uuid4().hex}"

        def tried(line: SparkLine) -> bool:
            try:
                line.session.sql(f"CREATE TABLE {name} (a INT) USING parquet")
            except Exception:
                return False
            with suppress(Exception):
                line.session.sql(f"DROP TABLE {name}")
            return True

        if not self._call(tried):
            return ()
        text = "sessions of this endpoint may make tables: give dpsql one that may only SELECT from those of the policy"
        return (Concern(text),)

    def rely_on(self, tables: Iterable[str], agrees: Callable[[Engine], bool] | None = None) -> None:
        """From now on :meth:`run` answers only while these tables have the columns that they had."""
        self._remembered.clear()
        schema = self.schema()
        relied = [schema.table(name) for name in tables]
        self._known = {
            (one.schema or SPARK.default_schema, one.own_name): {
                (column.name, column.engine_type) for column in one.columns.values()
            }
            for one in relied
        }

    def public_rows(self, table: str, columns: Sequence[str]) -> pa.Table:
        """The rows of a table that the owner declared public, read as the rewriter reads them, as an Arrow table."""
        import pyarrow as pa

        source = self.schema().table(table)
        sql = self.dialect.sql(self._named_rows(table, columns))
        rows = self._call(lambda line: line.execute(sql).to_arrow_table())
        types = [arrow_type(source.readable(name)[1]) for name in columns]
        return rows.cast(pa.schema(list(zip(columns, types, strict=True))))

    def _unreadable(self, session: SparkLine, name: str, columns: Sequence[str]) -> str | None:
        table = self.schema().table(name)
        items = [self._read(table, column) for column in columns] or [exp.Literal.number(1)]
        try:
            session.schema_of(SPARK.sql(exp.select(*items).from_(self._from(table))))
        except Exception as error:
            if _is_lost(error):
                raise
            return f"it cannot be read ({self._kind(error)}): does SELECT * FROM it work in a session of this endpoint?"
        try:
            session.schema_of(SPARK.sql(exp.select(_of_file("file_path")).from_(self._from(table))))
        except Exception as error:
            if _is_lost(error) or not _is_unknown_column(error):
                raise
            return _WITHOUT_FILES
        return None

    def _on_one_state(self, line: SparkLine, texts: Sequence[str], work: Callable[[], _R]) -> _R:
        """Work whose tables have the columns of when they were opened, and the same files before and after it.

        How they were after an earlier statement stands for how they are before this one: if they are that after it too,
        they were that meanwhile. If they are not, they may have changed before it began, and the work is done again.
        """
        tables = tuple(_tables_of(texts))
        earlier = self._remembered.get(tables)
        if earlier is not None:
            for table in tables:
                _refresh(line, table)
            found = work()
            if earlier == self._states(line, tables):
                return found
        before = self._states(line, tables)
        found = work()
        if before != self._states(line, tables):
            raise FilesChanged
        if len(self._remembered) >= _MOST_SEEN:
            self._remembered.clear()
        self._remembered[tables] = before
        return found

    def _states(self, line: SparkLine, tables: Sequence[tuple[str, str]]) -> object:
        """What the rows of tables are told by: their columns and files, with the sizes and times of the files.

        Where rows have places in their files (Parquet), the first of each file alone is looked for, so that none is
        sorted or sent, and the names of all files are compared: one whose first row a table leaves out has a name all
        the same. Elsewhere files are told by all rows.
        """
        columns = [self._columns(line, table) for table in tables]
        if not tables:
            return columns
        firsts = exp.EQ(this=_of_file("row_index"), expression=exp.Literal.number(0))
        parts = [SPARK.sql(_files(number, one).where(firsts)) for number, one in enumerate(tables)]
        try:
            named = [frozenset(line.files_of(SPARK.sql(exp.select("*").from_(_source(one))))) for one in tables]
            return columns, named, frozenset(line.execute(" UNION ALL ".join(parts)).fetchall())
        except Exception as error:
            if _is_lost(error) or line.stopped.is_set():
                raise
        return columns, [self._every_file(line, table) for table in tables]

    def _columns(self, line: SparkLine, table: tuple[str, str]) -> str:
        _refresh(line, table)
        found = line.schema_of(SPARK.sql(exp.select("*").from_(_source(table))))
        known = self._known.get(table)
        if known is not None and not known <= {(one.name, one.dataType.simpleString()) for one in found.fields}:
            raise FilesChanged
        return str(found.simpleString())

    @staticmethod
    def _every_file(line: SparkLine, table: tuple[str, str]) -> frozenset[object]:
        """Files by all rows. Raises FilesChanged where a table shows none: it is another than when it was opened."""
        try:
            return frozenset(line.execute(SPARK.sql(_files(0, table).distinct())).fetchall())
        except Exception as error:
            if _is_lost(error) or not _is_unknown_column(error):
                raise
        raise FilesChanged

    @contextmanager
    def _attempt(self, timeout: float | None, turn: Turn | None = None) -> Iterator[_Attempt]:
        yield _Attempt(self)

    def _kind(self, error: Exception) -> str:
        """Its class and SQLSTATE."""
        state: Any = None
        with suppress(Exception):
            state = error.getSqlState()  # type: ignore[attr-defined]
        return super()._kind(error) + (f" {state}" if isinstance(state, str) and len(state) == 5 else "")

    def _is_too_large(self, error: Exception) -> bool:
        condition = ""
        with suppress(Exception):
            condition = str(error.getCondition())  # type: ignore[attr-defined]
        return "MEMORY" in condition

    def _answer(self, work: Callable[[SparkLine], _R], attempt: _Attempt) -> _R:
        """Work on an idle session; on a new one where there is none, or where its server has gone since."""
        with self._lock:
            if self._closed:
                raise InterruptedError
            line = self._idle.pop() if self._idle else None
        if line is not None:
            try:
                return self._on(line, work, attempt)
            except Exception as error:
                if attempt.wanted.is_set() or not line.used or not _is_lost(error):
                    raise
            self._forget()
            time.sleep(_AGAIN)
        return self._on(connect(self._url), work, attempt)

    def _on(self, line: SparkLine, work: Callable[[SparkLine], _R], attempt: _Attempt) -> _R:
        """Work on one session, and keep it unless something went wrong with it."""
        finished = False
        try:
            line.begin()
            attempt.line = line
            if attempt.wanted.is_set():
                raise InterruptedError
            result = work(line)
            finished = True
            return result
        finally:
            attempt.line = None
            line.end()
            with self._lock:
                keep = finished and not attempt.wanted.is_set() and not self._closed
                if keep:
                    self._idle.append(line)
            if not keep:
                line.close()

    def _forget(self) -> None:
        with self._lock:
            lines, self._idle = self._idle, []
        for line in lines:
            line.close()


def _refresh(line: SparkLine, table: tuple[str, str]) -> None:
    """Forget which files a table has: a session remembers them."""
    line.session.catalog.refreshTable(".".join("`" + part.replace("`", "``") + "`" for part in table))


def _is_lost(error: Exception) -> bool:
    """Whether it is the session or its server that has gone, by the kind of an error."""
    said = f"{type(error).__name__} {error}"
    return any(word in said for word in _LOST)


def _is_unknown_column(error: Exception) -> bool:
    return getattr(error, "getSqlState", lambda: None)() in ("42703", "42704", "42K01")


def _source(table: tuple[str, str]) -> exp.Table:
    return exp.table_(table[1], db=table[0], quoted=True)


def _of_file(name: str) -> exp.Expr:
    return exp.Dot.build([exp.column("_metadata"), exp.to_identifier(name)])


def _files(number: int, table: tuple[str, str]) -> exp.Select:
    """The files of a table, each under the table's number."""
    names = ("file_path", "file_size", "file_modification_time")
    return exp.select(exp.Literal.number(number), *map(_of_file, names)).from_(_source(table))


def _tables_of(texts: Sequence[str]) -> list[tuple[str, str]]:
    """The tables that texts of ours read: names in two quoted parts, after FROM, JOIN or a comma."""
    found: dict[tuple[str, str], None] = {}
    sources = (TokenType.FROM, TokenType.JOIN, TokenType.COMMA)
    for text in filter(None, texts):
        tokens = tokens_of(text, SPARK.name)
        for before, schema, dot, name in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
            quoted = schema.token_type is name.token_type is TokenType.IDENTIFIER
            if before.token_type in sources and dot.token_type is TokenType.DOT and quoted:
                found[schema.text, name.text] = None
    return list(found)
