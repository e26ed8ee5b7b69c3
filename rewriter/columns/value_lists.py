"""Lists of values in SQL: the rows from which a public key set is enumerated, none of them a row of people."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from rewriter.columns.regions import Probe
from rewriter.columns.source import Variable, table_node
from rewriter.declared import BIGINT, DATE, TIME, TIMESTAMP, Interval, Kind, Scalar, Type, measure
from rewriter.dialects import Dialect, TimeStep, ZonedDays, double, number, zoned_days
from rewriter.expressions import Domain, IntegerRange

MOST_PERIODS = 1 << 40
"""What stands for the number of periods where they cannot be listed."""
MICROSECOND = Fraction(1, 86_400_000_000)
_CALENDAR = Interval.of(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999))


def lattice_of(kind: Type) -> Fraction:
    """All values of a type are multiples of it; 0 where there is no such number."""
    if kind.kind is Kind.DECIMAL:
        return Fraction(1, 10**kind.scale)
    if kind.clocked or kind.kind is Kind.TIME:
        return MICROSECOND
    return Fraction(1) if kind.kind in (Kind.INTEGER, Kind.DATE) else Fraction(0)


def scalar_at(point: Fraction, kind: Type) -> Scalar | None:
    """The value of a type at a place of the number line; None where it has none there.

    >>> scalar_at(measure(datetime.date(2024, 2, 29)), DATE)
    datetime.date(2024, 2, 29)
    """
    if kind.kind is Kind.DOUBLE:
        return float(point) if abs(point) < 2**1000 else None
    if kind.kind is Kind.INTEGER:
        low, high = kind.limits
        return int(point) if low <= point <= high and point.denominator == 1 else None
    if kind.kind is Kind.DECIMAL:
        digits = point * 10**kind.scale
        fits = digits.denominator == 1 and abs(digits) < 10**kind.precision
        return Decimal(int(digits)).scaleb(-kind.scale) if fits else None
    if kind.kind is Kind.TIME and 0 <= point < 1:
        return (datetime.datetime.min + datetime.timedelta(microseconds=int(point / MICROSECOND))).time()
    if kind.temporal and point in _CALENDAR:
        if kind.kind is Kind.DATE:
            return datetime.date.fromordinal(math.floor(point))
        days, rest = divmod(point, 1)
        return datetime.datetime.fromordinal(int(days)) + datetime.timedelta(microseconds=int(rest / MICROSECOND))
    return None


def within(variable: Variable, interval: Interval | None) -> Variable:
    """The column within the range that conditions on all rows leave of it, as where a value is picked from one of them.

    So no more values are listed than the range has, by which they are counted.
    """
    if variable.column.range is None or interval is None:
        return variable
    low, high = (scalar_at(end, variable.column.type) for end in (interval.low, interval.high))
    if low is None or high is None:
        return variable
    return replace(variable, column=replace(variable.column, range=(low, high)))


def periods(bounds: Interval, step: TimeStep) -> int:
    """How many days, or parts of days, an interval touches.

    >>> from rewriter.dialects import Period
    >>> periods(Interval.of(datetime.datetime(2025, 1, 1, 13), datetime.datetime(2025, 1, 2, 5)), TimeStep(Period.DAY))
    2
    """
    if step.zones:
        found = _zoned(bounds, step)
        return MOST_PERIODS if found is None else found.size
    each = step.period.value
    return math.floor(bounds.high * each) - math.floor(bounds.low * each) + 1


def integers(low: int, high: int, kind: Type, dialect: Dialect) -> exp.Query:
    return _series(number(low), number(high), None, kind, dialect)


def days(bounds: Interval, dialect: Dialect) -> exp.Query:
    """Every date of an interval."""
    low, high = math.ceil(bounds.low), math.floor(bounds.high)
    ends = [dialect.cast(literal_of(_day(end), DATE, dialect), TIMESTAMP) for end in (low, high)]
    return _series(ends[0], ends[1], dialect.interval(0, 1, 0), DATE, dialect)


def moments(bounds: Interval, step: TimeStep, cuts: Iterable[Fraction], dialect: Dialect) -> exp.Query:
    """One timestamp of every period of an interval, and one on each side of every cut within it.

    Any timestamp of the interval lies in the same period as one of these, and on the same side of every cut.
    """
    if step.zones:
        return _zoned_moments(bounds, step, cuts, dialect)
    each = step.period.value
    first = Fraction(math.ceil(bounds.low * each), each)
    found = {bounds.low, *(side for cut in cuts for side in _sides(cut))}
    apart = sorted(point for point in found if point in bounds and (point * each).denominator != 1)
    low, high = (literal_of(scalar_at(end, TIMESTAMP), TIMESTAMP, dialect) for end in (first, bounds.high))
    series = _series(low, high, dialect.interval(0, 0, step.period.microseconds), TIMESTAMP, dialect)
    if not apart:
        return series
    more = listed([scalar_at(point, TIMESTAMP) for point in apart], TIMESTAMP, dialect)
    return exp.union(series, more, distinct=False)


def moments_apart(bounds: Interval, step: TimeStep, cuts: Iterable[Fraction]) -> int:
    """How many of :func:`moments` cuts add, at most: they part a period in two or three, each of which may be a group.

    >>> from rewriter.dialects import Period
    >>> days, step = Interval(Fraction(0), Fraction(19)), TimeStep(Period.DAY)
    >>> moments_apart(days, step, [Fraction(19, 2)]), moments_apart(days, step, [Fraction(9)])
    (2, 1)
    """
    sides = {side for cut in cuts for side in _sides(cut)} - {bounds.low}
    return sum(one in bounds and (bool(step.zones) or (one * step.period.value).denominator != 1) for one in sides)


def _zoned(bounds: Interval, step: TimeStep) -> ZonedDays | None:
    low, high = (scalar_at(end, TIMESTAMP) for end in (bounds.low, bounds.high))
    return None if low is None or high is None else zoned_days((low, high), step)


def _zoned_moments(bounds: Interval, step: TimeStep, cuts: Iterable[Fraction], dialect: Dialect) -> exp.Query:
    """The same by the clocks of a zone, whose first period may begin before the interval."""
    if (found := _zoned(bounds, step)) is None:
        raise ValueError(f"no clock shows {bounds} by {step}")
    apart = sorted(point for point in {bounds.low, *(side for cut in cuts for side in _sides(cut))} if point in bounds)
    more = listed([scalar_at(point, TIMESTAMP) for point in apart], TIMESTAMP, dialect)
    every = aliased(exp.union(found.query(dialect), more, distinct=False), "z")
    least = literal_of(scalar_at(bounds.low, TIMESTAMP), TIMESTAMP, dialect)
    return exp.select(exp.column("x")).from_(every).where(exp.GTE(this=exp.column("x"), expression=least))


def _sides(cut: Fraction) -> tuple[Fraction, Fraction]:
    """The first timestamps from a place on, and after it."""
    at = math.ceil(cut / MICROSECOND) * MICROSECOND
    return at, at + MICROSECOND


def points(probes: Iterable[Probe], kind: Type, dialect: Dialect) -> exp.Query:
    """Values of a column that stand for all of them, see :mod:`rewriter.columns.regions`."""
    scalars = [scalar_at(probe, kind) if isinstance(probe, Fraction) else probe for probe in probes]
    known = [scalar for scalar, probe in zip(scalars, probes, strict=True) if scalar is not None or probe is None]
    return listed(known, kind, dialect)


def listed(values: Iterable[Scalar | None], kind: Type | None, dialect: Dialect) -> exp.Query:
    rows = [exp.Tuple(expressions=[literal_of(value, kind, dialect)]) for value in values]
    if not rows:
        nothing = exp.Null() if kind is None else dialect.cast(exp.Null(), kind)
        return exp.select(exp.alias_(nothing, "x")).where(exp.false())
    alias = exp.TableAlias(this=exp.to_identifier("v"), columns=[exp.to_identifier("x")])
    return exp.Select(expressions=[exp.column("x")]).from_(exp.Values(expressions=rows, alias=alias), copy=False)


def of_domain(domain: Domain, dialect: Dialect) -> exp.Query:
    if isinstance(domain, IntegerRange):
        return integers(domain.low, domain.high, BIGINT, dialect)
    return listed(domain.values, None, dialect)


def size_of(domain: Domain) -> int:
    return domain.high - domain.low + 1 if isinstance(domain, IntegerRange) else len(domain.values)


def with_null(query: exp.Query) -> exp.Query:
    return exp.union(query, exp.select(exp.alias_(exp.Null(), "x")), distinct=False)


def of_table(variables: Sequence[Variable], dialect: Dialect) -> exp.Expr:
    """The distinct combinations of a public table's columns; with NULLs where an outer join can add them."""
    table = variables[0].table
    names = [exp.column(exp.to_identifier(variable.column.name, quoted=True)) for variable in variables]
    query = exp.select(*names).from_(table_node(table, dialect)).distinct()
    if variables[0].optional:
        return exp.union(query, exp.select(*(exp.Null() for _ in names)), distinct=True)
    return query


def of_column(name: str, variable: Variable, dialect: Dialect) -> exp.Query:
    """The values but NULL of a column of the public table that lists those of another column."""
    if variable.lister is None:
        raise TypeError("no public table lists the values")
    reference = exp.column(exp.to_identifier(name, quoted=True))
    query = exp.select(exp.alias_(reference, "x")).from_(table_node(variable.lister, dialect)).distinct()
    return query.where(exp.Not(this=exp.Is(this=reference.copy(), expression=exp.Null())))


def aliased(query: exp.Expr, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))


def _series(low: exp.Expr, high: exp.Expr, step: exp.Expr | None, kind: Type, dialect: Dialect) -> exp.Query:
    """``low``, ``low + step``, … up to ``high``, as a column ``x`` of a type."""
    table = dialect.series(low, high, step)
    return exp.select(exp.alias_(dialect.cast(exp.column("n", "g"), kind), "x")).from_(table)


def _day(ordinal: int) -> datetime.date:
    return datetime.date.fromordinal(min(max(ordinal, 1), datetime.date.max.toordinal()))


def literal_of(value: Scalar | None, kind: Type | None, dialect: Dialect) -> exp.Expr:
    """A value of a domain, cast to the column's type where that is known."""
    node: exp.Expr
    if value is None:
        node = exp.Null()
    elif isinstance(value, bool):
        node = exp.Boolean(this=value)
    elif isinstance(value, int):
        node = number(value)
    elif isinstance(value, Decimal | float):
        node = double(value) if isinstance(value, float) else number(format(value, "f"))
    elif isinstance(value, datetime.datetime):
        node = dialect.cast(exp.Literal.string(value.isoformat(" ")), TIMESTAMP)
    elif isinstance(value, datetime.date):
        node = dialect.cast(exp.Literal.string(value.isoformat()), DATE)
    elif isinstance(value, datetime.time):
        node = dialect.cast(exp.Literal.string(value.isoformat()), TIME)
    else:
        node = exp.Literal.string(value)
    return node if kind is None else dialect.cast(node, kind)


def range_of(ends: tuple[Scalar, Scalar]) -> Interval:
    low, high = (measure(end) for end in ends)
    return Interval(low, high)
