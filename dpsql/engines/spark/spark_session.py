"""A session of Spark Connect: with every setting fixed that could change an answer, and read back.

Guarantee: no word of Spark's about an error reaches a log of ours. Its client logs errors with values of rows in them,
which is switched off where the client is loaded.
"""

from __future__ import annotations

import logging
import re
import socket
import threading
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sqlglot.tokenizer_core import TokenType

from dpsql.engines.spark.staged_ctes import Staged, staged
from dpsql.errors import OperationalError, install
from rewriter.dialects import SPARK, tokens_of

if TYPE_CHECKING:
    import pyarrow as pa

SETTINGS = {
    # Overflow and casts that fail raise, instead of an answer that is wrong.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.session.timeZone": "UTC",
    # How a literal and a name are read.
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.groupByOrdinal": "true",
    # A file that is gone or broken is an error, and no file without rows.
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
}

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging")
_PORT = 15002
_PATIENCE = 5.0
RETRIES = 3
"""Of a call that Spark did not answer, within about two seconds."""


class NotASelect(Exception):
    """A statement that is not one SELECT: a bug of ours."""


@dataclass(slots=True)
class SparkRows:
    """An answer, row by row, or the rest of it as an Arrow table."""

    table: pa.Table
    place: int = 0

    @property
    def description(self) -> Sequence[Sequence[object]]:
        return [(name,) for name in self.table.column_names]

    def fetchmany(self, size: int, /) -> list[tuple[object, ...]]:
        some = self.table.slice(self.place, size)
        self.place += some.num_rows
        columns = [column.to_pylist() for column in some.columns]
        return list(zip(*columns, strict=True)) if columns else []

    def fetchall(self) -> list[tuple[object, ...]]:
        return self.fetchmany(self.table.num_rows)

    def fetchone(self) -> tuple[object, ...] | None:
        return next(iter(self.fetchmany(1)), None)

    def to_arrow_table(self) -> pa.Table:
        rest = self.table.slice(self.place)
        self.place = self.table.num_rows
        return rest


@dataclass(slots=True, eq=False)
class SparkLine:
    """A session that one turn at a time uses. What runs on it has a tag of its own, by which it is stopped."""

    session: Any
    tag: str = ""
    used: bool = False
    stopped: threading.Event = field(default_factory=threading.Event)

    def execute(self, sql: str) -> SparkRows:
        """One SELECT; what several parts of it read is computed once."""
        self._only_reads(sql)
        parts = staged(sql)
        made: list[Staged] = []
        try:
            for part in parts.views:
                made.append(part)
                self._stage(part)
            return SparkRows(self._table(parts.sql))
        finally:
            for part in made:
                with suppress(Exception):
                    if part.kept:
                        self.session.catalog.uncacheTable(part.name)
                with suppress(Exception):
                    self.session.catalog.dropTempView(part.name)

    def schema_of(self, sql: str) -> Any:
        """The names and types of a SELECT's columns. Reads no row."""
        self._only_reads(sql)
        return self.session.sql(sql).schema

    def files_of(self, sql: str) -> list[str]:
        """The names of the files that a SELECT reads. Reads no row."""
        self._only_reads(sql)
        return list(self.session.sql(sql).inputFiles())

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """The answer of a statement about the catalog."""
        return SparkRows(self._table(sql)).fetchall()

    def _stage(self, part: Staged) -> None:
        self._check()
        self.session.sql(part.sql).createOrReplaceTempView(part.name)
        if part.kept:
            self.session.catalog.cacheTable(part.name)

    def _table(self, sql: str) -> pa.Table:
        self._check()
        return self.session.sql(sql).toArrow()

    def _check(self) -> None:
        if self.stopped.is_set():
            raise InterruptedError

    @staticmethod
    def _only_reads(sql: str) -> None:
        """Raise :class:`NotASelect`: the client runs any other statement as soon as it has its text."""
        tokens = tokens_of(sql, SPARK.name)
        if not tokens or tokens[0].token_type not in (TokenType.SELECT, TokenType.WITH):
            raise NotASelect
        if any(token.token_type in (TokenType.SEMICOLON, TokenType.INSERT) for token in tokens):
            raise NotASelect

    def begin(self) -> None:
        self.tag = f"dpsql-{uuid.uuid4().hex}"
        self.stopped.clear()
        self.session.addTag(self.tag)

    def end(self) -> None:
        self.session.clearTags()
        self.used = True

    def interrupt(self) -> None:
        with suppress(Exception):
            self.session.interruptTag(self.tag)

    def close(self) -> None:
        with suppress(Exception):
            self.session.stop()


def connect(url: str) -> SparkLine:
    """A new session with the settings above. Raises whatever the client raises, and :class:`OperationalError`."""
    session = _client(url)
    try:
        if (catalog := _parameter(url, "catalog")) is not None:
            session.catalog.setCurrentCatalog(catalog)
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
        kept = {name: str(session.conf.get(name)).lower() for name in SETTINGS}
    except BaseException:
        with suppress(Exception):
            session.stop()
        raise
    wrong = [name for name, value in SETTINGS.items() if kept[name] != value.lower()]
    if wrong:
        session.stop()
        raise OperationalError(
            f"Spark does not let {wrong[0]} be {SETTINGS[wrong[0]]}", sqlstate="0A000", hint="let sessions set it"
        )
    return SparkLine(session)


def _reach(url: str) -> None:
    """Raise OSError where nobody listens: the client itself tries for ten minutes before it says so."""
    place = urlsplit(url.partition(";")[0])
    with socket.create_connection((place.hostname or "localhost", place.port or _PORT), _PATIENCE):
        pass


def _client(url: str) -> Any:
    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy
        from pyspark.sql.connect.session import SparkSession
    except ImportError:
        raise OperationalError("Spark's client is not installed", sqlstate="58000", hint=install("spark")) from None
    _reach(url)
    for name in _LOGGERS:
        logging.getLogger(name).disabled = True
    session = SparkSession.builder.remote(_without(url, "catalog")).create()
    policy = DefaultPolicy(max_retries=RETRIES, max_backoff=1000)
    session.client.set_retry_policies([policy])
    return session


def _parameter(url: str, name: str) -> str | None:
    """A parameter of the URL.

    >>> _parameter("sc://h:15002/;token=x;catalog=lake", "catalog")
    'lake'
    """
    found = re.search(rf";{name}=([^;]*)", url)
    return None if found is None else found[1]


def _without(url: str, name: str) -> str:
    return re.sub(rf";{name}=[^;]*", "", url)
