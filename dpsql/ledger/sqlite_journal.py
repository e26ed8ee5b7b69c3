"""The SQLite file of a ledger: what is in it is charged, and survives a crash or a loss of power.

Charges are only ever added. Running totals, one row per analyst and one for all, are kept in the same transaction
and are compared with the sum of the charges whenever the file is opened.

Why a lock file beside it: writers take turns on ``<path>-lock`` and never meet inside SQLite. Its own waiting backs
off to 100 ms steps and starves a writer for seconds; and SQLite before 3.51.3 can corrupt a write-ahead log when one
process writes while another moves the log into the file. The lock vanishes with the process that holds it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache, partial

from dpsql.accounting import PrivacyLoss
from dpsql.calendar_unit import CalendarUnit
from dpsql.ledger.charges import (
    ACCOUNTING,
    EVERYBODY,
    NOTHING,
    Admitted,
    Busy,
    Charge,
    Group,
    NoLedger,
    Spent,
    Total,
    Unsound,
    check_belongs,
)
from dpsql.ledger.lock_file import locked
from dpsql.ledger.orders import Orders
from dpsql.ledger.row_times import Span
from dpsql.ledger.tally import Counted, Limits, Tally

FORMAT = "1"

_SCHEMA = """
CREATE TABLE ledger (fact TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE charge (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    time TEXT NOT NULL,
    analyst TEXT NOT NULL CHECK (analyst <> ''),
    epsilon TEXT NOT NULL,
    rho TEXT NOT NULL,
    delta TEXT NOT NULL,
    curve TEXT NOT NULL DEFAULT '',
    statement TEXT NOT NULL,
    tables TEXT NOT NULL,
    span TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE total (
    analyst TEXT PRIMARY KEY,
    epsilon TEXT NOT NULL,
    rho TEXT NOT NULL,
    delta TEXT NOT NULL,
    curve TEXT NOT NULL DEFAULT '',
    charges INTEGER NOT NULL
) STRICT;
CREATE TRIGGER charge_stays BEFORE UPDATE ON charge BEGIN SELECT raise(ABORT, 'charges are only added'); END;
CREATE TRIGGER charge_stays_in BEFORE DELETE ON charge BEGIN SELECT raise(ABORT, 'charges are only added'); END;
"""


class SQLiteJournal:
    """One process's hold on the file: a connection that writes and one that reads. Each is for one thread at a time."""

    def __init__(
        self, path: str, facts: Mapping[str, str], timeout: float, *, create: bool = True, limits: Limits | None = None
    ) -> None:
        """Open or create, for a policy with these facts. Raises Busy, Unsound, OSError or sqlite3.Error."""
        self._path, self._timeout = path, timeout
        declared: Limits = limits or {}
        self._tally = Tally(declared)
        self._orders = Orders(declared)
        self._last = 0
        if not create and not os.path.exists(path):
            raise NoLedger("there is none yet")
        self._lock = os.open(f"{path}-lock", os.O_CREAT | os.O_RDWR, 0o600)
        self._connections: list[sqlite3.Connection] = []
        try:
            with self._turn():
                if not os.path.exists(path):
                    self._begin(facts)
                self._file = _file(path)
                self._writer = self._connect(path)
                self._prepare(facts)
            self._reader = self._connect(path)
            self.identity = self._verify(facts)
        except BaseException:
            self.close()
            raise

    def _connect(self, path: str) -> sqlite3.Connection:
        # isolation_level=None: transactions begin and end where this file says so.
        connection = sqlite3.connect(path, timeout=self._timeout, isolation_level=None, check_same_thread=False)
        self._connections.append(connection)
        for setting in ("synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    def _turn(self) -> AbstractContextManager[None]:
        """Hold the lock file."""
        return locked(self._lock, self._timeout)

    def _begin(self, facts: Mapping[str, str]) -> None:
        """Make a ledger beside its place, and move it there when it is whole and on the disk.

        So an empty file at its place is a ledger that lost its content, and never one that nobody has begun.
        """
        if os.path.exists(f"{self._path}-wal"):
            raise Unsound("its log is there without it")
        new = f"{self._path}-new"
        for left in (new, f"{new}-journal"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(left)
        # For the owner's eyes: SQLite gives the files that it puts beside this one the same mode.
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = self._connect(new)
        with _transaction(connection, "EXCLUSIVE"):
            for statement in _SCHEMA.split(";\n"):
                # A trigger's body ends inside its line; executescript would commit half of this.
                connection.execute(statement)
            first = {"format": FORMAT, "identity": uuid.uuid4().hex, **facts}
            connection.executemany("INSERT INTO ledger VALUES (?, ?)", first.items())
        connection.close()
        os.replace(new, self._path)
        _sync_directory(self._path)

    def _prepare(self, facts: Mapping[str, str]) -> None:
        """Adopt: a ledger that was begun before a fact was kept belongs to the first policy that states it."""
        if self._writer.execute("PRAGMA journal_mode=WAL").fetchone()[0] != "wal":
            raise Unsound("the file system does not allow a write-ahead log")
        with _transaction(self._writer, "IMMEDIATE"):
            if not self._writer.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                raise Unsound("the file is empty: what was charged in it is lost; remove it only if nothing ever was")
            known = dict(self._writer.execute("SELECT fact, value FROM ledger"))
            if known.get("format") == FORMAT:
                new = [(fact, value) for fact, value in facts.items() if fact not in known and fact != ACCOUNTING]
                self._writer.executemany("INSERT INTO ledger VALUES (?, ?)", new)
                self._add_columns()

    def _add_columns(self) -> None:
        """A ledger that was begun before there were curves, or spans, has none in it: its charges are of all times."""
        for table, new in (("charge", "curve"), ("total", "curve"), ("charge", "span")):
            if new not in {column[1] for column in self._writer.execute(f"PRAGMA table_info({table})")}:
                self._writer.execute(f"ALTER TABLE {table} ADD COLUMN {new} TEXT NOT NULL DEFAULT ''")

    def _verify(self, wanted: Mapping[str, str]) -> str:
        """The ledger's identity, after its facts and totals were found to be sound."""
        with _transaction(self._reader, "DEFERRED"):
            facts = dict(self._reader.execute("SELECT fact, value FROM ledger"))
            if facts.get("format") != FORMAT or "identity" not in facts:
                raise Unsound("the ledger is of another format")
            check_belongs(facts, wanted)
            sums = self._summed_totals()
            if self._kept_totals() != sums:
                raise Unsound("the totals of the ledger are not the sums of its charges")
            self._last = sums.get(EVERYBODY, NOTHING).charges
        return str(facts["identity"])

    def _kept_totals(self) -> dict[str, Total]:
        rows = self._reader.execute("SELECT analyst, epsilon, rho, delta, curve, charges FROM total")
        return {analyst: Total(_loss(parts), charges) for analyst, *parts, charges in rows}

    def _summed_totals(self) -> dict[str, Total]:
        sums: dict[str, Total] = {}
        grouped = "SELECT analyst, epsilon, rho, delta, curve, count(*) FROM charge GROUP BY 1, 2, 3, 4, 5"
        for name, *parts, count in self._reader.execute(grouped):
            loss = _loss(parts)
            for whose in (name, EVERYBODY):
                before = sums.get(whose, NOTHING)
                sums[whose] = Total(before.spent + loss * count, before.charges + count)
        numbers = "coalesce(min(number), 1), coalesce(max(number), 0), count(*), count(DISTINCT number)"
        # NOT INDEXED: the index of the ids has numbers of its own, which would be counted instead of those of the rows.
        first, *same = self._reader.execute(f"SELECT {numbers} FROM charge NOT INDEXED").fetchone()
        # Sums of windows are counted by number: one that is another would leave a charge out.
        if first != 1 or len(set(same)) > 1:
            raise Unsound("charges are missing from the ledger")
        return sums

    def append(self, groups: Sequence[Group]) -> list[Spent | None]:
        """One transaction for all of them."""
        with self.writing():
            before = self.total(EVERYBODY).charges
            if before < self._last:
                raise Unsound("the ledger has lost charges since it was opened")
            self._tally.follow(self._newest, self._newer)
            self._orders.follow(partial(_orders, self._writer))
            at = self._tally.at(max(charge.time for group in groups for charge in group))
            windowed = partial(self._spent_in_window, at)
            orders, times = self._orders, self._tally.row_times
            admission = Admitted(self.total, orders.limits, windowed, at, orders.paused, times)
            refusals = admission.decide(groups)
            if admission.admitted:
                self.add([replace(charge, time=at) for charge in admission.admitted], admission.totals())
        self._last = before + len(admission.admitted)
        return refusals

    def _spent_in_window(self, at: datetime, period: CalendarUnit, name: str) -> PrivacyLoss:
        return self._tally.spent(period, name, at)

    def _newest(self, number: int) -> tuple[int, datetime] | None:
        return _newest(self._writer, number)

    def _newer(self, number: int, since: datetime) -> Iterator[Counted]:
        return _newer(self._writer, number, since)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that alone may write. It is durable when this block has been left; raises Busy before."""
        with self._turn(), _transaction(self._writer, "IMMEDIATE"):
            if _file(self._path) != self._file:
                raise Unsound("the file of the ledger was moved or replaced while it was open")
            yield

    def total(self, analyst: str) -> Total:
        """Inside :meth:`writing`: the running total that the next charge adds to."""
        return _total(self._writer, analyst)

    def add(self, charges: Sequence[Charge], totals: dict[str, Total]) -> None:
        """Inside :meth:`writing`: charges in their order, and the totals that they lead to."""
        self._writer.executemany(
            "INSERT INTO charge (id, time, analyst, epsilon, rho, delta, curve, statement, tables, span)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (c.id, c.time.isoformat(), c.analyst, *_text(c.loss), c.statement, _list(c.tables), str(c.span))
                for c in charges
            ],
        )
        self._writer.executemany(
            "INSERT OR REPLACE INTO total (analyst, epsilon, rho, delta, curve, charges) VALUES (?, ?, ?, ?, ?, ?)",
            [(analyst, *_text(total.spent), total.charges) for analyst, total in totals.items()],
        )

    def read_total(self, analyst: str) -> Total:
        return _total(self._reader, analyst)

    def read_charges(self, analyst: str | None, limit: int) -> tuple[Charge, ...]:
        """The newest first."""
        rows = self._reader.execute(
            "SELECT id, time, analyst, epsilon, rho, delta, curve, statement, tables, span FROM charge"
            " WHERE ?1 IS NULL OR analyst = ?1 ORDER BY number DESC LIMIT ?2",
            (analyst, limit),
        )
        return tuple(_charge(row) for row in rows)

    def read_newest(self, number: int) -> tuple[int, datetime] | None:
        return _newest(self._reader, number)

    def read_newer(self, number: int, since: datetime) -> Iterator[Counted]:
        return _newer(self._reader, number, since)

    def read_orders(self, number: int) -> tuple[int, list[tuple[str, str]]]:
        return _orders(self._reader, number)

    def verify(self) -> None:
        """Every page of the file."""
        for (said,) in self._reader.execute("PRAGMA integrity_check(1)"):
            if said != "ok":
                raise Unsound(f"the file is damaged ({said})")

    def read_times(self, charges: Sequence[str]) -> Mapping[str, datetime]:
        marks = ", ".join("?" * len(charges))
        rows = self._reader.execute(f"SELECT id, time FROM charge WHERE id IN ({marks})", tuple(charges))
        return {id_: datetime.fromisoformat(time_) for id_, time_ in rows}

    def close(self) -> None:
        """Give back files and locks. The last one to close moves the log into the file, so it waits for its turn."""
        if self._lock < 0:
            return
        with contextlib.suppress(Busy), self._turn():
            for connection in self._connections:
                connection.close()
        os.close(self._lock)
        self._lock = -1


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, kind: str) -> Iterator[None]:
    try:
        connection.execute(f"BEGIN {kind}")
    except sqlite3.OperationalError as cause:
        # The low byte is the primary code. Someone holds the file without our lock: a tool of the owner's.
        if cause.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise Busy from cause
        raise
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _file(path: str) -> tuple[int, int]:
    state = os.stat(path)
    return state.st_dev, state.st_ino


def _total(connection: sqlite3.Connection, analyst: str) -> Total:
    total = "SELECT epsilon, rho, delta, curve, charges FROM total WHERE analyst = ?"
    row = connection.execute(total, (analyst,)).fetchone()
    return Total(_loss(row[:4]), row[4]) if row else NOTHING


def _newest(connection: sqlite3.Connection, number: int) -> tuple[int, datetime] | None:
    # Times are written in UTC: the order of their texts is theirs.
    row = connection.execute("SELECT max(number), max(time) FROM charge WHERE number > ?", (number,)).fetchone()
    return None if row[0] is None else (row[0], _time(row[1]))


def _newer(connection: sqlite3.Connection, number: int, since: datetime) -> Iterator[Counted]:
    rows = connection.execute(
        "SELECT number, time, analyst, epsilon, rho, delta, curve, span FROM charge"
        " WHERE number > ? AND time >= ? ORDER BY number",
        (number, since.isoformat()),
    )
    for charge, time_, analyst, *parts, span in rows:
        yield charge, _time(time_), analyst, _loss(parts), _span(span)


def _orders(connection: sqlite3.Connection, number: int) -> tuple[int, list[tuple[str, str]]]:
    (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM charge").fetchone()
    rows = connection.execute(
        "SELECT analyst, statement FROM charge WHERE number > ? AND number <= ?"
        " AND epsilon = '0' AND rho = '0' AND delta = '0' AND curve = '' ORDER BY number",
        (number, last),
    ).fetchall()
    return last, rows


@contextlib.contextmanager
def _undamaged(what: str) -> Iterator[None]:
    """Values of a row, which may be of any type and content where the file is damaged."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, ArithmeticError) as cause:
        raise Unsound(f"the file is damaged: {what}") from cause


def _charge(row: Sequence[str]) -> Charge:
    id_, time_, who, *parts, statement, tables, span = row
    with _undamaged(f"the tables of charge {id_} are no list"):
        named = tuple(map(str, json.loads(tables)))
    with _undamaged(f"charge {id_} is not text"):
        return Charge("" + id_, _time(time_), "" + who, _loss(parts), "" + statement, named, _span(span))


def _span(text: str) -> Span:
    with _undamaged("the times of a charge are none"):
        return Span.of_text(text)


def _time(text: str) -> datetime:
    with _undamaged("the time of a charge is none"):
        time_ = datetime.fromisoformat(text)
        if time_.utcoffset():
            raise ValueError("times are written in UTC")
        return time_.astimezone(UTC) if time_.tzinfo else time_.replace(tzinfo=UTC)


def _loss(parts: Sequence[str]) -> PrivacyLoss:
    with _undamaged("a loss is not a number"):
        *box, curve = parts
        return PrivacyLoss.of_parts(Fraction(part) for part in (*box, *curve.split()))


def _text(loss: PrivacyLoss) -> tuple[str, str, str, str]:
    """ε, ρ and δ, and the divergences of a curve with spaces between them."""
    epsilon, rho, delta, *curve = map(str, loss.parts)
    return epsilon, rho, delta, " ".join(curve)


@lru_cache(maxsize=256)
def _list(tables: tuple[str, ...]) -> str:
    return json.dumps(tables)


def _sync_directory(path: str) -> None:
    """The name of a new file is durable only when its directory is."""
    directory = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
