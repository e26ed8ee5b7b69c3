"""The outer SELECT, asked many times at once: over tables that hold many replicates of the released ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from rewriter.declared import Type
from rewriter.dialects import plain_text
from rewriter.outer.to_duckdb import spelled

REPLICATE = "dpsql_replicate"
"""The column of a released table that says which replicate a row belongs to."""

REPLICATES = "dpsql_replicates"
"""The table of all replicates, with that column."""


def replicated_sql(
    tree: exp.Query, schema: Mapping[str, Mapping[str, Type]], released: Collection[str], width: int
) -> str:
    """DuckDB's SQL for ``tree``, of ``width`` columns, over each replicate alone: its number, and its columns.

    Each replicate is a correlated subquery, which the database turns into joins: what takes milliseconds once takes
    tens of them 400 times. The order of rows gets lost.

    >>> import sqlglot
    >>> print(replicated_sql(sqlglot.parse_one("SELECT MAX(a0) FROM r AS x"), {"r": {}}, {"r"}, 1))
    SELECT dpsql_all.dpsql_replicate, dpsql_answer.* FROM dpsql_replicates AS dpsql_all, \
LATERAL (SELECT MAX(a0) FROM (SELECT * FROM "r" WHERE "r".dpsql_replicate = dpsql_all.dpsql_replicate) AS x) \
AS dpsql_answer(dpsql_0)
    """
    copy = spelled(tree, schema)
    for table in list(copy.find_all(exp.Table)):
        if table.name in released:
            table.replace(_one_replicate(table))
    names = ", ".join(f"dpsql_{number}" for number in range(width))
    return (
        f"SELECT dpsql_all.{REPLICATE}, dpsql_answer.* FROM {REPLICATES} AS dpsql_all, "
        f"LATERAL ({plain_text(copy, 'duckdb')}) AS dpsql_answer({names})"
    )


def _one_replicate(table: exp.Table) -> exp.Subquery:
    name = exp.to_identifier(table.name, quoted=True)
    own = exp.Column(this=exp.to_identifier(REPLICATE), table=name)
    rows = exp.Select(expressions=[exp.Star()]).from_(exp.Table(this=name.copy()), copy=False)
    rows.set("where", exp.Where(this=exp.EQ(this=own, expression=exp.column(REPLICATE, "dpsql_all"))))
    alias = table.args.get("alias") or exp.TableAlias(this=name.copy())
    return exp.Subquery(this=rows, alias=alias.copy())
