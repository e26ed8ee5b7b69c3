"""What is measured for the aggregates of one SELECT, and how outputs come from it.

All aggregates of a SELECT are planned together. Counts over the same rows are one family, sums of one value another:
they are measured by the strategy with the smallest predicted variance (:mod:`rewriter.strategies`; seed 001, Algorithm
1: four counts, 128/ε² split evenly, 12/ε² as atoms). AVG(x) is measured as the pair Σ(x-L), Σ(U-x), whose joint L1
sensitivity is U-L per row; COUNT(x) and SUM(x) of the same column come with the pair and are not paid again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates import both
from rewriter.atoms import numbered
from rewriter.cells import Addend, Builder, Cell, Credit, Vector, Workload
from rewriter.clipping import clipped_steps, held, lattice
from rewriter.conditions import Signature, signatures
from rewriter.contribution import Norm, least
from rewriter.dialects import Dialect, double
from rewriter.distinct import most_of_all, most_of_one_person
from rewriter.errors import Unbounded
from rewriter.family import Family, Measured, Member, measure
from rewriter.functions_values import wrap
from rewriter.interval import Interval
from rewriter.moments import FIGURES, Moments, present
from rewriter.moments import Measured as Bernstein
from rewriter.narrowing import narrowed
from rewriter.plan import Estimator, Figure, Linear, Output, Ratio
from rewriter.query import Aggregate
from rewriter.strategies import weight
from rewriter.types import BIGINT, DOUBLE, Kind, Type, decimal
from rewriter.unbounded import learned_ranges, missing_ranges
from rewriter.value import Value

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
) -> Workload:
    """Plan the measurements. ``filters`` hold on every row; ``one_row``: a unit has at most one row, else ``rows``.

    ``apart``: conditional counts and sums are measured as atoms, whatever else would be better for them alone.
    """
    builder = Builder(dialect, filters, rows, apart=apart)
    asked = [aggregate.within or aggregate for aggregate in aggregates]
    _require_ranges(asked, filters)
    second_order = {number: aggregate for number, aggregate in enumerate(asked) if aggregate.function in FIGURES}
    moments = Moments(list(second_order.values()), builder, norm)
    found: dict[int, tuple[Estimator, tuple[int, ...]]] = {
        number: (moments.estimator(aggregate), ()) for number, aggregate in second_order.items()
    }
    for number, aggregate in enumerate(asked):
        if (measured := moments.beside(aggregate)) is not None and number not in found:
            found[number] = _beside(aggregate, measured, builder)
    asked = [replace(one, function=exp.Expr) if number in found else one for number, one in enumerate(asked)]
    means = {number: aggregate for number, aggregate in enumerate(asked) if aggregate.function is exp.Avg}
    pairs = _pairs(list(means.values()), builder, norm)
    found |= {number: (pairs[_pair_key(aggregate, builder)].ratio, ()) for number, aggregate in means.items()}
    found |= _sums(
        {n: aggregate for n, aggregate in enumerate(asked) if aggregate.function is exp.Sum}, pairs, norm, builder
    )
    counts: dict[int, Member] = {}
    for number, aggregate in enumerate(asked):
        if aggregate.function is not exp.Count:
            continue
        pair = pairs.get(_pair_key(aggregate, builder))
        if aggregate.distinct and not (aggregate.argument is not None and aggregate.argument.unit):
            found[number] = _values(aggregate, builder, one_row=one_row)
        elif aggregate.distinct and not one_row:
            found[number] = _units(aggregate, builder)
        elif pair is not None:
            found[number] = pair.count(builder)
        else:
            counts[number] = Member(both(aggregate.condition, present(aggregate.argument)), aggregate.text)
    if counts:
        rows_of = Family("counts", "rows", ONE, True, 0)
        found |= zip(counts, measure(rows_of, list(counts.values()), builder, norm, 0), strict=True)
    outputs = tuple(
        Output(f"a{number}", _type(aggregate), found[number][0], aggregate.text, found[number][1], aggregate.decides)
        for number, aggregate in enumerate(aggregates)
    )
    return Workload(
        tuple(builder.columns.values()),
        tuple(builder.vectors),
        outputs,
        tuple(builder.notes),
        tuple(builder.parts),
        tuple(builder.orders),
        tuple(builder.derived.values()),
    )


def _beside(aggregate: Aggregate, measured: Bernstein, builder: Builder) -> tuple[Estimator, tuple[int, ...]]:
    """A count, sum or mean of what moments are measured of."""
    if aggregate.function is exp.Count:
        return measured.rows, (builder.part(measured.rows, ONE),)
    argument = aggregate.argument
    if argument is None:
        raise AssertionError("SUM and AVG have an argument")
    text = builder.spelt(argument.sql)
    mean = measured.moment(Figure.MEAN, text, None)
    if aggregate.function is exp.Avg:
        return mean, ()
    total = replace(measured.total(text), integer=_is_integer(aggregate))
    least = 0 if mean.x.low >= 0 else None
    unit = _unit(aggregate, Fraction(1, 1 << 20) * (mean.x.high - mean.x.low))
    return total, (builder.part(replace(total, minimum=least), unit),)


def _type(aggregate: Aggregate) -> Type:
    argument = aggregate.argument
    if aggregate.function is exp.Count:
        return BIGINT
    if aggregate.function is exp.Avg or aggregate.function in FIGURES:
        return DOUBLE
    if argument is None or argument.type.kind is Kind.DOUBLE:
        return DOUBLE
    return decimal(38, argument.type.scale) if argument.type.kind is Kind.DECIMAL else BIGINT


def _require_ranges(aggregates: Sequence[Aggregate], filters: Sequence[Value]) -> None:
    """Refuse sums of numbers without a range: the first means what to declare, all of them what is missing."""
    aggregates = [one for aggregate in aggregates for one in _of_each_argument(aggregate)]
    means = [aggregate for aggregate in aggregates if aggregate.function is exp.Avg or aggregate.function in FIGURES]
    sums = [aggregate for aggregate in aggregates if aggregate.function is exp.Sum]
    lacking = [aggregate for aggregate in (*means, *sums) if _range(aggregate, filters)[1] is None]
    if not lacking:
        return
    missing = [missing_ranges(_range(aggregate, filters)[0].sql) for aggregate in lacking]
    inner = _inner(lacking[0])
    raise Unbounded(
        f"{lacking[0].text} has no bounds: one person could move it without limit",
        hint=f"add WHERE {inner} BETWEEN 0 AND 100, say; or the owner can declare a range for the columns in it",
        # One that nothing stands for cannot be answered, whatever is known of the others.
        missing=frozenset().union(*missing) if all(missing) else frozenset(),
        certain=frozenset().union(*(some for some in missing if len(some) == 1)),
    )


def _of_each_argument(aggregate: Aggregate) -> list[Aggregate]:
    if aggregate.second is None:
        return [aggregate]
    return [replace(aggregate, second=None), replace(aggregate, argument=aggregate.second, second=None)]


def _range(aggregate: Aggregate, filters: Sequence[Value]) -> tuple[Value, Interval | None]:
    """The argument of SUM or AVG, and where it lies on the rows that are counted."""
    argument = aggregate.argument
    if argument is None:
        raise AssertionError("SUM and AVG have an argument")
    return argument, narrowed(argument, [*filters, *([aggregate.condition] if aggregate.condition is not None else [])])


def _bounded(aggregate: Aggregate, filters: Sequence[Value]) -> tuple[Value, Interval, Fraction]:
    """The argument with its declared range on the lattice."""
    argument, declared = _range(aggregate, filters)
    if declared is None:
        raise AssertionError("a sum without a range was refused")
    # A mean adds up distances from the ends of the range, a sum the values.
    is_mean = aggregate.function is exp.Avg
    learned = learned_ranges(argument.sql)
    granularity = lattice(argument.type, declared, declared.width if is_mean else None, learned=learned)
    interval = declared.outward(granularity)
    if learned:
        interval = held(interval, argument.type, granularity)
    if interval.width == 0:
        interval = Interval(interval.low, interval.high + granularity)
    return argument, interval, granularity


def _pair_key(aggregate: Aggregate, builder: Builder) -> str:
    argument = builder.spelt(None if aggregate.argument is None else aggregate.argument.sql)
    return f"{argument} | {builder.spelt(None if aggregate.condition is None else aggregate.condition.sql)}"


# Means: pairs of sums.


@dataclass(frozen=True, slots=True)
class _Pair:
    """The cells ``above`` Σ(x-L) and ``below`` Σ(U-x), in steps of ``granularity``."""

    above: str
    below: str
    interval: Interval
    granularity: Fraction

    @property
    def ratio(self) -> Ratio:
        return Ratio(self.above, self.below, self.interval.low, self.interval.high)

    def count(self, builder: Builder) -> Measured:
        weight = self.granularity / self.interval.width
        rows = Linear(((self.above, weight), (self.below, weight)), integer=True, minimum=0)
        return rows, (builder.part(rows, ONE),)

    def total(self, aggregate: Aggregate, builder: Builder) -> Measured:
        """Σx = Σ(x-L) + L·n, and n = (Σ(x-L) + Σ(U-x)) / (U-L)."""
        share = self.interval.low * self.granularity / self.interval.width
        total = Linear(((self.above, self.granularity + share), (self.below, share)), integer=_is_integer(aggregate))
        least = 0 if self.interval.low >= 0 else None
        return total, (builder.part(replace(total, minimum=least), _unit(aggregate, self.granularity)),)


def _pairs(means: Sequence[Aggregate], builder: Builder, norm: Norm) -> dict[str, _Pair]:
    """A pair for each mean. Means of one value over rows that cannot be the same are one vector, others one each."""
    together: dict[tuple[str, Interval, Fraction], dict[str, Aggregate]] = {}
    for aggregate in means:
        argument, interval, granularity = _bounded(aggregate, builder.filters)
        same = together.setdefault((builder.spelt(argument.sql), interval, granularity), {})
        same.setdefault(_pair_key(aggregate, builder), aggregate)
    pairs: dict[str, _Pair] = {}
    for (_, interval, granularity), distinct in together.items():
        clauses = [aggregate.condition for aggregate in distinct.values()]
        known = signatures(clauses, builder.filters) if len(clauses) > 1 else None
        disjoint = bool(known) and all(signature & (signature - 1) == 0 for signature in known or ())
        column = builder.column("g", numbered(clauses, _own_numbers(known))) if known is not None and disjoint else None
        cells: list[tuple[Cell, Cell]] = []
        for place, (key, aggregate) in enumerate(distinct.items()):
            cells.append(_pair_cells(aggregate, interval, granularity, builder, column, place))
            pairs[key] = _Pair(cells[-1][0].name, cells[-1][1].name, interval, granularity)
        width = int(interval.width / granularity)
        if column is not None:
            share, vector = weight(len(cells), norm), tuple(cell for pair in cells for cell in pair)
            builder.vectors.append(Vector(vector, width, width * width, weight=share))
        else:
            counted = [_present_rows(aggregate, builder) for aggregate in distinct.values()]
            builder.vectors += [
                Vector(pair, width, width * width, rows=rows) for pair, rows in zip(cells, counted, strict=True)
            ]
        _note_clipping(next(iter(distinct.values())), interval, builder)
    return pairs


def _present_rows(aggregate: Aggregate, builder: Builder) -> Addend:
    """What counts the rows that a mean is of."""
    return Addend(1, test=builder.condition(both(aggregate.condition, present(aggregate.argument))))


def _own_numbers(known: Sequence[Signature]) -> dict[Signature, int | None]:
    """Of conditions of which at most one holds, the number of the one that does."""
    return {signature: signature.bit_length() - 1 if signature else None for signature in known}


def _pair_cells(
    aggregate: Aggregate,
    interval: Interval,
    granularity: Fraction,
    builder: Builder,
    atoms: str | None,
    atom: int,
) -> tuple[Cell, Cell]:
    low, high = int(interval.low / granularity), int(interval.high / granularity)
    value = builder.column("v", _steps(aggregate, interval, granularity, builder))
    test = builder.condition(aggregate.condition) if atoms is None else atoms
    place = None if atoms is None else atom
    inner = _inner(aggregate)
    rows = "" if atoms is None else f" of {aggregate.text}"

    def addends(sign: int, count: int) -> tuple[Addend, ...]:
        summed = Addend(sign, summed=value, test=test, atom=place)
        return (summed, Addend(count, counted=value, test=test, atom=place)) if count else (summed,)

    return (
        Cell(builder.cell(), f"Σ({inner} - {_show(interval.low)}){rows}", granularity, addends(1, -low)),
        Cell(builder.cell(), f"Σ({_show(interval.high)} - {inner}){rows}", granularity, addends(-1, high)),
    )


def _steps(aggregate: Aggregate, interval: Interval, granularity: Fraction, builder: Builder) -> exp.Expr:
    if aggregate.argument is None:
        raise AssertionError("SUM and AVG have an argument")
    return clipped_steps(aggregate.argument, interval, granularity, builder.dialect)


# Sums


def _sums(sums: dict[int, Aggregate], pairs: dict[str, _Pair], norm: Norm, builder: Builder) -> dict[int, Measured]:
    """Sums of one value, in one range, are a family, but for those that a mean has measured."""
    found: dict[int, Measured] = {}
    together: dict[tuple[str, Interval, Fraction], dict[int, Aggregate]] = {}
    for number, aggregate in sums.items():
        if (pair := pairs.get(_pair_key(aggregate, builder))) is not None:
            found[number] = pair.total(aggregate, builder)
            continue
        argument, interval, granularity = _bounded(aggregate, builder.filters)
        together.setdefault((builder.spelt(argument.sql), interval, granularity), {})[number] = aggregate
    for (_, interval, granularity), same in together.items():
        first = next(iter(same.values()))
        inner = _inner(first)
        family = Family(
            word=f"sums of {inner}",
            what=f"Σ {inner}",
            unit=_unit(first, granularity),
            integer=_is_integer(first),
            minimum=0 if interval.low >= 0 else None,
            summed=builder.column("v", _steps(first, interval, granularity, builder)),
            most=int(interval.magnitude / granularity),
            granularity=granularity,
        )
        members = [Member(a.condition, "" if a.condition is None else a.text) for a in same.values()]
        found |= zip(same, measure(family, members, builder, norm, None), strict=True)
        _note_clipping(first, interval, builder)
    return found


def _is_integer(aggregate: Aggregate) -> bool:
    return aggregate.argument is not None and aggregate.argument.type.kind is Kind.INTEGER


def _unit(aggregate: Aggregate, granularity: Fraction) -> Fraction:
    """What a finished sum is a multiple of."""
    kind = _type(aggregate)
    return {Kind.INTEGER: ONE, Kind.DECIMAL: Fraction(1, 10**kind.scale)}.get(kind.kind, granularity)


def _note_clipping(aggregate: Aggregate, interval: Interval, builder: Builder) -> None:
    note = f"{_inner(aggregate)} is clipped into [{_show(interval.low)}, {_show(interval.high)}]"
    if note not in builder.notes:
        builder.notes.append(note)


def _inner(aggregate: Aggregate) -> str:
    """The argument as it was written: what stands between the outermost parentheses of the call."""
    text = aggregate.text
    depth = 0
    start = text.index("(") + 1
    for position in range(start - 1, len(text)):
        depth += (text[position] == "(") - (text[position] == ")")
        if depth == 0:
            return text[start:position]
    return text[start:]


def _show(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"{float(number):g}"


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
    every = most_of_all(values, filters, builder.dialect, nulls=bool(aggregate.row))
    if one_row or any(value.identifies for value in values):
        builder.vectors.append(Vector((cell,), 1, 1))
    else:
        each = least([most_of_one_person(values, nulls=bool(aggregate.row)), every])
        builder.vectors.append(Vector((cell,), 1, 1, credit=Credit(columns, condition, each)))
    return Linear(((cell.name, ONE),), integer=True, minimum=0, maximum=every), ()


def _alike(value: Value, dialect: Dialect) -> exp.Expr:
    """A value that is spelt alike where it is equal: 0.0 for -0.0, and 1.0 with as many digits as any other."""
    if value.type.kind is Kind.DOUBLE:
        return exp.Paren(this=exp.Add(this=wrap(value.sql.copy()), expression=double(0.0)))
    return dialect.cast(value.sql.copy(), value.type) if value.type.kind is Kind.DECIMAL else value.sql
