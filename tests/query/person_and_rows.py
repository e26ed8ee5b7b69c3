"""A table of people and one of their rows, and statements about them in their one spelling."""

from __future__ import annotations

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


def spelt_in(catalog: Catalog, sql: str) -> str:
    """The canonical spelling of a statement, without its quotes."""
    tree = sqlglot.parse_one(sql, read="postgres")
    assert isinstance(tree, exp.Query)
    return canonical(tree, catalog)[0].sql("postgres").replace('"', "")


def canonical_text(sql: str) -> str:
    """The same over people ``p`` and their rows ``v``."""
    return spelt_in(Catalog({"p": PARENT, "v": CHILD}, ("p", "id")), sql)
