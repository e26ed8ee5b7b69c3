"""Limits of a declared column that follow from the conditions of a statement, on the column or on a function of it.

``WHERE created_at::date >= '2026-10-01' AND date_trunc('year', created_at) = '2026-01-01'`` limits ``created_at`` to
the time from 2026-10-01 to the last microsecond of that year, without NULL. Only conditions that hold on every row
count: conjuncts of WHERE and of inner joins. The limits depend on the text alone.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.columns.regions import Probe, probe_of
from rewriter.columns.source import BEHIND, LISTED_COLUMN, Origin, Variable
from rewriter.columns.value_lists import lattice_of
from rewriter.declared import INTEGER, Kind, Type, measure
from rewriter.dialects import CalendarReading, Read, reading_of
from rewriter.expressions import LINEAR, Value, floor_to
from rewriter.statement import unparenthesised

Path = tuple[str, ...]
"""The subqueries around an expression: a CTE that stands twice in FROM has its columns twice."""

_DAY = datetime.timedelta(days=1)
_LONGEST = {
    "hour": _DAY / 24, "day": _DAY, "week": 7 * _DAY, "month": 31 * _DAY, "quarter": 92 * _DAY, "year": 366 * _DAY,
}  # fmt: skip
_INTEGERS = {exp.DType.SMALLINT: 16, exp.DType.INT: 32, exp.DType.BIGINT: 64, exp.DType.INT128: 128}
_TIMES = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)


@dataclass(frozen=True, slots=True)
class ColumnLimits:
    """Where a column's values lie; ``values`` are all that they can be, where conditions list them."""

    low: Fraction | None = None
    high: Fraction | None = None
    values: frozenset[Probe] | None = None

    def within(self, other: ColumnLimits) -> ColumnLimits:
        low = max((end for end in (self.low, other.low) if end is not None), default=None)
        high = min((end for end in (self.high, other.high) if end is not None), default=None)
        values = self.values if other.values is None else other.values
        if self.values is not None and other.values is not None:
            values = self.values & other.values
        return ColumnLimits(low, high, values)


@dataclass(slots=True)
class Facts:
    """Facts that follow from conditions. A column that has limits is not NULL, nor is one that equals another.

    ``among`` are columns all of whose values a column of a public table has.
    """

    limits: dict[Variable, ColumnLimits] = field(default_factory=dict)
    equal: list[tuple[Variable, Variable]] = field(default_factory=list)
    among: dict[Variable, tuple[str, str]] = field(default_factory=dict)
    parts: list[tuple[exp.Expr, Path]] = field(default_factory=list)
    months: dict[Variable, ColumnLimits] = field(default_factory=dict)
    """Where the numbers of the months of times lie."""

    @classmethod
    def of(cls, filters: Iterable[Value]) -> Facts:
        facts = cls()
        for condition in filters:
            for node, path in conjuncts(condition.sql):
                facts.parts.append((node, path))
                facts._read(node, path)
        for variable, months in facts.months.items():
            facts._add(variable, _in_months(variable.column.type, facts.of_column(variable), months))
        return facts

    def of_column(self, variable: Variable) -> ColumnLimits:
        return self.limits.get(variable, ColumnLimits())

    def is_given(self, variable: Variable) -> bool:
        """Whether conditions leave no row on which a column is NULL."""
        tied = variable in self.among or any(variable in pair for pair in self.equal)
        return tied or variable in self.limits

    def listed_by(self, variable: Variable) -> set[tuple[str, str]]:
        """The columns of public tables that have all values of a column."""
        equals = {(one.table.name, one.column.name) for one in self.equals_of(variable) if one.table.public}
        return equals | ({self.among[variable]} if variable in self.among else set())

    def equals_of(self, variable: Variable) -> Iterator[Variable]:
        for one, other in self.equal:
            if variable in (one, other):
                yield other if one == variable else one

    def _read(self, node: exp.Expr, path: Path) -> None:
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            self._bound(node.this, path, ">=", node.args["low"])
            self._bound(node.this, path, "<=", node.args["high"])
        elif isinstance(node, exp.In) and node.args.get("query") is None:
            self._listed(node.this, path, node.expressions)
        elif isinstance(node, exp.In) and (listing := LISTED_COLUMN.of(node)) is not None:
            if (variable := column_of(node.this, path)) is not None:
                self.among[variable] = listing.table.name, listing.column.name
        elif isinstance(node, exp.Not) and (variable := _tested_for_null(node.this, path)) is not None:
            self._add(variable, ColumnLimits())
        elif isinstance(node, exp.Not) and type(test := unparenthesised(node.this)) in _OPPOSITE:
            self._compared(test.this, test.args["expression"], path, _OPPOSITE[type(test)])
        elif type(node) in _SIGNS:
            self._compared(node.this, node.args["expression"], path, _SIGNS[type(node)])

    def _compared(self, left: exp.Expr, right: exp.Expr, path: Path, sign: str) -> None:
        one, other = column_of(left, path), column_of(right, path)
        if one is not None and other is not None:
            self._add(one, ColumnLimits())
            self._add(other, ColumnLimits())
            if sign == "=" and one != other:
                self.equal.append((one, other))
            return
        self._bound(left, path, sign, right)
        self._bound(right, path, _MIRRORED.get(sign, sign), left)

    def _bound(self, node: exp.Expr, path: Path, sign: str, against: exp.Expr) -> None:
        known, scalar = probe_of(against)
        if not known or scalar is None or isinstance(scalar, bool):
            return
        if sign == "=":
            self._listed(node, path, [against])
        if not isinstance(scalar, str):
            for part in (">=", "<=") if sign == "=" else (sign,):
                self._limit(node, path, part, scalar)

    def _listed(self, node: exp.Expr, path: Path, items: Sequence[exp.Expr]) -> None:
        variable, literals = column_of(node, path), [probe_of(item) for item in items]
        if not all(known for known, _ in literals):
            return
        scalars = frozenset(scalar for _, scalar in literals if scalar is not None)
        if variable is not None:
            self._add(variable, ColumnLimits(values=scalars))
        numbers = [scalar for scalar in scalars if isinstance(scalar, Fraction)]
        if numbers and len(numbers) == len(scalars):
            for sign, end in ((">=", min(numbers)), ("<=", max(numbers))):
                self._limit(node, path, sign, end)

    def _limit(self, node: exp.Expr, path: Path, sign: str, end: Fraction) -> None:
        if (found := _pushed(node, path, sign, end)) is not None:
            self._add(*found)
        elif (variable := _numbered_by_month(node, path)) is not None:
            months = _rounded(INTEGER, sign, end)
            self.months[variable] = self.months.get(variable, ColumnLimits()).within(months)

    def _add(self, variable: Variable, limits: ColumnLimits) -> None:
        self.limits[variable] = self.of_column(variable).within(limits)


def _tested_for_null(node: exp.Expr, path: Path) -> Variable | None:
    """The column of ``x IS NULL``."""
    node = unparenthesised(node)
    is_test = isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)
    return column_of(node.this, path) if is_test else None


_SIGNS: dict[type[exp.Expr], str] = {exp.EQ: "=", exp.GTE: ">=", exp.GT: ">", exp.LTE: "<=", exp.LT: "<"}
_OPPOSITE: dict[type[exp.Expr], str] = {exp.GTE: "<", exp.GT: "<=", exp.LTE: ">", exp.LT: ">=", exp.NEQ: "="}
"""What holds of values where the comparison does not: neither does where one of them is NULL."""
_MIRRORED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}


def conjuncts(node: exp.Expr, path: Path = ()) -> Iterator[tuple[exp.Expr, Path]]:
    """The conditions that AND joins, through subqueries, each with the subqueries around it."""
    stack = [(node, path)]
    while stack:
        current, around = stack.pop()
        if isinstance(current, exp.Paren):
            stack.append((current.this, around))
        elif isinstance(current, exp.And):
            stack += [(current.expression, around), (current.this, around)]
        elif isinstance(origin := BEHIND.of(current), Origin):
            stack.append((origin.sql, (*around, current.text("table"))))
        else:
            yield current, around


def named(variable: Variable, path: Path) -> Variable:
    """A column of a table instance, told apart from the same one of another copy of a subquery."""
    return replace(variable, alias="_".join((*path, variable.alias))) if path else variable


def column_of(node: exp.Expr, path: Path) -> Variable | None:
    """The declared column that an expression is, but for conversions that keep every value and their order."""
    casts: list[exp.DataType] = []
    while True:
        behind = BEHIND.of(node)
        if isinstance(behind, Variable):
            return named(behind, path) if all(_keeps(behind.column.type, to) for to in casts) else None
        if isinstance(behind, Origin):
            path, node = (*path, node.text("table")), behind.sql
        elif type(node) is exp.Cast:
            casts.append(node.to)
            node = node.this
        elif isinstance(node, exp.Paren):
            node = node.this
        else:
            return None


def _keeps(kind: Type, to: exp.DataType) -> bool:
    """Whether a type holds all values of another, so that no two of them become one.

    >>> from rewriter.declared.types import INTEGER, decimal
    >>> _keeps(INTEGER, exp.DataType.build("DOUBLE")), _keeps(decimal(5, 2), exp.DataType.build("DOUBLE"))
    (True, False)
    """
    if to.this == exp.DType.DOUBLE:
        return kind.kind is Kind.DOUBLE or (kind.kind is Kind.INTEGER and kind.bits <= 32)
    if to.this in _INTEGERS:
        return kind.kind is Kind.INTEGER and kind.bits <= _INTEGERS[to.this]
    if to.this in _TIMES:
        return kind.temporal
    if to.this == exp.DType.DECIMAL and len(to.expressions) == 2:
        precision, scale = (int(part.name) for part in to.expressions)
        if kind.kind is Kind.DECIMAL:
            return scale >= kind.scale and precision - scale >= kind.precision - kind.scale
        return kind.kind is Kind.INTEGER and precision - scale >= len(str(kind.limits[1]))
    same = {exp.DType.DATE: Kind.DATE, exp.DType.TEXT: Kind.TEXT, exp.DType.BOOLEAN: Kind.BOOLEAN}
    return same.get(to.this) is kind.kind


# From a limit on a function of a column to a limit on the column.


def _pushed(node: exp.Expr, path: Path, sign: str, end: Fraction) -> tuple[Variable, ColumnLimits] | None:
    """The column of which ``node`` is a monotone function, with its limits by ``node sign end``; None without
    one."""
    while True:
        if (variable := column_of(node, path)) is not None:
            return variable, _rounded(variable.column.type, sign, end)
        if isinstance(origin := BEHIND.of(node), Origin):
            path, node = (*path, node.text("table")), origin.sql
        elif isinstance(node, exp.Paren):
            node = node.this
        elif (linear := LINEAR.of(node)) is not None:
            node, end = linear.moment, (end - linear.offset) / linear.factor
            sign = sign if linear.factor > 0 else _MIRRORED[sign]
        elif (cut := _cut(node)) is None:
            return None
        else:
            unit, node = cut
            if (moved := _before(unit, sign, end)) is None:
                return None
            sign, end = moved


def _cut(node: exp.Expr) -> tuple[str, exp.Expr] | None:
    """The unit that a time is cut to, and the time: date_trunc, a cast to a date, the number of the year."""
    if type(node) is exp.Cast and node.to.this == exp.DType.DATE:
        return "day", node.this
    field = field_of_number(node)
    if field is not None and field.unit == "year":
        return "number of year", field.moment
    start = reading_of(node)
    if start is not None and start.read is Read.START and start.unit in _LONGEST:
        return start.unit, start.moment
    return None


def _numbered_by_month(node: exp.Expr, path: Path) -> Variable | None:
    """The column of times whose number of the month an expression is."""
    field = field_of_number(node)
    return column_of(field.moment, path) if field is not None and field.unit == "month" else None


def field_of_number(node: exp.Expr) -> CalendarReading | None:
    """The field of a time that a number is, in whatever type it is exact; a double may have 0 added to it."""
    while (
        isinstance(node, exp.Paren)
        or (isinstance(node, exp.Cast) and node.to.this in _EXACT_NUMBERS)
        or (isinstance(node, exp.Add) and _is_zero(node.expression))
    ):
        node = node.this
    field = reading_of(node)
    return field if field is not None and field.read is Read.FIELD else None


def _is_zero(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and not float(node.name)


_EXACT_NUMBERS = (*_INTEGERS, exp.DType.DECIMAL, exp.DType.DOUBLE)


def _in_months(kind: Type, times: ColumnLimits, months: ColumnLimits) -> ColumnLimits:
    """The limits of times in one year whose months have these numbers; none where they may be in several years.

    >>> from rewriter.declared.types import DATE
    >>> year = [measure(datetime.date(2026, month, 1)) for month in range(1, 13)]
    >>> april = ColumnLimits(Fraction(4), Fraction(4))
    >>> found = _in_months(DATE, ColumnLimits(year[0], year[11]), april)
    >>> found == ColumnLimits(year[3], year[4] - 1), _in_months(DATE, ColumnLimits(year[0]), april)
    (True, ColumnLimits(low=None, high=None, values=None))
    """
    first, last = (None if end is None else _moment(end) for end in (times.low, times.high))
    if first is None or last is None or first.year != last.year:
        return ColumnLimits()
    low = 1 if months.low is None else max(1, int(months.low))
    high = 12 if months.high is None else min(12, int(months.high))
    if low > high:
        return ColumnLimits()
    after = _next("month", datetime.datetime(first.year, high, 1))
    until = ColumnLimits() if after is None else _rounded(kind, "<", measure(after))
    return _rounded(kind, ">=", measure(datetime.datetime(first.year, low, 1))).within(until)


def _before(unit: str, sign: str, end: Fraction) -> tuple[str, Fraction] | None:
    """The limit on a time that is cut to a unit.

    >>> march = measure(datetime.date(2026, 3, 1))
    >>> _before("month", "<=", march) == ("<", measure(datetime.date(2026, 4, 1)))
    True
    """
    if unit == "number of year":
        first = math.floor(end) + 1 if sign in ("<=", ">") else math.ceil(end)
        if not 1 <= first <= 9999:
            return None
        return "<" if sign in ("<", "<=") else ">=", measure(datetime.datetime(first, 1, 1))
    moment = _moment(end)
    if moment is None:
        return None
    start = floor_to(unit, moment)
    begins = measure(start) == end
    if sign == ">=" and begins:
        return sign, end
    if sign == "<" and begins:
        return sign, end
    after = _next(unit, start)
    if after is None:
        return None
    return ("<" if sign in ("<", "<=") else ">="), measure(after)


def _next(unit: str, start: datetime.datetime) -> datetime.datetime | None:
    try:
        return floor_to(unit, start + _LONGEST[unit])
    except OverflowError:
        return None


def _moment(end: Fraction) -> datetime.datetime | None:
    days, rest = divmod(end, 1)
    if not 1 <= days <= datetime.date.max.toordinal():
        return None
    micros = math.floor(rest * 86_400_000_000)
    return datetime.datetime.fromordinal(int(days)) + datetime.timedelta(microseconds=micros)


def _rounded(kind: Type, sign: str, end: Fraction) -> ColumnLimits:
    """A limit on values that are multiples of a step."""
    step = lattice_of(kind)
    if not step:
        return ColumnLimits(low=end) if sign in (">", ">=") else ColumnLimits(high=end)
    below, above = math.floor(end / step) * step, math.ceil(end / step) * step
    if sign in (">", ">="):
        return ColumnLimits(low=below + step if sign == ">" else above)
    return ColumnLimits(high=above - step if sign == "<" else below)
