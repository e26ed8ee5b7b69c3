"""What plans rely on, dropped while dpsql serves: noticed before the charge, and in the snapshot that is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpsql.engines.postgres.line import Line
from dpsql.engines.postgres.postgres_engine import PostgresEngine
from dpsql.errors import OperationalError
from dpsql.proxy import Session
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.engines.test_postgres import ONE
from tests.properties.planted import POLICY

_SETUP = """
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE city (name text PRIMARY KEY);
CREATE TABLE person (id int PRIMARY KEY, city text NOT NULL REFERENCES city, m mood);
CREATE TABLE visit (pid int NOT NULL REFERENCES person, day date);
CREATE TABLE other (id int PRIMARY KEY);
INSERT INTO city VALUES ('x'); INSERT INTO person VALUES (1, 'x', 'good'); INSERT INTO visit VALUES (1, '2024-01-01');
"""
_TABLES = """
  person: {columns: {id: {}, city: {values_from: city.name}, m: {}}}
  city: {public: true}
  visit: {unit: pid -> person.id, max_rows: 2, columns: {pid: {}}}
"""
ANEW = [
    "ALTER TABLE city DROP CONSTRAINT city_pkey CASCADE; INSERT INTO city SELECT 'x' FROM generate_series(1, 100)",
    "ALTER TABLE visit DROP CONSTRAINT visit_pid_fkey",
    "ALTER TABLE visit ALTER pid DROP NOT NULL",
    "ALTER TABLE person DISABLE TRIGGER ALL; ALTER TABLE visit DISABLE TRIGGER ALL",
    "CREATE TABLE newer () INHERITS (person)",
    "ALTER TABLE person ENABLE ROW LEVEL SECURITY",
    "ALTER TYPE mood ADD VALUE 'none'",
    "ALTER TABLE visit ALTER pid TYPE bigint",
    "ALTER TABLE visit RENAME TO was; CREATE TABLE visit (pid int); GRANT SELECT ON visit TO PUBLIC",
    "ALTER TABLE visit DROP CONSTRAINT visit_pid_fkey, ADD FOREIGN KEY (pid) REFERENCES person NOT VALID",
]
UNCHANGED = [
    "GRANT SELECT ON person TO PUBLIC",
    "ANALYZE; VACUUM person",
    "CREATE INDEX ON visit (day)",
    "INSERT INTO city SELECT 'c' || i FROM generate_series(1, 50) AS t(i)",
    "ALTER TABLE other DROP CONSTRAINT other_pkey",
    "ALTER TABLE visit DROP CONSTRAINT visit_pid_fkey, ADD CONSTRAINT again FOREIGN KEY (pid) REFERENCES person",
]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[tuple[Session, psycopg.Connection]]:
    server = shared_server()
    name = server.database(_SETUP)
    text = POLICY.format(database=server.url(name), delta=", delta: 1e-3", accounting="zcdp", epsilon=1)
    (tmp_path / "policy.yaml").write_text(text + _TABLES)
    proxy = open_without_noise(tmp_path / "policy.yaml")
    session = proxy.session()
    session.execute("SELECT COUNT(*) FROM visit JOIN person ON pid = id")
    with server.owner(name) as owner:
        yield session, owner
    proxy.close()


def _spent(session: Session) -> object:
    return session.execute("SELECT * FROM dpsql.budget").rows


@pytest.mark.parametrize("changed", ANEW)
def test_what_plans_rely_on_is_missed_before_the_charge(
    serving: tuple[Session, psycopg.Connection], changed: str
) -> None:
    session, owner = serving
    before = _spent(session)
    for statement in changed.split("; "):
        owner.execute(statement)  # type: ignore[arg-type]
    with pytest.raises(OperationalError, match="cannot be read now") as caught:
        session.execute("SELECT COUNT(*) FROM person JOIN city ON city = name")
    assert caught.value.sqlstate == "58000"
    assert _spent(session) == before


@pytest.mark.parametrize("changed", UNCHANGED)
def test_what_declares_nothing_anew_ends_nothing(serving: tuple[Session, psycopg.Connection], changed: str) -> None:
    session, owner = serving
    for statement in changed.split("; "):
        owner.execute(statement)  # type: ignore[arg-type]
    engine = session._opened.engine
    assert isinstance(engine, PostgresEngine)
    assert len(session.execute("SELECT COUNT(*) FROM person JOIN city ON city = name").rows) == 1


def test_what_is_dropped_between_the_look_and_the_read_is_not_seen_by_the_read(
    serving: tuple[Session, psycopg.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, owner = serving
    engine = session._opened.engine
    assert isinstance(engine, PostgresEngine)
    execute, dropped = Line.execute, []

    def in_between(line: Line, sql: str) -> object:
        if sql.startswith("SELECT COUNT") and not dropped:
            dropped.append(sql)
            owner.execute("ALTER TABLE visit DROP CONSTRAINT visit_pid_fkey; INSERT INTO visit VALUES (77, NULL)")
        return execute(line, sql)

    monkeypatch.setattr(Line, "execute", in_between)
    count = 'SELECT COUNT(*) AS s0 FROM "public"."visit"'
    plan = type(ONE)(count, "postgres", (), ONE.blocks, (), selection=None, cells=None)
    assert engine.run(plan).statistics == {"s0": (1,)}
    assert dropped
    with pytest.raises(OperationalError):
        engine.run(plan)
