"""The scans behind ``dpsql check --data``, one SQL for every engine: the values of columns, the rows of people.

For the owner's eyes alone: each figure is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp

from dpsql.engines.way_check import Rows, Way, people_of

_PEOPLE = """
SELECT SUM(n), COALESCE(SUM(CASE WHEN low IS NULL THEN n END), 0), COALESCE(SUM(shared), 0), COUNT(low),
PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY owned), PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY owned),
PERCENTILE_DISC(0.99) WITHIN GROUP (ORDER BY owned), MAX(owned), COALESCE(SUM(CASE WHEN owned > most THEN 1 END), 0),
COALESCE(SUM(CASE WHEN owned > most THEN owned - most END), 0)
FROM (SELECT low, n, shared, CASE WHEN low IS NOT NULL THEN n END AS owned, most_rows AS most FROM (
SELECT w.low AS low, COUNT(*) AS n, SUM(CASE WHEN w.low <> w.high THEN 1 ELSE 0 END) AS shared
FROM found AS w GROUP BY w.low) AS g) AS h
"""


def value_scan(
    rows: Rows, table: str, column: str, ends: tuple[exp.Expr, exp.Expr] | None, values: Sequence[exp.Expr]
) -> exp.Select:
    """SQL of one row: rows, NULLs, different values, values below and above the ``ends``, values beside ``values``.

    >>> def rows(table, columns):
    ...     return exp.select(*(exp.alias_(exp.column(name), as_) for as_, name in columns.items())).from_(table)
    >>> print(value_scan(rows, "t", "a", (exp.Literal.number(1), exp.Literal.number(9)), ()).sql())
    SELECT COUNT(*), COUNT(*) - COUNT(v), COUNT(DISTINCT v), COALESCE(SUM(CASE WHEN v < 1 THEN 1 ELSE 0 END), 0), \
COALESCE(SUM(CASE WHEN v > 9 THEN 1 ELSE 0 END), 0), 0 FROM (SELECT a AS v FROM t) AS r
    """
    value = exp.column("v")
    below: exp.Expr = exp.Literal.number(0)
    above: exp.Expr = exp.Literal.number(0)
    beside: exp.Expr = exp.Literal.number(0)
    if ends is not None:
        below = _how_many(exp.LT(this=value.copy(), expression=ends[0].copy()))
        above = _how_many(exp.GT(this=value.copy(), expression=ends[1].copy()))
    if values:
        known = exp.In(this=value.copy(), expressions=[one.copy() for one in values])
        beside = _how_many(exp.Not(this=known))
    return exp.select(
        exp.Count(this=exp.Star()),
        exp.Sub(this=exp.Count(this=exp.Star()), expression=exp.Count(this=value.copy())),
        exp.Count(this=exp.Distinct(expressions=[value.copy()])),
        below,
        above,
        beside,
    ).from_(_named(rows(table, {"v": column}), "r"), copy=False)


def owned_rows_scan(
    rows: Rows, table: str, people: tuple[str, str], way: Way, most: int, spans: tuple[str, str] | None = None
) -> exp.Select:
    """SQL of one row: rows, those that lead to nobody and to several people, people, their rows (median, 90th and 99th
    percentile, most), people with more than ``most`` rows, and the rows of theirs beyond that. With ``spans``, a column
    of times and a unit of the calendar, a person in each span stands for a person; without a unit, in each value."""
    time, unit = spans or ("", "")
    if way:
        columns = {f"k{number}": name for number, name in enumerate(way[0].columns)}
        ours = _named(rows(table, columns | ({"v": time} if time else {})), "r")
        on = [exp.EQ(this=exp.column(name, "r"), expression=exp.column(name, "p")) for name in columns]
        found = (
            exp.select(
                exp.column("low", "p"),
                exp.column("high", "p"),
                *((exp.alias_(_cut(exp.column("v", "r"), unit), "s"),) if time else ()),
            )
            .from_(ours, copy=False)
            .join(_named(people_of(rows, way, people), "p"), on=exp.and_(*on), join_type="left")
        )
    else:
        found = rows(table, {"low": people[1], "high": people[1]} | ({"v": time} if time else {}))
        if time:
            every = [exp.column("low"), exp.column("high"), exp.alias_(_cut(exp.column("v"), unit), "s")]
            found = exp.select(*every).from_(_named(found, "r"), copy=False)
    tree = sqlglot.parse_one(_PEOPLE, read="postgres", into=exp.Select)
    for node in list(tree.find_all(exp.Table)):
        if node.name == "found":
            node.replace(_named(found, "w"))
    for column in list(tree.find_all(exp.Column)):
        if column.name == "most_rows":
            column.replace(exp.Literal.number(most))
    if time:
        next(tree.find_all(exp.Group)).append("expressions", exp.column("s", "w"))
    return tree


def _cut(moment: exp.Expr, unit: str) -> exp.Expr:
    if not unit:
        return moment
    as_timestamp = exp.Cast(this=moment, to=exp.DataType.build("TIMESTAMP"))
    return exp.TimestampTrunc(this=as_timestamp, unit=exp.var(unit.upper()))


def total_scan(rows: Rows, table: str, column: str) -> exp.Select:
    """SQL of one row: how many values a column has, and their sum."""
    value = exp.column("v")
    return exp.select(exp.Count(this=value), exp.Sum(this=value.copy())).from_(
        _named(rows(table, {"v": column}), "r"), copy=False
    )


def extent_scan(rows: Rows, table: str, column: str) -> exp.Select:
    """SQL of one row: the least and the largest value of a column."""
    value = exp.column("v")
    return exp.select(exp.Min(this=value), exp.Max(this=value.copy())).from_(
        _named(rows(table, {"v": column}), "r"), copy=False
    )


def cut_scan(rows: Rows, table: str, column: str, ends: Sequence[exp.Expr]) -> exp.Select:
    """SQL of one row: how many values a column has; then for each of the ``ends``, of which the first and the last are
    those of its range, how many values are below, how far they are below together, how many are above, how far.

    What is beyond the range is moved to its end before.
    """
    value = exp.Cast(this=exp.column("v"), to=exp.DataType.build("DOUBLE"))
    inside = exp.Case(
        ifs=[
            exp.If(this=exp.LT(this=exp.column("v"), expression=ends[0].copy()), true=_double(ends[0])),
            exp.If(this=exp.GT(this=exp.column("v"), expression=ends[-1].copy()), true=_double(ends[-1])),
        ],
        default=value,
    )
    clipped = exp.select(exp.alias_(inside, "v")).from_(_named(rows(table, {"v": column}), "r"), copy=False)
    found: list[exp.Expr] = [exp.Count(this=exp.column("v"))]
    for end in ends:
        for kind, sides in ((exp.LT, (_double(end), exp.column("v"))), (exp.GT, (exp.column("v"), _double(end)))):
            beyond = kind(this=exp.column("v"), expression=_double(end))
            far = exp.Case(ifs=[exp.If(this=beyond.copy(), true=exp.Sub(this=sides[0], expression=sides[1]))])
            found += [_how_many(beyond), exp.Coalesce(this=exp.Sum(this=far), expressions=[exp.Literal.number(0)])]
    return exp.select(*found).from_(_named(clipped, "c"), copy=False)


def _double(number: exp.Expr) -> exp.Expr:
    return exp.Cast(this=number.copy(), to=exp.DataType.build("DOUBLE"))


def _how_many(test: exp.Expr) -> exp.Expr:
    case = exp.Case(ifs=[exp.If(this=test, true=exp.Literal.number(1))], default=exp.Literal.number(0))
    return exp.Coalesce(this=exp.Sum(this=case), expressions=[exp.Literal.number(0)])


def _named(rows: exp.Select, name: str) -> exp.Subquery:
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(name)))
