"""SQLAlchemy over ``dpsql:///policy.yaml``, in this process: reflection, Core, ORM, pandas, polars, refusals."""

import datetime
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pandas
import polars
import pytest
from sqlalchemy import (
    Engine,
    MetaData,
    Table,
    bindparam,
    case,
    cast,
    create_engine,
    desc,
    exc,
    extract,
    func,
    insert,
    inspect,
    literal,
    select,
    text,
    types,
)
from sqlalchemy.dialects import registry
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import dpsql
from dpsql.interfaces.commands.demo_clinic import DIAGNOSES, PATIENTS, REGIONS

registry.register("dpsql", "dpsql.interfaces.sqlalchemy", "DPSQLDialect")


@pytest.fixture
def engine(policy: Path) -> Iterator[Engine]:
    engine = create_engine(f"dpsql:///{policy}?analyst=ana&epsilon=0.5")
    yield engine
    engine.dispose()


@pytest.fixture
def clinic(engine: Engine) -> MetaData:
    metadata = MetaData()
    metadata.reflect(engine)
    return metadata


def spent(engine: Engine) -> float:
    with engine.connect() as connection:
        return float(connection.connection.budget().spent_epsilon)


# The URL


def test_the_url_names_policy_analyst_and_settings(policy: Path) -> None:
    for url in (f"dpsql:///{policy}?analyst=guest&epsilon=0.125", f"dpsql://guest@/{policy}?epsilon=0.125"):
        with create_engine(url).connect() as connection:
            assert connection.connection.analyst == "guest"
            assert connection.exec_driver_sql("SHOW dpsql.epsilon").scalar() == "0.125"


def test_a_relative_path_is_relative(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(policy.parent)
    with create_engine("dpsql:///policy.yaml?analyst=ana").connect() as connection:
        assert connection.connection.analyst == "ana"


@pytest.mark.parametrize(
    "url", ["dpsql://host:5432/x.yaml", "dpsql://a:secret@/x.yaml", "dpsql:///x?epsilon=1&epsilon=2"]
)
def test_a_url_that_means_a_server_or_two_things_is_refused(url: str) -> None:
    with pytest.raises(exc.ArgumentError):
        create_engine(url).connect()


@pytest.mark.parametrize("query", ["analyst=stranger", ""])
def test_who_may_not_connect_is_an_operational_error(policy: Path, query: str) -> None:
    with pytest.raises(exc.OperationalError, match="ana, guest"):
        create_engine(f"dpsql:///{policy}?{query}").connect()


def test_a_bad_setting_is_a_data_error(policy: Path) -> None:
    with pytest.raises(exc.DataError, match="at most 1"):
        create_engine(f"dpsql:///{policy}?analyst=ana&epsilon=7").connect()


# Reflection


def test_reflection_is_free_and_tells_what_the_policy_declares(engine: Engine) -> None:
    seen = inspect(engine)
    assert seen.get_schema_names() == ["dpsql", "public"]
    assert seen.default_schema_name == "public"
    assert seen.get_table_names() == seen.get_table_names("public") == ["region", "patient", "visit"]
    assert seen.get_table_names("dpsql") == ["budget", "charges", "columns"]
    assert seen.get_table_names("nowhere") == seen.get_view_names() == []
    assert seen.has_table("visit")
    assert seen.has_table("budget", schema="dpsql")
    assert not seen.has_table("budget")
    assert not seen.has_table("nothing")
    assert not seen.has_table("visit", schema="dpsql")
    assert seen.get_pk_constraint("patient")["constrained_columns"] == ["id"]
    assert seen.get_pk_constraint("visit")["constrained_columns"] == []
    (key,) = seen.get_foreign_keys("visit")
    assert (key["constrained_columns"], key["referred_table"], key["referred_columns"]) == (
        ["patient_id"],
        "patient",
        ["id"],
    )
    assert seen.get_table_comment("patient")["text"] == "private: one person per row"
    assert seen.get_indexes("patient") == seen.get_check_constraints("visit") == []
    assert spent(engine) == 0


def test_columns_have_types_nullability_and_comments(engine: Engine) -> None:
    columns = {column["name"]: column for column in inspect(engine).get_columns("patient")}
    assert list(columns) == "id sex birth_year height_cm weight_kg smoker diagnosis region".split()
    assert isinstance(columns["birth_year"]["type"], types.SMALLINT)
    assert isinstance(columns["weight_kg"]["type"], types.Float)
    assert columns["smoker"]["nullable"]
    assert not columns["sex"]["nullable"]
    assert columns["sex"]["comment"] == "private, key set F, M, MODE is approximate"
    visit = {column["name"]: column["type"] for column in inspect(engine).get_columns("visit", schema="public")}
    assert isinstance(visit["day"], types.DATE)
    assert (visit["cost"].precision, visit["cost"].scale) == (8, 2)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "method", "get_columns get_pk_constraint get_foreign_keys get_indexes get_table_comment".split()
)
@pytest.mark.parametrize(
    ("name", "schema"), [("secret", None), ("patient", "dpsql"), ("budget", None), ("patient", "x")]
)
def test_what_the_policy_does_not_name_does_not_exist(
    engine: Engine, method: str, name: str, schema: str | None
) -> None:
    with pytest.raises(exc.NoSuchTableError):
        getattr(inspect(engine), method)(name, schema=schema)


def test_metadata_reflects_foreign_keys_and_the_schema_of_the_budget(engine: Engine, clinic: MetaData) -> None:
    assert set(clinic.tables) == {"region", "patient", "visit"}
    (key,) = clinic.tables["visit"].foreign_keys
    assert key.column is clinic.tables["patient"].c.id
    metadata = MetaData(schema="dpsql")
    metadata.reflect(engine)
    assert set(metadata.tables) == {"dpsql.budget", "dpsql.charges", "dpsql.columns"}


# Core


def test_a_grouped_aggregate_is_near_the_truth_and_costs_what_the_url_said(engine: Engine, clinic: MetaData) -> None:
    patient = clinic.tables["patient"]
    query = (
        select(patient.c.diagnosis, func.count().label("n"))
        .where(patient.c.diagnosis.in_(["asthma", "migraine"]), patient.c.birth_year >= bindparam("year"))
        .group_by(patient.c.diagnosis)
        .order_by(desc("n"))
        .limit(1)
    )
    with engine.connect() as connection:
        ((name, n),) = connection.execute(query, {"year": 1900}).all()
        assert name in ("asthma", "migraine")
        assert abs(n - DIAGNOSES[name]) < 60
        assert spent(engine) == pytest.approx(0.5, rel=0.01) or spent(engine) > 0.5
        before = spent(engine)
        assert connection.execute(query, {"year": 1900}).all() == [(name, n)]
    assert spent(engine) == before, "the same question is free"


def test_rows_of_a_public_table_come_exactly_and_free(engine: Engine, clinic: MetaData) -> None:
    region = clinic.tables["region"]
    query = select(region.c.name, region.c.population).where(region.c.country == "Austria").order_by(region.c.name)
    with engine.connect() as connection:
        rows = connection.execute(query.limit(2).offset(1)).all()
    wanted = sorted((name, population) for name, country, population, _ in REGIONS if country == "Austria")
    assert rows == wanted[1:3]
    assert spent(engine) == 0


def test_a_join_a_case_and_a_decimal_sum(engine: Engine, clinic: MetaData) -> None:
    patient, visit = clinic.tables["patient"], clinic.tables["visit"]
    acute = case((visit.c.reason == "acute", visit.c.cost), else_=literal(Decimal("0.00")))
    query = (
        select(patient.c.sex, func.sum(visit.c.cost), func.sum(acute), func.avg(visit.c.cost), func.count(visit.c.day))
        .join(visit)
        .where(visit.c.day >= datetime.date(2025, 1, 1))
        .group_by(patient.c.sex)
        .having(func.count() > 10)
        .order_by(patient.c.sex)
    )
    with engine.connect() as connection:
        rows = connection.execute(query).all()
    assert [row[0] for row in rows] == ["F", "M"]
    for _, total, part, mean, count in rows:
        assert isinstance(total, Decimal)
        assert 0 < part < total
        assert abs(float(total) / count - float(mean)) < 0.2 * float(mean)


def test_numbers_come_as_the_type_that_was_asked(engine: Engine) -> None:
    query = select(
        cast(literal(1.5), types.Numeric(8, 2)),
        cast(literal(1.5), types.Float),
        cast(literal(True), types.Boolean),
        cast(literal("2025-03-01"), types.Date),
        cast(literal(None), types.Numeric(8, 2)),
        literal("thi%s :may ca%(u)se? troub:1e"),
    )
    with engine.connect() as connection:
        row = connection.execute(query).one()
    assert row == (Decimal("1.50"), 1.5, True, datetime.date(2025, 3, 1), None, "thi%s :may ca%(u)se? troub:1e")
    assert [type(value) for value in row[:2]] == [Decimal, float]


def test_text_takes_named_parameters(engine: Engine) -> None:
    with engine.connect() as connection:
        query = text("SELECT name FROM region WHERE country = :country ORDER BY name LIMIT :some")
        assert connection.execute(query, {"country": "Austria", "some": 1}).scalar() == "Styria"


def test_extract_and_date_trunc_group_by_a_parameter(engine: Engine, clinic: MetaData) -> None:
    day = clinic.tables["visit"].c.day
    month = extract("month", day)
    with engine.connect() as connection:
        rows = connection.execute(select(month, func.count()).group_by(month).order_by(month)).all()
    assert [int(row[0]) for row in rows] == list(range(1, 13))


def test_the_budget_is_a_table(engine: Engine) -> None:
    with engine.connect() as connection:
        assert connection.execute(text("SELECT epsilon FROM dpsql.budget WHERE analyst IS NULL")).scalar() == 10


def test_a_reflected_budget_is_read(engine: Engine) -> None:
    budget = Table("budget", MetaData(), autoload_with=engine, schema="dpsql")
    with engine.connect() as connection:
        assert connection.execute(select(budget.c.epsilon).where(budget.c.analyst.is_(None))).scalar() == 10


def test_a_table_may_be_named_with_its_schema(engine: Engine) -> None:
    patient = Table("patient", MetaData(), autoload_with=engine, schema="public")
    with engine.connect() as connection:
        rows = connection.execute(select(patient.c.sex, func.count()).group_by(patient.c.sex)).all()
    assert sorted(row[0] for row in rows) == ["F", "M"]


# ORM


class Base(DeclarativeBase):
    pass


class Patient(Base):
    __tablename__ = "patient"
    id: Mapped[int] = mapped_column(primary_key=True)
    sex: Mapped[str]
    birth_year: Mapped[int]


class Region(Base):
    __tablename__ = "region"
    name: Mapped[str] = mapped_column(primary_key=True)
    country: Mapped[str]


def test_the_orm_aggregates_private_tables_and_loads_public_objects(engine: Engine) -> None:
    with Session(engine) as session:
        counts = dict(session.execute(select(Patient.sex, func.count(Patient.id)).group_by(Patient.sex)).all())
        assert abs(sum(counts.values()) - PATIENTS) < 100
        tyrol = session.get(Region, "Tyrol")
        assert tyrol is not None
        assert tyrol.country == "Austria"
        assert (
            session.scalars(select(Region).where(Region.country == "Germany").order_by(Region.name)).first() is not None
        )
        with pytest.raises(exc.NotSupportedError):
            session.get(Patient, 1)


def test_the_orm_cannot_write(engine: Engine) -> None:
    with Session(engine) as session:
        session.add(Region(name="Carinthia", country="Austria"))
        with pytest.raises(exc.NotSupportedError, match="only reads"):
            session.commit()
        session.rollback()
        session.add_all([Region(name="a", country="x"), Region(name="b", country="x")])
        with pytest.raises(exc.NotSupportedError, match="only reads"):
            session.flush()


# Refusals


def test_refusals_are_sqlalchemys_classes(engine: Engine, clinic: MetaData) -> None:
    region = clinic.tables["region"]
    with engine.connect() as connection:
        for statement, kind in (
            (select(clinic.tables["patient"]), exc.NotSupportedError),
            (insert(region).values(name="x"), exc.NotSupportedError),
            (region.update().values(name="x"), exc.NotSupportedError),
            (region.delete(), exc.NotSupportedError),
            (text("SELECT COUNT(*) FROM secret"), exc.ProgrammingError),
            (text("SELECT COUNT(*) FROM"), exc.ProgrammingError),
            (text("SET dpsql.epsilon = 99"), exc.DataError),
        ):
            with pytest.raises(exc.DBAPIError) as caught:
                connection.execute(statement)
            assert type(caught.value) is kind, str(statement)
            assert isinstance(caught.value.orig, dpsql.Error)
    assert spent(engine) == 0


def test_ddl_is_refused(engine: Engine) -> None:
    with pytest.raises(exc.NotSupportedError, match="only reads"):
        MetaData().create_all(engine, [Table("new", MetaData())]) or Base.metadata.drop_all(engine)


def test_an_exhausted_budget_is_an_operational_error_and_charges_nothing(policy: Path) -> None:
    engine = create_engine(f"dpsql:///{policy}?analyst=guest&epsilon=0.25&reuse=false")
    with engine.connect() as connection:
        with pytest.raises(exc.OperationalError) as caught:
            for year in range(1940, 2000):
                connection.execute(text("SELECT COUNT(*) FROM patient WHERE birth_year > :year"), {"year": year})
        assert isinstance(caught.value.orig, dpsql.BudgetExceeded)
        assert not caught.value.connection_invalidated
        before = connection.connection.budget().spent_epsilon
        assert 0 < before <= 1.25
        connection.execute(text("SELECT COUNT(*) FROM region"))
        assert connection.connection.budget().spent_epsilon == before


def test_a_rollback_gives_no_budget_back(engine: Engine) -> None:
    with engine.connect() as connection, connection.begin() as transaction:
        with connection.begin_nested():
            connection.execute(text("SELECT COUNT(*) FROM patient"))
        transaction.rollback()
    assert spent(engine) > 0


def test_a_pool_pings_and_replaces_closed_connections(policy: Path) -> None:
    engine = create_engine(f"dpsql:///{policy}?analyst=ana", pool_pre_ping=True)
    with engine.connect() as connection:
        raw = connection.connection.dbapi_connection
    assert raw is not None
    raw.close()
    with engine.connect() as connection:
        assert connection.execute(select(1)).scalar() == 1


# Data frames


def test_pandas_and_polars_read_an_engine(engine: Engine) -> None:
    query = "SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex ORDER BY sex"
    frame = pandas.read_sql(query, engine)
    assert list(frame.columns) == ["sex", "n"]
    assert abs(frame["n"].sum() - PATIENTS) < 100
    with engine.connect() as connection:
        other = polars.read_database(query, connection)
    assert other["n"].to_list() == frame["n"].to_list(), "the second reader is answered from the store"
    regions = pandas.read_sql_table("region", engine)
    assert sorted(regions["name"]) == sorted(name for name, *_ in REGIONS)


def test_the_module_does_not_shadow_sqlalchemy(tmp_path: Path) -> None:
    program = "import dpsql.interfaces.sqlalchemy, sqlalchemy; assert 'dpsql' not in sqlalchemy.__file__.rsplit('/', 2)[1]; import dpsql.interfaces.python"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
