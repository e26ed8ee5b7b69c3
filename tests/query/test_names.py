"""What names mean: the bound statement, asked of PostgreSQL, has the rows, names and types of the one that was written."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import psycopg
import pytest
import sqlglot
from sqlglot import exp

from rewriter.declared import INTEGER, TEXT, Catalog, Column, Table
from rewriter.dialects import DUCKDB
from rewriter.query.bound_names import bind
from rewriter.refused import Refused
from rewriter.split import split
from tests.engines.postgres_server import shared_server

TABLES = """
CREATE TABLE a (id int, x int, name text, "Mixed" int);
CREATE TABLE b (id int, x int, y int, region text);
CREATE TABLE c (id int, y int, z int);
CREATE TABLE d (k int, "order" int, "two words" int);
INSERT INTO a VALUES (1, 10, 'p', 1), (2, 20, 'q', 1), (3, NULL, 'q', 2), (4, 10, NULL, 2), (NULL, 20, 'p', 3), (2, 30, 'r', 3);
INSERT INTO b VALUES (1, 10, 5, 'r1'), (2, 21, 6, 'r2'), (2, 20, NULL, 'r3'), (5, 10, 5, NULL), (NULL, 7, 8, 'r1'), (6, NULL, 6, 'r2');
INSERT INTO c VALUES (1, 5, 100), (3, 6, 200), (5, 5, 300), (NULL, 6, 400), (7, NULL, 500);
INSERT INTO d VALUES (1, 3, 5), (2, 2, 6), (3, 1, 7), (1, 3, NULL);
"""
TRAPS = (
    # GROUP BY: an input column before an output
    "SELECT CASE WHEN region < 'r2' THEN 'A' ELSE 'B' END AS region, COUNT(*) FROM b GROUP BY region",
    "SELECT COUNT(*) FROM (SELECT CASE WHEN region < 'r2' THEN 'A' ELSE 'B' END AS region FROM b GROUP BY region) t",
    "SELECT x % 3 AS x, COUNT(*) FROM a GROUP BY x",
    "SELECT x % 3 AS x, COUNT(*) FROM a GROUP BY 1",
    "SELECT x % 3 AS m, COUNT(*) FROM a GROUP BY m",
    "SELECT x % 3 AS m, COUNT(*) FROM a GROUP BY (m)",
    "SELECT x % 3 AS x, COUNT(*) FROM a GROUP BY ROLLUP (x)",
    "SELECT x % 3 AS m, name, COUNT(*) FROM a GROUP BY ROLLUP (m, name)",
    "SELECT x % 3 AS x, name AS m, COUNT(*) FROM a GROUP BY CUBE (x, m)",
    "SELECT x % 3 AS m, name, COUNT(*) FROM a GROUP BY GROUPING SETS ((m, name), (2), ())",
    "SELECT x % 3, name, COUNT(*) FROM a GROUP BY ROLLUP (1, 2)",
    "SELECT x AS name, COUNT(*) FROM a GROUP BY name, x",
    "SELECT 5 AS five, COUNT(*) FROM a GROUP BY five",
    "SELECT 5 AS five, COUNT(*) FROM a GROUP BY 1",
    "SELECT 'q' AS k, COUNT(*) FROM (SELECT id AS i FROM a) t GROUP BY k",
    "SELECT (SELECT MAX(z) FROM c) AS m, COUNT(*) FROM a GROUP BY m",
    "SELECT a.name AS id, COUNT(*) FROM a JOIN b ON a.id = b.id GROUP BY a.id, a.name",
    "SELECT x AS m, x AS m, COUNT(*) FROM a GROUP BY m",
    "SELECT (SELECT COUNT(*) FROM b GROUP BY b.id HAVING b.id = a.id) AS n FROM a",
    "SELECT (SELECT MAX(b.y + a.x) AS x FROM b GROUP BY b.id ORDER BY x LIMIT 1) AS n FROM a",
    'SELECT "Mixed" AS m, COUNT(*) FROM a GROUP BY M',
    'SELECT UPPER(name) AS "Name", COUNT(*) FROM a GROUP BY "Name"',
    'SELECT UPPER(name) AS "Name", COUNT(*) FROM a GROUP BY name',
    "SELECT GROUPING(x), x % 3 AS x, COUNT(*) FROM a GROUP BY ROLLUP (x)",
    "SELECT x, COUNT(*) FROM a GROUP BY x, ()",
    "SELECT COUNT(*), x FROM a GROUP BY 2 HAVING COUNT(x) > 1",
    # ORDER BY: an output before an input column; in an expression, an input
    "SELECT id, -x AS x FROM a ORDER BY x, id, name",
    "SELECT id, -x AS x FROM a ORDER BY x + 0, id, name",
    "SELECT x AS name, name AS x FROM a ORDER BY name, x DESC, id",
    "SELECT id AS i, x FROM a ORDER BY 2 DESC, 1, name",
    "SELECT DISTINCT x AS v FROM a ORDER BY v",
    "SELECT DISTINCT ON (x) -x AS x, id FROM a ORDER BY x, id",
    "SELECT DISTINCT ON (v) x % 7 AS v, id FROM a ORDER BY v, id",
    "SELECT x AS s, COUNT(*) AS x FROM a GROUP BY a.x ORDER BY x, s",
    "SELECT COUNT(*) FROM a GROUP BY x ORDER BY count, x",
    "SELECT name, SUM(x) FROM a GROUP BY name ORDER BY sum DESC NULLS LAST, name",
    "SELECT id FROM a UNION ALL SELECT x FROM b ORDER BY id",
    "SELECT id AS v FROM a UNION SELECT x FROM b ORDER BY v DESC",
    "SELECT id, x FROM a EXCEPT SELECT id, x FROM b ORDER BY 1, 2",
    "SELECT string_agg(name, ',' ORDER BY x, id) AS x FROM a",
    "SELECT generate_series FROM generate_series(1, 3)",
    # default names
    "SELECT count FROM (SELECT COUNT(*) FROM a) t",
    "SELECT sum, max FROM (SELECT SUM(x), MAX(id) FROM a) t",
    "SELECT coalesce FROM (SELECT COALESCE(x, 0) FROM a) t",
    'SELECT "case" FROM (SELECT CASE WHEN x > 10 THEN 1 END FROM a) t',
    "SELECT int4 FROM (SELECT 1::int) t",
    "SELECT x FROM (SELECT x::bigint FROM a) t",
    "SELECT extract FROM (SELECT EXTRACT(year FROM DATE '2020-02-01')) t",
    'SELECT "?column?" FROM (SELECT 1 + 1) t',
    "SELECT column1, v.column2 FROM (VALUES (1, 'u'), (2, 'v')) AS v",
    "SELECT max FROM (SELECT (SELECT MAX(x) FROM a)) t",
    "SELECT * FROM (SELECT COUNT(*), SUM(x) FROM a) t",
    "SELECT exists FROM (SELECT EXISTS (SELECT 1 FROM a)) t",
    # USING and NATURAL
    "SELECT id, a.x, b.x FROM a JOIN b USING (id)",
    "SELECT * FROM a JOIN b USING (id)",
    "SELECT * FROM a LEFT JOIN b USING (id, x)",
    "SELECT id, x FROM a RIGHT JOIN b USING (id, x)",
    "SELECT * FROM a FULL JOIN b USING (id)",
    "SELECT id FROM a FULL JOIN b USING (id) FULL JOIN c USING (id)",
    "SELECT * FROM a FULL JOIN b USING (id) LEFT JOIN c USING (id, y)",
    "SELECT * FROM a NATURAL JOIN b",
    "SELECT * FROM a NATURAL LEFT JOIN b NATURAL FULL JOIN c",
    "SELECT COUNT(*) FROM a NATURAL JOIN d",
    "SELECT a.*, id FROM a JOIN b USING (id)",
    "SELECT id, COUNT(*) FROM a FULL JOIN b USING (id) GROUP BY id ORDER BY id",
    "SELECT id AS id, COUNT(*) FROM a FULL JOIN b USING (id) GROUP BY 1 ORDER BY id",
    "SELECT -id AS id FROM a FULL JOIN b USING (id) WHERE id > 1 ORDER BY id",
    "SELECT d.k, id FROM d, a JOIN b USING (id) WHERE k = id",
    "SELECT * FROM a JOIN b USING (id), c WHERE c.id = a.id",
    # scopes
    "SELECT a.id FROM a WHERE x IN (SELECT x FROM b WHERE b.id = a.id)",
    "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE y = 5 AND id = a.id)",
    "SELECT id FROM a WHERE name IN (SELECT name FROM b WHERE region = 'r1')",
    "SELECT id FROM a AS o WHERE x = (SELECT MAX(x) FROM a WHERE a.name = o.name)",
    "SELECT id, (SELECT COUNT(*) FROM b WHERE b.id = a.id AND z > 1) AS n FROM a JOIN c USING (id)",
    "SELECT b.x FROM a AS b WHERE b.x IN (SELECT x FROM b)",
    "SELECT t.n FROM a, LATERAL (SELECT COUNT(*) AS n FROM b WHERE b.id = a.id) t",
    "SELECT a.id, t.n FROM a LEFT JOIN LATERAL (SELECT y AS n FROM b WHERE b.id = a.id AND x = a.x) t ON TRUE",
    "SELECT a.id, t.* FROM a CROSS JOIN LATERAL (SELECT x AS own, y FROM b WHERE id = a.id) t",
    "SELECT a.id, l.v FROM a, LATERAL (SELECT a.x + 1) AS l(v)",
    "SELECT s, a.id FROM a, generate_series(1, 2) AS s",
    "SELECT u.e, a.id FROM a, unnest(ARRAY[a.x, a.id]) AS u(e)",
    "WITH a AS (SELECT id AS x, name FROM a WHERE id > 1) SELECT x, name FROM a",
    "WITH t AS (SELECT x FROM a), u AS (SELECT x + 1 AS x FROM t) SELECT t.x, u.x FROM t JOIN u ON t.x < u.x",
    "WITH t (p, q) AS (SELECT x, COUNT(*) FROM a GROUP BY x ORDER BY x) SELECT q, p FROM t ORDER BY p",
    "WITH t AS (SELECT 1 AS x) SELECT (WITH t AS (SELECT 2 AS x) SELECT x FROM t), x FROM t",
    "WITH a AS (SELECT 7 AS id) SELECT (SELECT COUNT(*) FROM a) FROM b",
    # lists of names, case, quotes, stars
    "SELECT p, q FROM a AS t (p, q)",
    "SELECT * FROM a AS t (p, q)",
    "SELECT x FROM a AS t (x, id) WHERE id > 1",
    "SELECT u FROM (SELECT x, id FROM a ORDER BY x, id) AS t (u, v)",
    "SELECT * FROM (SELECT id FROM a UNION SELECT x FROM b ORDER BY id) AS t (v) ORDER BY v",
    "SELECT p FROM (VALUES (1, 2), (3, 4)) AS v (p, q) WHERE q > 2",
    'SELECT ID, A.Name, "Mixed" FROM A',
    'SELECT "Mixed" AS id, id AS "Mixed" FROM a ORDER BY "Mixed", id',
    'SELECT t."ID" FROM (SELECT id AS "ID", x AS id FROM a) t',
    'SELECT "order", d."two words" FROM d ORDER BY d."order"',
    'SELECT "order", COUNT(*) FROM d GROUP BY "order"',
    "SELECT t.* FROM a AS t, b WHERE t.id = b.id",
    "SELECT *, x + 1 AS x FROM c, d, (SELECT 9 AS x) t",
    "SELECT COUNT(*) FROM (SELECT * FROM a) t WHERE x > 10",
    "SELECT public.a.id, a.name FROM public.a",
    "SELECT SUM(x) OVER (PARTITION BY name ORDER BY id) AS x, id FROM a",
    "SELECT id, -x AS x, RANK() OVER (ORDER BY x) FROM a",
    "SELECT x FROM a WHERE x > ALL (SELECT x - 15 FROM b WHERE x IS NOT NULL)",
    "SELECT CASE name WHEN 'p' THEN id ELSE x END AS name FROM a ORDER BY name",
    "SELECT name, COUNT(*) FILTER (WHERE x > 10) AS x FROM a GROUP BY name HAVING MAX(x) > 10",
    "SELECT COUNT(DISTINCT x), x IS NULL AS x FROM a GROUP BY x IS NULL",
    "SELECT t.id FROM (SELECT * FROM a JOIN b USING (id, x)) AS t WHERE t.y > 1 OR t.name = 'p'",
    # columns of one name, which nothing but a star means
    "SELECT * FROM (SELECT id, id FROM a) t",
    "SELECT t.*, t.y FROM (SELECT * FROM a JOIN b ON a.id = b.id) t",
    "SELECT y, COUNT(*) FROM (SELECT a.*, b.* FROM a, b) t WHERE region > 'r1' GROUP BY y",
    "SELECT * FROM (SELECT id, id FROM a UNION SELECT x, y FROM b) t",
    "SELECT t.* FROM d, LATERAL (SELECT x, k AS x, k FROM a WHERE id = k) t",
    "WITH t AS (SELECT x, id AS x, COUNT(*) FROM a GROUP BY a.x, id) SELECT * FROM t",
    "WITH t AS (SELECT x, y FROM b) SELECT p, u.y FROM t AS u (p)",
    "SELECT unnest, id FROM a, unnest(ARRAY[1, 2])",
)
WRONG = (
    "SELECT id, -x AS y FROM a ORDER BY -y NULLS LAST, id",
    "SELECT x % 3 AS m FROM a WHERE m > 1",
    "SELECT x % 3 AS m, COUNT(*) FROM a GROUP BY m + 1",
    "SELECT x % 3 AS m, COUNT(*) FROM a GROUP BY x HAVING m > 1",
    "SELECT x AS m, m + 1 FROM a",
    "SELECT x AS m, id AS m FROM a ORDER BY m",
    "SELECT x AS m, id AS m, COUNT(*) FROM a GROUP BY m",
    "SELECT t.x FROM (SELECT x, id AS x FROM a) t",
    "SELECT id FROM a JOIN b ON a.x = b.x",
    "SELECT x FROM a, b",
    "SELECT a.id FROM a AS t",
    "SELECT nothing FROM a",
    "SELECT t.nothing FROM a AS t",
    "SELECT 1 FROM a, a",
    "SELECT 1 FROM a AS t, b AS t",
    "SELECT a.id, t.id FROM a, (SELECT id FROM b WHERE b.id = a.id) AS t",
    "SELECT 1 FROM d, a JOIN b ON d.k = b.id",
    "SELECT x FROM a UNION SELECT id FROM b ORDER BY id",
    "SELECT x FROM a UNION SELECT y FROM b ORDER BY x + 1",
    'SELECT "ID" FROM (SELECT id FROM a) t',
    "SELECT COUNT(*) FROM a GROUP BY 2",
    "SELECT COUNT(*) AS n FROM a GROUP BY n",
    "SELECT p FROM a AS t (p, q, r, s, u)",
    "SELECT * FROM a JOIN b USING (name)",
    "SELECT id FROM a JOIN b USING (id) JOIN c ON TRUE",
    "SELECT t.* FROM a",
    "WITH t AS (SELECT u.x FROM u), u AS (SELECT x FROM a) SELECT x FROM t",
)
LEFT_ALONE = (
    "SELECT x.id FROM (a JOIN b USING (id)) AS x",
    "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT n FROM t",
    "SELECT a FROM a",
)


def catalog() -> Catalog:
    columns = {
        "a": ("id", "x", "name", "Mixed"),
        "b": ("id", "x", "y", "region"),
        "c": ("id", "y", "z"),
        "d": ("k", "order", "two words"),
    }
    types = {"name": TEXT, "region": TEXT}
    tables = [
        Table(name, {one: Column(one, types.get(one, INTEGER)) for one in own}, public=True)
        for name, own in columns.items()
    ]
    return Catalog({one.name: one for one in tables}, None)


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection]:
    server = shared_server()
    with server.owner(server.database(TABLES)) as connection:
        yield connection


def asked(connection: psycopg.Connection, sql: str) -> tuple[list[tuple[str, int]], list[tuple[object, ...]]]:
    cursor = connection.execute(sql)
    return [(one.name, one.type_code) for one in cursor.description or ()], cursor.fetchall()


def bound(sql: str) -> exp.Query | None:
    tree = sqlglot.parse_one(sql.replace("public.a.id", "a.id"), read="postgres")
    assert isinstance(tree, exp.Query)
    return tree if bind(tree, catalog()) else None


@pytest.mark.parametrize("sql", TRAPS)
def test_bound_names_mean_what_they_mean_to_postgres(sql: str, connection: psycopg.Connection) -> None:
    tree = bound(sql)
    assert tree is not None
    columns, rows = asked(connection, sql)
    found, same = asked(connection, tree.sql("postgres"))
    assert found == columns
    assert (same == rows) if "ORDER BY" in sql else (sorted(map(repr, same)) == sorted(map(repr, rows)))


@pytest.mark.parametrize("sql", TRAPS)
def test_each_column_says_its_table_and_binding_again_changes_nothing(sql: str) -> None:
    tree = bound(sql)
    assert tree is not None
    alone = [column for column in tree.find_all(exp.Column) if not column.table]
    assert all(column.find_ancestor(exp.Ordered, exp.Distinct) for column in alone)
    again = tree.copy()
    assert bind(again, catalog())
    assert again == tree


@pytest.mark.parametrize("sql", WRONG)
def test_what_postgres_refuses_is_not_bound(sql: str, connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error):
        connection.execute(sql)
    tree = sqlglot.parse_one(sql, read="postgres")
    assert isinstance(tree, exp.Query)
    assert not bind(tree, catalog())


@pytest.mark.parametrize("sql", LEFT_ALONE)
def test_forms_without_a_rule_are_left_as_they_were_written(sql: str, connection: psycopg.Connection) -> None:
    connection.execute(sql)
    assert bound(sql) is None


@pytest.mark.parametrize(
    ("sql", "plain"),
    [
        ("SELECT COUNT(Mixed) FROM (SELECT * FROM a) t", 'SELECT COUNT(t."Mixed") FROM (SELECT * FROM a) AS t'),
        ("WITH t AS (SELECT *, x + 1 AS n FROM a) SELECT mixed, n FROM t", None),
        ("WITH t AS (SELECT a.* FROM a), u AS (SELECT * FROM t) SELECT u.MIXED FROM u", None),
        ("SELECT mixed FROM (SELECT * FROM a UNION ALL SELECT * FROM a) t ORDER BY mixed", None),
        ("SELECT COUNT(*) FROM (SELECT * FROM a) t JOIN a AS u USING (mixed)", None),
        ("SELECT COUNT(*) FROM a NATURAL JOIN (SELECT 1 AS mixed) t", None),
    ],
)
def test_a_star_keeps_names_that_any_case_means(sql: str, plain: str | None) -> None:
    """A table's own names need no quotes, nor do they behind a star, which a reader cannot tell from the table."""
    found = bound(sql)
    assert found is not None
    names = {one.name for one in found.find_all(exp.Column)}
    assert "Mixed" in names
    assert plain is None or found.sql("postgres") == bound(plain).sql("postgres")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT mixed FROM (SELECT a.*, u.* FROM a, a AS u) t",
        'SELECT MIXED FROM (SELECT x AS "Mixed" FROM a) t',
        'SELECT "mixed" FROM (SELECT * FROM a) t',
    ],
)
def test_a_name_that_a_statement_quotes_or_has_twice_is_not_meant_in_any_case(sql: str) -> None:
    assert bound(sql) is None


def test_a_name_as_it_is_written_goes_before_one_in_another_case() -> None:
    found = bound("SELECT mixed FROM (SELECT *, x AS mixed FROM a) t")
    assert found is not None
    assert found.selects[0].name == "mixed"


def test_a_statement_that_is_not_bound_is_not_answered() -> None:
    named, unnamed = (
        "SELECT x FROM a UNION SELECT id FROM b ORDER BY x",
        "SELECT x FROM a UNION SELECT id FROM b ORDER BY id",
    )
    assert split(sqlglot.parse_one(named, read="postgres"), catalog(), DUCKDB).releases == ()  # type: ignore[arg-type]
    with pytest.raises(Refused, match="no single meaning"):
        split(sqlglot.parse_one(unnamed, read="postgres"), catalog(), DUCKDB)  # type: ignore[arg-type]


def test_binding_takes_less_than_a_millisecond() -> None:
    known, taken = catalog(), []
    for sql in TRAPS:
        tree = sqlglot.parse_one(sql.replace("public.a.id", "a.id"), read="postgres")
        assert isinstance(tree, exp.Query)
        copies = [tree.copy() for _ in range(3)]
        times = []
        for copy in copies:
            start = time.process_time_ns()
            bind(copy, known)
            times.append(time.process_time_ns() - start)
        taken.append(min(times) / 1e6)
    assert statistics.quantiles(taken, n=10)[8] < 1.0
