"""The measurements for the aggregates of one SELECT, and how its outputs are estimated from them.

All aggregates of a SELECT are planned together. Counts over the same rows are one family, sums of one value another:
they are measured by the strategy with the smallest predicted variance (:mod:`rewriter.strategies.conditional_sums`).
Two disjoint counts and a part of each have the total variance 128/ε² if ε is split evenly among the four, and 12/ε² as
disjoint atoms. AVG(x) is measured as the pair Σ(x-L), Σ(U-x), whose joint L1 sensitivity is U-L per row; counts and the
sum of the same rows come with the pair and are not paid again, and so does the count beside a sum
(:mod:`rewriter.measure.mean_pairs`).

How many different values one person, or everybody, can have.

Aggregates by what people truly have, put together from the measured aggregates over what they reported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.columns import BEHIND, Origin, Variable
from rewriter.debiased import Debiased, DebiasedFigure, DebiasedPart, ReportedRows, clusters
from rewriter.declared import Interval, Kind, Norm, least
from rewriter.dialects import Dialect, double, wrap
from rewriter.expressions import Value, both, present
from rewriter.keys import public_keys
from rewriter.measure.logistic_steps import logistic_regressions
from rewriter.measure.mean_pairs import paired
from rewriter.measure.moments import Moments
from rewriter.measure.moments import MomentVector as Bernstein
from rewriter.measure.overlapping_counts import Measured, Member, OverlappingCounts, measure
from rewriter.measure.pair_cells import Found
from rewriter.measure.second_moments import regressions
from rewriter.measure.summand import (
    bounded,
    is_integer,
    most_rows_of,
    note_clipping,
    note_total,
    range_of,
    steps_of,
    unit_of,
)
from rewriter.measure.vectors import Addend, Builder, Cell, Credit, Vector, Workload
from rewriter.plan import Estimator, Figure, Linear, Output, Ratio, Terms
from rewriter.refused import Unbounded
from rewriter.relations import missing_ranges
from rewriter.release import Aggregate, Debiasing, Key, ReportedPart, aggregate_name

ONE = Fraction(1)


def workload(
    aggregates: Sequence[Aggregate],
    filters: Sequence[Value],
    norm: Norm,
    *,
    one_row: bool,
    dialect: Dialect,
    rows: int = 1,
    apart: bool = False,
    alone: frozenset[int] = frozenset(),
    asked_by: Sequence[int] = (),
) -> Workload:
    """Plan the measurements. ``filters`` hold on every row; ``one_row``: a unit has at most one row, else ``rows``.

    ``apart``: conditional counts and sums are measured as atoms, whatever else would be better for them alone. The
    aggregates at ``alone`` have cells of their own. ``asked_by``: how many statements ask for each, where these are the
    aggregates of a workload.
    """
    builder = Builder(dialect, filters, rows, apart=apart, one_row=one_row)
    asked = [aggregate.within or aggregate for aggregate in (*aggregates, *members_of(aggregates))]
    _require_ranges(asked, filters)
    second_order = {number: aggregate for number, aggregate in enumerate(asked) if aggregate.kind.figure is not None}
    moments = Moments(asked, builder, norm)
    found: dict[int, Found] = {number: (moments.estimator(aggregate), ()) for number, aggregate in second_order.items()}
    for number, aggregate in enumerate(asked):
        if (measured := moments.beside(aggregate)) is not None and number not in found:
            found[number] = _beside(aggregate, measured, builder)
        elif (whole := moments.whole(aggregate)) is not None:
            found[number] = whole, (builder.part(whole, ONE),)
    randomized = {number for number, one in enumerate(asked) if one.debiasing is not None}
    regress = {number: one for number, one in enumerate(asked) if one.kind.regresses}
    found |= regressions({number: one for number, one in regress.items() if not one.is_logistic}, builder, norm)
    found |= logistic_regressions({number: one for number, one in regress.items() if one.is_logistic}, builder, norm)

    def rest() -> dict[int, Aggregate]:
        return {n: one for n, one in enumerate(asked) if n not in found and n not in randomized}

    found |= paired(rest(), builder, norm, alone, dict(enumerate(asked_by)))
    found |= _sums({number: one for number, one in rest().items() if one.kind.sums}, norm, builder)
    counted = rest()
    found |= _counts({number: counted[number] for number in alone & set(counted)}, norm, builder, one_row=one_row)
    found |= _counts(rest(), norm, builder, one_row=one_row)
    found |= debiased_sums(aggregates, found, builder)
    outputs = tuple(
        Output(
            aggregate_name(number),
            aggregate.output_type,
            found[number][0],
            aggregate.text,
            found[number][1],
            aggregate.decides,
        )
        for number, aggregate in enumerate(aggregates)
    )
    return Workload(
        tuple(builder.columns.values()),
        tuple(builder.vectors),
        outputs,
        (*builder.notes, *dict.fromkeys(one.kind.note for one in aggregates if one.kind.note)),
        tuple(builder.parts),
        tuple(builder.orders),
        tuple(builder.derived.values()),
        builder.clips,
        builder.steps,
    )


def _beside(aggregate: Aggregate, measured: Bernstein, builder: Builder) -> Found:
    """A count, sum or mean of what moments are measured of."""
    if aggregate.kind.counts:
        return measured.rows, (builder.part(measured.rows, ONE),)
    text = builder.spelt(aggregate.value.sql)
    mean = measured.moment(Figure.MEAN, text, None)
    if aggregate.kind.averages:
        return mean, ()
    total = replace(measured.total(text), integer=is_integer(aggregate))
    least = 0 if mean.x.low >= 0 else None
    unit = unit_of(aggregate, Fraction(1, 1 << 20) * (mean.x.high - mean.x.low))
    return total, (builder.part(replace(total, minimum=least), unit),)


def _require_ranges(aggregates: Sequence[Aggregate], filters: Sequence[Value]) -> None:
    """Refuse sums of numbers without a range: the first means what to declare, all of them what is missing."""
    aggregates = [one for aggregate in aggregates for one in _of_each_argument(aggregate)]
    means = [one for one in aggregates if one.kind.averages or one.kind.regresses or one.kind.figure is not None]
    sums = [aggregate for aggregate in aggregates if aggregate.kind.sums]
    lacking = [aggregate for aggregate in (*means, *sums) if range_of(aggregate, filters)[1] is None]
    if not lacking:
        return
    missing = [missing_ranges(range_of(aggregate, filters)[0].sql) for aggregate in lacking]
    tests = " AND ".join(f"{one} BETWEEN 0 AND 100" for one in lacking[0].wording.arguments)
    divides = not missing[0] and range_of(lacking[0], filters)[0].sql.find(exp.Div) is not None
    otherwise = (
        "a quotient has no range where its divisor may be 0"
        if divides
        else "or the owner can declare a range for the columns in it"
    )
    raise Unbounded(
        f"{lacking[0].text} has no bounds: one person could move it without limit",
        hint=f"add WHERE {tests}, say; {otherwise}",
        # One that nothing stands for cannot be answered, whatever is known of the others.
        missing=frozenset().union(*missing) if all(missing) else frozenset(),
        certain=frozenset().union(*(some for some in missing if len(some) == 1)),
    )


def _of_each_argument(aggregate: Aggregate) -> list[Aggregate]:
    if aggregate.kind.regresses:
        return [replace(aggregate, argument=one, row=()) for one in (aggregate.value, *aggregate.row)]
    if aggregate.second is None:
        return [aggregate]
    return [replace(aggregate, second=None), replace(aggregate, argument=aggregate.second, second=None)]


# Sums


def _sums(sums: dict[int, Aggregate], norm: Norm, builder: Builder) -> dict[int, Measured]:
    """Sums of one value, in one range, are a family."""
    found: dict[int, Measured] = {}
    together: dict[tuple[str, Interval, Fraction], dict[int, Aggregate]] = {}
    for number, aggregate in sums.items():
        argument, interval, granularity = bounded(aggregate, builder.filters)
        together.setdefault((builder.spelt(argument.sql), interval, granularity), {})[number] = aggregate
    for (_, interval, granularity), same in together.items():
        first = next(iter(same.values()))
        text, most_rows = first.wording.inner, most_rows_of(first, interval, builder)
        family = OverlappingCounts(
            word=f"sums of {text}",
            what=text if first.combines else f"Σ {text}",
            unit=unit_of(first, granularity),
            integer=is_integer(first),
            minimum=0 if interval.low >= 0 else None,
            summed=steps_of(first, interval, granularity, builder),
            most=int(interval.magnitude / granularity),
            granularity=granularity,
            most_rows=most_rows,
        )
        members = [Member(a.condition, "" if a.condition is None else a.text) for a in same.values()]
        found |= zip(same, measure(family, members, builder, norm, None), strict=True)
        note_clipping(first, interval, builder)
        if most_rows is not None:
            note_total(first, interval, most_rows, builder)
    return found


# Counts


def _counts(asked: dict[int, Aggregate], norm: Norm, builder: Builder, *, one_row: bool) -> dict[int, Found]:
    """Counts of rows are a family; people and values are counted by vectors of their own."""
    found: dict[int, Found] = {}
    counts: dict[int, Member] = {}
    for number, aggregate in asked.items():
        if aggregate.distinct and not (aggregate.argument is not None and aggregate.argument.unit):
            found[number] = _values(aggregate, builder, one_row=one_row)
        elif aggregate.distinct and not one_row:
            found[number] = _units(aggregate, builder)
        else:
            counts[number] = Member(both(aggregate.condition, present(aggregate.argument)), aggregate.text)
    if counts:
        rows_of = OverlappingCounts("counts", "rows", ONE, True, 0)
        found |= zip(counts, measure(rows_of, list(counts.values()), builder, norm, 0), strict=True)
    return found


# People


def _units(aggregate: Aggregate, builder: Builder) -> Measured:
    test = both(aggregate.condition, present(aggregate.argument))
    name = builder.cell()
    addend = Addend(1, test=builder.condition(test))
    builder.vectors.append(Vector((Cell(name, aggregate.text, ONE, (addend,)),), 1, 1, distinct=True))
    units = Linear(((name, ONE),), integer=True, minimum=0)
    return units, (builder.part(units, ONE, additive=False),)


# Distinct values


def _values(aggregate: Aggregate, builder: Builder, *, one_row: bool) -> Measured:
    """Distinct values, or rows of values. Where a value belongs to one person, people's numbers of values add up."""
    values = aggregate.row or ((aggregate.argument,) if aggregate.argument is not None else ())
    test = aggregate.condition if aggregate.row else both(aggregate.condition, present(aggregate.argument))
    columns = tuple(dict.fromkeys(builder.column("v", _alike(value, builder.dialect)) for value in values))
    condition = builder.condition(test)
    cell = Cell(builder.cell(), aggregate.text, ONE, (Addend(1, test=condition, distinct=columns),))
    filters = [*builder.filters, *([test] if test is not None else [])]
    every, proved = most_of_all(values, filters, builder.dialect, nulls=bool(aggregate.row))
    if every is not None and not proved:
        # Rows with other values count as well: what is measured is cut to what is declared when it is finished.
        what = "the number of different rows" if aggregate.row else aggregate.text
        builder.notes.append(f"{what} is at most {every:,}: as many values are declared")
    each = least([most_of_one_person(values, nulls=bool(aggregate.row)), every])
    if one_row or any(value.identifies for value in values):
        builder.vectors.append(Vector((cell,), 1, 1, most_in_group=each))
    else:
        builder.vectors.append(Vector((cell,), 1, 1, credit=Credit(columns, condition, each)))
    return Linear(((cell.name, ONE),), integer=True, minimum=0, maximum=every), ()


def _alike(value: Value, dialect: Dialect) -> exp.Expr:
    """A value that is spelt alike where it is equal: 0.0 for -0.0, and 1.0 with as many digits as any other."""
    if value.type.kind is Kind.DOUBLE:
        return exp.Paren(this=exp.Add(this=wrap(value.sql.copy()), expression=double(0.0)))
    return dialect.cast(value.sql.copy(), value.type) if value.type.kind is Kind.DECIMAL else value.sql


def most_of_one_person(values: Sequence[Value], *, nulls: bool) -> int | None:
    """How many distinct combinations of values one person has, by the owner's word; None where nothing is said.

    ``nulls``: NULL is a value, too. A person has no more values of columns than rows of their table, whatever that is
    joined with.
    """
    counts = [1 if value.constant else _most(value.sql, nulls=nulls) for value in values]
    known = [count for count in counts if count is not None]
    return math.prod(known) if len(known) == len(counts) else None


def _most(node: exp.Expr, *, nulls: bool) -> int | None:
    """An expression has no more values than the columns that it reads have combinations."""
    if not nulls and isinstance(variable := BEHIND.of(node), Variable):
        return least([variable.column.max_distinct, variable.most])
    columns: dict[tuple[str, str], int | None] = {}
    _read(node, (), columns)
    known = [count for count in columns.values() if count is not None]
    return math.prod(known) if len(known) == len(columns) else None


def _read(node: exp.Expr, path: tuple[str, ...], found: dict[tuple[str, str], int | None]) -> None:
    behind = BEHIND.of(node)
    if isinstance(behind, Variable):
        declared = least([behind.column.max_distinct, behind.most])
        # Where a row may lack the column's row, NULL is one value more.
        nullable = behind.optional or behind.column.nullable
        found[".".join((*path, behind.alias)), behind.name] = declared and declared + nullable
    elif isinstance(behind, Origin):
        inside = (*path, node.args["table"].name) if isinstance(node, exp.Column) and node.args.get("table") else path
        _read(behind.sql, inside, found)
    elif isinstance(node, exp.Column | exp.Query | exp.AggFunc | exp.Window):
        found["", node.sql()] = None
    else:
        for child in node.iter_expressions():
            _read(child, path, found)


def most_of_all(
    values: Sequence[Value], filters: Sequence[Value], dialect: Dialect, *, nulls: bool
) -> tuple[int | None, bool]:
    """How many distinct combinations there can be at all, where the domains of the values are declared; and whether
    that is proved, and not the owner's word."""
    counted = values if nulls else [replace(value, nullable=False) for value in values]
    found = public_keys([Key(value, "") for value in counted], filters, dialect)
    return (None, False) if found is None else (max(found.cells, 1), found.exhaustive)


def members_of(asked: Sequence[Aggregate]) -> tuple[Aggregate, ...]:
    """The aggregates over reports that are measured beside those that are asked, in order."""
    return tuple(
        member for one in asked if one.debiasing is not None for part in one.debiasing.parts for member in part.members
    )


def debiased_sums(asked: Sequence[Aggregate], found: Mapping[int, Found], builder: Builder) -> dict[int, Found]:
    """The estimators of debiased aggregates, of members that were ``found`` under the numbers after those asked."""
    made: dict[int, Found] = {}
    number = len(asked)
    for place, one in enumerate(asked):
        if one.debiasing is None:
            continue
        parts = []
        for part in one.debiasing.parts:
            parts.append(_part(part, [found[number + at][0] for at in range(len(part.members))]))
            number += len(part.members)
        made[place] = _estimator(one, one.debiasing, parts, builder), ()
        note = f"people randomized this column themselves, and answers are freed of it ({one.debiasing.words})"
        if note not in builder.notes:
            builder.notes.append(note)
    return made


def _estimator(one: Aggregate, how: Debiasing, parts: Sequence[DebiasedPart], builder: Builder) -> Debiased:
    counts = all(part.low == part.high == 1 for part in parts)
    figure = DebiasedFigure.MEAN if how.divides else DebiasedFigure.COUNT if counts else DebiasedFigure.SUM
    least = 0 if all(part.low >= 0 for part in parts) and not how.divides else None
    whole = one.output_type.kind is Kind.INTEGER
    rows = 1 if how.once or builder.one_row else max(builder.rows, 1)
    return Debiased(figure, tuple(parts), rows * max(len(clusters(parts)), 1), how.words, whole, least)


def _part(part: ReportedPart, estimators: Sequence[Estimator]) -> DebiasedPart:
    low, high = _range(part, estimators)
    numbers = zip(part.weights, part.spread, part.everyone, map(_sides, estimators), strict=True)
    reports = tuple(ReportedRows(weight, spread, every, *sides) for weight, spread, every, sides in numbers)
    return DebiasedPart(low, high, reports, part.least, part.most, part.uniform)


def _range(part: ReportedPart, estimators: Sequence[Estimator]) -> tuple[Fraction, Fraction]:
    """The ends of the values; of counted rows each is the constant, or 1."""
    ratios = [one for one in estimators if isinstance(one, Ratio)]
    if ratios:
        return ratios[0].low, ratios[0].high
    constant = ONE if part.constant is None else part.constant
    return constant, constant


def _sides(estimator: Estimator) -> tuple[Terms, Terms]:
    if isinstance(estimator, Ratio):
        return estimator.above, estimator.below
    if isinstance(estimator, Linear):
        return estimator.terms, ()
    raise AssertionError("reports are measured by counts and pairs of sums")
