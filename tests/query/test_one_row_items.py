"""A value beside rows is written where it is read, and nothing else is."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from rewriter.declared import INTEGER, TEXT, Catalog, Column, Hop, Table
from rewriter.query import canonical

CATALOG = Catalog(
    {
        "p": Table("p", {"id": Column("id", INTEGER)}),
        "v": Table(
            "v",
            {"pid": Column("pid", INTEGER), "k": Column("k", TEXT), "c": Column("c", INTEGER)},
            path=(Hop("pid", "p", "id"),),
        ),
    },
    ("p", "id"),
)
MEAN = "(SELECT AVG(c) AS a FROM v) AS m"


def canonical_text(sql: str) -> str:
    tree = sqlglot.parse_one(sql, read="postgres")
    assert isinstance(tree, exp.Query)
    return canonical(tree, CATALOG)[0].sql("postgres")


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        (f"SELECT COUNT(*) FROM v, {MEAN} WHERE v.c > m.a", "SELECT COUNT(*) FROM v WHERE c > (SELECT AVG(c) FROM v)"),
        (f"SELECT COUNT(*) FROM {MEAN}, v WHERE c > a", "SELECT COUNT(*) FROM v WHERE c > (SELECT AVG(c) FROM v)"),
        (f"SELECT COUNT(*) FROM v JOIN {MEAN} ON c > a", "SELECT COUNT(*) FROM v WHERE c > (SELECT AVG(c) FROM v)"),
        (
            f"SELECT k, COUNT(*) AS n, m.a FROM v CROSS JOIN {MEAN} GROUP BY k, m.a",
            "SELECT k, COUNT(*) AS n, (SELECT AVG(c) FROM v) AS a FROM v GROUP BY k",
        ),
        (
            f"SELECT k, COUNT(*) AS n, MAX(m.a) AS a FROM v CROSS JOIN {MEAN} GROUP BY k HAVING MIN(m.a) > 2",
            "SELECT k, COUNT(*) AS n, (SELECT AVG(c) FROM v) AS a FROM v GROUP BY k HAVING (SELECT AVG(c) FROM v) > 2",
        ),
    ],
)
def test_a_value_beside_rows_is_a_subquery_where_it_is_read(sql: str, same: str) -> None:
    # Quotes and aliases of tables aside.
    assert canonical_text(sql).replace('"', "") == canonical_text(same).replace('"', "")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM v, (SELECT AVG(c) AS a, MAX(c) AS b FROM v) AS m WHERE v.c > m.a AND v.c < m.b",
        f"SELECT COUNT(*), m.a FROM v, {MEAN} GROUP BY m.a",
        f"SELECT SUM(v.c - m.a) FROM v, {MEAN}",
        f"SELECT MAX(m.a) FROM v, {MEAN}",
        f"SELECT k, MAX(m.a), SUM(v.c - m.a) FROM v, {MEAN} GROUP BY k",
        f"SELECT k, MAX(m.a) FILTER (WHERE v.c > 3) FROM v, {MEAN} GROUP BY k",
        f"SELECT k, MAX(m.a) OVER () FROM v, {MEAN} GROUP BY k, m.a",
        f"SELECT k, SUM(m.a) FROM v, {MEAN} GROUP BY k",
        f"SELECT k, MAX(m.a) FROM v, {MEAN} GROUP BY ROLLUP (k)",
        f"SELECT k, COUNT(*) FROM v, {MEAN} GROUP BY ROLLUP (k, m.a)",
        f"SELECT COUNT(*) FROM v LEFT JOIN {MEAN} ON v.c > m.a",
        "SELECT COUNT(*) FROM v, (SELECT AVG(c) AS a FROM v HAVING COUNT(*) > 5) AS m WHERE v.c > m.a",
        "SELECT COUNT(*) FROM v, (SELECT AVG(c) AS a FROM v GROUP BY k) AS m WHERE v.c > m.a",
    ],
)
def test_what_hangs_on_the_item_in_from_keeps_it_there(sql: str) -> None:
    tree = sqlglot.parse_one(canonical_text(sql), read="postgres")
    assert any(isinstance(one.parent, exp.From | exp.Join) for one in tree.find_all(exp.Subquery))
