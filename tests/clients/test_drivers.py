"""Python's PostgreSQL drivers, unchanged: values are compared with each other and with what is known of the clinic."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
from decimal import Decimal

import asyncpg
import pandas as pd
import pg8000.dbapi
import pg8000.native
import psycopg
import psycopg2
import pytest
import sqlalchemy as sa
from psycopg.rows import dict_row

from tests.clients.served import Served

BY_SEX = "SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex ORDER BY sex"
KNOWN = {"F": 5170, "M": 4830}


@pytest.fixture
def connection(server: Served) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as opened:
        yield opened


def near(rows: list[tuple[str, int]]) -> bool:
    return [row[0] for row in rows] == ["F", "M"] and all(abs(row[1] - KNOWN[row[0]]) < 100 for row in rows)


# psycopg 3


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_types(connection: psycopg.Connection, binary: bool) -> None:
    plain = (
        "SELECT DATE '2025-01-31', TIMESTAMP '2025-01-31 10:20:30.5', 1.50::numeric(5,2), true, NULL::int, 1e300::float8,"
        " 'é''\"'::text, CAST(-32768 AS int2)"
    )
    cursor = connection.cursor(binary=binary)
    assert cursor.execute(plain).fetchone() == (
        datetime.date(2025, 1, 31), datetime.datetime(2025, 1, 31, 10, 20, 30, 500000), Decimal("1.50"), True, None,
        1e300, "é'\"", -32768,
    )  # fmt: skip
    assert near(cursor.execute(BY_SEX).fetchall())
    row = cursor.execute("SELECT AVG(height_cm) AS h, SUM(height_cm) AS s, COUNT(*) AS n FROM patient").fetchone()
    assert row is not None
    assert isinstance(row[0], float)
    assert 150 < row[0] < 190
    assert abs(row[1] / row[2] - row[0]) < 2


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_binds_parameters(connection: psycopg.Connection, binary: bool) -> None:
    cursor = connection.cursor(binary=binary, row_factory=dict_row)
    mark = "%b" if binary else "%s"
    sql = f"SELECT day, COUNT(*) AS n FROM visit WHERE day BETWEEN {mark} AND {mark} AND cost >= {mark} GROUP BY day ORDER BY day"
    first, last = datetime.date(2025, 3, 1), datetime.date(2025, 3, 5)
    cursor.execute("SET dpsql.empty_groups = show")
    rows = cursor.execute(sql, [first, last, Decimal("1.5")]).fetchall()
    shown = [row["day"] for row in rows]
    assert set(shown) >= {first + datetime.timedelta(days=n) for n in range(5)}
    assert sorted(shown) == shown
    many = cursor.execute("SELECT COUNT(*) AS n FROM patient WHERE sex = ANY(%s)", [["F", "M"]]).fetchone()
    one = cursor.execute("SELECT COUNT(*) AS n FROM patient WHERE sex = %s AND birth_year > %s", ["F", 1900]).fetchone()
    assert many is not None
    assert one is not None
    assert abs(many["n"] - 10_000) < 100
    assert abs(one["n"] - KNOWN["F"]) < 100


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_decodes_documents_and_arrays_by_their_types(connection: psycopg.Connection, binary: bool) -> None:
    """As PostGraphile and others do: what is told as text is shown as text, or as nothing."""
    groups = "(SELECT sex, COUNT(*) AS n, AVG(height_cm) AS h FROM patient GROUP BY sex) AS g"
    sql = f"""SELECT json_build_object('n', SUM(n)) AS one, array_agg(n ORDER BY sex) AS counts, array_agg(h) AS heights,
        array_agg(sex ORDER BY sex) AS keys, COALESCE((SELECT json_agg(n) FROM {groups}), '[]'::json) AS rows
        FROM {groups}"""
    cursor = connection.cursor(binary=binary)
    cursor.execute(sql)
    assert [column.type_code for column in cursor.description or ()] == [114, 1016, 1022, 1009, 114]
    one, counts, heights, keys, rows = cursor.fetchone() or ()
    assert near(list(zip(keys, counts, strict=True)))
    assert one == {"n": sum(counts)}
    assert sorted(rows) == sorted(counts)
    assert all(isinstance(height, float) for height in heights)


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_a_server_side_cursor_with_parameters(server: Served, binary: bool) -> None:
    sql = "SELECT sex, COUNT(*) AS n FROM patient WHERE birth_year > %s AND sex = ANY(%s) GROUP BY sex ORDER BY sex"
    with psycopg.connect(server.dsn) as opened, opened.cursor(name="several", binary=binary) as cursor:
        cursor.itersize = 1
        cursor.execute(sql, [1900, ["F", "M"]])
        assert near(list(cursor))


def test_sqlalchemy_and_pandas_read_by_parts(server: Served) -> None:
    engine = sa.create_engine(server.url.replace("postgresql", "postgresql+psycopg"))
    sql = sa.text("SELECT sex, COUNT(*) AS n FROM patient WHERE birth_year > :first GROUP BY sex ORDER BY sex")
    with engine.connect() as opened:
        parts = list(opened.execution_options(yield_per=1).execute(sql, {"first": 1900}).partitions(1))
        assert [len(part) for part in parts] == [1, 1]
        assert near([tuple(row) for part in parts for row in part])
    with engine.connect().execution_options(stream_results=True) as opened:
        frames = list(pd.read_sql(sql, opened, params={"first": 1900}, chunksize=1))
    assert near(list(pd.concat(frames).itertuples(index=False, name=None)))
    engine.dispose()


def test_psycopg_prepares_what_comes_again(connection: psycopg.Connection) -> None:
    sql = "SELECT COUNT(*) FROM patient WHERE birth_year > %s"
    answers = {connection.execute(sql, [1950], prepare=True).fetchone() for _ in range(8)}
    assert len(answers) == 1


def test_psycopg_pipelines(connection: psycopg.Connection) -> None:
    with connection.pipeline():
        first, second, third = (connection.execute(text) for text in ("SELECT 1", BY_SEX, "SELECT 3"))
    assert first.fetchone() == (1,)
    assert near(second.fetchall())
    assert third.fetchone() == (3,)


def test_psycopg_cursors_of_the_server(server: Served) -> None:
    with psycopg.connect(server.dsn) as connection:
        with connection.cursor(name="by sex") as cursor:
            cursor.execute(BY_SEX)
            assert [column.name for column in cursor.description or ()] == ["sex", "n"]
            first = cursor.fetchone()
            assert first is not None
            assert near([first, *cursor.fetchall()])
        with connection.cursor(name="scrolled", scrollable=True) as cursor:
            cursor.execute(BY_SEX)
            cursor.scroll(1)
            assert cursor.fetchone()[0] == "M"  # type: ignore[index]
            cursor.scroll(0, mode="absolute")
            assert cursor.fetchone()[0] == "F"  # type: ignore[index]


@pytest.mark.parametrize(("options", "types"), [("", None), ("(FORMAT binary)", ["text", "int8"])])
def test_psycopg_copies(connection: psycopg.Connection, options: str, types: list[str] | None) -> None:
    with connection.cursor().copy(f"COPY ({BY_SEX}) TO STDOUT {options}".encode()) as copy:
        copy.set_types(types or ["text", "int8"])
        assert near(list(copy.rows()))  # type: ignore[arg-type]


def test_psycopg_copies_a_public_table(connection: psycopg.Connection) -> None:
    with connection.cursor().copy(b"COPY region TO STDOUT") as copy:
        rows = list(copy.rows())
    assert len(rows) == len(connection.execute("SELECT * FROM region").fetchall()) > 0


def test_psycopg_errors_and_notices(server: Served) -> None:
    told: list[str] = []
    with psycopg.connect(server.dsn) as connection:
        connection.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
            connection.execute("SELECT * FROM patient")
        assert "COUNT(*)" in (refused.value.diag.message_hint or "")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        assert near(connection.execute(BY_SEX).fetchall())
    assert any("of the total budget" in one for one in told)


def test_psycopg_async(server: Served) -> None:
    async def ask() -> list[tuple[str, int]]:
        async with await psycopg.AsyncConnection.connect(server.dsn) as connection:
            cursor = await connection.execute(BY_SEX)
            return await cursor.fetchall()  # type: ignore[return-value]

    assert near(asyncio.run(ask()))


# psycopg2


def test_psycopg2(server: Served) -> None:
    connection = psycopg2.connect(server.dsn)
    with connection, connection.cursor() as cursor:
        cursor.execute(BY_SEX)
        assert near(cursor.fetchall())
        cursor.execute("SELECT COUNT(*) FROM patient WHERE sex IN %s AND birth_year > %s", (("F", "M"), 1900))
        assert abs(cursor.fetchone()[0] - 10_000) < 100
    with connection, connection.cursor("named") as cursor:
        cursor.execute(BY_SEX)
        assert near(cursor.fetchall())
    with connection.cursor() as cursor:
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            cursor.execute("SELECT id FROM patient")
        connection.rollback()
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
    connection.close()


# asyncpg

LISTS: list[tuple[str, str, list[object]]] = [
    ("patient WHERE region = ANY($1)", "text[]", ["Bavaria", None, "Tyrol"]),
    ("patient WHERE region = ANY($1::varchar[])", "varchar[]", ["Bavaria"]),
    ("patient WHERE birth_year = ANY($1::int[])", "int4[]", [1960, 1970, 1980]),
    ("visit WHERE day = ANY($1)", "date[]", [datetime.date(2025, 5, 1), datetime.date(2025, 5, 2)]),
    ("visit WHERE cost = ANY($1::numeric[])", "numeric[]", [Decimal(number) for number in range(20, 60)]),
    ("visit WHERE EXTRACT(month FROM day) = ANY($1::bigint[])", "int8[]", [5, 6]),
]


def test_asyncpg(server: Served) -> None:
    async def ask() -> None:
        pool = await asyncpg.create_pool(
            host=server.host, port=server.port, user=server.user, database=server.database, min_size=1, max_size=2
        )
        async with pool.acquire() as connection:
            assert near([tuple(row) for row in await connection.fetch(BY_SEX)])
            statement = await connection.prepare(
                "SELECT region, COUNT(*) AS n FROM patient WHERE sex = $1 AND birth_year > $2 GROUP BY region"
            )
            assert [one.name for one in statement.get_parameters()] == ["text", "int2"]
            assert [(one.name, one.type.name) for one in statement.get_attributes()] == [
                ("region", "text"),
                ("n", "int8"),
            ]
            assert sum(row["n"] for row in await statement.fetch("F", 1900)) > 5_000
            async with connection.transaction():
                seen = [row["sex"] async for row in connection.cursor(BY_SEX, prefetch=1)]
                assert seen == ["F", "M"]
            await connection.execute("SET dpsql.empty_groups = show")
            days = await connection.fetch(
                "SELECT day, COUNT(*) FROM visit WHERE day >= $1 AND day < $2 GROUP BY day",
                datetime.date(2025, 5, 1), datetime.date(2025, 5, 3),
            )  # fmt: skip
            assert {datetime.date(2025, 5, 1), datetime.date(2025, 5, 2)} <= {row["day"] for row in days}
            for sql, type_, values in LISTS:
                statement = await connection.prepare(f"SELECT COUNT(*) AS n FROM {sql}")
                assert [one.name for one in statement.get_parameters()] == [type_], sql
                assert (await statement.fetchrow(values))["n"] > 100, sql
                assert (await statement.fetchrow([]))["n"] < 100, sql
            since = await connection.fetchval(
                "SELECT COUNT(*) FROM visit WHERE CAST(day AS timestamp) > TIMESTAMP '2025-12-31' - $1::interval",
                datetime.timedelta(days=30, seconds=1),
            )
            assert 1_000 < since < 40_000
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch("SELECT * FROM patient")
            assert await connection.fetchval("SELECT 1") == 1
        # What a pool sends when it takes a connection back.
        async with pool.acquire() as connection:
            assert await connection.fetchval("SELECT current_user") == server.user
        await pool.close()

    asyncio.run(ask())


# pg8000


def test_pg8000(server: Served) -> None:
    given = {"host": server.host, "port": server.port, "database": server.database}
    connection = pg8000.dbapi.connect(server.user, **given)
    cursor = connection.cursor()
    cursor.execute("SELECT sex, COUNT(*) FROM patient WHERE birth_year > %s GROUP BY sex ORDER BY sex", (1900,))
    assert near([tuple(row) for row in cursor.fetchall()])
    with pytest.raises(pg8000.dbapi.DatabaseError) as refused:
        cursor.execute("SELECT * FROM patient")
    assert refused.value.args[0]["C"] == "42501"
    connection.rollback()
    connection.close()
    native = pg8000.native.Connection(server.user, **given)
    assert near([tuple(row) for row in native.run(BY_SEX)])
    native.close()


# Tables


def test_pandas(server: Served) -> None:
    engine = sa.create_engine(f"postgresql+psycopg://{server.user}@{server.host}:{server.port}/{server.database}")
    frame = pd.read_sql(
        sa.text("SELECT region, AVG(height_cm) AS h, COUNT(*) AS n FROM patient GROUP BY region"), engine
    )
    assert list(frame.columns) == ["region", "h", "n"]
    assert frame["n"].sum() == pytest.approx(10_000, abs=200)
    assert frame["h"].between(140, 200).all()
    with pytest.raises(pd.errors.DatabaseError, match="rows of people"):
        pd.read_sql_table("patient", engine)
    engine.dispose()


def test_polars(server: Served) -> None:
    polars = pytest.importorskip("polars")
    with psycopg.connect(server.dsn) as connection:
        frame = polars.read_database(BY_SEX, connection)
    assert near(frame.rows())


@pytest.mark.parametrize("engine", ["connectorx", "adbc"])
def test_polars_by_uri(server: Served, engine: str) -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip({"connectorx": "connectorx", "adbc": "adbc_driver_postgresql"}[engine])
    frame = polars.read_database_uri(BY_SEX, server.url, engine=engine)
    assert near(frame.rows())


# All together


def test_every_driver_gets_the_same_released_numbers(server: Served) -> None:
    """A release is paid for once, whoever asks, and however it is wrapped."""
    sql = "SELECT smoker, COUNT(*) FROM patient WHERE birth_year > 1932 GROUP BY smoker ORDER BY smoker NULLS LAST"
    with psycopg.connect(server.dsn) as connection:
        first = connection.execute(sql).fetchall()
        spent = connection.execute("SELECT spent_epsilon FROM dpsql.budget WHERE analyst IS NULL").fetchone()
    two = psycopg2.connect(server.dsn)
    with two, two.cursor() as cursor:
        cursor.execute(sql)
        assert cursor.fetchall() == first
    two.close()
    native = pg8000.native.Connection(server.user, host=server.host, port=server.port, database=server.database)
    assert [tuple(row) for row in native.run(sql)] == first
    native.close()
    with psycopg.connect(server.dsn) as connection:
        assert connection.execute(f"SELECT COUNT(*) FROM ({sql}) AS q").fetchone() == (len(first),)
        assert connection.execute("SELECT spent_epsilon FROM dpsql.budget WHERE analyst IS NULL").fetchone() == spent
