"""A ledger in PostgreSQL: what is in it is charged, and two proxies on two machines share one budget.

Guarantee: charges are only ever added, and the server itself adds none beyond the limits. A group of charges is one
message: begin, lock the row of everybody's total, decide and add in one statement, commit. It arrives whole or not at
all, so that no client holds the lock while it thinks, or is cut off. READ COMMITTED is enough: the deciding statement
takes its snapshot after the lock was had, and nobody adds without the lock.

Why an unknown outcome does no harm: where a connection ends before the answer came, the same message is sent again,
with the same ids. If the first one was committed its ids are found, under the lock, and that is the answer; if it
arrives late, it finds them itself and adds nothing. So nothing is charged twice, nor read for before an answer came.

Losses are ``numeric`` and exact. The server has to wait for its disk (``fsync``); one that fails over to another that
has not received the last charges is noticed by their number while this process lives.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dpsql.accounting import Accountant, PrivacyLoss
from dpsql.ledger.charges import (
    EVERYBODY,
    NOTHING,
    PAUSED,
    Busy,
    Charge,
    Failed,
    Group,
    Lost,
    NoLedger,
    Spent,
    Total,
    Unsound,
    check_belongs,
    decimal,
    exceeded,
    standing,
    together,
)
from dpsql.ledger.orders import Orders
from dpsql.ledger.postgres_sql import ADDING, CURVES, FORMAT, SCHEMA, SPANS, SUMS, TOTALS
from dpsql.ledger.row_times import Span
from dpsql.ledger.tally import Counted, Limits, Tally
from dpsql.postgresql import DEFAULTS, reason

_Connection = psycopg.Connection[tuple[Any, ...]]
_Read = TypeVar("_Read")

OLDEST = 15

_SETTINGS: tuple[LiteralString, ...] = (
    "SET search_path = pg_catalog, pg_temp",
    "SET default_transaction_isolation = 'read committed'",
    "SET default_transaction_read_only = off",
    "SET standard_conforming_strings = on",
    "SET timezone = 'UTC'",
    "SET datestyle = 'ISO, YMD'",
    "SET client_min_messages = error",
    "SET row_security = off",  # an error where rows are hidden, and not a smaller sum
    "SET jit = off",
    # A commit waits for the disk. What is stronger than that, such as waiting for a second server, is left as it is.
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
)
_HAS: LiteralString = (
    "SELECT FROM pg_attribute WHERE attrelid = to_regclass('dpsql_ledger.' || %s) AND attname = %s AND NOT attisdropped"
)
# What says that the transaction was given up because of others; and that the ledger is not what it was.
_OTHERS = {"55P03", "57014", "40P01", "40001", "53300"}
_CHANGED = ("42P01", "42703", "3F000", "23")


@dataclass(frozen=True, slots=True)
class _Window:
    """A window of time, or rows of one time: the filter of it, what is counted of it, and what is to be added."""

    name: str
    filter: Accountant
    span: Span
    spent: PrivacyLoss
    new: PrivacyLoss


class PostgresJournal:
    """One process's hold on the ledger: a connection that writes and one that reads, each for one thread at a time."""

    def __init__(
        self, url: str, facts: Mapping[str, str], timeout: float, *, create: bool = True, limits: Limits | None = None
    ) -> None:
        """Open or create, for a policy with these facts. Raises Busy, Failed, Unsound; no text holds a password."""
        self._url, self._timeout = url, timeout
        self._writer: _Connection | None = None
        self._reader: _Connection | None = None
        self._last = 0
        declared: Limits = limits or {}
        self._tally = Tally(declared)
        self._orders = Orders(declared)
        try:
            self._guarded(lambda: self._prepare(facts, create))
            self.identity = self._read(lambda reader: self._verify(reader, facts))
            self._guarded(self._follow)
        except BaseException:
            self.close()
            raise

    def append(self, groups: Sequence[Group]) -> list[Spent | None]:
        """All groups in one message; where not all of them fit, each in one of its own."""
        self._orders.follow(lambda number: self._repeated(lambda writer: _orders(writer, number)))
        stopped = {name for name in self._orders.paused if any(name == group[0].analyst for group in groups)}
        if len(groups) > 1 and not stopped and self._add([charge for group in groups for charge in group]) is None:
            return [None] * len(groups)
        answers: list[Spent | None] = []
        # Sums only grow, but a window may end between two messages: then nobody knows.
        seen: dict[str, Spent] = {}
        for group in groups:
            who = group[0].analyst
            if not together(group):
                answers.append(self._add(group))  # an order of the owner's, which nothing refuses
                continue
            if who in stopped:
                answers.append(PAUSED)
                continue
            # What did not fit when another charge of this analyst was refused does not fit now.
            known = None if self._tally.follows else seen.get(who)
            if known is None or not exceeded(known, together(group)):
                known = self._add(group)
            if known is not None:
                seen[who] = known
            answers.append(known)
        return answers

    def read_total(self, analyst: str) -> Total:
        return self._read(lambda reader: _totals(reader, analyst)).get(analyst, NOTHING)

    def read_charges(self, analyst: str | None, limit: int) -> tuple[Charge, ...]:
        """The newest first."""
        rows = self._read(
            lambda reader: reader.execute(
                "SELECT id, time, analyst, epsilon::text, rho::text, delta::text, curve::text[],"
                " statement, tables, span"
                " FROM dpsql_ledger.charge WHERE %s::text IS NULL OR analyst = %s ORDER BY number DESC LIMIT %s",
                (analyst, analyst, limit),
            ).fetchall()
        )
        return tuple(
            Charge(id_, time_, who, _loss(parts), statement, tuple(json.loads(tables)), Span.of_text(span))
            for id_, time_, who, *parts, statement, tables, span in rows
        )

    def read_newest(self, number: int) -> tuple[int, datetime] | None:
        return self._read(lambda reader: _newest(reader, number))

    def read_newer(self, number: int, since: datetime) -> list[Counted]:
        return self._read(lambda reader: _newer(reader, number, since))

    def read_orders(self, number: int) -> tuple[int, list[tuple[str, str]]]:
        return self._read(lambda reader: _orders(reader, number))

    def verify(self) -> None:
        """Pages are the server's: it tells a damaged one by its checksum. What was written is read as it was."""

    def read_times(self, charges: Sequence[str]) -> Mapping[str, datetime]:
        found: LiteralString = "SELECT id, time FROM dpsql_ledger.charge WHERE id = ANY (%s)"
        return dict(self._read(lambda reader: reader.execute(found, (list(charges),)).fetchall()))

    def close(self) -> None:
        for connection in (self._writer, self._reader):
            if connection is not None:
                connection.close()

    # Opening

    def _connect(self) -> _Connection:
        """A new connection, in autocommit. Raises psycopg.Error, or Unsound for a server that keeps no promise."""
        patience = f"{max(1, math.ceil(self._timeout * 1000))}"
        wishes = {"connect_timeout": str(max(2, math.ceil(self._timeout))), "tcp_user_timeout": patience}
        quick = {"application_name": "dpsql ledger", "keepalives_idle": "5", "keepalives_interval": "2"}
        parameters = DEFAULTS | quick | wishes | conninfo_to_dict(self._url) | {"client_encoding": "UTF8"}
        # Binding on this side: only then can several statements be one message.
        connection: _Connection = psycopg.connect(
            make_conninfo("", **parameters), autocommit=True, cursor_factory=psycopg.ClientCursor
        )
        try:
            for setting in _SETTINGS:
                connection.execute(setting)
            for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"):
                connection.execute("SELECT set_config(%s, %s, false)", (name, patience))
            _check_server(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, facts: Mapping[str, str], create: bool) -> None:
        writer = self._writing()
        with writer.transaction():
            # Two proxies that start together: one of them makes it.
            writer.execute("SELECT pg_advisory_xact_lock(hashtextextended('dpsql_ledger', 0))")
            fresh = not writer.execute("SELECT FROM pg_namespace WHERE nspname = 'dpsql_ledger'").fetchall()
            if fresh and not create:
                raise NoLedger("there is none yet")
            if fresh:
                writer.execute(SCHEMA)
                facts = {"format": FORMAT, "identity": uuid.uuid4().hex, **facts}
            elif not writer.execute(_HAS, ("total", "curve")).fetchall():
                writer.execute(CURVES)
            if not writer.execute(_HAS, ("charge", "span")).fetchall():
                writer.execute(SPANS)
            # One that was begun without a fact belongs to the first policy that states it.
            for fact in facts.items():
                writer.execute("INSERT INTO dpsql_ledger.fact VALUES (%s, %s) ON CONFLICT DO NOTHING", fact)

    def _verify(self, reader: _Connection, wanted: Mapping[str, str]) -> str:
        """The ledger's identity, after its facts and totals were found to be sound."""
        with reader.transaction():
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            facts: dict[str, str] = dict(reader.execute("SELECT fact, value FROM dpsql_ledger.fact").fetchall())
            if facts.get("format") != FORMAT or "identity" not in facts:
                raise Unsound("the ledger is of another format")
            check_belongs(facts, wanted)
            sums = {name: Total(_loss(parts), charges) for name, *parts, charges in reader.execute(SUMS)}
            kept = {name: total for name, total in _totals(reader).items() if total != NOTHING}
            if kept != sums:
                raise Unsound("the totals of the ledger are not the sums of its charges")
            last, many = reader.execute(
                "SELECT coalesce(max(number), 0), count(*) FROM dpsql_ledger.charge"
            ).fetchall()[0]
            if last != many:
                raise Unsound("charges are missing from the ledger")
            self._last = many
        return str(facts["identity"])

    # Writing

    def _follow(self) -> None:
        """Count what was charged in the windows that are open; without windows, only when this begins."""
        if self._tally.follows or not self._tally.number:
            self._tally.follow(
                lambda number: self._repeated(lambda writer: _newest(writer, number)),
                lambda *after: self._repeated(lambda writer: _newer(writer, *after)),
            )

    def _add(self, charges: Group) -> Spent | None:
        """Add all of the charges or none; what was spent where they do not fit."""
        while True:
            self._follow()
            try:
                return self._add_at(charges, self._tally.at(max(charge.time for charge in charges)))
            except _Late:
                continue  # Another proxy has charged in a later window: that one is open now.

    def _add_at(self, charges: Group, at: datetime) -> Spent | None:
        """The same in the windows around a time of the ledger. Raises _Late where it is in a later one by now."""
        rows = [*_columns(charges)]
        names = sorted({EVERYBODY, *(charge.analyst for charge in charges)})
        filters = [(name, one) for name in names for one in self._orders.limits.get(name, ())]
        ever = [(name, one) for name, one in filters if one.per is None]
        windows = [window for name, one in filters for window in self._windows(name, one, charges, at)]
        message = {
            **dict(zip(_COLUMNS, rows, strict=True)),
            "at": at,
            "limited": [name for name, _ in ever],
            **_parts("most", (one.limit for _, one in ever)),
            "windowed": [one.name for one in windows],
            "begins": [one.span.begin for one in windows],
            "ends": [one.span.end for one in windows],
            "of_rows": [one.filter.of_rows for one in windows],
            "counted": self._tally.number,
            **_parts("begun", (one.spent for one in windows)),
            **_parts("window", (one.filter.limit for one in windows)),
            **_parts("new", (one.new for one in windows)),
            "identity": self.identity,
            "last": self._last,
        }
        identity, before, known, late, fits, spent, opened = self._repeated(lambda writer: _ask(writer, message))
        if identity != self.identity or before < self._last or known not in (0, len(charges)):
            raise Unsound("the ledger is not the one that was opened, or has lost charges")
        if not known and late:
            raise _Late
        if not known and not fits:
            self._last = before
            standings = [standing(name, one, _loss(spent[name]), at) for name, one in ever]
            standings += [
                replace(standing(one.name, one.filter, _loss(parts), at), rows=one.span if one.filter.of_rows else None)
                for one, parts in zip(windows, opened or (), strict=True)
            ]
            return tuple(sorted(standings, key=lambda one: one.whose))
        self._last = before + len(charges) - known
        return None

    def _windows(self, name: str, filter_: Accountant, charges: Group, at: datetime) -> Iterator[_Window]:
        """The open window of a filter, or the times of rows that charges are about; none for a filter of all time."""
        own = [charge for charge in charges if name in (EVERYBODY, charge.analyst)]
        if filter_.window is not None:
            spent = self._tally.spent(filter_.window, name, at)
            span = Span(filter_.window.begin(at), filter_.window.end(at))
            yield _Window(name, filter_, span, spent, together(own))
        elif filter_.of_rows:
            if self._tally.row_times is None:
                raise Unsound("nobody says what is spent of rows of each time")
            after = self._tally.row_times.copy()
            for charge in own:
                after.add(name, charge.span, charge.loss)
            for charge in own:
                for span, spent in after.parts(name, charge.span):
                    before = self._tally.row_times.most(name, span)
                    yield _Window(name, filter_, span, before, spent - before)

    def _repeated(self, question: Callable[[_Connection], _Read]) -> _Read:
        """The server's answer to a message, which is sent again for as long as connections end before it comes."""
        deadline, sent, pause = time.monotonic() + self._timeout, False, 0.01
        while True:
            try:
                writer = self._writing()
                sent = True
                return question(writer)
            except psycopg.Error as error:
                if self._writer is not None and not self._writer.closed:
                    _roll_back(self._writer)
                    problem = self._translated(error)
                    break
                if time.monotonic() > deadline:
                    problem = (Lost if sent else Failed)(reason(self._url, error))
                    break
            time.sleep(pause)
            pause = min(2 * pause, 0.5)
        raise problem

    def _writing(self) -> _Connection:
        if self._writer is None or self._writer.closed:
            self._writer = self._connect()
        return self._writer

    # Reading

    def _read(self, question: Callable[[_Connection], _Read]) -> _Read:
        """Asked again, once, where the connection has died since."""
        return self._guarded(lambda: question(self._reading()), again=True)

    def _reading(self) -> _Connection:
        if self._reader is None or self._reader.closed:
            self._reader = self._connect()
        return self._reader

    def _guarded(self, act: Callable[[], _Read], again: bool = False) -> _Read:
        """No error of the driver's leaves, nor goes along as a context: it may hold the connection string."""
        try:
            return act()
        except psycopg.Error as error:
            if not (again and self._reader is not None and self._reader.closed):
                problem = self._translated(error)
                again = False
        if again:
            return self._guarded(act)
        raise problem

    def _translated(self, error: psycopg.Error) -> Exception:
        """Raised by a server that still answers: nothing was changed."""
        state = error.sqlstate or ""
        if state in _OTHERS:
            return Busy()
        why = reason(self._url, error)
        return Unsound(why) if state.startswith(_CHANGED) else Failed(why)


def _parts(name: str, losses: Iterable[PrivacyLoss]) -> dict[str, list[str]]:
    """ε, ρ and δ of some losses, each as a list of decimals, and their curves."""
    every = [_decimals(loss) for loss in losses]
    parts = ("epsilon", "rho", "delta", "curve")
    return {f"{name}_{part}": [one[place] for one in every] for place, part in enumerate(parts)}


def _decimals(loss: PrivacyLoss) -> list[str]:
    """ε, ρ and δ; and a curve as the text of an array."""
    epsilon, rho, delta, *curve = map(decimal, loss.parts)
    return [epsilon, rho, delta, f"{{{','.join(curve)}}}"]


def _newest(connection: _Connection, number: int) -> tuple[int, datetime] | None:
    newest = "SELECT max(number), max(time) FROM dpsql_ledger.charge WHERE number > %s"
    ((last, time_),) = connection.execute(newest, (number,)).fetchall()
    return None if last is None else (last, time_)


def _newer(connection: _Connection, number: int, since: datetime) -> list[Counted]:
    newer = (
        "SELECT number, time, analyst, epsilon::text, rho::text, delta::text, curve::text[], span"
        " FROM dpsql_ledger.charge WHERE number > %s AND time >= %s::timestamptz ORDER BY number"
    )
    rows = connection.execute(newer, (number, since.isoformat()))
    return [(charge, time_, who, _loss(parts), Span.of_text(span)) for charge, time_, who, *parts, span in rows]


def _orders(connection: _Connection, number: int) -> tuple[int, list[tuple[str, str]]]:
    ((last,),) = connection.execute("SELECT coalesce(max(number), 0) FROM dpsql_ledger.charge").fetchall()
    rows = connection.execute(
        "SELECT analyst, statement FROM dpsql_ledger.charge WHERE number > %s AND number <= %s"
        " AND epsilon = 0 AND rho = 0 AND delta = 0 AND cardinality(curve) = 0 ORDER BY number",
        (number, last),
    )
    return last, rows.fetchall()


class _Late(Exception):
    """The ledger is in a later window than a charge that was sent."""


def _ask(connection: _Connection, message: Mapping[str, object]) -> tuple[Any, ...]:
    """Send the message, and find the deciding statement's answer after the lock's."""
    cursor = connection.execute(ADDING, message)
    answer: tuple[Any, ...] = ()
    while True:
        if cursor.description:
            (answer,) = cursor.fetchall()
        if not cursor.nextset():
            return answer


def _roll_back(connection: _Connection) -> None:
    """After an error inside the message the server waits for the end of the transaction; nothing of it stays."""
    try:
        connection.rollback()
    except psycopg.Error:
        connection.close()


def _check_server(connection: _Connection) -> None:
    version = connection.info.server_version // 10_000
    if version < OLDEST:
        raise Unsound(f"PostgreSQL {version} is too old: a ledger needs {OLDEST} or newer")
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise Unsound("the database of the ledger is not encoded in UTF8")
    fsync, standby = connection.execute("SELECT current_setting('fsync'), pg_is_in_recovery()").fetchall()[0]
    if fsync != "on":
        raise Unsound("the server does not wait for its disk (fsync is off): what is charged there can be lost")
    if standby:
        raise Failed("the server is a standby, and takes no charges")


def _totals(connection: _Connection, analyst: str | None = None) -> dict[str, Total]:
    rows = connection.execute(TOTALS, {"analyst": analyst})
    return {name: Total(_loss(parts), charges) for name, *parts, charges in rows}


_COLUMNS = ("ids", "times", "analysts", "epsilons", "rhos", "deltas", "curves", "statements", "tables", "spans")


def _columns(charges: Group) -> Sequence[list[object]]:
    texts = ([_text(one) for one in (c.statement, json.dumps(c.tables), str(c.span))] for c in charges)
    rows = ((c.id, c.time, _text(c.analyst), *_decimals(c.loss), *more) for c, more in zip(charges, texts, strict=True))
    return [list(column) for column in zip(*rows, strict=True)]


def _text(value: str) -> str:
    """PostgreSQL has no character 0."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _loss(parts: Sequence[Any]) -> PrivacyLoss:
    """Of ε, ρ and δ as texts, and a list of the texts of a curve."""
    *box, curve = parts
    try:
        return PrivacyLoss.of_parts(Fraction(part) for part in (*box, *curve))
    except ValueError:
        raise Unsound("a loss in the ledger is not a number") from None
