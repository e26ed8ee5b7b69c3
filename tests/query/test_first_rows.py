"""DISTINCT ON a person is rows that are numbered 1, and no other DISTINCT ON is."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from rewriter.declared import INTEGER, TEXT, Catalog, Column, Hop, Table
from rewriter.query import canonical

PARENT = Table("p", {"id": Column("id", INTEGER, nullable=False, unique=True), "k": Column("k", TEXT)})
CHILD = Table(
    "v",
    {"pid": Column("pid", INTEGER, nullable=False), **{name: Column(name, INTEGER) for name in ("k", "c", "d")}},
    path=(Hop("pid", "p", "id", enforced=True),),
)


def canonical_text(sql: str) -> str:
    tree = sqlglot.parse_one(sql, read="postgres")
    assert isinstance(tree, exp.Query)
    return canonical(tree, Catalog({"p": PARENT, "v": CHILD}, ("p", "id"))).sql("postgres").replace('"', "")


FIRST = "(SELECT DISTINCT ON (pid) c FROM v ORDER BY pid, d)"
NUMBERED = "(SELECT c, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY d) AS number FROM v) AS f"


@pytest.mark.parametrize(
    "first",
    [
        FIRST,
        "(SELECT DISTINCT ON (pid) c, pid FROM v ORDER BY 2, d)",
        "(SELECT DISTINCT ON (w) c, pid AS w FROM v ORDER BY w, d)",
    ],
)
def test_distinct_on_a_person_numbers_rows(first: str) -> None:
    same = canonical_text(f"SELECT AVG(f.c) FROM {NUMBERED} WHERE f.number = 1")
    assert canonical_text(f"SELECT AVG(c) FROM {first} AS f").replace("v.c AS c", "v.c") == same


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT ON (k) c FROM v ORDER BY k, d",
        "SELECT DISTINCT ON (pid) c FROM v",
        "SELECT DISTINCT ON (pid) c FROM v ORDER BY pid",
        "SELECT DISTINCT ON (pid) c FROM v ORDER BY d, pid",
        "SELECT DISTINCT ON (pid) c FROM v ORDER BY pid, d LIMIT 3",
        "SELECT DISTINCT ON (pid) SUM(c) AS c FROM v GROUP BY pid, k ORDER BY pid, k",
    ],
)
def test_other_distinct_on_is_left(query: str) -> None:
    assert "ROW_NUMBER" not in canonical_text(f"SELECT AVG(c) FROM ({query}) AS f")
