"""Days that keys only use by their month or year, listed as such: the groups of two nations and a year are 25 · 25 · 7.

Guarantee: the same groups. A key that reads a day through ``EXTRACT(YEAR FROM day)`` alone is the same for all days of
a year, so one of them stands for all, once those conditions have been asked that tell days apart. A condition that
compares days with something else that is listed needs every day; where that would list too many groups it is left out,
since conditions may narrow a key set and need not.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.declared import Scalar
from rewriter.dialects import Read, reading_of

_YEARS = frozenset({"year", "decade", "century"})
_MONTHS = frozenset({"month", "quarter"})
_DAYS = (exp.DType.DATE, exp.DType.TIMESTAMP)


@dataclass(frozen=True, slots=True)
class Coarse:
    """The listed days of a FROM item are used by their ``unit``, month or year, once ``inside`` has been asked of them.

    ``outside`` are the conditions that are left.
    """

    unit: str
    inside: tuple[exp.Expr, ...]
    outside: tuple[exp.Expr, ...]

    def periods(self, bounds: tuple[Scalar, Scalar]) -> int:
        """How many there are between two days.

        >>> Coarse("month", (), ()).periods((datetime.date(2023, 12, 31), datetime.date(2025, 1, 1)))
        14
        """
        low, high = bounds
        if not isinstance(low, datetime.date) or not isinstance(high, datetime.date):
            raise TypeError("days are between days")
        years = high.year - low.year
        return years + 1 if self.unit == "year" else 12 * years + high.month - low.month + 1


def coarse(
    table: str, keys: Sequence[exp.Expr], needed: Sequence[exp.Expr], narrowing: Sequence[exp.Expr], *, tight: bool
) -> Coarse | None:
    """How the days ``x`` of the FROM item ``table`` are used; None where single days matter.

    ``needed`` are conditions that may not be left out. ``tight``: neither may those of ``narrowing``.

    >>> import sqlglot
    >>> from rewriter.dialects import field_of
    >>> year, test = field_of("year", exp.column("x", "d")), sqlglot.parse_one("d.x > 5 AND d.x < n.x")
    >>> found = coarse("d", [year], [], [test.this, test.expression], tight=False)
    >>> found.unit, [one.sql() for one in found.inside]
    ('year', ['d.x > 5'])
    """
    units = [_unit_of_uses(key, table) for key in keys]
    inside: list[exp.Expr] = []
    outside: list[exp.Expr] = []
    for place, condition in enumerate((*needed, *narrowing)):
        tables = {column.table for column in condition.find_all(exp.Column)}
        if tables == {table}:
            inside.append(condition)
            continue
        used = _unit_of_uses(condition, table) if table in tables else "none"
        if used is not None or tight or place < len(needed):
            units.append(used)
            outside.append(condition)
    known = {unit for unit in units if unit != "none"}
    if None in known or not known:
        return None
    return Coarse("month" if "month" in known else "year", tuple(inside), tuple(outside))


def _unit_of_uses(node: exp.Expr, table: str) -> str | None:
    """The finest unit by which an expression uses the days, "none" where it does not, None where by the day."""
    units = {_unit_of(column) for column in node.find_all(exp.Column) if column.table == table}
    if None in units:
        return None
    return next((unit for unit in ("month", "year") if unit in units), "none")


def _unit_of(column: exp.Column) -> str | None:
    node, around = _out_of_casts(column)
    if isinstance(around, exp.Is) and isinstance(around.expression, exp.Null):
        return "none"
    reading = reading_of(around)
    if reading is None or reading.read is Read.PRINT or reading.moment is not node:
        return None
    return "year" if reading.unit in _YEARS else "month" if reading.unit in _MONTHS else None


def _out_of_casts(column: exp.Column) -> tuple[exp.Expr, exp.Expr | None]:
    node: exp.Expr = column
    while isinstance(node.parent, exp.Paren) or (isinstance(node.parent, exp.Cast) and node.parent.to.this in _DAYS):
        node = node.parent
    return node, node.parent
