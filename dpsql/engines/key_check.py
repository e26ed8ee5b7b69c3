"""The scans that tell whether columns are a key, and whether they hold other tables' keys: one SQL for every engine."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

FEWEST = 20
"""Values of a column that are taken for keys."""


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


def reference_scan(column: exp.Expr, table: exp.Table, key: exp.Expr, parent: exp.Table) -> exp.Select:
    """SQL of one row: how many values ``column`` has, how many of them are no value of ``key``, how many that has.

    >>> print(reference_scan(exp.column("a"), exp.to_table("t"), exp.column("b"), exp.to_table("p")).sql())
    SELECT COUNT(c.v), COUNT(c.v) - COUNT(k.v), (SELECT COUNT(DISTINCT b) FROM p) \
FROM (SELECT DISTINCT a AS v FROM t) AS c LEFT JOIN (SELECT DISTINCT b AS v FROM p) AS k ON k.v = c.v
    """
    ours, theirs = (
        exp.Subquery(
            this=exp.select(exp.alias_(one.copy(), "v")).distinct().from_(of.copy()),
            alias=exp.TableAlias(this=exp.to_identifier(name)),
        )
        for one, of, name in ((column, table, "c"), (key, parent, "k"))
    )
    values, met = (exp.Count(this=exp.column("v", name)) for name in ("c", "k"))
    every = exp.Subquery(this=exp.select(exp.Count(this=exp.Distinct(expressions=[key.copy()]))).from_(parent.copy()))
    return (
        exp.select(values, exp.Sub(this=values.copy(), expression=met), every)
        .from_(ours, copy=False)
        .join(theirs, on=exp.EQ(this=exp.column("v", "k"), expression=exp.column("v", "c")), join_type="left")
    )


def seems_to_refer(values: int, others: int, keys: int) -> bool:
    """Whether so many different values, of which ``others`` are no keys, are taken for keys: a twentieth of them all.

    >>> seems_to_refer(700, 0, 1000), seems_to_refer(31, 0, 1000), seems_to_refer(700, 1, 1000)
    (True, False, False)
    """
    return values >= FEWEST and others == 0 and 20 * values >= keys


def _any(test: exp.Expr) -> exp.Expr:
    """1 where a row passes the test, else 0."""
    case = exp.Case(ifs=[exp.If(this=test, true=exp.Literal.number(1))], default=exp.Literal.number(0))
    return exp.Coalesce(this=exp.Max(this=case), expressions=[exp.Literal.number(0)])
