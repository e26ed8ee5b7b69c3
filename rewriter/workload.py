"""What is measured for the aggregates of one SELECT, and how outputs come from it.

All aggregates of a SELECT are planned together. Counts over the same rows are measured either directly or as disjoint
*atoms*, one per combination of their conditions, whichever has the smaller predicted variance (seed 001, Algorithm 1:
four counts, 128/ε² split evenly, 12/ε² as atoms). AVG(x) is measured as the pair Σ(x-L), Σ(U-x), whose joint L1
sensitivity is U-L per row; COUNT(x) and SUM(x) of the same column come with the pair and are not paid again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from sqlglot import exp

from rewriter.aggregates import both
from rewriter.clipping import clipped_steps, lattice
from rewriter.contribution import Norm
from rewriter.dialects import Dialect
from rewriter.errors import Refused
from rewriter.functions_values import wrap
from rewriter.interval import Interval
from rewriter.narrowing import narrowed
from rewriter.plan import Estimator, Linear, Output, Part, Ratio
from rewriter.prefix import Prefix
from rewriter.query import Aggregate
from rewriter.types import BIGINT, BOOLEAN, DOUBLE, Kind, Type, decimal
from rewriter.value import Value

_MOST_CONDITIONS = 6

Term = tuple[str, Fraction]
"""A statistic's name and its weight, in units of the output per lattice step of the *unrefined* lattice."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One component of a vector: a signed sum over rows of row columns. ``sums`` are (weight, row column) pairs.

    A row column ``v…`` is a BIGINT of lattice steps or NULL; ``""`` stands for the number of rows. ``counted`` is the
    column whose non-NULL rows are counted, times a weight. ``condition`` restricts the rows.
    """

    name: str
    text: str
    granularity: Fraction
    condition: str | None = None
    summed: str | None = None
    sum_weight: int = 0
    count_weight: int = 0
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Vector:
    """Cells that are clipped together. One row adds at most ``row_l1`` in L1 and √``row_l2_squared`` in L2.

    ``distinct`` vectors count a unit once per group, whatever its rows. What has a ``prefix`` is clipped in L1.
    """

    cells: tuple[Cell, ...]
    row_l1: int
    row_l2_squared: int
    distinct: bool = False
    signed: bool = False
    prefix: Prefix | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """``columns`` are row columns by name (values in steps, conditions), ``vectors`` what is measured.

    ``parts`` and ``orders`` are as in the plan; a part that is not additive is when a unit has one group.
    """

    columns: tuple[tuple[str, exp.Expr], ...]
    vectors: tuple[Vector, ...]
    outputs: tuple[Output, ...]
    notes: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    orders: tuple[tuple[int, int], ...] = ()


class _Builder:
    """Collects row columns and vectors; equal expressions share one column."""

    def __init__(self, dialect: Dialect, filters: Sequence[Value]) -> None:
        self.dialect = dialect
        self.filters = filters
        self.columns: dict[str, tuple[str, exp.Expr]] = {}
        self.vectors: list[Vector] = []
        self.notes: list[str] = []
        self.parts: list[Part] = []
        self.orders: list[tuple[int, int]] = []
        self._cells = 0

    def column(self, prefix: str, sql: exp.Expr) -> str:
        key = sql.sql(dialect=self.dialect.name)
        if key not in self.columns:
            self.columns[key] = (f"{prefix}{len(self.columns)}", sql)
        return self.columns[key][0]

    def condition(self, value: Value | None) -> str | None:
        return None if value is None else self.column("f", value.sql)

    def part(self, estimator: Linear, unit: Fraction, *, additive: bool = True) -> int:
        """The place of a part; equal ones share it."""
        part = Part(estimator, unit, additive)
        if part not in self.parts:
            self.parts.append(part)
        return self.parts.index(part)

    def cell(self) -> str:
        self._cells += 1
        return f"s{self._cells - 1}"


def workload(
    aggregates: Sequence[Aggregate], filters: Sequence[Value], norm: Norm, *, one_row: bool, dialect: Dialect
) -> Workload:
    """Plan the measurements. ``filters`` hold on every row; ``one_row``: a unit has at most one row."""
    builder = _Builder(dialect, filters)
    estimators: dict[int, Estimator] = {}
    parts: dict[int, tuple[int, ...]] = {}
    pairs: dict[str, tuple[str, str, Interval, Fraction]] = {}
    for number, aggregate in enumerate(aggregates):
        if aggregate.function is exp.Avg:
            estimators[number] = _mean(aggregate, builder, pairs)
    for number, aggregate in enumerate(aggregates):
        if aggregate.function is exp.Sum:
            estimators[number], parts[number] = _total(aggregate, builder, pairs)
    counts: dict[int, Value | None] = {}
    for number, aggregate in enumerate(aggregates):
        if aggregate.function is not exp.Count:
            continue
        pair = pairs.get(_pair_key(aggregate, builder)) if aggregate.argument is not None else None
        if aggregate.distinct and not one_row:
            estimators[number], parts[number] = _units(aggregate, builder)
        elif pair is not None:
            above, below, interval, granularity = pair
            weight = granularity / interval.width
            count = Linear(((above, weight), (below, weight)), integer=True, minimum=0)
            estimators[number], parts[number] = count, (builder.part(count, Fraction(1)),)
        else:
            counts[number] = both(aggregate.condition, _present(aggregate.argument))
    for number, (count, places) in _counts(counts, norm, builder, aggregates).items():
        estimators[number], parts[number] = count, places
    outputs = tuple(
        Output(f"a{number}", _type(aggregate), estimators[number], aggregate.text, parts.get(number, ()))
        for number, aggregate in enumerate(aggregates)
    )
    return Workload(
        tuple(builder.columns.values()),
        tuple(builder.vectors),
        outputs,
        tuple(builder.notes),
        tuple(builder.parts),
        tuple(builder.orders),
    )


def _type(aggregate: Aggregate) -> Type:
    argument = aggregate.argument
    if aggregate.function is exp.Count:
        return BIGINT
    if aggregate.function is exp.Avg or argument is None or argument.type.kind is Kind.DOUBLE:
        return DOUBLE
    return decimal(38, argument.type.scale) if argument.type.kind is Kind.DECIMAL else BIGINT


def _present(argument: Value | None) -> Value | None:
    """``x IS NOT NULL``, or None where that is always so."""
    if argument is None or not argument.nullable:
        return None
    sql = exp.Not(this=exp.Is(this=wrap(argument.sql.copy()), expression=exp.Null()))
    return Value(sql=sql, type=BOOLEAN, nullable=False, constant=argument.constant)


def _bounded(aggregate: Aggregate, filters: Sequence[Value]) -> tuple[Value, Interval, Fraction]:
    """The argument with its declared range on the lattice, or a refusal that names what to declare."""
    argument = aggregate.argument
    if argument is None:
        raise AssertionError("SUM and AVG have an argument")
    conditions = [*filters, *([aggregate.condition] if aggregate.condition is not None else [])]
    declared = narrowed(argument, conditions)
    if declared is None:
        inner = _inner(aggregate)
        raise Refused(
            f"{aggregate.text} has no bounds: one person could move it without limit",
            hint=f"add WHERE {inner} BETWEEN 0 AND 100, say; or the owner can declare a range for the columns in it",
        )
    # A mean adds up distances from the ends of the range, a sum the values.
    is_mean = aggregate.function is exp.Avg
    granularity = lattice(argument.type, declared, declared.width if is_mean else None)
    interval = declared.outward(granularity)
    if interval.width == 0:
        interval = Interval(interval.low, interval.high + granularity)
    return argument, interval, granularity


def _pair_key(aggregate: Aggregate, builder: _Builder) -> str:
    argument = "" if aggregate.argument is None else aggregate.argument.sql.sql(dialect=builder.dialect.name)
    test = "" if aggregate.condition is None else aggregate.condition.sql.sql(dialect=builder.dialect.name)
    return f"{argument} | {test}"


def _mean(aggregate: Aggregate, builder: _Builder, pairs: dict[str, tuple[str, str, Interval, Fraction]]) -> Estimator:
    key = _pair_key(aggregate, builder)
    if key not in pairs:
        argument, interval, granularity = _bounded(aggregate, builder.filters)
        low, high = int(interval.low / granularity), int(interval.high / granularity)
        column = builder.column("v", clipped_steps(argument, interval, granularity, builder.dialect))
        test = builder.condition(aggregate.condition)
        above, below = builder.cell(), builder.cell()
        inner = _inner(aggregate)
        cells = (
            Cell(above, f"Σ({inner} - {_show(interval.low)})", granularity, test, column, 1, -low),
            Cell(below, f"Σ({_show(interval.high)} - {inner})", granularity, test, column, -1, high),
        )
        width = high - low
        builder.vectors.append(Vector(cells, width, width * width))
        builder.notes.append(f"{inner} is clipped into [{_show(interval.low)}, {_show(interval.high)}]")
        pairs[key] = (above, below, interval, granularity)
    above, below, interval, _ = pairs[key]
    return Ratio(above, below, interval.low, interval.high)


def _total(
    aggregate: Aggregate, builder: _Builder, pairs: dict[str, tuple[str, str, Interval, Fraction]]
) -> tuple[Linear, tuple[int, ...]]:
    is_integer = aggregate.argument is not None and aggregate.argument.type.kind is Kind.INTEGER
    pair = pairs.get(_pair_key(aggregate, builder))
    if pair is not None:
        above, below, interval, granularity = pair
        # Σx = Σ(x-L) + L·n, and n = (Σ(x-L) + Σ(U-x)) / (U-L).
        share = interval.low * granularity / interval.width
        total = Linear(((above, granularity + share), (below, share)), integer=is_integer)
        return total, (_sum_part(total, aggregate, interval, granularity, builder),)
    argument, interval, granularity = _bounded(aggregate, builder.filters)
    most = int(interval.magnitude / granularity)
    column = builder.column("v", clipped_steps(argument, interval, granularity, builder.dialect))
    name = builder.cell()
    inner = _inner(aggregate)
    cell = Cell(name, f"Σ {inner}", granularity, builder.condition(aggregate.condition), column, 1)
    builder.vectors.append(Vector((cell,), most, most * most, signed=interval.low < 0))
    builder.notes.append(f"{inner} is clipped into [{_show(interval.low)}, {_show(interval.high)}]")
    total = Linear(((name, granularity),), integer=is_integer)
    return total, (_sum_part(total, aggregate, interval, granularity, builder),)


def _sum_part(total: Linear, aggregate: Aggregate, interval: Interval, granularity: Fraction, builder: _Builder) -> int:
    """A sum of values that are not negative is not negative."""
    kind = _type(aggregate)
    unit = {Kind.INTEGER: Fraction(1), Kind.DECIMAL: Fraction(1, 10**kind.scale)}.get(kind.kind, granularity)
    return builder.part(replace(total, minimum=0 if interval.low >= 0 else None), unit)


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


def _units(aggregate: Aggregate, builder: _Builder) -> tuple[Linear, tuple[int, ...]]:
    test = both(aggregate.condition, _present(aggregate.argument))
    name = builder.cell()
    cell = Cell(name, aggregate.text, Fraction(1), builder.condition(test), count_weight=1, distinct=True)
    builder.vectors.append(Vector((cell,), 1, 1, distinct=True))
    units = Linear(((name, Fraction(1)),), integer=True, minimum=0)
    return units, (builder.part(units, Fraction(1), additive=False),)


# Counts: direct or atoms.


def _counts(
    counts: dict[int, Value | None], norm: Norm, builder: _Builder, aggregates: Sequence[Aggregate]
) -> dict[int, tuple[Linear, tuple[int, ...]]]:
    """One vector for all counts over the same rows, by the design with the smaller predicted variance."""
    if not counts:
        return {}
    tests: dict[str, Value | None] = {}
    asked: dict[int, str] = {}
    for number, test in counts.items():
        key = "" if test is None else test.sql.sql(dialect=builder.dialect.name)
        tests.setdefault(key, test)
        asked[number] = key
    keys = list(tests)
    signatures = _signatures([tests[key] for key in keys])
    overlap = max((sum(signature) for signature in signatures), default=1)
    joint = overlap * overlap if norm is Norm.L1 else overlap
    direct = joint * len(keys)
    atoms = sum(sum(signature) for signature in signatures)
    cells: list[Cell] = []
    terms: dict[str, list[str]] = {key: [] for key in keys}
    few = sum(test is not None for test in tests.values()) <= _MOST_CONDITIONS
    if len(keys) > 1 and few and atoms < direct:
        for signature in signatures:
            test = _atom(signature, [tests[key] for key in keys])
            name = builder.cell()
            text = " and ".join(
                _label(key, counts, asked, aggregates) if inside else f"not {_label(key, counts, asked, aggregates)}"
                for key, inside in zip(keys, signature, strict=True)
                if key or not inside
            )
            cells.append(
                Cell(
                    name, f"rows with {text}" if text else "rows", Fraction(1), builder.condition(test), count_weight=1
                )
            )
            for key, inside in zip(keys, signature, strict=True):
                if inside:
                    terms[key].append(name)
        builder.vectors.append(Vector(tuple(cells), 1, 1))
        builder.notes.append(f"{len(keys)} counts are measured as {len(cells)} disjoint atoms")
    else:
        for key in keys:
            name = builder.cell()
            cells.append(
                Cell(
                    name,
                    _label(key, counts, asked, aggregates) or "rows",
                    Fraction(1),
                    builder.condition(tests[key]),
                    count_weight=1,
                )
            )
            terms[key] = [name]
        builder.vectors.append(Vector(tuple(cells), overlap, overlap))
    places = {
        cell.name: builder.part(Linear(((cell.name, Fraction(1)),), integer=True, minimum=0), Fraction(1))
        for cell in cells
    }
    if len(cells) == len(keys) and all(len(names) == 1 for names in terms.values()):
        builder.orders += [
            (places[terms[keys[one]][0]], places[terms[keys[other]][0]])
            for one in range(len(keys))
            for other in range(len(keys))
            if one != other and few and all(signature[other] for signature in signatures if signature[one])
        ]
    return {
        number: (
            Linear(tuple((name, Fraction(1)) for name in terms[key]), integer=True, minimum=0),
            tuple(places[name] for name in terms[key]),
        )
        for number, key in asked.items()
    }


def _label(key: str, counts: dict[int, Value | None], asked: dict[int, str], aggregates: Sequence[Aggregate]) -> str:
    return next(aggregates[number].text for number in counts if asked[number] == key)


def _signatures(tests: Sequence[Value | None]) -> list[tuple[bool, ...]]:
    """The combinations of conditions that a row may satisfy, as far as is known without data; never the empty one."""
    if sum(test is not None for test in tests) > _MOST_CONDITIONS:
        return [tuple(True for _ in tests)]
    choices = [(True,) if test is None else (True, False) for test in tests]
    found = []
    for signature in product(*choices):
        inside = [test for test, is_in in zip(tests, signature, strict=True) if is_in and test is not None]
        if any(signature) and not any(
            _exclusive(one.sql, other.sql) for index, one in enumerate(inside) for other in inside[index + 1 :]
        ):
            found.append(signature)
    return found


def _exclusive(one: exp.Expr, other: exp.Expr) -> bool:
    """Whether two conditions cannot both hold: one is NOT the other, or one column equals two different literals."""
    one, other = one.unnest(), other.unnest()
    if (isinstance(one, exp.Not) and one.this.unnest() == other) or (
        isinstance(other, exp.Not) and other.this.unnest() == one
    ):
        return True
    if not (isinstance(one, exp.EQ) and isinstance(other, exp.EQ)):
        return False
    literals = [side.expression for side in (one, other)]
    same_column = one.this == other.this
    return (
        same_column
        and all(isinstance(side, exp.Literal) and side.is_string for side in literals)
        and (literals[0].this != literals[1].this)
    )


def _atom(signature: tuple[bool, ...], tests: Sequence[Value | None]) -> Value | None:
    """The condition of one combination. What is NULL is outside, as in FILTER."""
    result: Value | None = None
    for test, inside in zip(tests, signature, strict=True):
        if test is None:
            continue
        part = test
        if not inside:
            known = exp.Coalesce(this=test.sql.copy(), expressions=[exp.false()]) if test.nullable else test.sql.copy()
            part = Value(sql=exp.Not(this=exp.Paren(this=known)), type=BOOLEAN, nullable=False, constant=test.constant)
        result = both(result, part)
    return result
