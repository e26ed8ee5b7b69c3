"""Quantiles from the lattice values that were picked: numbers, dates and times, in order. Post-processing."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from dpsql.table import NoisyTable, ReleasedColumn
from rewriter.plan import Chosen, Output, Plan
from rewriter.types import Kind, Scalar, Type


def chosen_column(noisy: NoisyTable, plan: Plan, output: Output, chosen: Chosen, *, ordered: bool) -> ReleasedColumn:
    """One quantile of every group. ``ordered``: a greater fraction never has a smaller value.

    It has no margin: how far a value is from the true one depends on how dense the data is there, which was not paid
    for. How far its rank is off is known, and told in a notice.
    """
    choice = next(one for one in plan.choices if one.name == chosen.choice)
    columns = noisy.chosen[choice.name]
    rows = list(zip(*columns, strict=True)) if columns else []
    if ordered:
        rows = [in_order(row) for row in rows]
    values = tuple(value_of(row[chosen.place], choice.granularity, output.type) for row in rows)
    return ReleasedColumn(output.name, output.type, values)


def in_order(values: Sequence[int | None]) -> tuple[int | None, ...]:
    """The values of growing fractions, sorted; those that are missing stay where they are.

    >>> in_order((5, None, 3, 9))
    (3, None, 5, 9)
    """
    known = iter(sorted(value for value in values if value is not None))
    return tuple(None if value is None else next(known) for value in values)


def value_of(steps: int | None, granularity: Fraction, type_: Type) -> Scalar | None:
    """A lattice value as one of a type. Days are those of ``date.toordinal()``.

    >>> from rewriter.types import DATE, decimal
    >>> value_of(719163, Fraction(1), DATE), value_of(150, Fraction(1, 100), decimal(9, 2))
    (datetime.date(1970, 1, 1), Decimal('1.50'))
    """
    if steps is None:
        return None
    number = steps * granularity
    if type_.kind is Kind.DATE:
        return datetime.date.fromordinal(int(number))
    if type_.kind is Kind.TIMESTAMP:
        days, rest = divmod(number, 1)
        microseconds = int(rest * 86_400_000_000)
        return datetime.datetime.fromordinal(int(days)) + datetime.timedelta(microseconds=microseconds)
    if type_.kind is Kind.DECIMAL:
        units = round(number * 10**type_.scale)
        return Decimal(units).scaleb(-type_.scale)
    return round(number) if type_.kind is Kind.INTEGER else float(number)
