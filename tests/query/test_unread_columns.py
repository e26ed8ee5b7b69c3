"""Columns of subqueries are left out where nothing reads them, and nowhere else."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from rewriter.declared import INTEGER, Catalog, Column, Hop, Table
from rewriter.query.bound_names import bind
from rewriter.query.distinct_names import name_apart, number_anew
from rewriter.query.unread_columns import drop_unread

CATALOG = Catalog(
    {
        "p": Table("p", {"id": Column("id", INTEGER)}),
        "t": Table(
            "t",
            {name: Column(name, INTEGER) for name in ("pid", "a", "b", "c")},
            path=(Hop("pid", "p", "id"),),
        ),
    },
    ("p", "id"),
)


def pruned(sql: str) -> str:
    tree = sqlglot.parse_one(sql, read="postgres")
    assert isinstance(tree, exp.Query)
    return left(tree)


def left(tree: exp.Query, *, drop: bool = True) -> str:
    """The tree as it is bound, with its unread columns or without."""
    if bind(tree, CATALOG):
        labels = name_apart(tree)
        if drop:
            drop_unread(tree, CATALOG)
        number_anew(tree, labels)
    return tree.sql("postgres")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT SUM(a) FROM (SELECT a, b FROM t) AS x", "SELECT SUM(a) FROM (SELECT a FROM t) AS x"),
        ("SELECT SUM(v) FROM (SELECT a, b FROM t) AS x(u, v)", 'SELECT SUM(v) FROM (SELECT b AS "v" FROM t) AS x'),
        (
            "SELECT SUM(x.a) FROM (SELECT a, b FROM t) AS x JOIN (SELECT b, c FROM t) AS y ON x.a = y.b",
            "SELECT SUM(x.a) FROM (SELECT a FROM t) AS x JOIN (SELECT b FROM t) AS y ON x.a = y.b",
        ),
        (
            "WITH x AS (SELECT a, b AS y, c FROM t), z AS (SELECT *, y + 1 AS more FROM x) SELECT SUM(a) FROM z",
            "WITH x AS (SELECT a FROM t), z AS (SELECT * FROM x) SELECT SUM(a) FROM z",
        ),
        (
            "SELECT SUM(m) FROM (SELECT pid, MAX(a) AS m, SUM(b) AS s FROM t GROUP BY pid) AS x",
            "SELECT SUM(m) FROM (SELECT pid, MAX(a) AS m FROM t GROUP BY pid) AS x",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT a, LAG(b) OVER (PARTITION BY pid ORDER BY c) AS l FROM t) AS x WHERE a > 1",
            "SELECT COUNT(*) FROM (SELECT a FROM t) AS x WHERE a > 1",
        ),
        ("SELECT COUNT(*) FROM (SELECT a + b AS s, c FROM t) AS x", "SELECT COUNT(*) FROM (SELECT c FROM t) AS x"),
        (
            "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT * FROM (SELECT a, b FROM t) AS y WHERE y.a = t.a)",
            "SELECT COUNT(*) FROM t WHERE EXISTS(SELECT * FROM (SELECT a FROM t) AS y WHERE y.a = t.a)",
        ),
    ],
)
def test_what_nothing_reads_is_left_out(sql: str, expected: str) -> None:
    tree = sqlglot.parse_one(expected, read="postgres")
    assert isinstance(tree, exp.Query)
    assert pruned(sql) == left(tree, drop=False)


@pytest.mark.parametrize(
    "sql",
    [
        # All columns are read, or are told apart by all.
        "SELECT * FROM (SELECT a, b FROM t) AS x",
        "SELECT x.* FROM (SELECT a, b FROM t) AS x",
        "SELECT COUNT(x.*) FROM (SELECT a, b FROM t) AS x",
        "SELECT COUNT(*) FROM (SELECT DISTINCT a, b FROM t) AS x",
        "SELECT COUNT(*) FROM (SELECT a, b FROM t UNION SELECT b, c FROM t) AS x",
        "SELECT COUNT(*) FROM (SELECT DISTINCT ON (a) a, b FROM t) AS x",
        "SELECT COUNT(*) FROM (SELECT a, b FROM t) AS x NATURAL JOIN (SELECT a, b FROM t) AS y",
        # Columns that are read by another name, or by none.
        "SELECT COUNT(*) FROM (SELECT a, b FROM t) AS x JOIN (SELECT a, b FROM t) AS y USING (a, b)",
        "SELECT COUNT(*) FROM (SELECT a, b FROM t ORDER BY 2 LIMIT 3) AS x",
        "SELECT COUNT(*) FROM (SELECT pid, MAX(a) AS m FROM t GROUP BY pid ORDER BY m) AS x",
        "SELECT COUNT(*) FROM t WHERE a IN (SELECT a FROM t) AND (a, b) IN (SELECT b, c FROM t)",
        # What decides which rows there are.
        "SELECT COUNT(*) FROM (SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b) AS x",
        "SELECT COUNT(*) FROM (SELECT pid, a + b AS s FROM t GROUP BY pid, a + b) AS x",
        "SELECT SUM(a) FROM (SELECT a, UNNEST(ARRAY[b, c]) AS u FROM t) AS x",
        "SELECT SUM(a) FROM (SELECT a, makes_rows(b) AS u FROM t) AS x",
        "SELECT COUNT(*) FROM (SELECT MAX(a) AS m FROM t) AS x",
        # Whose a group is, what is released together, and what is misspelt.
        "SELECT SUM(a) FROM (SELECT b, MAX(pid) AS whose, SUM(a) AS a FROM t GROUP BY b) AS x",
        "SELECT SUM(n) FROM (SELECT b, AVG(a) AS m, COUNT(*) AS n FROM t GROUP BY b) AS x",
        "SELECT SUM(a) FROM (SELECT a, nothing + 1 AS n FROM t) AS x",
    ],
)
def test_what_is_read_or_makes_rows_stays(sql: str) -> None:
    tree = sqlglot.parse_one(sql, read="postgres")
    assert isinstance(tree, exp.Query)
    assert pruned(sql) == left(tree, drop=False)
