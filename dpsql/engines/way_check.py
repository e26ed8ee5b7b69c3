"""The scan that tells whether ways from the rows of a table lead to the same people: one SQL for every engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from dpsql.engines.schema import ForeignKey

Way = tuple[ForeignKey, ...]
"""The steps from a row to the table of the people. No step: the row is a person's own."""

Rows = Callable[[str, Mapping[str, str]], exp.Select]
"""Columns of a table as they are read, each under the name that the mapping gives."""


def way_scan(rows: Rows, table: str, people: tuple[str, str], own: Way, others: Sequence[Way]) -> exp.Select:
    """SQL of one row: for each other way, whether a row of ``table`` leads to somebody else than by its ``own``.

    A way that ends nowhere, at NULL or at a key that no row has, leads to nobody. Of each key the least and the
    greatest person are compared, so that a key that several rows share leads to all of their people, and no row of
    ``table`` is met twice.

    >>> def rows(table, columns):
    ...     return exp.select(*(exp.alias_(exp.column(name), as_) for as_, name in columns.items())).from_(table)
    >>> print(way_scan(rows, "person", ("person", "id"), (), [(ForeignKey(("boss",), "person", ("id",)),)]).sql())
    SELECT COALESCE(MAX(CASE WHEN r.w0_0 <> w1.high OR r.w0_0 <> w1.low THEN 1 ELSE 0 END), 0) \
FROM (SELECT id AS w0_0, boss AS w1_0 FROM person) AS r \
LEFT JOIN (SELECT p0.k0 AS k0, MIN(p0.v0) AS low, MAX(p0.v0) AS high \
FROM (SELECT id AS k0, id AS v0 FROM person) AS p0 GROUP BY 1) AS w1 ON r.w1_0 = w1.k0
    """
    found, ends = _joined(rows, table, people, (own, *others))
    found.set("expressions", [_any(ends[0], theirs) for theirs in ends[1:]])
    return found


def differing_rows_scan(rows: Rows, table: str, people: tuple[str, str], own: Way, other: Way) -> exp.Select:
    """SQL of one row: how many rows of ``table`` lead to somebody else by the ``other`` way than by their ``own``.

    A row that leads to nobody by one of the ways is not counted.
    """
    found, (ours, theirs) = _joined(rows, table, people, (own, other))
    found.set("expressions", [exp.Coalesce(this=exp.Sum(this=_differs(ours, theirs)), expressions=[_ZERO.copy()])])
    return found


_ZERO = exp.Literal.number(0)


def _joined(
    rows: Rows, table: str, people: tuple[str, str], ways: Sequence[Way]
) -> tuple[exp.Select, list[tuple[exp.Expr, exp.Expr]]]:
    """The rows of a table, each joined with the people that ways lead to, and the ends of each way."""
    starts = [way[0].columns if way else (people[1],) for way in ways]
    read = {f"w{place}_{number}": name for place, names in enumerate(starts) for number, name in enumerate(names)}
    conditions = {place: way[0].when for place, way in enumerate(ways) if way and way[0].when is not None}
    read |= {f"w{place}_when": when.column for place, when in conditions.items()}
    found = exp.Select().from_(_named(rows(table, read), "r"), copy=False)
    for place, way in enumerate(ways):
        if way:
            pairs: list[tuple[exp.Expr, exp.Expr]] = [
                (exp.column(f"w{place}_{n}", "r"), exp.column(f"k{n}", f"w{place}")) for n in _numbers(way[0])
            ]
            if (when := conditions.get(place)) is not None:
                pairs.append((exp.column(f"w{place}_when", "r"), exp.convert(when.value)))
            found = found.join(_named(people_of(rows, way, people), f"w{place}"), on=_equal(pairs), join_type="left")
    return found, [_ends(place, way) for place, way in enumerate(ways)]


def _ends(place: int, way: Way) -> tuple[exp.Expr, exp.Expr]:
    """The least and the greatest person that a way leads to."""
    if not way:
        return exp.column(f"w{place}_0", "r"), exp.column(f"w{place}_0", "r")
    return exp.column("low", f"w{place}"), exp.column("high", f"w{place}")


def people_of(rows: Rows, way: Way, people: tuple[str, str]) -> exp.Select:
    """Of each key that the first step may hold: the least and the greatest person that it leads to."""
    outs = [*(step.columns for step in way[1:]), (people[1],)]
    tables = [
        _named(rows(step.parent, _places("k", step.parent_columns) | _places("v", out)), f"p{place}")
        for place, (step, out) in enumerate(zip(way, outs, strict=True))
    ]
    end = exp.column("v0", f"p{len(way) - 1}")
    keys = [exp.alias_(exp.column(f"k{number}", "p0"), f"k{number}") for number in _numbers(way[0])]
    least, most = exp.alias_(exp.Min(this=end), "low"), exp.alias_(exp.Max(this=end.copy()), "high")
    found = exp.select(*keys, least, most).from_(tables[0], copy=False)
    for place, step in enumerate(way[1:], start=1):
        pairs = [(exp.column(f"v{n}", f"p{place - 1}"), exp.column(f"k{n}", f"p{place}")) for n in _numbers(step)]
        found = found.join(tables[place], on=_equal(pairs))
    found.set("group", exp.Group(expressions=[exp.Literal.number(number + 1) for number in _numbers(way[0])]))
    return found


def _numbers(step: ForeignKey) -> range:
    return range(len(step.columns))


def _places(letter: str, names: Sequence[str]) -> dict[str, str]:
    return {f"{letter}{number}": name for number, name in enumerate(names)}


def _named(rows: exp.Select, name: str) -> exp.Subquery:
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(name)))


def _equal(pairs: Sequence[tuple[exp.Expr, exp.Expr]]) -> exp.Expr:
    return exp.and_(*(exp.EQ(this=one, expression=other) for one, other in pairs), copy=False)


def _any(ours: tuple[exp.Expr, exp.Expr], theirs: tuple[exp.Expr, exp.Expr]) -> exp.Expr:
    """1 where any row leads to two people, else 0."""
    return exp.Coalesce(this=exp.Max(this=_differs(ours, theirs)), expressions=[_ZERO.copy()])


def _differs(ours: tuple[exp.Expr, exp.Expr], theirs: tuple[exp.Expr, exp.Expr]) -> exp.Expr:
    """1 where a row leads to two people, else 0: both pairs are crosswise equal only where all four are the same."""
    crosswise = ((ours[0], theirs[1]), (ours[1], theirs[0]))
    test = exp.or_(*(exp.NEQ(this=one.copy(), expression=other.copy()) for one, other in crosswise), copy=False)
    return exp.Case(ifs=[exp.If(this=test, true=exp.Literal.number(1))], default=_ZERO.copy())
