"""How many groups there can be along a key: tighter than the size of the domains that the key is computed from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.columns import BEHIND, Origin, Variable, narrowed, nodes_behind
from rewriter.declared import Kind
from rewriter.dialects import Read, reading_of
from rewriter.expressions import DOMAIN, SHORTEST, TEXTS, WIDTH, Value
from rewriter.relations import learned_ranges
from rewriter.release import Key

_WHOLE = frozenset({"year", "isoyear", "quarter", "month", "week", "day", "doy", "dow", "isodow", "hour", "minute"})
"""Parts of a time that are whole numbers."""


@dataclass(frozen=True, slots=True)
class Steps:
    """At most ``most`` groups; ``tight`` where there are not far fewer."""

    most: int
    tight: bool


def steps_along(keys: Sequence[Key], cells: int) -> Steps:
    """How many groups differ in these keys, of which there are at most ``cells`` by their domains.

    Only the length of a series and the choice of its strategy follow from it.
    """
    known = [None if _grows(key) else _distinct(key.value) for key in keys]
    tight = all(count is not None or _is_listed(key.value) for key, count in zip(keys, known, strict=True))
    return Steps(cells if None in known else min(cells, math.prod(count or 1 for count in known)), tight)


def _grows(key: Key) -> bool:
    """Whether a key reads public rows that others may add to: where their values lie today bounds nothing."""
    variables = (BEHIND.of(node) for node in nodes_behind(key.value.sql))
    return any(isinstance(one, Variable) and one.table.grows for one in variables)


def groups_of_one(keys: Sequence[Key], filters: Sequence[Value], cells: int | None) -> int | None:
    """In how many groups one unit can have rows; ``cells`` is how many there are at most, where that is known.

    A unit has one value of a key that is constant for it: of cohorts and months, a person is in one cohort. Where data
    break a declared range, clipping still enforces the norm that follows.
    """
    known = [values_of(key, filters) for key in keys if not key.value.constant]
    if None in known:
        return cells
    most = math.prod(count or 1 for count in known)
    return most if cells is None else min(most, cells)


def values_of(key: Key, filters: Sequence[Value]) -> int | None:
    """How many values a key has at most on rows that keep to declared ranges and to the conditions, NULL among them."""
    learned = learned_ranges(key.value.sql)
    if not learned and (texts := TEXTS.of(_behind(key.value.sql))) is not None:
        return texts + key.value.nullable
    interval = None if learned else narrowed(key.value, filters)
    # What a condition limits is not NULL on the rows that are left.
    nullable = key.value.nullable and interval == key.value.interval
    return _distinct(replace(key.value, interval=interval, nullable=nullable))


def _is_listed(value: Value) -> bool:
    """Whether its domain is of its own values, and not of those that it is computed from."""
    return isinstance(value.sql, exp.Column) or DOMAIN.is_on(value.sql)


def _distinct(value: Value) -> int | None:
    """The number of values in the interval, as far apart as they are; NULL is one more."""
    gap = _gap(value)
    if gap is None or value.interval is None:
        return None
    return math.floor(value.interval.width / gap) + 1 + value.nullable


def _gap(value: Value) -> Fraction | None:
    """The least distance of two different values."""
    if value.type.kind is Kind.INTEGER or (value.type.kind is Kind.DECIMAL and value.type.scale == 0):
        return Fraction(1)
    node = _behind(value.sql)
    if (width := WIDTH.of(node)) is not None:
        return width
    while isinstance(node, exp.Paren | exp.Cast):
        node = _behind(node.this)
    reading, days = reading_of(node), Fraction(1) if value.type.kind is Kind.DATE else None
    if reading is not None and reading.read is Read.FIELD:
        return Fraction(1) if reading.unit in _WHOLE else None
    return SHORTEST.get(reading.unit, days) if reading is not None and reading.read is Read.START else days


def _behind(node: exp.Expr) -> exp.Expr:
    """The expression that a column of a subquery is."""
    while isinstance(origin := BEHIND.of(node), Origin):
        node = origin.sql
    return node
