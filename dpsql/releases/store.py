"""The store of releases: the same release asked again is answered again, with the same numbers, and costs nothing.

Why it is free. A release is public to everybody against whom the ledger's total protects: repeating it tells nobody
anything about the data that the total has not paid for. So an entry is visible to every analyst of the ledger, and it
is free towards their own shares too. A share caps what an analyst may *cause to be released*; it does not bound what an
analyst can learn from the releases of others, as talking to them does not either. Whether there is a hit is decided by
released facts alone: the plan's identity, the owner's data version, and the noise.

Why it depends on its ledger. A release that another ledger paid for, or that a ledger restored from a backup does not
know of any more, is not paid for here. Each entry therefore names its ledger and how many charges it had when the
entry was made, and is used only while its ledger is the same one and has as many. The rest is
thrown away without loss: the file ``<ledger>-releases`` may be deleted at any time. Beside a ledger in PostgreSQL
stands a file of each machine, which asks the ledger how far it has come whenever it is used.

An entry is found by the identity of its plan, or by the families of its statistics (:mod:`rewriter.planner.lineage`):
there other questions about the same rows look for releases to be made of.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Protocol, Self, TypeVar

import pyarrow as pa

from dpsql.errors import OperationalError
from dpsql.memory import Memory, by_identity
from dpsql.releases.integer_column import IntegerColumn
from dpsql.releases.noise import Additive, Noise, Stored
from dpsql.releases.tables import Key, NoisyTable
from dpsql.releases.value_column import ColumnarRows, ValueColumn
from rewriter.declared import Kind, Scalar, Type
from rewriter.plan import NumberCut

_Result = TypeVar("_Result")

_LOG = logging.getLogger("dpsql.store")
_FORMAT = 3
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS release (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    identity TEXT NOT NULL,
    data_version TEXT NOT NULL,
    ledger TEXT NOT NULL,
    charges INTEGER NOT NULL,
    noise TEXT NOT NULL,
    body BLOB NOT NULL,
    facts TEXT NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS measured (
    family TEXT NOT NULL,
    number INTEGER NOT NULL REFERENCES release (number) ON DELETE CASCADE,
    PRIMARY KEY (family, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reads (
    number INTEGER NOT NULL REFERENCES release (number) ON DELETE CASCADE,
    name TEXT NOT NULL,
    begins TEXT,
    ends TEXT,
    PRIMARY KEY (number, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS measured_number ON measured (number);
CREATE INDEX IF NOT EXISTS release_key ON release (identity, data_version);
DROP INDEX IF EXISTS release_size;
CREATE TABLE IF NOT EXISTS held (one INTEGER PRIMARY KEY CHECK (one = 1), size INTEGER NOT NULL) STRICT;
CREATE TRIGGER IF NOT EXISTS release_comes AFTER INSERT ON release BEGIN UPDATE held SET size = size + new.size; END;
CREATE TRIGGER IF NOT EXISTS release_goes AFTER DELETE ON release BEGIN UPDATE held SET size = size - old.size; END;
INSERT OR IGNORE INTO held SELECT 1, coalesce(sum(size), 0) FROM release;
PRAGMA user_version = {_FORMAT};
"""
_THIS_LEDGER = "(SELECT value FROM paid.ledger WHERE fact = 'identity')"
_ITS_CHARGES = "(SELECT coalesce(max(number), 0) FROM paid.charge)"
_ELSEWHERE = """
ATTACH ':memory:' AS paid;
CREATE TABLE paid.ledger (fact TEXT, value TEXT);
CREATE TABLE paid.charge (number INTEGER);
INSERT INTO paid.ledger VALUES ('identity', '');
INSERT INTO paid.charge VALUES (0);
"""
_MOST_CANDIDATES = 100
_TOGETHER = 64
"""Releases of successive numbers, all of which count if one does."""
_REMEMBERED = 20_000_000
_LEAST = 1000
"""Groups that are remembered; what has fewer counts as so many."""

Paid = Callable[[], tuple[str, int]]
"""A ledger's identity, and how many charges it has."""


BOUGHT_TOGETHER = "bought together"
"""The identity of what says which releases were bought as one."""


@dataclass(frozen=True, slots=True)
class BoughtTogether:
    """Releases that were bought as one, to be answered from together: counts of the same rows by different keys.

    ``statistics`` are the families of their statistics. ``members`` have the identity of each release, the names that
    these have there, and the families of its keys. ``asked`` are those sets of keys whose numbers are what
    it was bought for. Their noises, by these identities and names, are those of the table that it is kept
    with. ``readings`` are families of other statistics that are weighted sums of these, whatever the
    data: the places of these, and their weights. ``cuts`` divide columns of numbers into the intervals that are among
    the keys, by the families of the columns. ``merged`` are keys that are blocks of such intervals: the family of each,
    that of the key by intervals, and the block of each interval, with that of NULL last.

    ``completing`` are more members, each of which was measured in those components alone that no member before it tells
    of; versions that know nothing of them see the others. ``sums`` are the identities of the releases that it was
    bought for, where some keys are blocks: other sums of the same cells may be far less accurate than these.

    Without statistics they are the releases of one statement, bought beside others, and ``share`` is its price: ε, ρ
    and δ, and the points of a curve.
    """

    statistics: tuple[str, ...]
    members: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    asked: tuple[tuple[str, ...], ...] = ()
    share: tuple[Fraction, ...] = ()
    readings: tuple[tuple[str, tuple[tuple[int, Fraction], ...]], ...] = ()
    cuts: tuple[tuple[str, tuple[NumberCut, ...]], ...] = ()
    merged: tuple[tuple[str, tuple[str, tuple[int, ...]]], ...] = ()
    completing: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = ()
    sums: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """The facts of a release without its numbers: enough to tell which others are sums of it.

    ``keys`` are the families of its keys, ``statistics`` the family of each statistic by name, ``exhaustive`` as in
    the plan. ``scope`` names the declarations that it was planned under: others may have other groups. ``closed`` are
    those of its keys of which, by proof, every row of people has one of the listed values.
    """

    keys: tuple[str, ...]
    statistics: Mapping[str, str]
    exhaustive: bool
    scope: str
    closed: tuple[str, ...] = ()
    together: BoughtTogether | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored release of a family; ``number`` is its own for ever."""

    number: int
    facts: ReleaseFacts
    table: NoisyTable


@dataclass(frozen=True, slots=True)
class PastReleases:
    """What releases stand under until another state of the data took its place: its latest release, and how many
    charges the ledger had at its first and at its last one."""

    number: int
    first: int
    last: int


class RowsRead(Protocol):
    """Rows of a ``table`` that are in a release: those with times from ``begin`` to before ``end``, where these are
    known."""

    @property
    def table(self) -> str: ...
    @property
    def begin(self) -> datetime.datetime | None: ...
    @property
    def end(self) -> datetime.datetime | None: ...


class ReleaseStore:
    """Noisy tables by plan and data version, beside a ledger. Thread-safe; a failure of the file is a miss.

    ``put`` is called after the charge is durable and the noise is drawn, so that nothing in here is unpaid.
    """

    def __init__(
        self, connection: sqlite3.Connection, noises: Stored, capacity: int, place: Path, paid: Paid | None = None
    ) -> None:
        self.place = place
        self._noises = noises
        self._connection = connection
        self._paid = paid
        self._capacity = capacity
        self._one_at_a_time = threading.Lock()
        self._changes = 0
        self.memory: Memory[int, NoisyTable] = Memory(
            "stored releases", _REMEMBERED, lambda table: max(_LEAST, len(table.keys))
        )
        self._pid = os.getpid()

    @classmethod
    def open(
        cls,
        noises: Stored,
        ledger: str | os.PathLike[str],
        *,
        at: str | os.PathLike[str] | None = None,
        paid: Paid | None = None,
        capacity: int = 1024 * 1024 * 1024,
    ) -> Self:
        """The store of the ledger in the file at this path, which must exist; at most ``capacity`` bytes of releases.

        ``noises`` are the mechanisms by the names that are stored. The store is the file ``at``, or else the one beside
        the ledger. ``paid`` is asked for what the ledger has where it is no file. A store that cannot be read is begun
        anew. Raises OperationalError when that fails too.
        """
        path = Path(os.path.abspath(ledger))
        beside = Path(os.path.abspath(at)) if at is not None else Path(f"{path}-releases")
        source = f"{path.as_uri()}?mode=ro" if paid is None else paid()
        try:
            try:
                connection = _connect(beside, source)
            except sqlite3.DatabaseError:
                for suffix in ("", "-wal", "-shm"):
                    Path(f"{beside}{suffix}").unlink(missing_ok=True)
                connection = _connect(beside, source)
        except (OSError, sqlite3.Error) as cause:
            raise OperationalError(f"the releases at {beside} cannot be stored", sqlstate="58030") from cause
        return cls(connection, noises, capacity, beside, paid)

    def get(self, identity: str, data_version: str, wanted: Mapping[str, Noise]) -> NoisyTable | None:
        """The most accurate stored table whose noise is, for every statistic, no wider than ``wanted``; None: a miss.

        Noises are compared by their squares.
        """
        return self._safely(lambda: self._find(identity, data_version, wanted))

    def related(self, families: Collection[str], data_version: str, scope: str, *, most: int) -> tuple[Entry, ...]:
        """The latest releases, ``most`` at most, that measure a statistic of one of the families under these
        declarations."""
        return self._safely(lambda: self._related(families, data_version, scope, most)) or ()

    def together(self, data_version: str, scope: str) -> tuple[Entry, ...]:
        """What was bought as one under these declarations, the latest first."""
        return self._safely(lambda: self._together(data_version, scope)) or ()

    def past(self, most: int) -> tuple[PastReleases, ...]:
        """The latest states of the data under which there are releases, the latest first."""
        return self._safely(lambda: self._past(most)) or ()

    def version_at(self, tables: Collection[str], number: int) -> str | None:
        """What releases that read just these tables stood under when a release was made."""
        return self._safely(lambda: self._version_at(tables, number))

    def put(
        self,
        identity: str,
        data_version: str,
        table: NoisyTable,
        facts: ReleaseFacts | None = None,
        reads: Collection[RowsRead] = (),
    ) -> None:
        """Keep a release that has been charged. One that is larger than a quarter of the store is not kept.

        Without ``facts`` it is found by its identity alone. ``reads`` are the tables whose rows are in it; where it
        names none, it may be any. Raises TypeError when a key is not a scalar of SQL.
        """
        noise, body = _write(table)
        if len(noise) + len(body) <= self._capacity // 4:
            self._safely(lambda: self._insert(identity, data_version, noise, body, facts, reads))

    @property
    def state(self) -> tuple[object, ...] | None:
        """Equal as long as no release has come or gone, and the ledger has no other charges, in any process; None where
        that is not known."""
        return self._safely(self._state)

    def forget(
        self,
        is_named: Callable[[str], bool],
        begin: datetime.datetime | None = None,
        end: datetime.datetime | None = None,
    ) -> int:
        """Drop all releases in which rows of a table may be, with a time from ``begin`` to before ``end``; and say how
        many. What does not say which rows it has read is dropped. Raises OperationalError."""
        found = self._safely(lambda: self._forget(is_named, begin, end))
        if found is None:
            raise OperationalError(f"the releases at {self.place} cannot be changed", sqlstate="58030")
        return found

    def close(self) -> None:
        if os.getpid() == self._pid:
            with self._one_at_a_time:
                self._connection.close()

    def _safely(self, act: Callable[[], _Result]) -> _Result | None:
        """One thread at a time; None, with a word to the owner, when anything is wrong with the file."""
        try:
            with self._one_at_a_time:
                if os.getpid() != self._pid:
                    raise sqlite3.ProgrammingError("opened before this process was forked")
                if self._paid is not None:
                    _mirror(self._connection, self._paid())
                return act()
        except (sqlite3.Error, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as cause:
            _LOG.warning("a stored release was not used: %s", type(cause).__name__)
        return None

    def _state(self) -> tuple[object, ...]:
        # The file's own number counts what other connections have changed.
        [others] = self._connection.execute("PRAGMA main.data_version").fetchone()
        ledger, charges = self._connection.execute(f"SELECT {_THIS_LEDGER}, {_ITS_CHARGES}").fetchone()
        return ledger, charges, others, self._changes

    def _find(self, identity: str, data_version: str, wanted: Mapping[str, Noise]) -> NoisyTable | None:
        rows = self._connection.execute(
            f"SELECT number, noise FROM release WHERE identity = ? AND data_version = ? AND ledger = {_THIS_LEDGER}"
            f" AND charges <= {_ITS_CHARGES} ORDER BY number DESC LIMIT {_MOST_CANDIDATES + _TOGETHER}",
            (identity, data_version),
        ).fetchall()
        if len(rows) > _MOST_CANDIDATES:
            # The oldest that counts moves in steps, so that the same one is read again.
            oldest = rows[_MOST_CANDIDATES - 1][0] // _TOGETHER * _TOGETHER
            rows = [row for row in rows if row[0] >= oldest]
        # Of many with one noise, the first is read: however often a release was bought, it is compared once.
        first = {noise: number for number, noise in rows}
        compared = [(_excess(_noises(noise, self._noises), wanted), number) for noise, number in first.items()]
        good = [(excess, number) for excess, number in compared if excess is not None]
        if not good:
            return None
        return self._table(min(good)[1])

    def _table(self, number: int) -> NoisyTable:
        entry = "SELECT noise, body, facts, digest FROM release WHERE number = ?"
        return self.memory.get(
            number, lambda: _read(self._noises, *self._connection.execute(entry, (number,)).fetchone())
        )

    def _related(self, families: Collection[str], data_version: str, scope: str, most: int) -> tuple[Entry, ...]:
        marks = ", ".join("?" * len(families))
        rows = self._connection.execute(
            f"SELECT number, facts FROM release WHERE number IN (SELECT number FROM measured WHERE family IN ({marks}))"
            f" AND data_version = ? AND ledger = {_THIS_LEDGER} AND charges <= {_ITS_CHARGES} ORDER BY number DESC",
            (*families, data_version),
        )
        known = ((number, _facts(facts)) for number, facts in rows)
        latest = islice(((number, facts) for number, facts in known if facts and facts.scope == scope), most)
        return tuple(Entry(number, facts, self._table(number)) for number, facts in latest)

    def _forget(
        self, is_named: Callable[[str], bool], begin: datetime.datetime | None, end: datetime.datetime | None
    ) -> int:
        rows = self._connection.execute(
            "SELECT release.number, name, begins, ends FROM release LEFT JOIN reads USING (number)"
        )
        first, last = begin or datetime.datetime.min, end or datetime.datetime.max
        dropped = {
            number
            for number, name, begins, ends in rows
            if name is None
            or (
                is_named(name)
                and _instant(begins, datetime.datetime.min) < last
                and first < _instant(ends, datetime.datetime.max)
            )
        }
        self._connection.execute("PRAGMA secure_delete = ON")
        self._changes += 1
        with _transaction(self._connection):
            self._connection.executemany("DELETE FROM release WHERE number = ?", [(number,) for number in dropped])
        # What was written ahead is not kept either. The ledger, which is attached, may only be read.
        (busy, *_) = self._connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise sqlite3.OperationalError("another process reads the releases")
        return len(dropped)

    def _together(self, data_version: str, scope: str) -> tuple[Entry, ...]:
        rows = self._connection.execute(
            f"SELECT number, facts FROM release WHERE identity = ? AND data_version = ? AND ledger = {_THIS_LEDGER}"
            f" AND charges <= {_ITS_CHARGES} ORDER BY number DESC LIMIT {_MOST_CANDIDATES}",
            (BOUGHT_TOGETHER, data_version),
        )
        known = ((number, _facts(facts)) for number, facts in rows)
        return tuple(
            Entry(number, facts, self._table(number)) for number, facts in known if facts and facts.scope == scope
        )

    def _past(self, most: int) -> tuple[PastReleases, ...]:
        rows = self._connection.execute(
            "SELECT max(number), min(charges), max(charges) FROM release WHERE identity <> ?"
            f" AND ledger = {_THIS_LEDGER} AND charges <= {_ITS_CHARGES}"
            " GROUP BY data_version ORDER BY 1 DESC LIMIT ?",
            (BOUGHT_TOGETHER, most),
        )
        return tuple(PastReleases(*row) for row in rows)

    def _version_at(self, tables: Collection[str], number: int) -> str | None:
        rows = self._connection.execute(
            "SELECT data_version, (SELECT json_group_array(name) FROM"
            " (SELECT name FROM reads WHERE reads.number = release.number ORDER BY name)) AS names"
            f" FROM release WHERE number <= ? AND ledger = {_THIS_LEDGER} AND charges <= {_ITS_CHARGES}"
            " AND names = json(?) ORDER BY number DESC LIMIT 1",
            (number, json.dumps(sorted(tables), ensure_ascii=False)),
        )
        return next((version for version, _ in rows), None)

    def _insert(
        self,
        identity: str,
        data_version: str,
        noise: str,
        body: bytes,
        facts: ReleaseFacts | None,
        reads: Collection[RowsRead],
    ) -> None:
        known = _write_facts(facts)
        size = len(noise) + len(body) + len(known)
        self._changes += 1
        with _transaction(self._connection):
            number = self._connection.execute(
                "INSERT INTO release (identity, data_version, ledger, charges, noise, body, facts, digest, size)"
                f" VALUES (?, ?, {_THIS_LEDGER}, {_ITS_CHARGES}, ?, ?, ?, ?, ?)",
                (identity, data_version, noise, body, known, _digest(noise, body, known), size),
            ).lastrowid
            self._connection.executemany(
                "INSERT INTO measured (family, number) VALUES (?, ?)",
                [(family, number) for family in sorted(set(facts.statistics.values()) - {""} if facts else ())],
            )
            self._connection.executemany(
                "INSERT INTO reads (number, name, begins, ends) VALUES (?, ?, ?, ?)",
                [(number, one.table, _written(one.begin), _written(one.end)) for one in reads],
            )
            self._make_room()

    def _make_room(self) -> None:
        """Drop the oldest releases, until the others are within the capacity."""
        ((held,),) = self._connection.execute("SELECT size FROM held")
        oldest = "SELECT number, size FROM release ORDER BY number LIMIT 1"
        while held > self._capacity and (found := self._connection.execute(oldest).fetchone()) is not None:
            number, size = found
            self._connection.execute("DELETE FROM release WHERE number = ?", (number,))
            held -= size


def _written(instant: datetime.datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()


def _instant(written: str | None, without: datetime.datetime) -> datetime.datetime:
    return without if written is None else datetime.datetime.fromisoformat(written)


@by_identity(1024)
def _excess(stored: Mapping[str, Noise], wanted: Mapping[str, Noise]) -> Fraction | None:
    """How stored variances compare with those wanted, added up; None when one is missing or larger."""
    total = Fraction(0)
    for name, noise in wanted.items():
        if name not in stored or stored[name].square > noise.square:
            return None
        total += stored[name].square / noise.square if noise.scale else 0
    return total


def _connect(path: Path, ledger: str | tuple[str, int]) -> sqlite3.Connection:
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path.as_uri(), uri=True, timeout=2, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        # A loss of power may cost a stored release; it costs no budget and no privacy.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")
        if connection.execute("PRAGMA user_version").fetchone()[0] not in (0, _FORMAT):
            raise sqlite3.DatabaseError("another format")
        connection.executescript(_SCHEMA)
        if isinstance(ledger, str):
            connection.execute("ATTACH ? AS paid", (ledger,))
        else:
            connection.executescript(_ELSEWHERE)
            _mirror(connection, ledger)
        _drop_unpaid(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _mirror(connection: sqlite3.Connection, paid: tuple[str, int]) -> None:
    """Say what a ledger that is no file has now, where SQL of ours looks for it."""
    connection.execute("UPDATE paid.ledger SET value = ?", paid[:1])
    connection.execute("UPDATE paid.charge SET number = ?", paid[1:])


def _drop_unpaid(connection: sqlite3.Connection) -> None:
    connection.execute(f"DELETE FROM release WHERE ledger <> {_THIS_LEDGER} OR charges > {_ITS_CHARGES}")


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN")  # IMMEDIATE would ask to write to the ledger, too
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


# A line of JSON, and the columns of a large table as Arrow writes a stream. What JSON has is itself (NULL, booleans,
# integers of any size, strings), all else is a pair of tag and text.


_PLAIN = {type(None), bool, int, str}
_LARGE = 1024
"""Groups from which on they are written as columns."""


def _write(table: NoisyTable) -> tuple[str, bytes]:
    """Noise and body of an entry."""
    noise = {name: [one.name, str(one.scale)] for name, one in {**table.noise, **table.picking}.items()}
    body: dict[str, object] = {}
    columns: list[pa.Array] = []
    keys, statistics = table.keys, {name: IntegerColumn.of(column) for name, column in table.statistics.items()}
    if isinstance(keys, ColumnarRows) and len(keys) >= _LARGE:
        body["groups"] = len(keys)
        body["types"] = [[one.type.kind, one.type.bits, one.type.precision, one.type.scale] for one in keys.columns]
        columns += [one.arrow for one in keys.columns]
        alike = [name for name, one in statistics.items() if one.is_narrow and len(one) == len(keys)]
        body["columns"] = alike
        columns += [pa.array(statistics[name].array) for name in alike]
    else:
        body["keys"] = [[value if type(value) in _PLAIN else _tagged(value) for value in key] for key in keys]
    body["statistics"] = {
        name: [] if name in body.get("columns", ()) else column.array.tolist()  # type: ignore[operator]
        for name, column in statistics.items()
    }
    if table.chosen:
        body["chosen"] = table.chosen
    return json.dumps(noise), json.dumps(body, separators=(",", ":")).encode() + b"\n" + _stream(columns)


def _stream(columns: Sequence[pa.Array]) -> bytes:
    if not columns:
        return b""
    batch = pa.record_batch(columns, names=[str(place) for place in range(len(columns))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _write_facts(facts: ReleaseFacts | None) -> str:
    if facts is None:
        return ""
    parts: dict[str, object] = {"keys": facts.keys, "statistics": facts.statistics, "exhaustive": facts.exhaustive}
    parts["scope"] = facts.scope
    if facts.together is not None:
        share = list(map(str, facts.together.share))
        readings = [[name, [[at, str(one)] for at, one in terms]] for name, terms in facts.together.readings]
        cuts = [[name, [[str(cut.at), cut.above] for cut in some]] for name, some in facts.together.cuts]
        together = facts.together
        more = [together.completing, together.sums]
        while more and not more[-1]:
            more.pop()
        parts["together"] = [
            *(together.statistics, together.members, together.asked, share, readings, cuts, together.merged, *more)
        ]
    return json.dumps({**parts, "closed": facts.closed}, default=dict)


def _facts(written: str) -> ReleaseFacts | None:
    if not written:
        return None
    parts = json.loads(written)
    closed = tuple(parts.get("closed", ()))  # not written by versions before this one
    together = _as_one(*parts["together"]) if "together" in parts else None
    return ReleaseFacts(
        tuple(parts["keys"]), parts["statistics"], parts["exhaustive"], parts["scope"], closed, together
    )


def _as_one(
    statistics: list[str] | str,
    members: list[tuple[str, list[str] | str, list[str]]],
    asked: list[list[str]],
    share: list[str],
    readings: Sequence[tuple[str, list[tuple[int, str]]]] = (),
    cuts: Sequence[tuple[str, list[tuple[str, bool]]]] = (),
    merged: Sequence[tuple[str, tuple[str, list[int]]]] = (),
    completing: Sequence[tuple[str, list[str], list[str]]] = (),
    sums: Sequence[str] = (),
) -> BoughtTogether:
    named = tuple((identity, _listed(names), tuple(keys)) for identity, names, keys in members)
    more = tuple((identity, tuple(names), tuple(keys)) for identity, names, keys in completing)
    read = tuple((name, tuple((at, Fraction(one)) for at, one in terms)) for name, terms in readings)
    shares, divided = tuple(map(Fraction, share)), tuple((name, tuple(_cuts(some))) for name, some in cuts)
    blocks = tuple((family, (of, tuple(some))) for family, (of, some) in merged)
    keys, own = tuple(map(tuple, asked)), tuple(sums)
    return BoughtTogether(_listed(statistics), named, keys, shares, read, divided, blocks, more, own)


def _cuts(written: Sequence[tuple[str, bool]]) -> Iterator[NumberCut]:
    for at, above in written:
        yield NumberCut(Fraction(at), above)


def _listed(names: list[str] | str) -> tuple[str, ...]:
    """Names of statistics. Versions before 1.0.0 wrote the one that there was, and "" for none."""
    return tuple(names if isinstance(names, list) else filter(None, (names,)))


def _read(known: Stored, noise: str, body: bytes, facts: str, digest: str) -> NoisyTable:
    if _digest(noise, body, facts) != digest:
        raise ValueError("a stored release was damaged")
    line, _, stream = body.partition(b"\n")
    noises, parts = _noises(noise, known), json.loads(line)
    statistics = {name: IntegerColumn.of(column) for name, column in parts["statistics"].items()}
    keys: Sequence[Key]
    if "types" in parts:
        types = [Type(Kind(kind), *widths) for kind, *widths in parts["types"]]
        columns = pa.ipc.open_stream(stream).read_next_batch().columns if stream else []
        held = [ValueColumn(type_, arrow=column) for type_, column in zip(types, columns, strict=False)]
        keys = ColumnarRows(held, parts["groups"])
        for name, column in zip(parts["columns"], columns[len(types) :], strict=True):
            statistics[name] = IntegerColumn(column.to_numpy())
    else:
        keys = tuple(
            tuple([_untagged(value) if type(value) is list else value for value in key]) for key in parts["keys"]
        )
    chosen = {name: tuple(map(tuple, columns)) for name, columns in parts.get("chosen", {}).items()}
    additive = {name: one for name, one in noises.items() if isinstance(one, Additive)}
    picking = {name: one for name, one in noises.items() if not isinstance(one, Additive)}
    return NoisyTable(keys, statistics, additive, chosen, picking)


@by_identity(1024)
def _noises(text: str, known: Stored) -> Mapping[str, Noise]:
    """Raises KeyError for a mechanism that there is not."""
    return {name: known[law](Fraction(scale)) for name, (law, scale) in json.loads(text).items()}


def _tagged(value: Scalar | None) -> object:
    """A value as JSON holds it.

    >>> _tagged(5), _tagged(Decimal("1.50")), _tagged(datetime.date(2025, 3, 1)), _tagged(0.5)
    (5, ['decimal', '1.50'], ['date', '2025-03-01'], ['double', '0x1.0000000000000p-1'])
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return ["double", value.hex()]
        case Decimal():
            return ["decimal", str(value)]
        case datetime.datetime():  # before date, which it is as well
            return ["timestamp", value.isoformat()]
        case datetime.date():
            return ["date", value.isoformat()]
        case datetime.time():
            return ["time", value.isoformat()]
    raise TypeError(f"{type(value).__name__} is no scalar of SQL")


_UNTAG: Mapping[str, Callable[[str], Scalar]] = {
    "double": float.fromhex,
    "decimal": Decimal,
    "timestamp": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
}


def _untagged(pair: list[str]) -> Scalar:
    tag, text = pair
    return _UNTAG[tag](text)


def _digest(noise: str, body: bytes, facts: str) -> str:
    return hashlib.sha256(b"\n".join((noise.encode(), body, facts.encode()))).hexdigest()
