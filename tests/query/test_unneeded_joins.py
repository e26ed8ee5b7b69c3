"""A join along an enforced foreign key is left out where nothing but its key is read, and is kept elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlglot
from sqlglot import exp

from rewriter.declared import BIGINT, INTEGER, TEXT, Catalog, Column, Hop, Table
from rewriter.query import canonical

PARENT = Table("p", {"id": Column("id", INTEGER, nullable=False, unique=True), "k": Column("k", TEXT)})
CHILD = Table(
    "v",
    {"pid": Column("pid", INTEGER, nullable=False), **{name: Column(name, INTEGER) for name in ("k", "c", "d")}},
    path=(Hop("pid", "p", "id", enforced=True),),
)


def canonical_text(sql: str, child: Table = CHILD) -> str:
    tree = sqlglot.parse_one(sql, read="postgres")
    assert isinstance(tree, exp.Query)
    return canonical(tree, Catalog({"p": PARENT, "v": child}, ("p", "id"))).sql("postgres").replace('"', "")


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("SELECT SUM(c) FROM v JOIN p ON p.id = v.pid", "SELECT SUM(v.c) FROM v"),
        (
            "SELECT SUM(c) FROM p, v WHERE id = pid AND c > 3 AND id < 9",
            "SELECT SUM(v.c) FROM v WHERE c > 3 AND pid < 9",
        ),
        (
            "SELECT AVG(s) FROM p JOIN (SELECT pid, SUM(c) AS s FROM v GROUP BY pid) AS x ON x.pid = p.id",
            "SELECT AVG(s) FROM (SELECT pid, SUM(c) AS s FROM v GROUP BY pid) AS x",
        ),
        ("SELECT SUM(c) FROM v JOIN p ON p.id = v.pid WHERE p.k = 'a'", None),
        ("SELECT SUM(c) FROM v LEFT JOIN p ON p.id = v.pid", None),
        ("SELECT COUNT(*) FROM p LEFT JOIN v ON p.id = v.pid", None),
        ("SELECT SUM(c) FROM v JOIN p ON p.id < v.pid", None),
        ("SELECT SUM(c) FROM v JOIN p ON p.id = v.c", None),
        ("SELECT SUM(c) FROM p JOIN (SELECT pid + 1 AS pid, c FROM v LIMIT 3) AS x ON x.pid = p.id", None),
        ("SELECT AVG(s) FROM p JOIN (SELECT pid, SUM(c) AS s FROM v GROUP BY ROLLUP (pid)) AS x ON x.pid = p.id", None),
    ],
)
def test_a_join_along_an_enforced_key_is_left_out(sql: str, same: str | None) -> None:
    assert canonical_text(sql) == canonical_text(same) if same else "JOIN" in canonical_text(sql)


@pytest.mark.parametrize(
    "child",
    [
        replace(CHILD, path=(Hop("pid", "p", "id"),)),
        replace(CHILD, columns={**CHILD.columns, "pid": Column("pid", INTEGER)}),
        replace(CHILD, columns={**CHILD.columns, "pid": Column("pid", BIGINT, nullable=False)}),
        replace(CHILD, path=(Hop("pid", "p", "id", enforced=True, also=(("k", "k"),)),)),
        replace(CHILD, path=()),
    ],
)
def test_a_join_that_may_drop_rows_is_kept(child: Table) -> None:
    assert "JOIN" in canonical_text("SELECT SUM(c) FROM v JOIN p ON p.id = v.pid", child)
