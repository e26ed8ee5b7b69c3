"""Rows that a statement writes itself, joined with rows of people: ``(VALUES ('a', 1), ('b', 2)) AS v(r, n)``."""

from __future__ import annotations

from sqlglot import exp

from rewriter.columns import aliased, literal_of
from rewriter.declared import ContributionBound, Interval, Kind, Scalar, Type
from rewriter.dialects import Dialect
from rewriter.expressions import Value, Values, common_type, compile_expression, widen
from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.relations import BlockScope, Relation

MOST_WRITTEN = 5_000
"""Values of all rows together."""


def written_rows(values: exp.Values, alias: str, dialect: Dialect) -> Relation:
    """The rows as public ones, of which the values are known, and so by which columns they differ.

    A row of a person meets as many of them as the statement's text says: nobody's data are among them.
    """
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in values.expressions]
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise Refused("the rows of VALUES have different lengths", hint="write as many in each", sqlstate="42601")
    if len(rows) * width > MOST_WRITTEN:
        raise Refused("VALUES has too many rows", hint=f"write {MOST_WRITTEN:,} values at most", sqlstate=TOO_COMPLEX)
    columns = [_column([row[place] for row in rows], dialect) for place in range(width)]
    names = _names(values, width)
    listed = [
        exp.Tuple(expressions=[literal_of(one, None, dialect) for one in row])
        for row in zip(*(c for _, c in columns), strict=True)
    ]
    own = exp.TableAlias(this=exp.to_identifier("v"), columns=[exp.to_identifier(f"c{n}") for n in range(width)])
    typed = [exp.alias_(dialect.cast(exp.column(f"c{n}", "v"), type_), f"c{n}") for n, (type_, _) in enumerate(columns)]
    table = exp.Select(expressions=typed).from_(exp.Values(expressions=listed, alias=own), copy=False)
    found = tuple(
        (name, _value(exp.column(f"c{n}", alias), *column))
        for n, (name, column) in enumerate(zip(names, columns, strict=True))
    )
    unique = tuple(
        frozenset({n}) for n, (_, given) in enumerate(columns) if None not in given and len({*given}) == len(given)
    )
    return Relation(
        found, exp.Select().from_(aliased(table, alias), copy=False), None, ContributionBound(len(rows)), unique=unique
    )


def _column(items: list[exp.Expr], dialect: Dialect) -> tuple[Type, list[Scalar | None]]:
    """The type that a column's literals have together, and their values."""
    nowhere = BlockScope((), _no_subquery)
    compiled = [compile_expression(item, nowhere, dialect) for item in items]
    type_ = common_type(compiled)
    found: list[Scalar | None] = []
    for value in compiled:
        literal = widen(value, type_, dialect).literal if value.literal is not None else None
        if literal is None:
            raise Refused(
                "VALUES beside people has literals alone", hint="write (VALUES ('a', 1), ('b', 2)) AS v(x, n)"
            )
        found.append(literal.scalar)
    return type_, found


def _value(column: exp.Expr, type_: Type, given: list[Scalar | None]) -> Value:
    interval: Interval | None = None
    if type_.numeric or type_.temporal:
        points = [Interval.of(one, one) for one in given if one is not None]
        for point in points:
            interval = point if interval is None else interval.hull(point)
    known = Values(tuple(dict.fromkeys(given))) if type_.kind is not Kind.DOUBLE else None
    unknown = Value.unknown(column, type_)
    return Value(
        column, type_, interval, nullable=None in given, constant=False, domain=known, size=unknown.size,
    )  # fmt: skip


def _names(values: exp.Values, width: int) -> list[str]:
    alias = values.args.get("alias")
    given = [one.name for one in (alias.args.get("columns") or ())] if alias is not None else []
    if len(given) > width:
        raise Refused(f"VALUES has only {width} columns", hint="name fewer", sqlstate="42P10")
    return [*given, *(f"column{place + 1}" for place in range(len(given), width))]


def _no_subquery(node: exp.In | exp.Exists | exp.Subquery, scope: BlockScope) -> Value:
    raise Refused("VALUES beside people has literals alone", hint="select from the tables instead")
