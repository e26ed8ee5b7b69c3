"""The lists that stand for columns: the declared values of one, as far as the conditions of a statement leave them.

A column that is compared with literals alone is listed by one value of each region between them; a timestamp by one
of each day or hour that keys cut it to, and one on each side of what it is compared with; any other by its declared
values.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from rewriter.columns import (
    ColumnLimits,
    Facts,
    Use,
    Variable,
    admits,
    aliased,
    days,
    integers,
    listed,
    moments,
    moments_apart,
    of_column,
    periods,
    points,
    probes_of,
    range_of,
    scalar_at,
    with_null,
)
from rewriter.declared import Interval, Kind, Scalar
from rewriter.dialects import Dialect, Period, TimeStep
from rewriter.keys.calendar_steps import Coarse

MAX_CELLS = 100_000
"""The most groups that a public key set may have; a larger one is selected under δ instead."""


@dataclass(frozen=True, slots=True)
class Item:
    """One list of FROM, and how many rows it has at most. ``linked``: it is read by conditions alone."""

    sql: exp.Expr
    size: int
    linked: bool = False


@dataclass(frozen=True, slots=True)
class DeclaredLists:
    """The lists of columns under the ``facts`` that hold on every row.

    A public table may have more rows when its values are read than it had when they were counted. ``counted`` lists
    hold no more values than were counted, whatever the table has come to: the others are left out, in their order.
    """

    dialect: Dialect
    facts: Facts
    counted: bool = False

    def size(self, variable: Variable, step: TimeStep | None) -> int | None:
        """How many values of a column are listed at most, but for NULL; None where nothing limits them."""
        column = variable.column
        if variable.table.public:
            return variable.table.rows
        if (values := self.values(variable)) is not None:
            return len(values)
        if column.values_from is not None:
            return None if variable.lister is None else variable.lister.rows
        if column.type.kind not in (Kind.INTEGER, Kind.DATE) and not column.type.clocked:
            return None
        low, high = self._ends(variable)
        if low is None or high is None or low > high:
            return None if low is None or high is None else 0
        if column.type.clocked:
            return None if step is None else periods(Interval(low, high), step)
        return max(math.floor(high) - math.ceil(low) + 1, 0)

    def values(self, variable: Variable) -> tuple[Scalar, ...] | None:
        """The values of a column that policy and conditions list one by one, NULL apart."""
        column, limits = variable.column, self.facts.of_column(variable)
        if column.values is not None:
            declared = dict.fromkeys(value for value in column.values if value is not None)
            return tuple(value for value in declared if admits(limits, value))
        if column.type.kind is Kind.BOOLEAN:
            return (False, True)
        if limits.values is None or column.values_from is not None or column.type.clocked:
            return None
        low, high = self._ends(variable)
        within = replace(limits, low=low, high=high)
        probes: list[Any] = sorted(limits.values, key=lambda probe: (str(type(probe)), probe))
        scalars = [scalar_at(probe, column.type) if isinstance(probe, Fraction) else probe for probe in probes]
        return tuple(scalar for scalar in scalars if scalar is not None and admits(within, scalar))

    def bounds(self, variable: Variable) -> Interval | None:
        """Where a column's values are listed: its declared range, and what conditions say. None: nowhere, or without
        end."""
        low, high = self._ends(variable)
        return None if low is None or high is None or low > high else Interval(low, high)

    def _ends(self, variable: Variable) -> tuple[Fraction | None, Fraction | None]:
        declared, limits = variable.column.range, self.facts.of_column(variable)
        if declared is not None:
            ends = range_of(declared)
            limits = limits.within(ColumnLimits(ends.low, ends.high))
        return limits.low, limits.high

    def series(self, variable: Variable) -> Interval | None:
        """The ends of a column of which every day or number between them is listed; None of any other."""
        listed = self.values(variable) is not None or variable.column.values_from is not None
        return None if listed else self.bounds(variable)

    def item(self, variable: Variable, use: Use, *, null: bool) -> Item:
        """The values of a column of people, and NULL where it may be."""
        column, size = variable.column, self.size(variable, use.step) or 0
        if not use.whole:
            probes = probes_of(variable, use, self.facts.of_column(variable))
            query, size = points(probes, column.type, self.dialect), len(probes)
        elif (values := self.values(variable)) is not None:
            query = listed(values, column.type, self.dialect)
        elif column.values_from is not None:
            query = of_column(column.values_from[1], variable, self.dialect, most=size if self.counted else None)
        elif (bounds := self.bounds(variable)) is None:
            query = listed((), column.type, self.dialect)
        elif column.type.clocked:
            cuts = [cut for cut in use.cuts if not isinstance(cut, str | bool | None)]
            step = use.step or TimeStep(Period.DAY)
            query, size = moments(bounds, step, cuts, self.dialect), size + moments_apart(bounds, step, cuts)
        elif column.type.kind is Kind.DATE:
            query = days(bounds, self.dialect)
        else:
            query = integers(math.ceil(bounds.low), math.floor(bounds.high), column.type, self.dialect)
        return Item(aliased(with_null(query) if null else query, table_for(variable)), size + null)

    def coarser(self, item: Item, variable: Variable, use: Use, found: Coarse) -> Item:
        """The first day of each of the months or years of the days that an item lists."""
        if (bounds := self.series(variable)) is None:
            raise AssertionError("days that are not listed have no months")
        low, high = (datetime.date.fromordinal(math.floor(end)) for end in (bounds.low, bounds.high))
        size = found.periods((low, high)) + item.size - periods(bounds, use.step or TimeStep(Period.DAY))
        first = self.dialect.date_trunc(found.unit, exp.column("x", table_for(variable)))
        select = exp.Select(expressions=[exp.alias_(self.dialect.cast(first, variable.column.type), "x")])
        select.from_(item.sql, copy=False).distinct(copy=False)
        if found.inside:
            select.set("where", exp.Where(this=exp.and_(*(one.copy() for one in found.inside), copy=False)))
        return Item(aliased(select, table_for(variable)), size)


def column_for(variable: Variable) -> exp.Column:
    """Where the value of a variable is found."""
    if variable.table.public:
        return exp.column(exp.to_identifier(variable.column.name, quoted=True), f"d_{variable.alias}")
    return exp.column("x", table_for(variable))


def table_for(variable: Variable) -> str:
    """The alias of the FROM item that lists a variable."""
    if variable.table.public:
        return f"d_{variable.alias}"
    return f"d_{variable.alias}_{list(variable.table.columns).index(variable.column.name)}"
