"""The profile of a table of people: how many rows people have, how many of them are beyond ``max_rows``, and the mean
of a column's values among people who have more and among the others; and how the values of a column are spread.

Guarantee: no bound is needed, since a person counts once whatever their rows. They are in one bin of a histogram, and
add a whole number from 0 to 3·max_rows to a sum: the rows that they have beyond max_rows, up to 4·max_rows. So they
move the histogram by 1, and the sum by 3·max_rows; both in steps of 1.

Why two numbers: how many people are beyond the bound follows from the histogram, and how many rows are cut off does
not. At the prices of a profile a tail of bins is noise, and each would be weighed with its many rows
(:mod:`dpsql.inference.estimates.told_profile` reads both). Why ends in eighths of the bound: what people below it have
is summed bin by bin, each between its ends, so that these have to be close; a bin more costs noise in nobody's bin.

A mean is of one number of each person, the mean of their values, clipped into the declared range: each person is in one
of two groups with a weight of 1, whatever their rows.

Values are counted with ``max_rows`` 1: each row of a person who has n with a value weighs 1/n, so that a person moves
all bins together by 1, whatever their rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates import AVG, COUNT_OF_ROWS, SUM
from rewriter.columns import base_table
from rewriter.declared import BIGINT, ONE, Catalog, Column, ContributionBound, Interval, Kind, Norm, Table, Type
from rewriter.dialects import Dialect, number
from rewriter.expressions import IntegerRange, Value, limit_of
from rewriter.plan import Plan
from rewriter.planner.bound_histogram import bin_of, of_each_person, rows_of_people
from rewriter.planner.plan_release import plan
from rewriter.relations import UNIT
from rewriter.release import Aggregate, Key, Query, Wording

_PARTS = 8
FURTHEST = 4
"""Times max_rows: what a person has beyond so many rows is not counted."""
_MOST = 1 << 30


@dataclass(frozen=True, slots=True)
class ProfilePlans:
    """What is measured of a table's rows per person: the ``people`` in each bin, and the rows ``beyond`` max_rows."""

    table: str
    max_rows: int
    people: Plan
    beyond: Plan

    @property
    def name(self) -> str:
        return self.table

    @property
    def plans(self) -> tuple[Plan, ...]:
        return self.people, self.beyond


@dataclass(frozen=True, slots=True)
class MeansPlan:
    """What is measured of a column: the mean of people's own means, of those with at most ``max_rows`` rows (0), and of
    those with more (1)."""

    table: str
    column: str
    max_rows: int
    means: Plan

    @property
    def name(self) -> str:
        return f"{self.table}.{self.column}"

    @property
    def plans(self) -> tuple[Plan, ...]:
        return (self.means,)


@dataclass(frozen=True, slots=True)
class ValuesPlan:
    """What is measured of a column: how its values lie between the ``ends`` of bins, from the least value of its range
    to the greatest; a first bin has what is below, a last one what is above."""

    table: str
    column: str
    ends: tuple[Fraction, ...]
    people: Plan

    @property
    def name(self) -> str:
        return f"values of {self.table}.{self.column}"

    @property
    def plans(self) -> tuple[Plan, ...]:
        return (self.people,)


def profiled_tables(catalog: Catalog, dialect: Dialect) -> tuple[str, ...]:
    """The tables of people that have a profile: those with a ``max_rows`` for all rows of a person together, where the
    database does not say itself that a person has one."""
    if catalog.unit is None:
        return ()
    return tuple(
        name
        for name, table in catalog.tables.items()
        if _is_of_people(table, catalog) and table.spans is None and 1 <= (table.max_rows or 0) <= _MOST
        if not base_table(table, name, "t1", catalog, dialect).bound.unique
    )


def bin_ends(max_rows: int) -> tuple[int, ...]:
    """The greatest number of rows in each bin but the last, which has no end.

    >>> bin_ends(24), bin_ends(1)
    ((3, 6, 9, 12, 15, 18, 21, 24, 48, 96), (1, 2, 4))
    """
    below = {part * max_rows // _PARTS for part in range(1, _PARTS + 1)} - {0}
    return (*sorted(below), 2 * max_rows, FURTHEST * max_rows)


def profile_plans(name: str, catalog: Catalog, dialect: Dialect) -> ProfilePlans:
    """The two releases of a table's profile. A person has one row in each, so nobody is clipped, in either norm."""
    people, beyond = (plan(query, Norm.L1, dialect) for query in profile_queries(name, catalog, dialect))
    return ProfilePlans(name, _bound_of(name, catalog), people, beyond)


def profiled_columns(catalog: Catalog, dialect: Dialect) -> tuple[tuple[str, str], ...]:
    """The columns whose means can have a profile: numbers with a declared range, of tables that have one."""
    return tuple(
        (name, column.name)
        for name in profiled_tables(catalog, dialect)
        for column in catalog.tables[name].columns.values()
        if _is_ranged(column)
    )


def profiled_values(catalog: Catalog) -> tuple[tuple[str, str], ...]:
    """The columns whose values can have a profile: numbers with a declared range, of people's tables."""
    return tuple(
        (name, column.name)
        for name, table in catalog.tables.items()
        if _is_of_people(table, catalog)
        for column in table.columns.values()
        if _is_ranged(column) and column.interval is not None and column.interval.width
    )


def _is_of_people(table: Table, catalog: Catalog) -> bool:
    """Whether its rows have owners: they are a unit each, the unit's own, or on a way to it."""
    unit = catalog.unit
    return not table.public and (unit is None or bool(table.path) or table.name == unit[0])


def _is_ranged(column: Column) -> bool:
    return column.range is not None and column.type.numeric and column.randomized is None


def value_ends(interval: Interval, kind: Type) -> tuple[Fraction, ...]:
    """The ends of the bins of a column's values: equal parts of its range, and halves beside what is nearest to 0.

    Why both: of a wide range, people's values mostly lie near to 0; of a narrow one, anywhere.

    >>> from rewriter.declared import DOUBLE
    >>> [float(end) for end in value_ends(Interval.of(0, 4000), DOUBLE)][:6]
    [0.0, 1.953125, 3.90625, 7.8125, 15.625, 31.25]
    >>> [int(end) for end in value_ends(Interval.of(0, 4), BIGINT)]
    [0, 1, 2, 3, 4]
    """
    low, high = interval.low, interval.high
    parts = {low + interval.width * part / _PARTS for part in range(_PARTS + 1)}
    middle = min(max(low, Fraction(0)), high)
    halves = [interval.width / (_PARTS << place) for place in range(1, _PARTS + 1)]
    parts |= {middle + step for step in halves} | {middle - step for step in halves}
    if kind.kind is not Kind.DOUBLE:
        # As many digits as values have: more of them would not compare with the greatest decimals.
        digits = 10 ** (kind.scale if kind.kind is Kind.DECIMAL else 0)
        parts = {Fraction(math.floor(end * digits), digits) for end in parts}
        low, high = Fraction(math.ceil(low * digits), digits), Fraction(math.floor(high * digits), digits)
    return tuple(sorted({low, high} | {end for end in parts if low < end < high}))


def values_plan(name: str, column: str, catalog: Catalog, dialect: Dialect) -> ValuesPlan:
    """The release of how a column's values are spread."""
    declared = catalog.tables[name].columns[column]
    if declared.interval is None:
        raise AssertionError("values have a profile within a range")
    query = values_query(name, column, catalog, dialect)
    return ValuesPlan(name, column, value_ends(declared.interval, declared.type), plan(query, Norm.L1, dialect))


def values_query(name: str, column: str, catalog: Catalog, dialect: Dialect) -> Query:
    """The people in each bin of a column's values: a person with values in several is in each with a part."""
    block, declared = rows_of_people(name, catalog, dialect), catalog.tables[name].columns[column]
    value = block.scope.sources[0].reference(column)
    if declared.interval is None or block.unit is None:
        raise AssertionError("values have a profile within a range, and owners")
    ends = value_ends(declared.interval, declared.type)
    known = block.rows.copy()
    known.set("expressions", [exp.alias_(block.unit, UNIT), exp.alias_(value.sql, "x")])
    rows = exp.Select().from_(exp.Subquery(this=known, alias=exp.TableAlias(this=exp.to_identifier("p"))), copy=False)

    def test(kind: type[exp.LT | exp.LTE], end: Fraction, place: int) -> exp.If:
        return exp.If(this=kind(this=exp.column("x", "p"), expression=limit_of(end, value.type)), true=number(place))

    tests = [test(exp.LT, ends[0], 0), *(test(exp.LTE, end, place) for place, end in enumerate(ends[1:], start=1))]
    bins = Value(
        exp.Case(ifs=tests, default=number(len(ends))),
        BIGINT,
        interval=None,
        constant=False,
        nullable=False,
        domain=IntegerRange(0, len(ends)),
    )
    return Query(
        rows.where(exp.Not(this=exp.Is(this=exp.column("x", "p"), expression=exp.Null())), copy=False),
        exp.column(UNIT, "p"),
        ONE if block.bound.unique else _ONE_OF_ANY,
        (),
        (Key(bins, f"values of {name}.{column}"),),
        (COUNT_OF_ROWS,),
    )


_ONE_OF_ANY = ContributionBound(rows=1)
"""Of a person with more rows, each weighs less."""


def means_plan(name: str, column: str, catalog: Catalog, dialect: Dialect) -> MeansPlan:
    """The release of a column's means."""
    query = means_query(name, column, catalog, dialect)
    return MeansPlan(name, column, _bound_of(name, catalog), plan(query, Norm.L1, dialect))


def means_query(name: str, column: str, catalog: Catalog, dialect: Dialect) -> Query:
    """The mean of people's own means, by whether they have more than max_rows rows."""
    block, most = rows_of_people(name, catalog, dialect), _bound_of(name, catalog)
    said = f"a person's {column}"
    asked = Aggregate(AVG, block.scope.sources[0].reference(column), None, False, Wording(f"AVG({column})", (column,)))
    own = asked.of_one_person(block.bound, dialect)
    people = of_each_person(block, exp.Count(this=exp.Star()), own.sql)
    mean = replace(own, sql=exp.column("x", "p"), constant=True, domain=None)
    return Query(
        exp.Select().from_(people, copy=False),
        exp.column(UNIT, "p"),
        ONE,
        (),
        (Key(bin_of([Fraction(most), Fraction(2 * most)], BIGINT), f"more than {most} rows of {name}"),),
        (Aggregate(AVG, mean, None, False, Wording(f"AVG({said})", (said,))),),
    )


def profile_queries(name: str, catalog: Catalog, dialect: Dialect) -> tuple[Query, Query]:
    """The people in each bin, and the sum of the rows beyond max_rows."""
    block, most = rows_of_people(name, catalog, dialect), _bound_of(name, catalog)
    ends = [Fraction(end) for end in bin_ends(most)]
    place = bin_of([*ends, 2 * ends[-1]], BIGINT)
    more = Value(
        exp.Paren(this=exp.Sub(this=exp.column("m", "p"), expression=number(most))),
        BIGINT,
        interval=Interval.of(0, (FURTHEST - 1) * most),
        constant=True,
        nullable=False,
        domain=None,
    )
    said = f"rows of {name} beyond {most}"
    total = Aggregate(SUM, more, None, False, Wording(f"SUM({said})", (said,)))

    def over_people(keys: tuple[Key, ...], aggregate: Aggregate) -> Query:
        people = of_each_person(block, exp.Count(this=exp.Star()))
        rows = exp.Select().from_(people, copy=False)
        return Query(rows, exp.column(UNIT, "p"), ONE, (), keys, (aggregate,))

    return over_people((Key(place, f"rows of {name}"),), COUNT_OF_ROWS), over_people((), total)


def _bound_of(name: str, catalog: Catalog) -> int:
    most = catalog.tables[name].max_rows
    if most is None:
        raise AssertionError("a table with a profile has a bound")
    return most
