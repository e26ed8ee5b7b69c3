"""The neighbour law over whole statements: each of their stages is read over a database and its neighbour.

What the stages released over the first database is released over the second one too, so that both plan the same, and
the exact tables of each stage are compared before noise. So it is tried what a later stage believes of what an earlier
one released, and of public rows that have changed since they were looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from unittest.mock import patch

import duckdb
import pytest

import dpsql.answer as answering
from dpsql.audit.neighbour_law import Groups, MovedTooFar, compare
from dpsql.calibrate import Calibration
from dpsql.errors import Error
from dpsql.mechanisms.sampling import Sampler
from dpsql.perturb import perturb
from dpsql.proxy import Session
from dpsql.releases import ExactTable, NoisyTable
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.new_databases import new_database

GONE = 7
"""The person that the neighbour lacks."""

POLICY = """
database: {database}
ledger: sqlite:{name}.ledger
privacy_unit: {unit}
budget: {{epsilon: 1000, delta: 1e-6}}
statement: {{epsilon: 0.5, max_epsilon: 1}}
tables:
  person:
    columns: {{id: {{}}, ill: {{}}, score: {{range: [0, 100]}}, part: {{values: [0, 1, 2]}}, town: {{}}, tags: {{max_items: 3}}}}
  visit:
{bound}    columns: {{number: {{}}, pid: {{}}, amount: {{range: [0, 50]}}, level: {{range: [0, 120]}}}}
  code: {{public: true}}
  tariff: {{public: true}}
  drawn: {{public: true}}
  part: {{public: true}}
"""

ROWS = """
CREATE TABLE person (id INTEGER PRIMARY KEY, ill BOOLEAN, score DOUBLE, part INTEGER, town VARCHAR, tags VARCHAR[]);
INSERT INTO person SELECT i, i % 2 = 1, i % 90, i % 3, 't' || i % 2, ['a', 'b', 'c'] FROM range(60) AS t(i);
CREATE TABLE visit (number INTEGER PRIMARY KEY, pid INTEGER REFERENCES person(id), amount DOUBLE,
    level INTEGER);
INSERT INTO visit SELECT i, i % 60, i % 50, 3 * (i // 60 % 2) FROM range(180) AS t(i);
CREATE TABLE code (k INTEGER, name VARCHAR);
INSERT INTO code SELECT i % 4, 'x' || i FROM range(40) AS t(i);
CREATE TABLE part (k INTEGER PRIMARY KEY);
INSERT INTO part VALUES (0), (1), (2);
CREATE TABLE price (city VARCHAR, k INTEGER, valid_from TIMESTAMPTZ);
INSERT INTO price VALUES ('a', 0, '2000-01-01');
CREATE VIEW tariff AS SELECT city, k FROM price WHERE valid_from <= now();
CREATE TABLE drawn (j INTEGER, valid_from TIMESTAMPTZ, k INTEGER GENERATED ALWAYS AS (IF(valid_from <= now(), 1, j)));
"""


POSTGRES_ROWS = """
CREATE TABLE person (id INTEGER PRIMARY KEY, ill BOOLEAN, score DOUBLE PRECISION, part INTEGER, town VARCHAR, tags VARCHAR[]);
INSERT INTO person SELECT i, i % 2 = 1, i % 90, i % 3, 't' || i % 2, ARRAY['a', 'b', 'c'] FROM generate_series(0, 59) AS t(i);
CREATE TABLE visit (number INTEGER PRIMARY KEY, pid INTEGER REFERENCES person(id), amount DOUBLE PRECISION,
    level INTEGER);
INSERT INTO visit SELECT i, i % 60, i % 50, 3 * (i / 60 % 2) FROM generate_series(0, 179) AS t(i);
CREATE TABLE code (k INTEGER, name VARCHAR);
INSERT INTO code SELECT i % 4, 'x' || i FROM generate_series(0, 39) AS t(i);
CREATE TABLE part (k INTEGER PRIMARY KEY);
INSERT INTO part VALUES (0), (1), (2);
CREATE TABLE price (city VARCHAR, k INTEGER);
INSERT INTO price VALUES ('a', 0);
CREATE VIEW tariff AS SELECT city, k FROM price;
CREATE TABLE drawn (j INTEGER, k INTEGER);
"""
"""The same rows on a server, where others write: ``tariff`` and ``drawn`` grow by :func:`grow`."""


def grow(databases: Sequence[str]) -> None:
    """Public rows that come after policies over a server's databases were opened."""
    for database in databases:
        with shared_server().owner(database) as connection:
            connection.execute("INSERT INTO price SELECT 'c' || i, 0 FROM generate_series(0, 49) AS t(i)")
            connection.execute("INSERT INTO drawn SELECT i, 1 FROM generate_series(0, 49) AS t(i)")


def two_policies_of_postgres(folder: Path) -> tuple[tuple[Path, Path], list[str]]:
    """Policies of a server's database and of its neighbour, and the names of both databases."""
    databases = [shared_server().database(POSTGRES_ROWS) for _ in range(2)]
    with shared_server().owner(databases[1]) as connection:
        connection.execute(f"DELETE FROM visit WHERE pid = {GONE}")
        connection.execute(f"DELETE FROM person WHERE id = {GONE}")
    for name, database in zip(("here", "there"), databases, strict=True):
        url = shared_server().url(database)
        text = POLICY.format(name=name, database=url, unit="person.id", bound="    max_rows: 3\n")
        (folder / f"{name}.yaml").write_text(text)
    return (folder / "here.yaml", folder / "there.yaml"), databases


def two_policies(folder: Path, *, unit: str = "person.id", later: float | None = None) -> tuple[Path, Path]:
    """Policies of a database and of its neighbour. After so many seconds, ``later``, a view has more rows, and a column
    that told rows apart does not any more."""
    for name in ("here", "there"):
        path = folder / f"{name}.duckdb"
        with new_database(path) as connection:
            connection.execute(ROWS)
            if later is not None:
                at = f"now() + INTERVAL '{later} seconds'"
                connection.execute(f"INSERT INTO price SELECT 'c' || i, 0, {at} FROM range(50) AS t(i)")
                connection.execute(f"INSERT INTO drawn (j, valid_from) SELECT i, {at} FROM range(50) AS t(i)")
        with duckdb.connect(str(path)) as connection:
            if name == "there":
                connection.execute(f"DELETE FROM visit WHERE pid = {GONE}")
        with duckdb.connect(str(path)) as connection:
            if name == "there":
                connection.execute(f"DELETE FROM person WHERE id = {GONE}")
        (folder / f"{name}.yaml").write_text(
            POLICY.format(
                name=name,
                database=f"duckdb:{name}.duckdb",
                unit=unit,
                bound="" if unit == "row" else "    max_rows: 3\n",
            )
        )
    return folder / "here.yaml", folder / "there.yaml"


@contextmanager
def two_sessions(policies: tuple[Path, Path]) -> Iterator[tuple[Session, Session]]:
    """A session of each, without noise, in which each statement is bought anew."""
    with closing(open_without_noise(policies[0])) as one, closing(open_without_noise(policies[1])) as other:
        here, there = one.session(), other.session()
        for session in (here, there):
            session.execute("SET dpsql.reuse = off")
        yield here, there


def stages_moved(here: Session, there: Session, sql: str) -> int:
    """How many releases a statement has, after all of them were compared. Raises :class:`MovedTooFar`, and
    :class:`dpsql.errors.Error` where the statement is refused here."""
    tape: list[tuple[Calibration, ExactTable, NoisyTable]] = []
    unsound: list[MovedTooFar] = []

    def record(exact: ExactTable, calibration: Calibration, sampler: Sampler) -> NoisyTable:
        tape.append((calibration, exact, perturb(exact, calibration, sampler)))
        return tape[-1][-1]

    def replay(exact: ExactTable, calibration: Calibration, sampler: Sampler) -> NoisyTable:
        known, their, noisy = tape[len(seen)]
        seen.append(calibration)
        assert known.plan.identity == calibration.plan.identity, "the neighbour is asked something else"
        try:
            compare(calibration.plan, _groups(their), _groups(exact))
        except MovedTooFar as moved:
            unsound.append(moved)
        return noisy

    seen: list[Calibration] = []
    with patch.object(answering, "perturb", record):
        ours = here.execute(sql)
    with patch.object(answering, "perturb", replay):
        theirs = there.execute(sql)
    if unsound:
        raise unsound[0]
    assert ours.rows == theirs.rows
    assert len(seen) == len(tape)
    return len(tape)


def _groups(table: ExactTable) -> Groups:
    names = table.statistics
    return {tuple(key): {name: int(names[name][row]) for name in names} for row, key in enumerate(table.keys)}


def assert_sound(here: Session, there: Session, statements: Sequence[str], answered: float = 0.9) -> None:
    """No person moves a stage of a statement further than is declared, and enough statements are answered."""
    refused = []
    for sql in statements:
        try:
            assert stages_moved(here, there, sql), sql
        except Error as reason:
            assert reason.sqlstate != "XX000", sql
            refused.append(sql)
        except MovedTooFar as moved:
            pytest.fail(f"{moved}\n{sql}")
    assert len(refused) <= (1 - answered) * len(statements), refused
