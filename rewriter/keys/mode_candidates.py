"""MODE: the values that it may be, from what the owner declared, and each row's value as a place among them.

The most common value is picked from a list that is known before any row is read: declared values, a range of few whole
numbers or days, the two booleans. What is not in the list does not count, as in a GROUP BY of the same column. A column
without such a list, or whose list is a public table's, has its most common value by GROUP BY.
"""

from __future__ import annotations

import datetime
import math

from sqlglot import exp

from rewriter.columns import literal_of, variable_behind
from rewriter.declared import BIGINT, Column, Interval, Kind, Scalar, measure
from rewriter.dialects import Dialect, number, wrap
from rewriter.expressions import IntegerRange, Value, Values
from rewriter.refused import Refused
from rewriter.relations import learned_ranges

MOST_CANDIDATES = 2048
"""The most values that one is picked from."""


def mode_of(value: Value, text: str, dialect: Dialect) -> tuple[Value, tuple[Scalar, ...]]:
    """A row's value as its place among the candidates of MODE, and these. Raises :class:`Refused` where there are
    none."""
    candidates = _candidates(value)
    if not candidates or len(candidates) > MOST_CANDIDATES:
        many = f"more than {MOST_CANDIDATES:,} of them" if candidates else "none"
        raise Refused(
            f"{text} is picked from values that the policy lists, and there are {many}",
            hint=f"SELECT x, COUNT(*) … GROUP BY x ORDER BY 2 DESC LIMIT 1, with {_inner(value)} for x",
        )
    places = Interval.of(0, len(candidates) - 1)
    sql = _place(value, candidates, dialect)
    place = Value(sql, BIGINT, places, nullable=True, constant=False, domain=None)
    return place, candidates


def _inner(value: Value) -> str:
    source = variable_behind(value.sql)
    return "the column" if source is None else source.column.name


def _candidates(value: Value) -> tuple[Scalar, ...]:
    """The values but NULL that a value may have, each once; none where nobody says."""
    if value.type.kind is Kind.BOOLEAN:
        return (False, True)
    if learned_ranges(value.sql):
        return ()
    domain = value.domain
    if isinstance(domain, Values):
        return _listed(domain.values)
    if isinstance(domain, IntegerRange) and value.type.kind is Kind.INTEGER:
        return tuple(range(domain.low, min(domain.high, domain.low + MOST_CANDIDATES) + 1))
    variable = variable_behind(value.sql)
    if variable is None or variable.table.public:
        return ()
    return _of_column(variable.column)


def has_mode(column: Column) -> bool:
    """Whether the most common value of a column of people is answered, by what its owner declared.

    >>> from rewriter.declared.types import INTEGER
    >>> has_mode(Column("floor", INTEGER, range=(0, 9))), has_mode(Column("floor", INTEGER))
    (True, False)
    """
    return column.type.kind is Kind.BOOLEAN or 0 < len(_of_column(column)) <= MOST_CANDIDATES


def _of_column(column: Column) -> tuple[Scalar, ...]:
    if column.values is not None:
        return _listed(column.values)
    if column.range is None or column.type.kind not in (Kind.INTEGER, Kind.DATE):
        return ()
    low, high = (measure(end) for end in column.range)
    whole = range(math.ceil(low), min(math.floor(high), math.ceil(low) + MOST_CANDIDATES) + 1)
    return tuple(whole) if column.type.kind is Kind.INTEGER else tuple(map(datetime.date.fromordinal, whole))


def _listed(values: tuple[Scalar | None, ...]) -> tuple[Scalar, ...]:
    return tuple(dict.fromkeys(value for value in values if value is not None))


def _place(value: Value, candidates: tuple[Scalar, ...], dialect: Dialect) -> exp.Expr:
    """The place of a row's value among the candidates, NULL where it is none of them."""
    sql = wrap(value.sql.copy())
    if value.type.kind is Kind.INTEGER and candidates == tuple(range(len(candidates))):
        within = exp.Between(this=sql, low=number(0), high=number(len(candidates) - 1))
        return dialect.cast(exp.Case(ifs=[exp.If(this=within, true=sql.copy())]), BIGINT)
    ifs = [
        exp.If(this=exp.EQ(this=sql.copy(), expression=literal_of(candidate, value.type, dialect)), true=number(place))
        for place, candidate in enumerate(candidates)
    ]
    return dialect.cast(exp.Case(ifs=ifs), BIGINT)
