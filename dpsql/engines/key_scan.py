"""The scan that tells whether columns are a key: one statement for every engine."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp


def key_scan(table: exp.Table, columns: Sequence[exp.Expr]) -> exp.Select:
    """SQL of one row: whether two rows share all values of ``columns``, and whether a row has a NULL there.

    Rows with a NULL share nothing, as in a UNIQUE constraint.

    >>> print(key_scan(exp.to_table("t"), [exp.column("a")]).sql())
    SELECT COALESCE(MAX(CASE WHEN n > 1 AND NOT c0 IS NULL THEN 1 ELSE 0 END), 0), \
COALESCE(MAX(CASE WHEN c0 IS NULL THEN 1 ELSE 0 END), 0) \
FROM (SELECT a AS c0, COUNT(*) AS n FROM t GROUP BY 1) AS k
    """
    names = [f"c{number}" for number in range(len(columns))]
    read = [exp.alias_(column.copy(), name) for column, name in zip(columns, names, strict=True)]
    counted = exp.Select(expressions=[*read, exp.alias_(exp.Count(this=exp.Star()), "n")]).from_(table, copy=False)
    ordinals: list[exp.Expr] = [exp.Literal.number(number + 1) for number in range(len(columns))]
    counted.set("group", exp.Group(expressions=ordinals))
    is_null = exp.or_(*(exp.Is(this=exp.column(name), expression=exp.Null()) for name in names), copy=False)
    several = exp.GT(this=exp.column("n"), expression=exp.Literal.number(1))
    repeats = exp.and_(several, exp.not_(is_null.copy()), copy=False)
    return exp.select(_any(repeats), _any(is_null)).from_(
        exp.Subquery(this=counted, alias=exp.TableAlias(this=exp.to_identifier("k"))), copy=False
    )


def _any(test: exp.Expr) -> exp.Expr:
    """1 where a row passes the test, else 0."""
    case = exp.Case(ifs=[exp.If(this=test, true=exp.Literal.number(1))], default=exp.Literal.number(0))
    return exp.Coalesce(this=exp.Max(this=case), expressions=[exp.Literal.number(0)])
