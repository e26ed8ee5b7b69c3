"""The histogram from which an undeclared bound is learned: of one number per person, the size of a contribution.

For ``max_rows`` of a table it is a person's number of rows; for the range of a column a person's greatest value, and,
in a histogram of its own, the least one, the signs apart; for ``max_total`` of a column what the magnitudes of a
person's values add up to, each clipped into its range. Bin i holds the persons whose number m has 2^(e-1) < m ≤ 2^e,
where e is the i-th exponent; a person is in one bin or in none, so that the sensitivity is 1. Each histogram is a
release like any other: a :class:`Query` with a public key set over one row per person.

Why exponents end at 20 for rows: a million rows of a person, each of 2²⁰ steps, can still be added up exactly. Why at
±64 for numbers: a binary exponent more costs noise in nobody's bin, and numbers beyond are clipped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates import COUNT_OF_ROWS
from rewriter.columns import Source, base_table
from rewriter.declared import BIGINT, ONE, Catalog, Interval, Kind, Learned, Missing, Norm, Type
from rewriter.dialects import Dialect, number
from rewriter.expressions import IntegerRange, Value, clipped_steps, lattice, limit_of
from rewriter.plan import Plan
from rewriter.planner.plan_release import plan
from rewriter.relations import UNIT, SelectRows, build_block
from rewriter.release import Key, Query

_MOST_ROWS = 20
_MOST_EXPONENT = 64
_LEAST_DOUBLE = -32
SMALLER = 10
"""Binary exponents of a total below that of the largest single value."""


def exponents(missing: Missing, catalog: Catalog) -> range:
    """The exponents of a histogram's bins; the first bin also holds everything smaller, the last everything larger.

    >>> from rewriter.declared.catalog import Column, Table
    >>> from rewriter.declared.types import decimal
    >>> catalog = Catalog({"visit": Table("visit", {"cost": Column("cost", decimal(8, 2))})}, None)
    >>> exponents(Missing("visit", "cost"), catalog)
    range(-2, 21)
    """
    if not missing.column:
        return range(_MOST_ROWS + 1)
    if missing.total:
        largest = _range_of(missing, catalog).magnitude
        rows = catalog.tables[missing.table].max_rows or 1 << _MOST_ROWS
        return range(_exponent(largest) - SMALLER, _exponent(largest * rows) + 1)
    kind = catalog.tables[missing.table].columns[missing.column].type
    if kind.kind is Kind.INTEGER:
        return range(min(kind.bits - 1, _MOST_EXPONENT) + 1)
    if kind.kind is Kind.DECIMAL:
        # 2^-e has e digits after the point: no more than the column, so that a comparison needs no wider type.
        most = (10 ** (kind.precision - kind.scale) - 1).bit_length()
        return range(-min(kind.scale, -_LEAST_DOUBLE), min(most, _MOST_EXPONENT) + 1)
    return range(_LEAST_DOUBLE, _MOST_EXPONENT + 1)


def greatest(missing: Missing, catalog: Catalog) -> Learned:
    """The loosest bound that can be learned: what is planned with it can be planned with any."""
    most = Fraction(2) ** exponents(missing, catalog)[-1]
    return Learned(missing, -most if missing.column and not missing.total else Fraction(0), most)


def _range_of(missing: Missing, catalog: Catalog) -> Interval:
    interval = catalog.tables[missing.table].columns[missing.column].interval
    if interval is None:
        raise AssertionError("a total is learned of a column with a range")
    return interval


def _exponent(number: Fraction) -> int:
    """The least e with ``number`` ≤ 2^e.

    >>> _exponent(Fraction(400)), _exponent(Fraction(1, 4)), _exponent(Fraction(0))
    (9, -2, 0)
    """
    if not number:
        return 0
    exponent = number.numerator.bit_length() - number.denominator.bit_length() - 1
    while Fraction(2) ** exponent < number:
        exponent += 1
    return exponent


def histogram_plans(missing: Missing, catalog: Catalog, dialect: Dialect) -> tuple[Plan, ...]:
    """The plans of the histograms from which a missing bound is learned. A person is in one bin of each, so nobody is
    clipped, in either norm."""
    return tuple(plan(query, Norm.L1, dialect) for query in histograms(missing, catalog, dialect))


def histograms(missing: Missing, catalog: Catalog, dialect: Dialect) -> tuple[Query, ...]:
    """The histogram of rows, or of totals; or those of the greatest values and of the least ones, in this order."""
    block = rows_of_people(missing.table, catalog, dialect)
    powers = [Fraction(2) ** exponent for exponent in exponents(missing, catalog)]
    if not missing.column:
        sizes: Sequence[tuple[exp.Expr, bool]] = [(exp.Count(this=exp.Star()), False)]
        kind = BIGINT
    elif missing.total:
        value, interval = block.scope.sources[0].reference(missing.column), _range_of(missing, catalog)
        granularity = lattice(value.type, interval)
        steps = clipped_steps(value, interval.outward(granularity), granularity, dialect)
        sizes, kind = [(dialect.sum(exp.Abs(this=steps), BIGINT), False)], BIGINT
        powers = [Fraction(math.floor(power / granularity)) for power in powers]
    else:
        value = block.scope.sources[0].reference(missing.column)
        kind = value.type
        sizes = [(exp.Max(this=value.sql), False), (exp.Min(this=value.sql.copy()), True)]
    found = []
    for size, negative in sizes:
        people = of_each_person(block, size)
        # Who is in no bin, as a person without a value of this sign, is left out: NULL would be one group more.
        within = exp.GTE if negative else exp.LTE
        nothing = within(this=exp.column("m", "p"), expression=limit_of(Fraction(0), kind))
        place = bin_of(powers, kind, negative=negative)
        end = f"{'least' if negative else 'greatest'} {missing.column}"
        word = str(missing) if missing.total or not missing.column else end
        found.append(
            Query(
                rows=exp.Select().from_(people, copy=False).where(exp.Not(this=nothing), copy=False),
                unit=exp.column(UNIT, "p"),
                bound=ONE,
                filters=(),
                keys=(Key(place, f"size of {word}"),),
                aggregates=(COUNT_OF_ROWS,),
            )
        )
    return tuple(found)


def rows_of_people(name: str, catalog: Catalog, dialect: Dialect) -> SelectRows:
    """The rows of a table of people that somebody owns."""
    table = catalog.tables[name]

    def resolve(item: exp.Expr) -> Source:
        return base_table(table, name, "t1", catalog, dialect)

    def membership(*_: object) -> Value:
        raise AssertionError("no condition stands here")

    block = build_block(exp.select().from_(name), resolve, membership, catalog, dialect)
    if block.unit is None:
        raise AssertionError("a table of people has owners")
    return block


def of_each_person(block: SelectRows, size: exp.Expr, value: exp.Expr | None = None) -> exp.Subquery:
    """One row of each person who has rows, as ``p``: the person as ``u``, and a ``size`` of all their rows as ``m``;
    with a ``value`` of them, which is ``x``."""
    if block.unit is None:
        raise AssertionError("a table of people has owners")
    rows = block.rows.copy()
    values = [] if value is None else [exp.alias_(value, "x")]
    rows.set("expressions", [exp.alias_(block.unit.copy(), UNIT, copy=False), exp.alias_(size, "m"), *values])
    rows.set("group", exp.Group(expressions=[block.unit.copy()]))
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("p")))


def bin_of(powers: Sequence[Fraction], kind: Type, *, negative: bool = False) -> Value:
    """The number of a person's bin, by the ends of the bins: the last also holds everything beyond its end."""
    return Value(
        _place(exp.column("m", "p"), powers, kind, negative=negative),
        BIGINT,
        interval=None,
        constant=True,
        nullable=False,
        domain=IntegerRange(0, len(powers) - 1),
    )


def _place(column: exp.Column, powers: Sequence[Fraction], kind: Type, *, negative: bool) -> exp.Expr:
    """The number of a person's bin, NULL for nobody's sign: by comparisons alone, which are exact and never fail."""
    within = exp.GTE if negative else exp.LTE

    def inside(side: Fraction) -> exp.Expr:
        return within(this=column.copy(), expression=limit_of(-side if negative else side, kind))

    tests = [exp.If(this=inside(Fraction(0)), true=exp.Null())]
    tests += [exp.If(this=inside(power), true=number(place)) for place, power in enumerate(powers[:-1])]
    known = exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))
    tests.append(exp.If(this=known, true=number(len(powers) - 1)))
    return exp.Case(ifs=tests)
