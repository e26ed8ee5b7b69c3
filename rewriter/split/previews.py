"""Previews: a SELECT of a few rows of people, as tools send to see what is there, has its columns and no row.

Guarantee: the answer follows from text and policy alone. No release is made, and no row of people is read.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Kind, Type
from rewriter.refused import NOT_ALLOWED, Refused
from rewriter.relations import Relation

PREVIEWED = "rows of people are not shown, only their columns: dpsql.columns says what may be asked of each"
COUNT_THEM = "ask for their number, which is noisy: SELECT COUNT(*) FROM …, or SELECT COUNT(*) > 10 FROM …"
_TYPES = {
    Kind.BOOLEAN: "boolean",
    Kind.DOUBLE: "double precision",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
    Kind.TIMESTAMPTZ: "timestamptz",
    Kind.TIME: "time",
    Kind.NULL: "text",
    **dict.fromkeys((Kind.JSON, Kind.JSONB), "json"),
    Kind.TEXTS: "text[]",
}
_INTEGERS = {16: "smallint", 32: "integer", 64: "bigint"}


def unlimited(tree: exp.Query) -> exp.Query:
    """The query without any LIMIT: which rows there are does not change their columns.

    >>> import sqlglot
    >>> unlimited(sqlglot.parse_one("SELECT a FROM (SELECT a FROM t LIMIT 5 OFFSET 2) LIMIT 1")).sql()
    'SELECT a FROM (SELECT a FROM t)'
    """
    copy = tree.copy()
    for query in copy.find_all(exp.Query):
        for part in ("limit", "offset"):
            if query.args.get(part) is not None:
                query.set(part, None)
    return copy


def columns_alone(rows: Relation, tree: exp.Query) -> exp.Select:
    """A SELECT of no row with the same columns as the query ``tree``, whose rows they are.

    ``SELECT 1 FROM patient WHERE … LIMIT 1`` shows no column: who asks it asks whether there is a row, and would take
    none for an answer. It is refused.
    """
    if isinstance(tree, exp.Select) and not any(item.find(exp.Column, exp.Star) for item in tree.expressions):
        raise Refused("this asks whether there is a row of people", hint=COUNT_THEM, sqlstate=NOT_ALLOWED)
    items = [
        exp.alias_(exp.Cast(this=exp.Null(), to=_type_of(value.type)), name, quoted=True)
        for name, value in rows.columns
    ]
    return exp.Select(expressions=items, where=exp.Where(this=exp.false()))


def _type_of(kind: Type) -> exp.DataType:
    if kind.kind is Kind.DECIMAL:
        return exp.DataType.build(f"decimal({kind.precision}, {kind.scale})")
    if kind.kind is Kind.INTEGER:
        return exp.DataType.build(_INTEGERS.get(kind.bits, "decimal(38, 0)"))
    if kind.kind is Kind.INTEGERS:
        return exp.DataType.build(f"{_INTEGERS.get(kind.bits, 'bigint')}[]", dialect="postgres")
    return exp.DataType.build(_TYPES[kind.kind], dialect="postgres")
