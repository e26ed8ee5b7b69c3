"""Quantiles: the SQL that reads, group by group, the weight of the values around them, and the weight below these.

Rows are weighed, not sampled: each row of a unit weighs 2ʳ steps, and less where the unit has so many rows that the
vector of its weights in the groups would leave the ball that counts are clipped into
(:mod:`rewriter.bound.bounded_sql`). So one unit's weights have an L1 or L2 norm of at most the bound, whatever its
rows, and a quantile is one of rows. MIN and MAX are another matter: the least value of all rows is the least of what
each person's least is, so that a person has one value in each group, whatever the number of rows.

Of distinct values each weighs as much as the heaviest of its rows. The greatest of some weights grows by no more than
the sum of those that are added, and never falls: so one unit changes the weights of values, and whatever is below one,
by no more than where rows are weighed.

The engine answers, for every value that is near one of the quantiles, its weight and the weight below it. Where the
lattice is large that is found in two steps: the weights of at most 2,048 public buckets of values, and then the values
of those buckets that have anything near in them, all of them, with the weight below their bucket: what is below a value
within its bucket is added up by who reads it. What is near is a constant of the plan, or less where the price lets a
pick look no further (``Choice.within``), so the text is one and the same whatever the rows hold; that the others are
missing moves no probability (:mod:`dpsql.mechanisms.quantiles.one`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.at_rest import AtRest
from rewriter.bound.ball import SHRINK, reach_squared
from rewriter.bound.bounded_sql import from_rows, grouping_key, of_anybody
from rewriter.bound.sql_size import check_expanded
from rewriter.columns import lattice_of, narrowed, variable_behind
from rewriter.declared import (
    BIGINT,
    DOUBLE,
    HUGEINT,
    ContributionBound,
    Interval,
    Kind,
    Norm,
    Sensitivity,
    Type,
    measure,
)
from rewriter.dialects import Dialect, double, named_table, number
from rewriter.expressions import Value, clipped_steps, lattice
from rewriter.measure import Vector
from rewriter.plan import Choice, Chosen, Output, aim_of
from rewriter.refused import NO_FUNCTION, Refused, Unbounded
from rewriter.relations import learned_ranges, missing_ranges, unbounded_rows
from rewriter.release import Aggregate, Query, aggregate_name, key_name

BUCKETS = 2048
"""How many buckets a large lattice is divided into."""

_WEIGHT_BITS = 12
_MOST_STEPS = 1 << 48
_ALL_WINDOWS = 1 << 20
_WINDOWS = 1 << 9, 1 << 11, 1 << 13
"""Rows around a quantile that the engine tells of: at least, at most for one or two fractions, at most for more."""
_UNKNOWN_CELLS = 100
_MANY = 24
"""Of more fractions than these, less around each is told."""
_SECOND = Fraction(1, 86_400)


@dataclass(frozen=True, slots=True)
class RankedChoices:
    """The choices of a release, the outputs that come from them, and what to tell the analyst.

    ``weighs_rows``: a person's rows are weighed, so that the bound of them matters."""

    choices: tuple[Choice, ...] = ()
    outputs: tuple[Output, ...] = ()
    notes: tuple[str, ...] = ()
    weighs_rows: bool = False


@dataclass(slots=True)
class _Column:
    """One column under one condition, with every fraction that is asked of it, least first."""

    aggregate: Aggregate
    fractions: list[Fraction]
    extreme: type[exp.Min | exp.Max] | None = None
    """Which of a person's values in a group are read, where it is one of them."""


def quantiles(
    query: Query,
    norm: Norm,
    contribution: ContributionBound,
    cells: int | None,
    dialect: Dialect,
    *,
    one_group: bool,
) -> RankedChoices:
    """Plan the picks of a release. ``contribution`` is the bound within this grouping, ``cells`` its groups at most.

    Raises :class:`Refused` where a column has no declared range, or nothing bounds the rows of one person.
    """
    columns: dict[str, _Column] = {}
    asked: list[tuple[int, Aggregate, str]] = []
    for place, aggregate in enumerate(query.aggregates):
        if (aggregate.fraction is None and not aggregate.candidates) or aggregate.argument is None:
            continue
        key = "\n".join("" if one is None else one.sql.sql() for one in (aggregate.argument, aggregate.condition))
        key = f"{aggregate.candidates!r} {key}" if aggregate.candidates else key
        extreme = None if contribution.unique else _extreme(aggregate)
        key = key if extreme is None else f"{extreme.__name__} {key}"
        # Which of a share and a number of rows is greater depends on the rows: they are in no order.
        key = f"{_counted_from(aggregate)} {aggregate.distinct} {key}"
        column = columns.setdefault(key, _Column(aggregate, [], extreme))
        if aggregate.fraction is not None and aggregate.fraction not in column.fractions:
            column.fractions = sorted([*column.fractions, aggregate.fraction])
        asked.append((place, aggregate, key))
    if not asked:
        return RankedChoices()

    def weights(column: _Column) -> _Weights:
        bound = contribution if column.extreme is None else _once_in_each_group(contribution, keyless=not query.keys)
        return _weights(query, norm, bound, one_group)

    choices = {
        key: _choice(f"q{place}", column, query, weights(column), cells, dialect)
        for place, (key, column) in enumerate(columns.items())
    }
    outputs = tuple(
        Output(aggregate_name(place), one.output_type, Chosen(choices[key].name, _place(one, choices[key])), one.text)
        for place, one, key in asked
    )
    weighs_rows = any(column.extreme is None for column in columns.values())
    return RankedChoices(tuple(choices.values()), outputs, tuple(_notes([one for _, one, _ in asked])), weighs_rows)


def _extreme(aggregate: Aggregate) -> type[exp.Min | exp.Max] | None:
    """Which of a person's values says what all of them say: the least where the least of all is asked for."""
    if aggregate.candidates or aggregate.fraction not in (0, 1):
        return None
    return exp.Min if aggregate.fraction == 0 else exp.Max


def _counted_from(aggregate: Aggregate) -> int:
    """0 where a share of the rows is asked for; -1 or 1 where rows are counted from the greatest or the least value."""
    _, rows = aim_of(aggregate.fraction or Fraction(0))
    return (rows > 0) - (rows < 0)


def _once_in_each_group(contribution: ContributionBound, *, keyless: bool) -> ContributionBound:
    """The bound where a person has one value in each group. Without keys the SQL itself leaves one row of each.

    >>> _once_in_each_group(ContributionBound(rows=40, groups=12, rows_per_group=9), keyless=False).l1
    12
    """
    if keyless:
        return ContributionBound(rows=1, groups=1, rows_per_group=1, unique=True)
    return replace(contribution, rows=contribution.most_groups, rows_per_group=1)


def _place(aggregate: Aggregate, choice: Choice) -> int:
    if aggregate.candidates:
        return 0
    if aggregate.fraction is None:
        raise AssertionError("what is picked has a fraction")
    return choice.fractions.index(aggregate.fraction)


def _notes(aggregates: Sequence[Aggregate]) -> list[str]:
    notes = []
    if any(one.candidates for one in aggregates):
        notes.append("MODE is approximate: one of the most common of the declared values, NULL where hardly anybody is")
    aggregates = [one for one in aggregates if not one.candidates]
    if any(one.fraction not in (0, 1) for one in aggregates):
        notes.append(
            "a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly"
            " anybody"
        )
    if any(one.fraction in (0, 1) for one in aggregates):
        notes.append("MIN and MAX are approximate: some people have values beyond them")
    rounded = (_rounded_to_steps(one.value) for one in aggregates if not one.candidates)
    return [*notes, *dict.fromkeys(note for note in rounded if note)]


def _rounded_to_steps(value: Value) -> str:
    """The notice that quantiles round a column to its declared step; "" where rows have no values between steps."""
    step, variable = _declared_step(value), variable_behind(value.sql)
    if step is None or variable is None or value.type.temporal or step in (lattice_of(value.type), 0):
        return ""
    size = str(step) if step.denominator == 1 else f"{float(step):g}"
    return (
        f"quantiles read {variable.column.name} as the nearest multiple of {size}, by the step that is declared for it"
    )


# How much one unit weighs


@dataclass(frozen=True, slots=True)
class _Weights:
    """A row weighs ``row``, and a unit outside of the ball less. ``norm`` None: no unit can be outside."""

    norm: Norm | None
    reach_squared: int
    row: int
    one_group: bool

    @property
    def sensitivity(self) -> Sensitivity:
        squared = self.reach_squared * self.row * self.row
        if self.norm is Norm.L2 and not self.one_group:
            return Sensitivity(l1=None, l2_squared=squared)
        most = math.isqrt(squared)
        return Sensitivity(l1=most, l2_squared=most * most)


def _weights(query: Query, norm: Norm, contribution: ContributionBound, one_group: bool) -> _Weights:
    if contribution.unique:
        return _Weights(None, 1, 1, True)
    reach = reach_squared(Vector((), 1, 1), norm, contribution)
    if reach is None:
        raise unbounded_rows(contribution, query)
    if math.isqrt(reach) > _MOST_STEPS:
        raise Refused("one person has too many rows to be weighed exactly", hint="declare a smaller max_rows")
    if one_group:
        # All of a unit's rows are in one group, so both norms are their number.
        reach = math.isqrt(reach) ** 2
    return _Weights(norm, reach, 1 << _WEIGHT_BITS, one_group)


def _scale(
    rows: exp.Select, keys: Sequence[str], weights: _Weights, everybody: exp.Expr | None, dialect: Dialect
) -> exp.Select:
    """The weight of a row, for each unit with so many rows that they weigh less than usual; for each unit that is among
    ``everybody``, where that is not known of the rows."""
    radius = math.sqrt(weights.reach_squared) * weights.row * SHRINK
    if weights.norm is Norm.L1 or weights.one_group:
        source: exp.Expr = from_rows(rows)
        size: exp.Expr = exp.Count(this=exp.Star())
        limit = math.isqrt(weights.reach_squared)
        root: exp.Expr = dialect.cast(size.copy(), DOUBLE)
    else:
        counts = exp.Select(expressions=[exp.column("u"), exp.alias_(exp.Count(this=exp.Star()), "c")])
        counts.from_(from_rows(rows), copy=False)
        counts.set("group", exp.Group(expressions=_columns(["u", *keys])))
        source = exp.Subquery(this=counts, alias=exp.TableAlias(this=exp.to_identifier("c")))
        count = dialect.cast(exp.column("c", "c"), HUGEINT)
        size = dialect.sum(exp.Mul(this=count, expression=count.copy()), HUGEINT)
        limit = weights.reach_squared
        root = exp.Sqrt(this=dialect.cast(size.copy(), DOUBLE))
    share = dialect.truncate(exp.Div(this=double(radius), expression=root))
    outside: exp.Expr = exp.GT(this=size.copy(), expression=number(limit))
    if everybody is not None:
        share = exp.Case(ifs=[exp.If(this=outside, true=share)], default=number(weights.row))
        outside = exp.In(this=exp.column("u"), query=exp.Subquery(this=everybody.copy()))
    select = exp.Select(expressions=[exp.column("u"), exp.alias_(share, "m")]).from_(source, copy=False)
    select.set("group", exp.Group(expressions=_columns(["u"])))
    select.set("having", exp.Having(this=outside))
    return select


# One column


def _choice(name: str, column: _Column, query: Query, weights: _Weights, cells: int | None, dialect: Dialect) -> Choice:
    aggregate = column.aggregate
    argument, interval, granularity = _bounded(aggregate, query.filters)
    low, high = int(interval.low / granularity), int(interval.high / granularity)
    least, most, together = _WINDOWS
    size = max(len(column.fractions), 1)
    window = _ALL_WINDOWS // (_UNKNOWN_CELLS if cells is None else max(cells, 1)) // size
    window = min(max(window, least), most if size < 3 or size > _MANY else together)
    window *= math.isqrt(weights.sensitivity.l2_squared) or 1
    keys = list(map(key_name, range(len(query.keys))))
    # Whose rows they are is asked of each unit once, where units are looked at.
    everybody = None if weights.norm is None else query.everybody
    rows = (query if everybody is None else of_anybody(query)).rows.copy()
    if aggregate.condition is not None:
        rows.where(aggregate.condition.sql.copy(), copy=False)
    steps = argument.sql.copy() if aggregate.candidates else _steps(argument, interval, granularity, dialect)
    expressions = [exp.alias_(query.unit.copy(), "u", copy=False)]
    expressions += [exp.alias_(grouping_key(key.value), key_name(place)) for place, key in enumerate(query.keys)]
    rows.set("expressions", [*expressions, exp.alias_(steps, "v")])
    present = exp.Select(expressions=[exp.Star()]).from_(from_rows(dialect.fence(rows)), copy=False)
    if _may_be_missing(argument, dialect):
        present.set("where", exp.Where(this=exp.Not(this=exp.Is(this=exp.column("v"), expression=exp.Null()))))
    if column.extreme is not None:
        present = _one_of_each_person(present, ["u", *keys], column.extreme)
    types = [key.value.type for key in query.keys]
    fractions, distinct = tuple(column.fractions), aggregate.distinct
    # What is remembered with the choice holds no tree.
    kept = AtRest.of((present, weights, everybody))

    def near(size: int) -> exp.Expr:
        rows, weighed, whose = kept.in_use
        looked = _Window(fractions, size, weighed.row)
        ranks = _ranks(
            *(rows, keys, types, weighed, looked, (low, high), dialect),
            everybody=whose,
            distinct=distinct,
        )
        return dialect.spelt(ranks)

    tree = near(window)
    check_expanded(tree)
    return Choice(
        name,
        dialect.sql(tree),
        fractions,
        low,
        high,
        granularity,
        weights.sensitivity,
        weights.row,
        window,
        argument_text(aggregate),
        aggregate.candidates,
        distinct,
        # Of few values, all may as well be told.
        (lambda size: dialect.sql(near(size))) if high - low >= BUCKETS else None,
    )


def _may_be_missing(value: Value, dialect: Dialect) -> bool:
    """Whether a row can have no step. Whole numbers and decimals of columns that are NOT NULL have one, unless NaN is a
    decimal too."""
    exact = value.type.kind is Kind.INTEGER or (value.type.kind is Kind.DECIMAL and not dialect.decimals_may_be_nan)
    return value.nullable or not exact


def _one_of_each_person(present: exp.Select, grouped: Sequence[str], extreme: type[exp.Min | exp.Max]) -> exp.Select:
    """The least, or the greatest, value of each person in each group."""
    ends = exp.Select(expressions=[*_columns(grouped), exp.alias_(extreme(this=exp.column("v")), "v")])
    ends = ends.from_(from_rows(present), copy=False)
    ends.set("group", exp.Group(expressions=_columns(grouped)))
    return ends


def argument_text(aggregate: Aggregate) -> str:
    """The column as it was asked about, for people."""
    return aggregate.text


def _bounded(aggregate: Aggregate, filters: Sequence[Value]) -> tuple[Value, Interval, Fraction]:
    """The argument with its range on the lattice, or a refusal that names what to declare."""
    argument = aggregate.value
    if not (argument.type.numeric or argument.type.temporal):
        raise Refused(
            f"{aggregate.text} needs a number, a date or a timestamp, not {argument.type.one}",
            hint="GROUP BY it with COUNT(*)",
            sqlstate=NO_FUNCTION,
        )
    declared = narrowed(argument, [*filters, *([aggregate.condition] if aggregate.condition is not None else [])])
    if declared is None:
        raise Unbounded(
            f"{aggregate.text} has no bounds: it is picked from a known range",
            hint="the owner can declare a range for the column; of numbers, WHERE x BETWEEN 0 AND 100 will do",
            missing=missing_ranges(argument.sql),
        )
    granularity = _declared_step(argument) or _granularity(
        argument.type, declared, learned=learned_ranges(argument.sql)
    )
    return argument, declared.outward(granularity), granularity


def _declared_step(value: Value) -> Fraction | None:
    """The number of which all values of a column are whole multiples, by the step that its owner declared."""
    variable = variable_behind(value.sql)
    if variable is None or variable.column.step is None or variable.column.range is None:
        return None
    low, step = measure(variable.column.range[0]), variable.column.step
    both = low.denominator * step.denominator
    return Fraction(math.gcd(int(low * both), int(step * both)), both)


def _granularity(type_: Type, interval: Interval, *, learned: bool) -> Fraction:
    """Values of a column, exactly; of doubles, 2⁻²⁰ of the range; times to the second."""
    if type_.kind is Kind.DATE:
        return Fraction(1)
    return _SECOND if type_.temporal else lattice(type_, interval, learned=learned)


def _steps(value: Value, interval: Interval, granularity: Fraction, dialect: Dialect) -> exp.Expr:
    """The row's value on the lattice, clipped into the range; NULL where it is NULL."""
    if not value.type.temporal:
        return clipped_steps(value, interval, granularity, dialect)
    # A time of the years 1 to 9999 has a number of steps, and is compared as that number.
    low, high = int(interval.low / granularity), int(interval.high / granularity)
    steps = exp.Paren(this=dialect.to_steps(value.sql.copy(), value.type, granularity))
    below = exp.LT(this=steps, expression=number(low))
    above = exp.GT(this=steps.copy(), expression=number(high))
    ifs = [exp.If(this=below, true=number(low)), exp.If(this=above, true=number(high))]
    return dialect.cast(exp.Case(ifs=ifs, default=steps.copy()), BIGINT)


# The SQL


@dataclass(frozen=True, slots=True)
class _Window:
    """The values near a quantile: with less than ``size`` of weight between its target and the value's rows, of which
    each weighs ``row``."""

    fractions: tuple[Fraction, ...]
    size: int
    row: int

    def test(self, dialect: Dialect) -> exp.Expr:
        """Whether any of the rows of a value or of a bucket is near, from the columns ``below``, ``w`` and ``n``."""
        return exp.or_(*(self._near(fraction, dialect) for fraction in self.fractions), copy=False)

    def _near(self, fraction: Fraction, dialect: Dialect) -> exp.Expr:
        below, weight, total = (dialect.cast(exp.column(name), HUGEINT) for name in ("below", "w", "n"))
        upto = exp.Paren(this=exp.Add(this=below, expression=weight))
        if fraction == 0:
            return exp.LT(this=below.copy(), expression=number(self.size))
        if fraction == 1:
            return exp.LT(this=exp.Sub(this=total, expression=upto), expression=number(self.size))
        parts = fraction.denominator
        limit = number(self.size * parts)
        target = self._target(fraction, total)
        before = exp.Sub(this=exp.Mul(this=below.copy(), expression=number(parts)), expression=target)
        after = exp.Sub(this=target.copy(), expression=exp.Mul(this=upto, expression=number(parts)))
        both = exp.and_(exp.LT(this=before, expression=limit), exp.LT(this=after, expression=limit.copy()), copy=False)
        return exp.Paren(this=both)

    def _target(self, fraction: Fraction, total: exp.Expr) -> exp.Expr:
        """The weight below a quantile, times the parts of its fraction; never below 0 or above that of all rows."""
        share, rows = aim_of(fraction)
        if not rows:
            return exp.Mul(this=total, expression=number(fraction.numerator))
        everything = exp.Mul(this=total, expression=number(fraction.denominator))
        far = number(abs(rows.numerator) * self.row * fraction.denominator // rows.denominator)
        beyond = exp.LT(this=everything, expression=far)
        if not share:
            return exp.Case(ifs=[exp.If(this=beyond, true=everything.copy())], default=far.copy())
        rest = exp.Sub(this=everything.copy(), expression=far.copy())
        return exp.Case(ifs=[exp.If(this=beyond, true=number(0))], default=rest)


def _columns(names: Sequence[str], table: str | None = None) -> list[exp.Expr]:
    return [exp.column(name, table) for name in names]


def _ranks(
    rows: exp.Select,
    keys: Sequence[str],
    types: Sequence[Type],
    weights: _Weights,
    window: _Window,
    ends: tuple[int, int],
    dialect: Dialect,
    *,
    everybody: exp.Expr | None = None,
    distinct: bool = False,
) -> exp.Select:
    """(keys…, v, w, below, n) of the values that are near. Rows are those of units among ``everybody``."""
    ctes: list[tuple[str, exp.Select]] = []
    if weights.norm is not None:
        # Read twice or three times, and often made of joins: so it is kept.
        ctes.append(("kept", rows))
        rows = exp.Select(expressions=[exp.Star()]).from_(named_table("kept"), copy=False)
        ctes.append(("scale", _scale(rows.copy(), keys, weights, everybody, dialect)))
    low, high = ends
    if high - low < BUCKETS:
        weighed = _weighed(rows, keys, weights, known=everybody is None)
        if distinct:
            weighed = _heaviest(weighed, [*keys, "v"])
        ctes.append(("found", _histogram(weighed, keys, exp.column("v"), "v", dialect)))
        ctes.append(("placed", _placed(keys, dialect)))
        final = _counted("placed", [*keys, "v"], "below", dialect)
        if window.fractions:
            final.set("where", exp.Where(this=window.test(dialect)))
        ordered = [exp.Ordered(this=exp.column(name), nulls_first=False) for name in [*keys, "v"]]
        final.set("order", exp.Order(expressions=ordered))
    else:
        size = -(-(high - low + 1) // BUCKETS)
        offset = exp.Paren(this=exp.Sub(this=exp.column("v", "p"), expression=number(low)))
        bucket = exp.alias_(dialect.integer_divide(offset, number(size)), "b")
        of_rows = _weighed(rows, keys, weights, bucket, known=everybody is None)
        ctes.append(("weighed", _heaviest(of_rows, [*keys, "v", "b"]) if distinct else of_rows))
        weighed = exp.Select(expressions=[exp.Star()]).from_(named_table("weighed"), copy=False)
        ctes.append(("coarse", _histogram(weighed, keys, exp.column("b"), "b", dialect)))
        ctes.append(("spread", _spread(keys, dialect)))
        near = exp.Select(expressions=_columns([*keys, "b", "below", "n"]))
        near.from_(named_table("spread"), copy=False)
        near.set("where", exp.Where(this=window.test(dialect)))
        ctes.append(("near", near))
        ctes.append(("found", _inner(keys, types, dialect)))
        final = _counted("found", [*keys, "v"], "start", dialect)
    final.set(
        "with_",
        exp.With(expressions=[dialect.cte(name, query, shared=name in _KEPT) for name, query in ctes]),
    )
    return final


_KEPT = frozenset({"kept", "weighed"})


def _counted(table: str, names: Sequence[str], below: str, dialect: Dialect) -> exp.Select:
    """The columns of the answer."""
    counts = [
        exp.alias_(dialect.cast(exp.column(column), BIGINT), name)
        for name, column in (("w", "w"), ("below", below), ("n", "n"))
    ]
    return exp.Select(expressions=[*_columns(names), *counts]).from_(named_table(table), copy=False)


def _weighed(rows: exp.Select, keys: Sequence[str], weights: _Weights, *more: exp.Expr, known: bool) -> exp.Select:
    """Each row's keys, value and weight, and what else is asked for. ``known``: every row's unit is there."""
    source = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("p")))
    columns = [*_columns([*keys, "v"], "p"), *more]
    if weights.norm is None:
        return exp.Select(expressions=[*columns, exp.alias_(number(1), "w")]).from_(source, copy=False)
    weight: exp.Expr = exp.column("m", "scale")
    if known:
        weight = exp.Coalesce(this=weight, expressions=[number(weights.row)])
    select = exp.Select(expressions=[*columns, exp.alias_(weight, "w")]).from_(source, copy=False)
    same = exp.EQ(this=exp.column("u", "p"), expression=exp.column("u", "scale"))
    select.set("joins", [exp.Join(this=named_table("scale"), side="LEFT" if known else None, on=same)])
    return select


def _heaviest(weighed: exp.Select, names: Sequence[str]) -> exp.Select:
    """One row of each group and value, with the greatest weight of its rows."""
    heaviest = exp.Select(expressions=[*_columns(names), exp.alias_(exp.Max(this=exp.column("w")), "w")])
    heaviest = heaviest.from_(from_rows(weighed), copy=False)
    heaviest.set("group", exp.Group(expressions=_columns(names)))
    return heaviest


def _histogram(weighed: exp.Select, keys: Sequence[str], value: exp.Expr, name: str, dialect: Dialect) -> exp.Select:
    """The weight of each group and value."""
    source = exp.Subquery(this=weighed, alias=exp.TableAlias(this=exp.to_identifier("h")))
    expressions = [
        *_columns(keys),
        exp.alias_(value.copy(), name, copy=False),
        exp.alias_(dialect.sum(exp.column("w"), BIGINT), "w"),
    ]
    select = exp.Select(expressions=expressions).from_(source, copy=False)
    select.set("group", exp.Group(expressions=[*_columns(keys), value.copy()]))
    return select


def _over(sum_: exp.Expr, partition: Sequence[exp.Expr], order: Sequence[exp.Expr] = ()) -> exp.Window:
    ordered = exp.Order(expressions=[exp.Ordered(this=one, nulls_first=False) for one in order]) if order else None
    return exp.Window(this=sum_, partition_by=list(partition), order=ordered)


def _spread(keys: Sequence[str], dialect: Dialect) -> exp.Select:
    """For each bucket, the weight below it and that of its group."""
    total = dialect.sum(exp.column("w"), BIGINT)
    upto = _over(total, _columns(keys), [exp.column("b")])
    below = exp.Paren(this=exp.Sub(this=upto, expression=exp.column("w")))
    columns = [*_columns([*keys, "b", "w"]), exp.alias_(below, "below")]
    columns.append(exp.alias_(_over(total.copy(), _columns(keys)), "n"))
    return exp.Select(expressions=columns).from_(named_table("coarse"), copy=False)


def _inner(keys: Sequence[str], types: Sequence[Type], dialect: Dialect) -> exp.Select:
    """The weight of each value in the buckets that are near, with the weight below its bucket."""
    located = exp.alias_(named_table("weighed"), "h", table=True)
    # By few and narrow columns, since there are many rows; what else there is of a bucket joins in later.
    places = _columns([*keys, "b"], "near")
    values = exp.Select(
        expressions=[*places, exp.column("v", "h"), exp.alias_(dialect.sum(exp.column("w", "h"), BIGINT), "w")]
    ).from_(located, copy=False)
    values.set("joins", [exp.Join(this=named_table("near"), on=_same_bucket("h", keys, types, dialect))])
    values.set("group", exp.Group(expressions=[*(one.copy() for one in places), exp.column("v", "h")]))
    columns = [*_columns([*keys, "b", "v", "w"], "g"), exp.alias_(exp.column("below", "near"), "start")]
    select = exp.Select(expressions=[*columns, exp.column("n", "near")]).from_(
        exp.Subquery(this=values, alias=exp.TableAlias(this=exp.to_identifier("g"))), copy=False
    )
    select.set("joins", [exp.Join(this=named_table("near"), on=_same_bucket("g", keys, types, dialect))])
    return select


def _same_bucket(table: str, keys: Sequence[str], types: Sequence[Type], dialect: Dialect) -> exp.Expr:
    same: list[exp.Expr] = [exp.EQ(this=exp.column("b", table), expression=exp.column("b", "near"))]
    same += [
        dialect.same_key(exp.column(key, table), exp.column(key, "near"), type_)
        for key, type_ in zip(keys, types, strict=True)
    ]
    return exp.and_(*same, copy=False)


def _placed(keys: Sequence[str], dialect: Dialect) -> exp.Select:
    """For each value, the weight below it and that of its group."""
    total = dialect.sum(exp.column("w"), BIGINT)
    upto = _over(total, _columns(keys), [exp.column("v")])
    inside = exp.Paren(this=exp.Sub(this=upto, expression=exp.column("w")))
    below = exp.Add(this=number(0), expression=inside)
    group = exp.alias_(_over(total.copy(), _columns(keys)), "n")
    columns = [*_columns([*keys, "v", "w"]), exp.alias_(below, "below"), group]
    return exp.Select(expressions=columns).from_(named_table("found"), copy=False)
