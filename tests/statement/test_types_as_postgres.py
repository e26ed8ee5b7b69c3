"""What PostgreSQL refuses for the types of operands is refused, with its SQLSTATE; all else of the list is answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.errors import Error
from dpsql.proxy import Session
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.policies import policy_text

SETUP = """
CREATE TABLE place (name TEXT PRIMARY KEY, opened DATE, beds INTEGER, share DOUBLE PRECISION, closed BOOLEAN,
    noted TIMESTAMP);
CREATE TABLE person (id INTEGER PRIMARY KEY, sex TEXT NOT NULL, age INTEGER NOT NULL, weight DOUBLE PRECISION,
    cost NUMERIC(8, 2), smoker BOOLEAN, born DATE, seen TIMESTAMP, name TEXT);
INSERT INTO place VALUES ('n', '2020-01-01', 10, 0.5, false, '2020-01-01 10:00');
INSERT INTO person VALUES (1, 'F', 30, 60.5, 10.25, true, '1980-01-01', '2024-01-01 10:00', 'x');
"""
POLICY = policy_text("""
database: duckdb:clinic.duckdb; ledger: sqlite:ledger; privacy_unit: person.id
budget: {epsilon: 10, delta: 1e-6}; statement: {epsilon: 1}
tables:
  person: id, sex [F, M], age 0..100, weight 0..200, cost 0..500, smoker [true, false], born 1900-01-01..2025-12-31,
      seen 2020-01-01..2025-12-31, name
  place: public
""")
OVER_PEOPLE = """
name = 1; name > age; age = '1'; age IN (1, name); name IN (1, 2); name BETWEEN 1 AND 2; age BETWEEN name AND 5
age LIKE '1%'; born LIKE '2020%'; smoker = 1; smoker > 0; smoker IN (0, 1); age = TRUE; NOT 1; NOT age; name; age
sex AND smoker; smoker AND 1; age IS TRUE; smoker IS TRUE; born > 5; born > seen; born = '2020-01-01'
-name = 'a'; name || 1 = 'a1'; age || age = '11'; age || 'a' = '1a'; born + born > born; born * 2 > born
born + 1 > born; seen + 1 > seen; seen - name > INTERVAL '1 day'; born - born > 1; smoker + 1 > 1; age ~ '1'
CASE WHEN age > 1 THEN name ELSE 1 END = '1'; CASE WHEN age THEN TRUE END; COALESCE(age, name) = 1
GREATEST(age, name) = 1; NULLIF(age, name) = 1; ABS(name) > 1; UPPER(age) = 'A'; LENGTH(born) = 1; SQRT(name) > 1
EXTRACT(YEAR FROM name) = 1; EXTRACT(YEAR FROM born) = 1; born::integer = 1; smoker::integer = 1; age::boolean
weight::boolean; (age, name) = (1, 1); age IN (SELECT name FROM place); POSITION(1 IN name) = 1
""".replace("\n", ";").split(";")
AGGREGATES = """
SUM(name); AVG(smoker); SUM(born); MAX(smoker); BOOL_OR(age); BOOL_AND(age > 1); COUNT(*) || COUNT(*)
COUNT(*) || sex; NOT COUNT(*); CASE WHEN COUNT(*) THEN 1 END; SUM(age) + sex; COUNT(*) = sex; COUNT(*) = TRUE
COUNT(*) BETWEEN sex AND 2; COALESCE(COUNT(*), sex); CASE WHEN COUNT(*) > 1 THEN sex ELSE COUNT(*) END
COUNT(*) LIKE '1%'; COUNT(*)::text LIKE '1%'; UPPER(COUNT(*)); ABS(sex); -sex; COUNT(*) IN (1, 2); COUNT(*) IN (sex)
COUNT(*) FILTER (WHERE age); COUNT(*) FILTER (smoker); COUNT(*) FILTER (WHERE smoker); ROUND(AVG(age), 2)
ROUND(100.0 * COUNT(*) / 3, 1); LAG(COUNT(*), 1, 0) OVER (ORDER BY sex); SUM(COUNT(*)) OVER (); MAX(sex) OVER ()
CORR(name, age); STDDEV(name); SUM(smoker::int); PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY name)
""".replace("\n", ";").split(";")
OF_A_TABLE = """
beds || beds; beds || 'a'; opened || opened; name || opened; -name; name + 1; closed + 1; closed = 1; closed > 0
closed = TRUE; beds IS TRUE; closed IS TRUE; NOT beds; NOT closed; beds AND closed; opened + opened; opened * 2
opened + 1; noted + 1; opened + INTERVAL '1 day'; opened - noted; opened - opened; noted - name
INTERVAL '1 day' + 1; INTERVAL '1 day' * 2; EXTRACT(YEAR FROM name); EXTRACT(HOUR FROM noted); UPPER(beds)
LENGTH(opened); SUBSTRING(beds, 1, 1); LEFT(name, 1); COALESCE(beds, name); COALESCE(beds, '1'); beds IN (1, name)
beds BETWEEN name AND 2; NULLIF(beds, name); GREATEST(beds, name); CASE WHEN beds THEN 1 END; beds LIKE '1%'
CASE WHEN closed THEN name ELSE beds END; CASE beds WHEN 1 THEN 'a' END; share & 1; beds & 1; opened::integer
closed::integer; closed::numeric; share::boolean; beds::boolean; beds::date; TO_CHAR(name, 'YYYY'); (beds, name) = (1, 1)
SUM(closed); SUM(name); AVG(closed); AVG(opened); MAX(closed); MAX(opened); BOOL_OR(beds); BOOL_OR(closed)
STRING_AGG(name); STRING_AGG(beds, ','); STRING_AGG(name, ','); STRING_AGG(beds::text, ','); COUNT(*) FILTER (beds)
COUNT(*) FILTER (WHERE beds); LAG(beds, 1, name) OVER (ORDER BY name); LAG(beds, 1, 0) OVER (ORDER BY name)
""".replace("\n", ";").split(";")
WHOLE = """
SELECT 1 UNION SELECT DATE '2020-01-01'; SELECT 1 UNION SELECT TEXT 'a'; SELECT 1 UNION SELECT TRUE
SELECT 1 UNION SELECT '1'; SELECT 1 UNION SELECT 2.5; SELECT 1 UNION SELECT NULL; SELECT 1 UNION SELECT 'a'
SELECT beds FROM place INTERSECT SELECT name FROM place; SELECT closed FROM place EXCEPT SELECT beds FROM place
SELECT noted FROM place UNION ALL SELECT opened FROM place; SELECT COALESCE(1, 'a'); SELECT 1 IN (1, 'a')
SELECT COUNT(*) FROM person UNION ALL SELECT DATE '2020-01-01'; SELECT name FROM place ORDER BY beds || beds
SELECT sex, COUNT(*) FROM person GROUP BY sex HAVING sex; SELECT sex FROM person GROUP BY sex HAVING COUNT(*)
SELECT sex, COUNT(*) FROM person GROUP BY sex HAVING COUNT(*) > '1'; SELECT name FROM place WHERE name
SELECT name FROM place WHERE beds; SELECT name FROM place WHERE closed; SELECT name FROM place WHERE 1
SELECT p.name FROM place AS p JOIN place AS q ON p.beds; SELECT p.name FROM place AS p JOIN place AS q ON p.beds = q.name
SELECT n || n FROM (SELECT sex, COUNT(*) AS n FROM person GROUP BY sex) AS t
WITH t AS (SELECT sex AS a, COUNT(*) AS b FROM person GROUP BY sex) SELECT a FROM t WHERE a = b
SELECT p.name FROM place AS p WHERE EXISTS (SELECT 1 FROM place AS q WHERE q.beds = p.name)
SELECT name FROM place WHERE beds > (SELECT MAX(name) FROM place); SELECT * FROM (VALUES (1), (TRUE)) AS t(x)
SELECT x + 1 FROM (VALUES (1), (2)) AS t(x); SELECT x + 1 FROM (SELECT NULL::integer AS x) AS t
""".replace("\n", ";").split(";")


def statements() -> Iterator[str]:
    yield from (f"SELECT COUNT(*) FROM person WHERE {one}" for one in map(str.strip, OVER_PEOPLE) if one)
    yield from (f"SELECT sex, {one} AS v FROM person GROUP BY sex" for one in map(str.strip, AGGREGATES) if one)
    yield from (f"SELECT {one} AS v FROM place" for one in map(str.strip, OF_A_TABLE) if one)
    yield from (one for one in map(str.strip, WHOLE) if one)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder: Path = tmp_path_factory.mktemp("types")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(SETUP)
    (folder / "policy.yaml").write_text(POLICY)
    proxy = open_without_noise(folder / "policy.yaml")
    yield proxy.session()
    proxy.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[psycopg.Connection]:
    server = shared_server()
    with server.owner(server.database(SETUP)) as connection:
        yield connection


def state(session: Session, sql: str) -> str:
    """The SQLSTATE by which a statement is refused before anything is charged; nothing if it is answered."""
    try:
        session.describe(sql)
    except Error as refused:
        return refused.sqlstate
    return ""


@pytest.mark.parametrize("sql", list(statements()))
def test_types_go_together_where_postgres_says_so(sql: str, session: Session, postgres: psycopg.Connection) -> None:
    expected = ""
    try:
        postgres.execute(sql)  # type: ignore[arg-type]
    except psycopg.Error as refused:
        expected = refused.sqlstate or ""
    assert state(session, sql) == expected


HINTS = [
    ("SELECT NOT beds FROM place", "x <> 0", "SELECT NOT (beds <> 0) FROM place"),
    ("SELECT name FROM place WHERE name", "x IS NOT NULL", "SELECT name FROM place WHERE name IS NOT NULL"),
    ("SELECT closed = 1 FROM place", "TRUE or FALSE", "SELECT closed = TRUE FROM place"),
    ("SELECT beds || beds FROM place", "x::text", "SELECT beds::text || beds FROM place"),
    ("SELECT noted + 1 FROM place", "x + INTERVAL '1 day'", "SELECT noted + INTERVAL '1 day' FROM place"),
    ("SELECT beds::text + 1 FROM place", "x::integer", "SELECT beds::text::integer + 1 FROM place"),
    ("SELECT name = 1 FROM place", "in quotes", "SELECT name = '1' FROM place"),
    ("SELECT UPPER(beds) FROM place", "x::text", "SELECT UPPER(beds::text) FROM place"),
    ("SELECT SUM(closed) FROM place", "x::integer", "SELECT SUM(closed::integer) FROM place"),
    (
        "SELECT EXTRACT(YEAR FROM noted::text) FROM place",
        "x::date",
        "SELECT EXTRACT(YEAR FROM noted::text::date) FROM place",
    ),
    ("SELECT STRING_AGG(name) FROM place", "STRING_AGG(x, ', ')", "SELECT STRING_AGG(name, ', ') FROM place"),
    ("SELECT COUNT(*) FILTER (closed) FROM place", "FILTER (WHERE", "SELECT COUNT(*) FILTER (WHERE closed) FROM place"),
    ("SELECT 1 UNION SELECT TRUE", "x::text", "SELECT 1::text UNION SELECT TRUE::text"),
    ("SELECT 1 UNION SELECT 'a'", "x::text", "SELECT 1::text UNION SELECT 'a'"),
    ("SELECT share::boolean FROM place", "x <> 0", "SELECT share <> 0 FROM place"),
]


@pytest.mark.parametrize(("sql", "said", "works"), HINTS)
def test_what_a_hint_says_is_answered(
    sql: str, said: str, works: str, session: Session, postgres: psycopg.Connection
) -> None:
    with pytest.raises(Error) as refused:
        session.describe(sql)
    assert said in refused.value.hint
    postgres.execute(f"EXPLAIN {works}")  # type: ignore[arg-type]
    assert state(session, works) == ""


def test_a_subquery_in_from_needs_no_alias(session: Session) -> None:
    """PostgreSQL 16 and later answer it."""
    assert state(session, "SELECT AVG(n) FROM (SELECT sex, COUNT(*) AS n FROM person GROUP BY sex)") == ""
