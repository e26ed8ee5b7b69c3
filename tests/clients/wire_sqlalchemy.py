"""What a SQLAlchemy program does over the wire, as checks that take the URL of a running ``dpsql serve`` of the clinic.

Each check is a function of an engine, so that the drivers (psycopg, psycopg2, asyncpg, pg8000) run the very same.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, Table, create_engine, desc, exc, func, inspect, select, text, types
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from dpsql.interfaces.commands.demo_clinic import DIAGNOSES, PATIENTS, REGIONS

DRIVERS = ("psycopg", "psycopg2", "asyncpg", "pg8000")


class Base(DeclarativeBase):
    pass


class Patient(Base):
    __tablename__ = "patient"
    id: Mapped[int] = mapped_column(primary_key=True)
    sex: Mapped[str]


class Region(Base):
    __tablename__ = "region"
    name: Mapped[str] = mapped_column(primary_key=True)
    country: Mapped[str]


def reflection(connection: Connection) -> None:
    """Tables, columns, keys and comments are the policy's."""
    seen = inspect(connection)
    assert set(seen.get_table_names()) == {"region", "patient", "visit"}
    assert set(seen.get_table_names("dpsql")) == {"budget", "charges", "columns"}
    columns = {column["name"]: column for column in seen.get_columns("patient")}
    assert isinstance(columns["birth_year"]["type"], types.SMALLINT)
    assert columns["sex"]["comment"] == "private, key set F, M, MODE is approximate"
    assert seen.get_pk_constraint("patient")["constrained_columns"] == ["id"]
    assert [key["referred_table"] for key in seen.get_foreign_keys("visit")] == ["patient"]
    assert seen.get_check_constraints("patient") == []
    assert not seen.has_table("pg_secret")


def core(connection: Connection) -> None:
    """A reflected table's aggregate has the right value, and again the same value."""
    metadata = MetaData()
    patient = Table("patient", metadata, autoload_with=connection)
    region = Table("region", metadata, autoload_with=connection, schema="public")
    query = (
        select(patient.c.diagnosis, func.count().label("n"))
        .where(patient.c.diagnosis.in_(["asthma", "migraine"]), patient.c.birth_year >= 1900)
        .group_by(patient.c.diagnosis)
        .order_by(desc("n"))
        .limit(1)
    )
    ((name, n),) = connection.execute(query).all()
    assert name in ("asthma", "migraine")
    assert abs(n - DIAGNOSES[name]) < 150
    assert connection.execute(query).all() == [(name, n)]
    rows = connection.execute(select(region.c.name, region.c.population).order_by(region.c.name)).all()
    assert rows == sorted((name, population) for name, _, population, _ in REGIONS)


def orm(connection: Connection) -> None:
    """Aggregates over mapped classes, objects of a public table."""
    with Session(connection) as session:
        counted = session.execute(select(Patient.sex, func.count(Patient.id)).group_by(Patient.sex)).all()
        assert abs(sum(n for _, n in counted) - PATIENTS) < 300
        tyrol = session.get(Region, "Tyrol")
        assert tyrol is not None
        assert tyrol.country == "Austria"


def refusals(connection: Connection) -> None:
    """Errors are DB-API errors with their SQLSTATE, and the connection lives on after a rollback."""
    for statement, state in (
        ("SELECT * FROM patient", "42501"),
        ("INSERT INTO region VALUES ('x', 'y', 1)", "42501"),
        ("SELECT COUNT(*) FROM secret", "42P01"),
        ("SELECT COUNT(*) FORM patient WHERE", "42601"),
    ):
        try:
            connection.execute(text(statement))
        except exc.DBAPIError as problem:
            assert _sqlstate(problem.orig) == state, statement
        else:
            raise AssertionError(f"not refused: {statement}")
        connection.rollback()
    assert connection.execute(text("SELECT 1")).scalar() == 1


CHECKS: Mapping[str, Callable[[Connection], None]] = {
    "reflection": reflection,
    "core": core,
    "orm": orm,
    "refusals": refusals,
}


def run(
    driver: str, host: str, port: int, analyst: str, check: Callable[[Connection], None], password: str = ""
) -> None:
    """One check over one driver: ``run("psycopg", "127.0.0.1", 5433, "ana", core)``."""
    secret = f":{password}" if password else ""
    url = f"postgresql+{driver}://{analyst}{secret}@{host}:{port}/clinic"
    if driver == "asyncpg":
        asyncio.run(_asynchronously(url, check))
        return
    engine: Engine = create_engine(url)
    try:
        with engine.connect() as connection:
            check(connection)
    finally:
        engine.dispose()


async def _asynchronously(url: str, check: Callable[[Connection], None]) -> None:
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            await connection.run_sync(check)
    finally:
        await engine.dispose()


def _sqlstate(problem: Any) -> str:
    """Where each driver keeps it."""
    for name in ("sqlstate", "pgcode"):
        if state := getattr(problem, name, None):
            return str(state)
    first = problem.args[0] if problem.args else ""
    return str(first["C"]) if isinstance(first, dict) else ""
