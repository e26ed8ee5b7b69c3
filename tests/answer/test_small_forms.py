"""Small forms of SQL, on both engines: PostgreSQL's own answers, and refusals of the same forms over rows of people."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.errors import Error
from dpsql.proxy import Proxy
from tests.doubles import open_without_noise
from tests.engines.postgres_server import Server, shared_server
from tests.policies import policy_text

TABLES = """
CREATE TABLE region(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE person(id INTEGER PRIMARY KEY);
CREATE TABLE visit(person_id INTEGER NOT NULL REFERENCES person(id), day DATE NOT NULL, cost INTEGER NOT NULL, region INTEGER NOT NULL);
"""
ROWS = """
INSERT INTO region VALUES (1, 'north'), (2, 'south'), (3, 'east'), (4, 'east');
INSERT INTO person SELECT n FROM generate_series(1, 100) g(n);
INSERT INTO visit SELECT 1 + n % 100, DATE '2024-01-01' + ((n * 37) % 90)::integer, n % 100, 1 + n % 3
  FROM generate_series(1, 900) g(n);
"""
POLICY = policy_text("""
database: {database}; ledger: sqlite:{name}.ledger; privacy_unit: person.id; budget: {epsilon: 900, delta: 1e-6}
statement: {epsilon: 1}
tables:
  region: public
  person: id
  visit(person_id -> person.id, max_rows: 20): day 2024-01-01..2024-03-31, cost 0..100, region <- region.id
""")
COUNTING = [
    "d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 12) SELECT n FROM d",
    "d(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM d WHERE n < 100) SELECT SUM(n) FROM d",
    "d AS (SELECT 1 AS n, 1 AS fact UNION ALL SELECT n + 1, fact * (n + 1) FROM d WHERE n < 12) SELECT * FROM d",
    "f(n, a, b) AS (SELECT 1, 0::bigint, 1::bigint UNION ALL SELECT n + 1, b, a + b FROM f WHERE n < 80) SELECT n, a FROM f",
    "d(n) AS (SELECT DATE '2024-01-31' UNION ALL SELECT (n + INTERVAL '1 month')::date FROM d WHERE n < '2024-09-15') SELECT n FROM d",
    "d(n) AS (SELECT DATE '2024-02-27' UNION ALL SELECT n + 1 FROM d WHERE d.n < DATE '2024-03-02') SELECT n, n - 3 FROM d",
    "d(t) AS (SELECT TIMESTAMP '2024-02-28 22:00' UNION ALL SELECT t + INTERVAL '90 minutes' FROM d WHERE t < '2024-02-29 03:00') SELECT t FROM d",
    "d(n, m) AS (VALUES (1, 2), (7, 3) UNION ALL SELECT n - m, m FROM d AS x WHERE x.n > -9) SELECT n, m FROM d",
    "d(n) AS (SELECT 27 UNION ALL SELECT CASE WHEN n % 2 = 0 THEN n / 2 ELSE 3 * n + 1 END FROM d WHERE n <> 1) SELECT n FROM d",
    "d(n) AS (SELECT 1 UNION SELECT (n * 3) % 7 FROM d) SELECT n FROM d",
    "d(n) AS (VALUES (-7), (-7) UNION SELECT n / 2 FROM d) SELECT n FROM d",
    "d(n) AS (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT n * 10 FROM d WHERE n BETWEEN 1 AND 99 AND NOT n IN (20, 30)) SELECT n FROM d",
    "d(x) AS (SELECT 0.5 UNION ALL SELECT x + 0.25 FROM d WHERE x < 2) SELECT x FROM d",
    "d(n, s) AS (SELECT 1, 'a' UNION ALL SELECT n + 1, s FROM d WHERE n < 3 AND s = 'a') SELECT n, s FROM d",
    'd("N") AS (SELECT -3 UNION ALL SELECT "N" + 1 FROM d WHERE "N" < 1 OR FALSE) SELECT "N" FROM d',
    "d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 3), e AS (SELECT n * 2 AS m FROM d) SELECT a.m, b.n FROM e a, d b",
    "visit(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM visit WHERE n < 3) SELECT COUNT(*), SUM(n) FROM visit",
    "d(n) AS (SELECT n FROM (WITH RECURSIVE e(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM e WHERE n < 4) SELECT n FROM e) AS s) SELECT n FROM d",
    "d(n) AS (SELECT 5 UNION ALL SELECT 9 FROM d WHERE n = 5) SELECT n FROM d",
    # beside released numbers, and as a spine
    "d(n) AS (SELECT DATE '2023-12-30' UNION ALL SELECT n + 1 FROM d WHERE n < '2024-01-10') "
    "SELECT d.n, COUNT(v.cost), SUM(v.cost) FROM d LEFT JOIN visit v ON v.day = d.n GROUP BY d.n",
    "m(b) AS (SELECT DATE '2023-12-01' UNION ALL SELECT (b + INTERVAL '1 month')::date FROM m WHERE b < '2024-04-01') "
    "SELECT b, COUNT(v.cost) FROM m LEFT JOIN visit v ON DATE_TRUNC('month', v.day) = b GROUP BY b",
    "d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 3) "
    "SELECT d.n, s.c FROM d LEFT JOIN (SELECT region, COUNT(*) AS c FROM visit GROUP BY region) s ON s.region = d.n",
    "d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 3), s AS (SELECT region, COUNT(*) AS c FROM visit GROUP BY 1) "
    "SELECT s.region, s.c, d.n FROM s JOIN d ON s.region <= d.n",
]  # fmt: skip
NOT_COUNTING = [
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d) SELECT n FROM d", "54001"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d) SELECT n FROM d LIMIT 10", "54001"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n * 10 FROM d WHERE n < 2000000000) SELECT n FROM d", "22003"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 + 0 / (n - 3) FROM d WHERE n < 12) SELECT n FROM d", "22012"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 0.5 FROM d WHERE n < 12) SELECT n FROM d", "42804"),
    ("d(n) AS (SELECT DATE '2024-01-01' UNION ALL SELECT n + INTERVAL '1 day' FROM d WHERE n < '2024-02-01') SELECT n FROM d", "42804"),
    ("d(n) AS (SELECT DATE '9999-12-30' UNION ALL SELECT n + 1 FROM d) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT m + 1 FROM d WHERE n < 12) SELECT n FROM d", "42703"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1, 2 FROM d WHERE n < 12) SELECT n FROM d", "42601"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT (n + random())::int FROM d WHERE n < 12) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT NULL::int FROM d WHERE n < 12) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < NULL) SELECT n FROM d", "0A000"),
    ("d(s) AS (SELECT 'a' UNION ALL SELECT 'b' FROM d WHERE s < 'b') SELECT s FROM d", "0A000"),
    ("d(n) AS (SELECT id FROM region UNION ALL SELECT n + 1 FROM d WHERE n < 12) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT r.id FROM d JOIN region r ON r.id = d.n + 1) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT v.cost FROM d, visit v) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT person_id FROM visit UNION ALL SELECT n + 1 FROM d WHERE n < 12) SELECT COUNT(*) FROM d", "0A000"),
    ("d(n) AS (SELECT COUNT(*) FROM visit UNION ALL SELECT n - 1 FROM d WHERE n > 1) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < (SELECT COUNT(*) FROM visit)) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT SUM(n) FROM d) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT a.n + 1 FROM d a, d b) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 EXCEPT SELECT n FROM d) SELECT n FROM d", "0A000"),
    ("a AS (SELECT id FROM region), region AS (SELECT 1 AS id) SELECT id FROM a", "0A000"),
    ("d(n, n) AS (SELECT 1, 2 UNION ALL SELECT n, 2 FROM d WHERE n < 1) SELECT 1", "42703"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM public.d WHERE n < 12) SELECT n FROM d", "42P01"),
    ("d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 12 LIMIT 3) SELECT n FROM d", "0A000"),
    ("d(n) AS (SELECT 1 UNION ALL (SELECT n + 1 FROM d WHERE n < 12 ORDER BY n)) SELECT n FROM d", "0A000"),
    ("a AS (SELECT id FROM b), b AS (SELECT 1 AS id) SELECT id FROM a", "0A000"),
]  # fmt: skip

BY_REGION = "(SELECT region, COUNT(*) AS n, SUM(cost) AS s FROM visit WHERE region < 4 GROUP BY region HAVING COUNT(*) > 9) AS t"
BY_DAY = "(SELECT day, COUNT(*) AS n FROM visit WHERE day < '2024-01-09' GROUP BY day) AS t"
WORDS = [
    # the sign of a quantity may stand apart from it
    *(
        f"SELECT DATE '2024-03-31' + INTERVAL '{written}', COUNT(*) FROM visit WHERE day < DATE '2024-02-29' + INTERVAL '{written}'"
        for written in ("1 month - 1 day", "- 1 month + 2 days", "1 mon -1 day - 02:30:00", "+ 3 days", "1 day - 1.5 hours")
    ),
    "SELECT COUNT(*) FROM visit WHERE day > DATE '2024-03-01' + '- 1 month - 1 day'::interval",
    "SELECT TO_HEX(COUNT(*)), TO_HEX(SUM(cost)), TO_HEX(COUNT(*) - 901), TO_HEX(-1), TO_HEX((COUNT(*) - 901)::int) FROM visit",
    "SELECT region, TO_HEX(n), TO_HEX(region), TO_HEX(NULLIF(region, 2)) FROM " + BY_REGION,
    "SELECT ROW_TO_JSON(t) FROM " + BY_REGION,
    "SELECT JSON_AGG(t) FROM " + BY_REGION + " WHERE n > 100000",
    "SELECT JSON_AGG(t ORDER BY t.region DESC) AS docs FROM " + BY_REGION,
    "SELECT TO_JSON(t) AS n, t.region FROM " + BY_REGION,
    "SELECT ROW_TO_JSON(t) FROM " + BY_DAY,
    "WITH t AS (SELECT region AS k, COUNT(*) AS n FROM visit GROUP BY 1 HAVING COUNT(*) > 9) SELECT JSONB_AGG(x ORDER BY k) FROM t AS x",
    "SELECT (SELECT JSON_AGG(t ORDER BY region) FROM " + BY_REGION + ") AS docs, (SELECT COUNT(*) FROM visit) AS n",
    "SELECT JSON_AGG(x ORDER BY a) FROM " + BY_REGION.replace("AS t", "AS x(a, b)"),
    "SELECT JSON_AGG(t ORDER BY t) FROM (SELECT region AS t, COUNT(*) AS n FROM visit WHERE region < 3 GROUP BY 1) AS t",
    "SELECT ROW_TO_JSON(r) FROM (SELECT id, name, NULL AS nothing FROM region) AS r",
    # a date has no hour to EXTRACT, and is a timestamp to DATE_PART
    "SELECT day, DATE_PART('hour', day), DATE_PART('day', day) FROM " + BY_DAY,
    "SELECT pg_catalog.date_part('minute', DATE '2024-01-01' + r.id), DATE_PART('hour'::text, DATE '2024-01-01') AS s FROM region r",
    "SELECT DATE_PART('hour', day), COUNT(*) FROM visit GROUP BY 1",
    "SELECT COUNT(*), SUM(DATE_PART('minute', day) + cost) AS s FROM visit WHERE DATE_PART('second', day) < 1",
]  # fmt: skip
NO_WORDS = [
    ("SELECT DATE '2024-03-31' + INTERVAL '1 month - - 1 day', COUNT(*) FROM visit", "22007"),
    ("SELECT TO_HEX(AVG(cost)) FROM visit", "42883"),
    ("SELECT TO_HEX('12'), COUNT(*) FROM visit", "42883"),
    ("SELECT TO_HEX(cost) FROM visit", "42883"),
    ("SELECT TO_HEX(cost), COUNT(*) FROM visit GROUP BY 1", "42883"),
    ("SELECT ROW_TO_JSON(t) FROM (SELECT day, cost FROM visit) AS t", "42501"),
    ("SELECT ROW_TO_JSON(t), COUNT(*) FROM (SELECT day, cost FROM visit) AS t GROUP BY 1", "42501"),
    ("SELECT JSON_AGG(t) FROM (SELECT day, cost FROM visit) AS t", "0A000"),
    ("SELECT JSON_AGG(t) FROM (SELECT * FROM visit) AS t", "0A000"),
    ("SELECT ROW_TO_JSON(visit) FROM visit", "42501"),
    ("SELECT JSON_AGG(t) FROM " + BY_REGION + ", region", "42703"),
    ("SELECT EXTRACT(HOUR FROM day) FROM " + BY_DAY, "0A000"),
    ("SELECT EXTRACT(HOUR FROM DATE '2024-01-01' + id) FROM region", "0A000"),
    ("SELECT EXTRACT(HOUR FROM day), COUNT(*) FROM visit GROUP BY 1", "0A000"),
    ("SELECT DATE_PART('hour', day), COUNT(*) FROM visit GROUP BY EXTRACT(HOUR FROM day)", "42803"),
    ("SELECT DATE_PART('hour'), COUNT(*) FROM visit", "42883"),
]

FIRST = [
    "DISTINCT ON (region) region, day, COUNT(*) AS n, SUM(cost) AS s FROM visit WHERE region < 4 GROUP BY region, day HAVING COUNT(*) > 0 ORDER BY region, s DESC, day",
    "DISTINCT ON (1) visit.region, day FROM visit WHERE region < 4 GROUP BY region, day HAVING COUNT(*) > 0 ORDER BY visit.region DESC, SUM(cost), day",
    "DISTINCT ON (EXTRACT(MONTH FROM day)) day, COUNT(*) FROM visit GROUP BY day HAVING COUNT(*) > 0 ORDER BY EXTRACT(MONTH FROM day), SUM(cost) DESC, 1",
    "DISTINCT ON (r.name) r.name, v.region, COUNT(*) FROM visit v JOIN region r ON r.id = v.region GROUP BY r.name, v.region HAVING COUNT(*) > 0 ORDER BY name, v.region",
    "DISTINCT ON (m, region) DATE_TRUNC('month', day)::date AS m, region, day, SUM(cost) FROM visit WHERE region < 4 GROUP BY 1, 2, 3 HAVING COUNT(*) > 0 ORDER BY region, m, 4 DESC, day LIMIT 5",
    "DISTINCT ON (region) region, day, RANK() OVER (ORDER BY SUM(cost), day) AS k FROM visit WHERE region < 4 GROUP BY region, day HAVING COUNT(*) > 0 ORDER BY region, k",
    "DISTINCT ON (COUNT(*) > 5) COUNT(*) FROM visit",
    "DISTINCT ON (region) region, SUM(n) OVER () FROM (SELECT region, day, COUNT(*) AS n FROM visit WHERE region < 4 GROUP BY 1, 2 HAVING COUNT(*) > 0) t ORDER BY region, day",
    "DISTINCT ON (region, n) region, n, MAX(day) FROM (SELECT region, day, COUNT(*) AS n FROM visit WHERE region < 4 GROUP BY 1, 2 HAVING COUNT(*) > 0) t GROUP BY region, n ORDER BY n, region",
]  # fmt: skip
OF_A_PERSON = [
    "SELECT region, COUNT(*) FROM (SELECT DISTINCT ON (person_id) person_id, region, COUNT(*) AS n FROM visit WHERE cost < 60 "
    "GROUP BY person_id, region ORDER BY person_id, n DESC, region) AS t GROUP BY region HAVING COUNT(*) > 0",
    "SELECT SUM(s), COUNT(*) FROM (SELECT DISTINCT ON (person_id) person_id, region, SUM(cost) AS s FROM visit "
    "GROUP BY person_id, region ORDER BY person_id, MIN(day), region) AS t",
    "SELECT COUNT(*) FROM (SELECT DISTINCT ON (person_id) person_id, day, SUM(cost) AS s FROM visit WHERE region = 2 "
    "GROUP BY person_id, day HAVING COUNT(*) > 0 ORDER BY person_id, s DESC, day) AS t WHERE day < '2024-02-10'",
]
DAYS = "SELECT n FROM (SELECT day, COUNT(*) AS n FROM visit WHERE day < '2024-01-20' GROUP BY day) AS t"
SOME = "SELECT region FROM (SELECT region, cost, COUNT(*) AS n FROM visit WHERE cost < 5 GROUP BY 1, 2 HAVING COUNT(*) > 0) AS t"
MULTISETS = [
    f"{DAYS} EXCEPT ALL SELECT 10",
    f"{DAYS} INTERSECT ALL SELECT * FROM (VALUES (10), (10), (11)) AS v(n)",
    f"{SOME} EXCEPT ALL SELECT id FROM region",
    f"{SOME} INTERSECT ALL SELECT id FROM region",
    f"SELECT id FROM region EXCEPT ALL {SOME}",
    f"{SOME} EXCEPT ALL SELECT 1 EXCEPT ALL SELECT 1 INTERSECT ALL SELECT 1",
    f"{SOME} INTERSECT ALL {SOME} ORDER BY 1 LIMIT 3",
    f"SELECT region + 1 AS r FROM ({SOME} EXCEPT ALL SELECT id FROM region) AS u",
]
NOT_OF_GROUPS = [
    ("SELECT DISTINCT ON (region) region, day, COUNT(*) FROM visit GROUP BY region, day ORDER BY day, region", "42P10"),
    ("SELECT DISTINCT ON (region, day) region, day, COUNT(*) FROM visit GROUP BY region, day ORDER BY region, 3", "42P10"),
    ("SELECT DISTINCT ON (region) region, cost FROM visit ORDER BY region, cost", "0A000"),
    ("SELECT DISTINCT ON (region) region, cost, COUNT(*) FROM visit GROUP BY region ORDER BY region", "42803"),
    ("SELECT DISTINCT ON (cost) region, COUNT(*) FROM visit GROUP BY region ORDER BY cost", "42803"),
    ("SELECT DISTINCT ON (region) region, person_id, COUNT(*) FROM visit GROUP BY region, person_id ORDER BY region", "0A000"),
    (f"SELECT region, COUNT(*) FROM ({SOME} EXCEPT ALL SELECT id FROM region) AS u GROUP BY region", "0A000"),
    ("SELECT cost FROM visit EXCEPT ALL SELECT cost FROM visit WHERE region = 1", "0A000"),
    ("SELECT cost FROM visit INTERSECT ALL SELECT id FROM region", "0A000"),
    (f"SELECT cost FROM visit EXCEPT ALL {DAYS}", "0A000"),
    ("SELECT COUNT(*) FROM (SELECT cost FROM visit EXCEPT ALL SELECT cost FROM visit WHERE region = 1) AS t", "0A000"),
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Server:
    return shared_server()


@pytest.fixture(scope="module")
def database(server: Server) -> str:
    return server.database(f"{TABLES} {ROWS}")


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def proxy(
    request: pytest.FixtureRequest, server: Server, database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder: Path = tmp_path_factory.mktemp("forms")
    place = server.url(database)
    if request.param == "duckdb":
        with duckdb.connect(str(folder / "forms.duckdb")) as connection:
            connection.execute(TABLES)
            connection.execute(ROWS)
        place = "duckdb:forms.duckdb"
    (folder / "forms.yaml").write_text(POLICY.format(database=place, name=request.param))
    opened = open_without_noise(folder / "forms.yaml")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def truth(server: Server, database: str) -> Iterator[psycopg.Connection]:
    with server.owner(database) as connection:
        connection.autocommit = True
        yield connection


def plain(rows: object) -> list[tuple[object, ...]]:
    return sorted((tuple(map(_value, row)) for row in rows), key=repr)  # type: ignore[attr-defined]


def _value(value: object) -> object:
    if isinstance(value, float | Decimal):
        return round(float(value), 6)
    if isinstance(value, str) and value[:1] in ("{", "["):
        return json.loads(value)
    return value.astimezone(datetime.UTC) if isinstance(value, datetime.datetime) and value.tzinfo else value


@pytest.mark.parametrize("query", COUNTING)
def test_recursion_over_constants_has_the_rows_of_postgres(proxy: Proxy, truth: psycopg.Connection, query: str) -> None:
    sql = f"WITH RECURSIVE {query}"
    assert plain(proxy.session().execute(sql).rows) == plain(truth.execute(sql).fetchall())  # type: ignore[arg-type]


@pytest.mark.parametrize(("query", "state"), NOT_COUNTING)
def test_other_recursion_is_refused(proxy: Proxy, query: str, state: str) -> None:
    with pytest.raises(Error) as refused:
        proxy.session().execute(f"WITH RECURSIVE {query}")
    assert refused.value.sqlstate == state
    assert refused.value.hint


def test_instants_are_counted_by_the_clocks_of_the_session(proxy: Proxy, truth: psycopg.Connection) -> None:
    sql = """WITH RECURSIVE d(t) AS (SELECT TIMESTAMPTZ '2024-03-29 12:00' UNION ALL
        SELECT t + INTERVAL '1 day' FROM d WHERE t < '2024-04-02') SELECT t FROM d"""
    session = proxy.session()
    for zone in ("Europe/Berlin", "America/New_York", "UTC"):
        session.execute(f"SET timezone = '{zone}'")
        truth.execute(f"SET timezone TO '{zone}'")  # type: ignore[arg-type]
        assert plain(session.execute(sql).rows) == plain(truth.execute(sql).fetchall()), zone


def test_recursion_up_to_today_is_that_of_one_instant(proxy: Proxy) -> None:
    sql = """WITH RECURSIVE d(t) AS (SELECT CURRENT_DATE - 30 UNION ALL SELECT t + 1 FROM d WHERE t < CURRENT_DATE)
        SELECT COUNT(*), MAX(t) - MIN(t) FROM d"""
    assert proxy.session().execute(sql).rows == ((31, 30),)


@pytest.mark.parametrize("sql", WORDS)
def test_words_mean_what_they_mean_to_postgres(proxy: Proxy, truth: psycopg.Connection, sql: str) -> None:
    session = proxy.session()
    cursor = truth.execute(sql)  # type: ignore[arg-type]
    assert plain(session.execute(sql).rows) == plain(cursor.fetchall())
    assert [column.name for column in session.describe(sql)] == [column.name for column in cursor.description or ()]


@pytest.mark.parametrize(("sql", "state"), NO_WORDS)
def test_the_same_words_over_people_are_refused(proxy: Proxy, sql: str, state: str) -> None:
    with pytest.raises(Error) as refused:
        proxy.session().execute(sql)
    assert (refused.value.sqlstate, bool(refused.value.hint)) == (state, True)


@pytest.mark.parametrize("query", FIRST)
def test_the_first_of_groups_is_that_of_postgres(proxy: Proxy, truth: psycopg.Connection, query: str) -> None:
    sql, session = f"SELECT {query}", proxy.session()
    cursor = truth.execute(sql)  # type: ignore[arg-type]
    assert plain(session.execute(sql).rows) == plain(cursor.fetchall())
    assert [column.name for column in session.describe(sql)] == [column.name for column in cursor.description or ()]


@pytest.mark.parametrize("sql", OF_A_PERSON)
def test_the_first_group_of_each_person_is_one_row(proxy: Proxy, truth: psycopg.Connection, sql: str) -> None:
    assert plain(proxy.session().execute(sql).rows) == plain(truth.execute(sql).fetchall())  # type: ignore[arg-type]


@pytest.mark.parametrize("sql", MULTISETS)
def test_rows_are_taken_away_as_often_as_they_are_there(proxy: Proxy, truth: psycopg.Connection, sql: str) -> None:
    assert plain(proxy.session().execute(sql).rows) == plain(truth.execute(sql).fetchall())  # type: ignore[arg-type]


@pytest.mark.parametrize(("sql", "state"), NOT_OF_GROUPS)
def test_rows_of_people_are_no_groups(proxy: Proxy, sql: str, state: str) -> None:
    with pytest.raises(Error) as refused:
        proxy.session().execute(sql)
    assert (refused.value.sqlstate, bool(refused.value.hint)) == (state, True)
