"""An analyst's questions, sent to the server over the wire like those of any other client.

Guarantee: the console knows nothing that an analyst's own connection does not. What is charged, audited, refused and
limited is a matter of the server; here are no rights beyond those of the password that was given.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import sql

from dpsql.display import field
from dpsql.errors import error
from dpsql.releases import Cell, bar, cell, list_cell

EXPLAIN = "EXPLAIN (FORMAT JSON) "
LONGEST = 64 * 1024
MOST_ROWS = 1000
"""That are shown on a page."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the server of this console listens."""

    host: str
    port: int
    database: str
    encrypted: bool

    @property
    def options(self) -> Mapping[str, Any]:
        return {
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "sslmode": "require" if self.encrypted else "disable",
            "connect_timeout": 10,
            "application_name": "dpsql console",
        }


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column as a page shows it: values, and the ends of their intervals where they were measured."""

    name: str
    values: tuple[Cell, ...]
    ends: tuple[tuple[Cell, Cell] | None, ...] = ()

    @property
    def measured(self) -> bool:
        return any(self.margin(row) is not None for row in range(len(self.values)))

    @property
    def numeric(self) -> bool:
        known = [value for value in self.values if value is not None]
        return bool(known) and all(_is_number(value) for value in known)

    @property
    def temporal(self) -> bool:
        known = [value for value in self.values if value is not None]
        return bool(known) and all(isinstance(value, datetime.date) for value in known)

    def margin(self, row: int) -> float | None:
        """The distance of a value to the farther end of its interval; infinite where a measured number has none."""
        value, ends = self.values[row], self.ends[row] if self.ends else None
        if not self.ends or not _is_number(value):
            return None
        if ends is None:
            return math.inf
        return max(abs(float(end) - float(value)) for end in ends)  # type: ignore[arg-type]

    def text(self, row: int) -> str:
        items: object = self.values[row]
        if isinstance(items, list):
            ends: Any = self.ends[row] if self.ends else None
            known = [] if ends is None else [_item_margin(*one) for one in zip(*ends, items, strict=True)]
            return list_cell(_array_text(items), known or [math.inf] * len(items))
        # A month is a day without an hour.
        return cell(self.values[row], self.margin(row)).removesuffix(" 00:00:00")

    def error(self, row: int) -> str:
        margin = self.margin(row)
        return "" if margin is None else bar(margin, isinstance(self.values[row], int))


@dataclass(frozen=True, slots=True)
class Result:
    """What a question was answered with, and what the server said of it."""

    columns: tuple[ShownColumn, ...]
    rows: int
    notices: tuple[str, ...]
    tag: str

    @property
    def shown(self) -> range:
        return range(min(self.rows, MOST_ROWS))

    @property
    def unknown(self) -> bool:
        """Whether a number that was measured has no interval."""
        return any(column.margin(row) == math.inf for column in self.columns for row in self.shown)

    @property
    def csv(self) -> str:
        """All rows with the ends of their intervals, as ``dpsql query --format csv`` writes them, in base 64."""
        found: list[tuple[str, Sequence[Cell]]] = []
        for column in self.columns:
            found.append((column.name, column.values))
            if column.ends:
                both = [ends or (None, None) for ends in column.ends]
                found += [
                    (f"{column.name}_{end}", [pair[at] for pair in both]) for at, end in enumerate(("low", "high"))
                ]
        lines = [[name for name, _ in found], *zip(*(values for _, values in found), strict=True)]
        text = "".join(",".join(map(_field, line)) + "\n" for line in lines)
        return base64.b64encode(text.encode()).decode()


class AskingAnalyst:
    """One analyst's connection. One question at a time, from any thread."""

    def __init__(self, address: ServerAddress, name: str, password: str) -> None:
        """Raises :class:`dpsql.errors.Error` where the server lets nobody in by these."""
        self.name = name
        self._lock = threading.Lock()
        self._notices: list[str] = []
        self._address, self._password = address, password
        self._connection = self._connect()

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        with _as_ours():
            found = psycopg.connect(
                user=self.name, password=self._password or None, autocommit=True, **self._address.options
            )
        found.add_notice_handler(lambda told: self._notices.append(told.message_primary or ""))
        return found

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def explain(self, text: str, epsilon: str) -> Mapping[str, Any]:
        """What a statement would do and cost, free. Raises :class:`dpsql.errors.Error`."""
        with self._lock, _as_ours(len(EXPLAIN)):
            self._settle(epsilon)
            row = self._execute(f"{EXPLAIN}{_checked(text)}").fetchone()
            found: Mapping[str, Any] = json.loads(row[0] if row else "[{}]")[0]
            return found

    def answer(self, text: str, epsilon: str) -> Result:
        """The answer of a statement, which is charged for. Raises :class:`dpsql.errors.Error`."""
        with self._lock, _as_ours():
            self._settle(epsilon)
            self._notices.clear()
            cursor = self._execute(_checked(text))
            if cursor.description is None:
                return Result((), 0, tuple(self._notices), cursor.statusmessage or "")
            rows = cursor.fetchall()
            names = [column.name for column in cursor.description]
            return Result(shown_columns(names, rows), len(rows), tuple(self._notices), cursor.statusmessage or "")

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of one of our own questions, about budget and columns."""
        with self._lock, _as_ours():
            self._settle("")
            return self._execute(text).fetchall()

    def _settle(self, epsilon: str) -> None:
        """The settings of each question, whatever the one before has set."""
        if self._connection.closed:
            self._connection = self._connect()
        self._connection.execute("ROLLBACK")
        self._connection.execute("RESET ALL")
        self._connection.execute("SET dpsql.intervals = on")
        if epsilon:
            self._connection.execute(sql.SQL("SET dpsql.epsilon = {}").format(sql.Literal(epsilon)))

    def _execute(self, text: str) -> psycopg.Cursor[tuple[Any, ...]]:
        cursor = self._connection.cursor()
        # In binary, since the extended protocol takes one statement alone.
        cursor.execute(text.encode(), binary=True)
        return cursor


class _as_ours:  # noqa: N801
    """Errors of the driver as errors of ours, at their place in a text that began with so many characters of ours."""

    def __init__(self, before: int = 0) -> None:
        self._before = before

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, psycopg.Error):
            told = problem.diag
            if problem.sqlstate is None and re.search("authentication failed|no password supplied", str(problem)):
                # The driver does not say why it was not let in but in words.
                raise error("the name or the password is not right", sqlstate="28P01") from None
            message = told.message_primary or "the server cannot be reached"
            place = told.statement_position
            raise error(
                message,
                sqlstate=problem.sqlstate or "08006",
                hint=told.message_hint or "",
                position=int(place) - self._before if place and place.isdigit() else None,
            ) from None


def _checked(text: str) -> str:
    if len(text) > LONGEST:
        raise error("the statement is too long", sqlstate="54001")
    if not text.strip().rstrip(";").strip():
        raise error("there is no statement", sqlstate="42601", hint="write a SELECT")
    return text.strip().rstrip(";")


def shown_columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> tuple[ShownColumn, ...]:
    """The columns, each with the two after it where these are the ends of its intervals."""
    found: list[ShownColumn] = []
    at = 0
    while at < len(names):
        values = tuple(row[at] for row in rows)
        if list(names[at + 1 : at + 3]) == [f"{names[at]}_low", f"{names[at]}_high"]:
            pairs = [(row[at + 1], row[at + 2]) for row in rows]
            ends = tuple(pair if all(map(_has_distance, pair)) else None for pair in pairs)
            found.append(ShownColumn(names[at], values, ends))
            at += 3
        else:
            found.append(ShownColumn(names[at], values))
            at += 1
    return tuple(found)


def _field(value: Any) -> str:
    return field(_array_text(value) if isinstance(value, list) else value)


def _array_text(items: Sequence[float | None]) -> str:
    return "{" + ",".join("NULL" if one is None else str(one) for one in items) + "}"


def _has_distance(value: object) -> bool:
    return _is_number(value) or isinstance(value, list)


def _item_margin(low: float | None, high: float | None, value: float | None) -> float:
    return math.inf if low is None or high is None or value is None else max(high - value, value - low)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
