"""Previews: a SELECT of a few rows of people, as tools send to see what is there, has its columns and no row.

Guarantee: the answer follows from text, policy and made-up rows alone. No release is made, and no row of people is
read. Where the owner has rows made up of what was released, the same SELECT shows these: it is read as if their tables
were public, and refused to read any other table of people.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from rewriter.declared import Kind, Type
from rewriter.expressions import position_of
from rewriter.refused import NOT_ALLOWED, Refused
from rewriter.relations import Relation

PREVIEWED = "no row is shown, since each is about one person: dpsql.columns lists what may be asked of each column"
MADE_UP = "Made up: "
"""The beginning of the notice of an answer whose rows are of nobody."""
COUNT_THEM = "LIMIT 1 is answered, and SELECT EXISTS (…), by a noisy count; so is SELECT COUNT(*) FROM …"
AT_A_SHARE = (
    "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY x) is the value at a quarter of the rows; so is ORDER BY x LIMIT 1"
    " OFFSET (SELECT COUNT(*) / 4 FROM …), with one column and the same rows"
)
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

    ``SELECT 1 FROM patient WHERE … LIMIT 5`` shows no column: who asks it asks whether there is a row, and would take
    none for an answer. It is refused; with LIMIT 1 a noisy count says it (:mod:`rewriter.split.any_row`).
    """
    limits = (query.args.get(part) for query in tree.find_all(exp.Query) for part in ("limit", "offset"))
    counted = next((one for one in limits if one is not None and one.find(exp.Query) is not None), None)
    if counted is not None:
        text = "LIMIT and OFFSET by a number of rows would pick people"
        raise Refused(text, hint=AT_A_SHARE, sqlstate=NOT_ALLOWED, position=position_of(counted))
    if isinstance(tree, exp.Select) and not any(item.find(exp.Column, exp.Star) for item in tree.expressions):
        raise Refused("this asks whether there is a row of people", hint=COUNT_THEM, sqlstate=NOT_ALLOWED)
    items = [
        exp.alias_(exp.Cast(this=exp.Null(), to=_type_of(value.type)), name, quoted=True)
        for name, value in rows.columns
    ]
    return exp.Select(expressions=items, where=exp.Where(this=exp.false()))


def lists_rows(tree: exp.Query) -> bool:
    """Whether a query shows rows as they are. Numbers of made-up rows are no answer about people.

    >>> import sqlglot
    >>> [lists_rows(sqlglot.parse_one(sql)) for sql in ("SELECT a + 1 FROM t", "SELECT a, COUNT(*) FROM t GROUP BY a")]
    [True, False]
    """
    return tree.find(exp.AggFunc, exp.Window, exp.Group, exp.Distinct, exp.Union, exp.Except, exp.Intersect) is None


def in_place(alone: exp.Select, made_up: exp.Query) -> exp.Select:
    """A SELECT of made-up rows, with the columns of the one that shows columns ``alone``."""
    names = [f"c{number}" for number in range(1, len(alone.expressions) + 1)]
    items = [
        exp.alias_(exp.Cast(this=exp.column(name), to=item.this.args["to"].copy()), item.alias, quoted=True)
        for name, item in zip(names, alone.expressions, strict=True)
    ]
    alias = exp.TableAlias(this=exp.to_identifier("m"), columns=[exp.to_identifier(name) for name in names])
    return exp.Select(expressions=items).from_(exp.Subquery(this=made_up, alias=alias))


def is_preview(notes: Iterable[str]) -> bool:
    """Whether a query with these notes shows a few rows of people."""
    return any(note == PREVIEWED or note.startswith(MADE_UP) for note in notes)


def _type_of(kind: Type) -> exp.DataType:
    if kind.kind is Kind.DECIMAL:
        return exp.DataType.build(f"decimal({kind.precision}, {kind.scale})")
    if kind.kind is Kind.INTEGER:
        return exp.DataType.build(_INTEGERS.get(kind.bits, "decimal(38, 0)"))
    if kind.kind is Kind.INTEGERS:
        return exp.DataType.build(f"{_INTEGERS.get(kind.bits, 'bigint')}[]", dialect="postgres")
    return exp.DataType.build(_TYPES[kind.kind], dialect="postgres")
