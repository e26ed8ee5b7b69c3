"""Numbers and times as attributes of few values: intervals between literals of conditions, and between spans of keys

Guarantee: every row has exactly one value of such an attribute, by its expression alone: the number of cuts that are at
or below the column's raw value, or NULL where that is NULL. So the groups by it are all there are, whatever rows hold,
in the declared range or beyond it, and no constraint of the database is needed. A comparison of the column with one of
the cuts is the same test of the attribute, in three-valued logic: both are NULL for NULL, and for a value x the number
of cuts at or below x rises with x, and is larger from a cut on than before it.

A cut is a point of the axis: before all values that are at least ``at``, or ``above`` those that equal it. Integers and
decimals lie on a lattice, so there a cut above a value is the cut before the next one. Times are numbers of days.

A key that reads a column in spans of the calendar alone (``DATE_TRUNC('month', day)``, ``EXTRACT(YEAR FROM day)``), or
whole numbers or days as they are, has one value between two of its cuts: that of any value there, such as the first.
Its cuts are the begins of all spans that touch the declared range of the column, and the end of the last. Rows before
the first cut and behind the last one are in none of its groups.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import islice

from sqlglot import exp

from rewriter.columns import BEHIND, Variable, column_of, literal_of, probe_of, range_of, scalar_at
from rewriter.declared import TIMESTAMP, Kind, Scalar, Type, measure
from rewriter.dialects import (
    MIRRORED,
    CalendarReading,
    Dialect,
    Read,
    letters_of,
    number,
    period_told,
    reading_of,
    wrap,
)
from rewriter.expressions import LITERAL, SORTED, Constant, floor_to
from rewriter.plan import NumberCut

MOST_CUTS = 64
"""A column with more cuts is not divided: sums of so many cells are not accurate."""

_LONGEST: Mapping[str, int] = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366, "decade": 3653}
"""The days of the longest span: so many after the first day of any, the next one has begun."""
_YEARS = frozenset({"year", "decade"})
"""The fields that say which span of all it is."""
_KEPT = frozenset(
    {exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.DECIMAL}
)
_TEXTS = frozenset({exp.DType.TEXT, exp.DType.VARCHAR})
_COMPARED = (*MIRRORED, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In)


@dataclass(frozen=True, slots=True)
class NumberComparison:
    """A comparison of one column of numbers with literals: the column's node, and the literals in their order."""

    kind: type[exp.Expr]
    subject: exp.Expr
    variable: Variable
    values: tuple[Fraction, ...]

    @property
    def cuts(self) -> frozenset[NumberCut]:
        kind = self.variable.column.type
        if self.kind in (exp.LT, exp.GTE):
            return frozenset({_before(self.values[0], kind)})
        if self.kind in (exp.LTE, exp.GT):
            return frozenset({_above(self.values[0], kind)})
        if self.kind is exp.Between:
            return frozenset({_before(self.values[0], kind), _above(self.values[1], kind)})
        return frozenset(cut(one, kind) for one in self.values for cut in (_before, _above))

    def over(self, column: str, cuts: Sequence[NumberCut]) -> exp.Expr:
        """The same test of a column that has the number of cuts at or below the value."""
        kind, least = self.variable.column.type, exp.column(column)

        def place(cut: NumberCut) -> int:
            return cuts.index(cut)

        def within(low: Fraction, high: Fraction) -> exp.Expr:
            ends = {"low": number(place(_before(low, kind)) + 1), "high": number(place(_above(high, kind)))}
            return exp.Between(this=exp.column(column), **ends)

        first = self.values[0]
        if self.kind in (exp.LT, exp.LTE):
            cut = (_before if self.kind is exp.LT else _above)(first, kind)
            return exp.LTE(this=least, expression=number(place(cut)))
        if self.kind in (exp.GT, exp.GTE):
            cut = (_above if self.kind is exp.GT else _before)(first, kind)
            return exp.GTE(this=least, expression=number(place(cut) + 1))
        if self.kind is exp.Between:
            return within(first, self.values[1])
        equal = exp.or_(*(within(one, one) for one in self.values), copy=False)
        if self.kind in (exp.NullSafeEQ, exp.NullSafeNEQ):
            present = exp.Not(this=exp.Is(this=least, expression=exp.Null()))
            equal = exp.and_(present, wrap(equal), copy=False)
        return exp.Not(this=exp.Paren(this=equal)) if self.kind in (exp.NEQ, exp.NullSafeNEQ) else wrap(equal)


def comparison(node: exp.Expr) -> NumberComparison | None:
    """What a node compares; None where it is no comparison of a column of numbers with numbers of the column's type."""
    if not isinstance(node, _COMPARED) or any(node.args.get(name) for name in ("symmetric", "query", "unnest")):
        return None
    operands = list(node.iter_expressions())
    if isinstance(node, exp.Between):
        operands = [node.this, node.args["low"], node.args["high"]]
    probes = [(operand, *probe_of(operand)) for operand in operands]
    subjects = [operand for operand, known, _ in probes if not known]
    values = [value for _, known, value in probes if known]
    if len(subjects) != 1 or column_of(subjects[0], ()) is None or (variable := _variable(subjects[0])) is None:
        return None
    kind, turned = type(node), subjects[0] is not operands[0]
    if turned and kind in (exp.Between, exp.In):
        return None
    exact = variable.column.type.kind is Kind.DOUBLE or any(subjects[0].find_all(exp.Cast))
    numbers = [one for one in values if isinstance(one, Fraction) and _fits(one, variable.column.type, exact=exact)]
    if not numbers or len(numbers) < len(values):
        return None
    return NumberComparison(MIRRORED.get(kind, kind) if turned else kind, subjects[0], variable, tuple(numbers))


def cuts_of(tree: exp.Expr) -> dict[Variable, frozenset[NumberCut]]:
    """The cuts of each column that the tree reads in nothing but comparisons with numbers, and in tests for NULL."""
    cuts: dict[Variable, frozenset[NumberCut]] = {}
    other: set[Variable] = set()
    stack = [tree]
    while stack:
        node = stack.pop()
        if (found := comparison(node)) is not None:
            cuts[found.variable] = cuts.get(found.variable, frozenset()) | found.cuts
        elif isinstance(behind := BEHIND.of(node), Variable):
            other.add(behind)
        elif _tested_for_null(node) is None:
            stack += list(node.iter_expressions())
    return {variable: some for variable, some in cuts.items() if variable not in other}


@dataclass(frozen=True, slots=True)
class KeyOfSpans:
    """A key that has one value between two of its ``cuts`` of a column, and no group before the first and behind the
    last."""

    variable: Variable
    cuts: tuple[NumberCut, ...]

    def within(self, column: str, cuts: Sequence[NumberCut]) -> exp.Expr:
        """Whether a row is in one of the key's groups, by a column that has the number of cuts at or below its
        value."""
        first, last = (number(cuts.index(one)) for one in (self.cuts[0], self.cuts[-1]))
        low = exp.GT(this=exp.column(column), expression=first)
        return exp.Paren(this=exp.And(this=low, expression=exp.LTE(this=exp.column(column), expression=last)))


def key_of_spans(key: exp.Expr) -> KeyOfSpans | None:
    """The cuts of a key that reads one declared column, of a declared range, in spans of the calendar that follow each
    other, or whole; None of any other, or of one with more cuts than are divided.

    A later span has another value: a month of any year (``EXTRACT(MONTH FROM day)``) is no such key, since rows beyond
    the range are in its groups. So the spans are the longest that are read: months, of ``DATE_TRUNC('month', …)`` over
    days. No week is in one month or year alone.
    """
    node, unit = key, ""
    while not isinstance(variable := BEHIND.of(node), Variable):
        reading, own = reading_of(node), ""
        if variable is not None:
            return None
        if reading is not None:
            own = _read_span(reading, node)
            node = reading.moment
            if own not in _LONGEST or (own == "week" and _LONGEST.get(unit, 0) > _LONGEST[own]):
                return None
        elif isinstance(node, exp.Paren):
            node = node.this
        elif isinstance(node, exp.Cast) and _keeps(node.to):
            node, own = node.this, "day" if node.to.this == exp.DType.DATE else ""
        else:
            return None
        unit = max(unit, own, key=lambda one: _LONGEST.get(one, 0))
    unit = unit or _own_span(variable.column.type)
    if variable.table.public or variable.column.range is None or not unit:
        return None
    ends = range_of(variable.column.range)
    points = list(islice(_begins(unit, ends.low, ends.high), MOST_CUTS + 1))
    return None if len(points) > MOST_CUTS else KeyOfSpans(variable, tuple(map(NumberCut, points)))


def _read_span(reading: CalendarReading, node: exp.Expr) -> str:
    """The span that a reading tells from all others."""
    if reading.read is Read.PRINT and SORTED.is_on(node):
        return period_told(letters_of(reading.pattern)) or ""
    rises = reading.read is Read.START or (reading.read is Read.FIELD and reading.unit in _YEARS)
    return reading.unit if rises else ""


def _keeps(kind: exp.DataType) -> bool:
    """Whether unlike values are unlike as this type: a time of day, a truth and a text of so many letters leave out
    what tells them apart."""
    return kind.this in _KEPT or (kind.this in _TEXTS and not kind.expressions)


def _own_span(kind: Type) -> str:
    """The span in which a value of a type is one by itself."""
    return {Kind.INTEGER: "1", Kind.DATE: "day"}.get(kind.kind, "")


def _begins(unit: str, low: Fraction, high: Fraction) -> Iterator[Fraction]:
    """The begins of all spans that touch a range, and the end of the last.

    >>> ends = [measure(datetime.date(2024, *day)) for day in ((1, 31), (3, 1))]
    >>> [scalar_at(point, TIMESTAMP).isoformat()[:10] for point in _begins("month", *ends)]
    ['2024-01-01', '2024-02-01', '2024-03-01', '2024-04-01']
    """
    if unit == "1":
        yield from map(Fraction, range(math.ceil(low), math.floor(high) + 2))
        return
    at = scalar_at(Fraction(math.floor(low)), TIMESTAMP)
    if not isinstance(at, datetime.datetime):
        return
    begin = floor_to(unit, at)
    while True:
        yield measure(begin)
        if measure(begin) > high:
            return
        begin = floor_to(unit, begin + datetime.timedelta(days=_LONGEST[unit]))


def over_intervals(
    tree: exp.Expr, names: Mapping[Variable, tuple[str, Sequence[NumberCut]]], dialect: Dialect
) -> exp.Expr:
    """The tree with the intervals of columns, by their names, in the place of all that it reads of these columns: what
    :func:`cuts_of` has found, or :func:`key_of_spans`, between cuts of which these are some."""
    if (found := comparison(tree)) is not None and found.variable in names:
        return found.over(*names[found.variable])
    if (variable := _tested_for_null(tree)) is not None and variable in names:
        return exp.Is(this=exp.column(names[variable][0]), expression=exp.Null())
    behind = BEHIND.of(tree)
    if isinstance(behind, Variable) and behind in names:
        return _first_value(behind, *names[behind], dialect)
    copy = tree.copy()
    for child in list(copy.iter_expressions()):
        child.replace(over_intervals(child, names, dialect))
    return copy


def _first_value(variable: Variable, name: str, cuts: Sequence[NumberCut], dialect: Dialect) -> exp.Expr:
    """The least value of each interval of a column of a lattice; NULL of NULL, and before the first cut."""
    kind = variable.column.type
    tests = (exp.EQ(this=exp.column(name), expression=number(place)) for place in range(1, len(cuts) + 1))
    values = (literal_of(_scalar(cut.at, kind), kind, dialect) for cut in cuts)
    return exp.Case(ifs=[exp.If(this=test, true=value) for test, value in zip(tests, values, strict=True)])


def interval_of(
    variable: Variable,
    node: exp.Expr,
    cuts: Sequence[NumberCut],
    dialect: Dialect,
    blocks: Sequence[int] | None = None,
) -> exp.Expr:
    """The number of cuts at or below the value of a column, and NULL of NULL; or the block of that interval, where
    ``blocks`` has one for each number of cuts and, last, one for NULL. Every row has exactly one block."""
    kind, ifs = variable.column.type, list[exp.If]()
    for place, cut in reversed(list(enumerate(cuts, start=1))):
        scalar = _scalar(cut.at, kind)
        literal = LITERAL.on(literal_of(scalar, None, dialect), Constant(scalar))
        test = (exp.GT if cut.above else exp.GTE)(this=node.copy(), expression=literal)
        ifs.append(exp.If(this=test, true=number(place if blocks is None else blocks[place])))
    present = exp.Not(this=exp.Is(this=node.copy(), expression=exp.Null()))
    first = exp.If(this=present, true=number(0 if blocks is None else blocks[0]))
    return exp.Case(ifs=[*ifs, first], default=None if blocks is None else number(blocks[-1]))


def interval_text(variable: Variable, cuts: Iterable[NumberCut], blocks: Sequence[int] | None = None) -> str:
    """The name of such an attribute, for people; of blocks of intervals with the block of each, and of NULL."""
    kind = variable.column.type
    said = (f"{'>' if cut.above else '>='} {_scalar(cut.at, kind)}" for cut in cuts)
    merged = "" if blocks is None else f" as {', '.join(map(str, blocks[:-1]))}; NULL {blocks[-1]}"
    return f"{variable.name}: {', '.join(said)}{merged}"


def _variable(node: exp.Expr) -> Variable | None:
    """The declared column of a node, but for parentheses and conversions that keep its values."""
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    behind = BEHIND.of(node)
    return behind if isinstance(behind, Variable) else None


def _tested_for_null(node: exp.Expr) -> Variable | None:
    """The column that a node tests for NULL; None of any other node."""
    return _variable(node.this) if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null) else None


def _fits(value: Fraction, kind: Type, *, exact: bool) -> bool:
    """Whether an engine compares values of the type with this number exactly."""
    if exact and Fraction(float(value)) != value:
        return False
    if kind.kind is Kind.INTEGER:
        low, high = kind.limits
        return low < value < high
    if kind.kind in (Kind.DATE, Kind.TIMESTAMP):
        return scalar_at(Fraction(math.floor(value)), kind) is not None
    if kind.kind is Kind.DECIMAL:
        most: int = 10 ** (kind.precision - kind.scale) - 1
        return abs(value) < most
    return kind.kind is Kind.DOUBLE


def _before(value: Fraction, kind: Type) -> NumberCut:
    """The cut before all values of a type that are at least this number."""
    step = _step(kind)
    return NumberCut(value, False) if step is None else NumberCut(math.ceil(value / step) * step, False)


def _above(value: Fraction, kind: Type) -> NumberCut:
    """The cut above all values of a type that are at most this number."""
    step = _step(kind)
    return NumberCut(value, True) if step is None else NumberCut((math.floor(value / step) + 1) * step, False)


def _step(kind: Type) -> Fraction | None:
    """The number of which every value of the type is a multiple."""
    if kind.kind is Kind.TIMESTAMP:
        return Fraction(1, 86_400_000_000)
    return None if kind.kind is Kind.DOUBLE else Fraction(1, 10 ** (kind.scale if kind.kind is Kind.DECIMAL else 0))


def _scalar(value: Fraction, kind: Type) -> Scalar | None:
    if kind.kind is Kind.INTEGER:
        return int(value)
    if kind.kind is Kind.DOUBLE:
        return float(value)
    if kind.kind in (Kind.DATE, Kind.TIMESTAMP):
        return scalar_at(value, kind)
    units = int(value * 10**kind.scale)
    return Decimal(units).scaleb(-kind.scale, Context(prec=60))
