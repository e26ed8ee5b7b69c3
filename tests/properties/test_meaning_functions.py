"""Functions and conditions mean what they mean in PostgreSQL: the same statements, asked of it and of us without noise."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

import dpsql
from dpsql.proxy import Session
from tests.engines.postgres_server import shared_server
from tests.properties.planted import case, plain, rows

NAMES = ["Ann Lee", "bob o'neil", "CARL von Ossietz", "dora-lee smith", "", "x y"]
MAILS = ["ann@mail.example.com", "bob@x.org", "https://www.site.net/p?q=1", "http://foo.com/", "nope"]
TAGS = ["a,b,c", "b", "", "a,,d", "c,a"]
WARDS = ["er", "ward", "icu"]


def _spelt(value: object) -> str:
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


PEOPLE = [
    (
        n, "FM"[n % 2] if n % 10 else None, NAMES[n % 6] if n % 13 else None, MAILS[n % 5], TAGS[n % 5] if n % 11 else None,
        n % 16, 1 + n % 28, f"{1 + n % 12:02}/{1 + n % 28:02}/{2000 + n % 20}", n % 4, WARDS[n % 3],
        f"2023-{1 + n % 12:02}-{1 + n % 28:02} {n % 24:02}:{n % 60:02}:00",
    )
    for n in range(1, 2001)
]  # fmt: skip
COLUMNS = (
    "id INTEGER PRIMARY KEY, sex TEXT, name TEXT, mail TEXT, tags TEXT, flags INTEGER, dom INTEGER, mdy TEXT, kids INTEGER,"
    " ward TEXT, seen TIMESTAMP"
)
SETUP = [
    "CREATE TABLE ward (name TEXT PRIMARY KEY, floor INTEGER)",
    "INSERT INTO ward VALUES ('er', 0), ('ward', 2), ('icu', 3)",
    f"CREATE TABLE person ({COLUMNS})",
    "INSERT INTO person VALUES " + ", ".join("(" + ", ".join(map(_spelt, row)) + ")" for row in PEOPLE),
]
TABLES = """  person:
    columns: {id: {}, sex: {values: [F, M]}, name: {}, mail: {}, tags: {}, flags: {range: [0, 15]}, dom: {range: [1, 31]},
      mdy: {}, kids: {range: [0, 3]}, ward: {values: [er, ward, icu]}, seen: {range: [2023-01-01, 2023-12-31]}}
  ward: {public: true}
"""


@pytest.fixture(scope="module")
def reader() -> Iterator[psycopg.Connection]:
    server = shared_server()
    with server.owner(server.database(";".join(SETUP))) as connection:
        yield connection


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with case(tmp_path_factory.mktemp("functions"), SETUP, TABLES, engine=request.param, epsilon=50) as opened:
        yield opened


CONDITIONS = r"""
MAKE_TIMESTAMP(2020, kids + 1, dom, 10, 30, 0) > '2020-02-10'
TO_DATE(mdy, 'MM/DD/YYYY') > '2010-06-01'
TO_TIMESTAMP(mdy, 'MM/DD/YYYY') > '2010-06-01'
TO_DATE(REPLACE(mdy, '/', ''), 'MMDDYYYY') > '2010-06-01'
seen > TO_DATE('01-Jun-2023', 'DD-Mon-YYYY')
seen > TO_TIMESTAMP(1685600000)
REGEXP_REPLACE(mail, '^https?://(?:www\.)?([^/]+)/.*$', '\1') = 'site.net'
REGEXP_REPLACE(name, '[aeiou]', '', 'g') = 'bb ''nl'
REGEXP_REPLACE(name, '[AEIOU]', '', 'gi') = 'bb ''nl'
REGEXP_SUBSTR(mail, '[a-z]+\.(com|org)') = 'x.org'
(REGEXP_MATCH(mail, '@(.*)$'))[1] = 'x.org'
(REGEXP_MATCH(mail, '([a-z]+)@([a-z]+)'))[2] = 'x'
SUBSTRING(mail FROM '@(.*)$') = 'x.org'
SUBSTRING(mail, '@[a-z]*') = '@x'
SUBSTRING(mail FROM '@(.*)$') IS NULL
REGEXP_COUNT(name, '[aeiou]') > 2
mail SIMILAR TO '%@(x|mail)%'
mail NOT SIMILAR TO 'http%'
mail SIMILAR TO '[a-c]%'
INITCAP(name) = 'Bob O''Neil'
OVERLAY(name PLACING 'XX' FROM 2) = 'bXX o''neil'
OVERLAY(name PLACING 'XX' FROM 2 FOR 5) = 'bXXneil'
FORMAT('%s of %2$s, %1$s%%', sex, kids) = 'F of 2, F%'
SPLIT_PART(tags, ',', 2) = 'b'
(STRING_TO_ARRAY(tags, ','))[2] = ''
(STRING_TO_ARRAY(tags, ','))[2] IS NULL
'a' = ANY(STRING_TO_ARRAY(tags, ','))
NOT 'a' = ANY(STRING_TO_ARRAY(tags, ','))
CARDINALITY(STRING_TO_ARRAY(tags, ',')) = 2
CARDINALITY(STRING_TO_ARRAY(tags, ',')) = 0
ARRAY_LENGTH(STRING_TO_ARRAY(tags, ','), 1) IS NULL
MD5(name) LIKE 'a%'
name COLLATE "C" < 'b'
CHR(64 + dom) = 'B'
OCTET_LENGTH(name) > 8
BIT_LENGTH(name) = 24
name LIKE ANY(ARRAY['A%', 'b%'])
name ILIKE ANY(ARRAY['a%', 'B%'])
name NOT LIKE ALL(ARRAY['A%', 'b%'])
kids = ANY('{1,2}')
kids = ANY('{1,2}'::int[])
ward = ANY('{er,"icu"}')
kids <> ALL(ARRAY[1, 2])
kids > ALL(ARRAY[0, 1])
kids >= SOME(ARRAY[2, 5])
kids <> ANY(ARRAY[1, 1])
sex = ANY(VALUES ('F'))
kids IN (VALUES (1), (2))
ward = ANY(SELECT name FROM ward WHERE floor > 1)
ward <> ALL(SELECT name FROM ward WHERE floor > 1)
flags & 4 = 4
(flags | 1) > 8
flags # 3 = 5
flags >> 2 = 3
flags << 2 > 20
~flags < -5
(sex, kids) = ('F', 2)
(sex, kids) <> ('F', 2)
(sex, kids) IN (('F', 2), ('M', 1))
(sex, kids) NOT IN (('F', 2), ('M', 1))
(kids, flags) > (1, 3)
(kids, flags, dom) <= (1, 3, 7)
ROW(sex, kids) IS DISTINCT FROM ROW('F', 2)
ROW(sex, name) IS NULL
ROW(sex, name) IS NOT NULL
GCD(kids, 6) = 3
LCM(kids + 1, 6) = 12
NUM_NULLS(sex, name) = 1
NUM_NONNULLS(sex, name) = 1
WIDTH_BUCKET(dom, ARRAY[5, 10, 20]) = 2
ARRAY_POSITION(ARRAY['F', 'M'], sex) = 2
SINH(kids) > 1 AND ACOSH(kids + 1) > 1
"""


@pytest.mark.spread
@pytest.mark.parametrize("condition", [line for line in CONDITIONS.splitlines() if line])
def test_a_condition_holds_for_as_many_people(condition: str, session: Session, reader: psycopg.Connection) -> None:
    sql = f"SELECT COUNT(*) FROM person WHERE {condition}"
    truth = reader.execute(sql).fetchall()  # type: ignore[arg-type]
    assert rows(session, sql) == [(float(truth[0][0]),)]
    session.execute("SET dpsql.reuse = off")


STATEMENTS = r"""
SELECT INITCAP(ward), COUNT(*) FROM person GROUP BY ward
SELECT FORMAT('%s: %s', ward, COUNT(*)) FROM person GROUP BY ward
SELECT SUBSTRING(ward FROM '^.'), REGEXP_REPLACE(ward, '^(.)(.)', '\2\1'), COUNT(*) FROM person GROUP BY ward
SELECT (REGEXP_MATCH(ward, '(.)$'))[1], ward SIMILAR TO '(er|icu)', ward COLLATE "C" FROM person GROUP BY ward
SELECT ward FROM person GROUP BY ward HAVING COUNT(*) > ALL (ARRAY[1, 2])
SELECT kids << 1, kids & 1, COUNT(*) FROM person GROUP BY kids
SELECT MAKE_TIMESTAMP(2023, kids + 1, 1, 0, 0, 0), COUNT(*) FROM person GROUP BY kids
SELECT TO_DATE('31/12/' || (2020 + kids), 'DD/MM/YYYY'), COUNT(*) FROM person GROUP BY kids
WITH x AS (TABLE person) SELECT COUNT(*) FROM x
SELECT ward, ROUND(EXTRACT(EPOCH FROM AVG(seen - TIMESTAMP '2023-01-01')) / 3600), COUNT(seen - now()::timestamp) FROM person GROUP BY ward
SELECT ROUND(EXTRACT(EPOCH FROM SUM(w)) / 86400), COUNT(*) FILTER (WHERE w > INTERVAL '30 days') FROM (SELECT seen - TIMESTAMP '2023-01-01' AS w, kids FROM person) AS t WHERE kids > 1
SELECT ward FROM (SELECT ward, seen - DATE '2023-02-01' AS w FROM person) AS t GROUP BY ward HAVING AVG(w) FILTER (WHERE w > INTERVAL '-1 day') > INTERVAL '100 days'
SELECT w > INTERVAL '100 days' AS long, COUNT(w), ROUND(EXTRACT(DAY FROM AVG(w / 2 + INTERVAL '1 hour'))) > 20 FROM (SELECT id, MAX(seen) - TIMESTAMP '2023-01-01' AS w FROM person GROUP BY id) AS t GROUP BY 1
SELECT ROUND(EXTRACT(EPOCH FROM AVG(CASE WHEN kids > 1 THEN w WHEN kids = 1 THEN '3 days' END)) / 3600), COUNT(DISTINCT w), COUNT(*) FILTER (WHERE EXTRACT(DAY FROM w) = 4) FROM (SELECT kids, seen - DATE '2023-06-01' AS w FROM person) AS t
SELECT COUNT(*) FILTER (WHERE EXTRACT(HOUR FROM n) > 24), COUNT(*) FILTER (WHERE EXTRACT(DAY FROM n) = 0), COUNT(*) FILTER (WHERE GREATEST(n, '1 day') = '1 day') FROM (SELECT kids * INTERVAL '20 hours' AS n FROM person) AS t
SELECT COUNT(*) FILTER (WHERE EXTRACT(DAY FROM COALESCE(w, '1 day')) = 3), COUNT(*) FILTER (WHERE TIMESTAMP '2023-06-01' + LEAST(w, '10 days') = seen) FROM (SELECT seen, seen - DATE '2023-06-01' AS w FROM person) AS t
SELECT AVG(seen::date - DATE '2023-01-01') > 100, AVG(seen - TIMESTAMP '2023-01-01') > '100 days' FROM person
SELECT OVERLAY(ward PLACING 'X' FROM 1 FOR 1), MD5(ward), COUNT(*) FROM person GROUP BY ward
TABLE ward
VALUES (1, 'a'), (2, 'b')
SELECT ROW(1, 2) = ROW(1, 2), (1, 2) < (1, 3), ROW(1, NULL) = ROW(1, NULL), 5 <> ALL(ARRAY[4, 3])
"""


@pytest.mark.spread
@pytest.mark.parametrize("sql", [line for line in STATEMENTS.splitlines() if line])
def test_a_statement_has_the_same_rows(sql: str, session: Session, reader: psycopg.Connection) -> None:
    truth = sorted((tuple(map(plain, row)) for row in reader.execute(sql).fetchall()), key=str)  # type: ignore[arg-type]
    session.execute("SET dpsql.empty_groups = hide")
    found = rows(session, sql)
    assert found == truth


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("SELECT FORMAT('%s', ward) FROM person GROUP BY ward", "format"),
        ("SELECT (REGEXP_MATCH(ward, '.'))[1] FROM person GROUP BY ward", "regexp_match"),
        ("SELECT ward SIMILAR TO 'a' FROM person GROUP BY ward", "?column?"),
        ("SELECT AVG(seen - TIMESTAMP '2023-01-01') FROM person", "avg"),
        ('SELECT ward COLLATE "C" FROM person GROUP BY ward', "ward"),
        ("VALUES (1)", "column1"),
    ],
)
def test_a_column_keeps_the_name_that_it_has_in_postgresql(
    sql: str, name: str, session: Session, reader: psycopg.Connection
) -> None:
    described = reader.execute(sql).description  # type: ignore[arg-type]
    assert described is not None
    assert [column.name for column in session.execute(sql).columns] == [name] == [column.name for column in described]


@pytest.mark.parametrize("aggregate", ["AVG", "MIN", "MAX", "SUM"])
def test_an_aggregated_interval_is_as_long(aggregate: str, session: Session, reader: psycopg.Connection) -> None:
    sql = f"SELECT {aggregate}(seen - TIMESTAMP '2023-01-01 12:00') AS w FROM person"
    session.execute("SET dpsql.reuse = off")
    answer = session.execute(sql)
    (found,) = reader.execute("SELECT %s::interval", [answer.rows[0][0]]).fetchone() or ()
    (truth,) = reader.execute(sql).fetchone() or ()  # type: ignore[arg-type]
    assert answer.columns[0].name == "w"
    # Sums are rounded to a lattice, extremes are values that a few people are beyond.
    assert abs(found - truth) < {"AVG": timedelta(seconds=1), "SUM": truth / 1_000_000}.get(
        aggregate, timedelta(days=4)
    )
    assert any("seconds" in notice for notice in answer.notices)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT seen - TIMESTAMP '2023-01-01' AS w, COUNT(*) FROM person GROUP BY 1",
        "SELECT STDDEV(seen - TIMESTAMP '2023-01-01') FROM person",
        "SELECT AVG(AGE(seen, TIMESTAMP '2023-01-01')) FROM person",
        "SELECT AVG(w) FROM (SELECT AGE(seen, TIMESTAMP '2023-01-01') AS w FROM person) AS t",
        "SELECT COUNT(*) FROM person WHERE EXTRACT(HOUR FROM seen - TIMESTAMP '2023-01-01' + INTERVAL '5 hours') > 23",
        "SELECT COUNT(*) FROM person WHERE EXTRACT(DAY FROM (seen - TIMESTAMP '2023-01-01') * 2) > 20",
        "SELECT COUNT(*) FROM person WHERE EXTRACT(DAY FROM LEAST(seen - DATE '2023-01-01', '36 hours')) = 1",
        "SELECT COUNT(*) FROM person WHERE GREATEST(seen - DATE '2023-01-01', '1 month') > '5 days'",
        "SELECT AVG(w) FROM (SELECT seen - DATE '2023-01-01' AS w FROM person UNION ALL SELECT seen FROM person) AS t",
    ],
)
def test_an_interval_is_refused_elsewhere_with_a_form_that_works(sql: str, session: Session) -> None:
    with pytest.raises(dpsql.Error) as refused:
        session.execute(sql)
    assert refused.value.hint


REPRESENTED = [
    ("SELECT ARRAY_AGG(ward ORDER BY ward) FROM (SELECT ward FROM person GROUP BY ward) t", '{er,icu,ward}'),
    ("SELECT JSON_AGG(ward ORDER BY ward) FROM (SELECT ward FROM person GROUP BY ward) t", '["er","icu","ward"]'),
    ("SELECT JSONB_AGG(n) FILTER (WHERE n < 0) FROM (SELECT COUNT(*) AS n FROM person GROUP BY ward) t", None),
    ("SELECT JSON_OBJECT_AGG(ward, 1) FROM (SELECT ward FROM person WHERE ward = 'er' GROUP BY ward) t", '{"er":1}'),
    ("SELECT JSON_BUILD_OBJECT('ward', 'er', 'people', COUNT(*) > 5) FROM person", '{"ward":"er","people":true}'),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "text"), REPRESENTED)
def test_lists_and_json_are_shown_as_texts(sql: str, text: str | None, session: Session) -> None:
    assert session.execute(sql).rows == ((text,),)


ROWS_IN_FROM = [
    "SELECT x.ward, y.m FROM (SELECT ward, COUNT(*) AS n FROM person GROUP BY ward) x, LATERAL (SELECT x.n * 2 AS m) y",
    "SELECT w.name, x.n FROM ward w LEFT JOIN LATERAL (SELECT COUNT(*) AS n FROM ward v WHERE v.floor < w.floor) x ON TRUE",
    "SELECT g.x, COALESCE(n, 0) FROM GENERATE_SERIES(0, 6, 2) AS g(x) LEFT JOIN (SELECT kids, COUNT(*) AS n FROM person GROUP BY kids) t ON g.x = t.kids",
    "SELECT d, n FROM GENERATE_SERIES(TIMESTAMP '2023-01-01', '2023-03-01', INTERVAL '1 month') AS d"
    " LEFT JOIN (SELECT DATE_TRUNC('month', seen) AS m, COUNT(*) AS n FROM person GROUP BY 1) t ON t.m = d",
    "SELECT u, n FROM (SELECT COUNT(*) AS n FROM person) t, UNNEST(ARRAY[1, 2, 3]) AS u",
    "SELECT UNNEST(ARRAY_AGG(n ORDER BY ward)) FROM (SELECT ward, COUNT(*) AS n FROM person GROUP BY ward) t",
    "SELECT (ARRAY_AGG(ward ORDER BY ward DESC))[1] FROM (SELECT ward FROM person GROUP BY ward) t",
    "SELECT ARRAY_TO_STRING(ARRAY_AGG(ward ORDER BY ward), '/') FROM (SELECT ward FROM person GROUP BY ward) t",
]  # fmt: skip


@pytest.mark.spread
@pytest.mark.parametrize("sql", ROWS_IN_FROM)
def test_rows_are_made_above_releases(sql: str, session: Session, reader: psycopg.Connection) -> None:
    truth = sorted((tuple(map(plain, row)) for row in reader.execute(sql).fetchall()), key=str)  # type: ignore[arg-type]
    session.execute("SET dpsql.empty_groups = hide")
    assert rows(session, sql) == truth
