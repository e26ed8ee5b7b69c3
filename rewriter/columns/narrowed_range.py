"""The range of a value under a query's own conditions: ``WHERE cost BETWEEN 0 AND 100`` bounds ``SUM(cost)``.

The range that follows is where values lie on the rows that are counted, so clipping into it changes nothing; it is
narrower than the declared one, or stands for one that was not declared. It depends on the query's text alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.columns.column_limits import ColumnLimits, Facts, column_of
from rewriter.columns.source import Source
from rewriter.declared import Interval, Kind, Type
from rewriter.expressions import Value


def narrowed_sources(sources: Sequence[Source], conditions: Sequence[Value]) -> tuple[Source, ...]:
    """Sources whose columns lie where the conditions on every row say, so that whatever is computed of them does."""
    facts = Facts.of(conditions)
    return tuple(
        replace(source, fields={name: _within(value, facts) for name, value in source.fields.items()})
        for source in sources
    )


def _within(value: Value, facts: Facts) -> Value:
    variable = column_of(value.sql, ())
    if variable is None or not facts.is_given(variable):
        return value
    limits = facts.of_column(variable)
    if value.interval is not None:
        limits = limits.within(ColumnLimits(value.interval.low, value.interval.high))
    low, high = limits.low, limits.high
    interval = value.interval if low is None or high is None or low > high else Interval(low, high)
    return replace(value, nullable=False, interval=interval)


_LOWER = (exp.GTE, exp.GT)
_UPPER = (exp.LTE, exp.LT)


def narrowed(value: Value, conditions: Iterable[Value]) -> Interval | None:
    """The value's interval within the limits that conditions put on the very same expression; None: still unbounded.

    >>> from rewriter.declared.types import INTEGER
    >>> x = exp.column("x")
    >>> test = exp.Between(this=x.copy(), low=exp.Literal.number(2), high=exp.Literal.number(9))
    >>> within = Value.condition(test, nullable=False, constant=False)
    >>> narrowed(Value(x, INTEGER, Interval.of(5, 100), nullable=False, constant=False, domain=None), [within])
    Interval(low=Fraction(5, 1), high=Fraction(9, 1))
    """
    low = None if value.interval is None else value.interval.low
    high = None if value.interval is None else value.interval.high
    wanted = _bare(value.sql, value.type)
    for condition in conditions:
        for least, most in _limits(condition.sql, wanted, value.type):
            low = least if low is None or (least is not None and least > low) else low
            high = most if high is None or (most is not None and most < high) else high
    if low is None or high is None or low > high:
        return value.interval
    return Interval(low, high)


def _limits(condition: exp.Expr, wanted: exp.Expr, kind: Type) -> Iterator[tuple[Fraction | None, Fraction | None]]:
    """(lower, upper) limits on ``wanted`` from the parts that AND joins."""
    stack = [condition]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Paren):
            stack.append(node.this)
        elif isinstance(node, exp.And):
            stack += [node.this, node.expression]
        elif isinstance(node, exp.Between) and _bare(node.this, kind) == wanted:
            yield _number(node.args["low"]), _number(node.args["high"])
        elif isinstance(node, exp.EQ | exp.GTE | exp.GT | exp.LTE | exp.LT):
            yield from _comparison(node, wanted, kind)


def _comparison(node: exp.Binary, wanted: exp.Expr, kind: Type) -> Iterator[tuple[Fraction | None, Fraction | None]]:
    flipped = _bare(node.expression, kind) == wanted
    if not flipped and _bare(node.this, kind) != wanted:
        return
    limit = _number(node.this if flipped else node.expression)
    lower, upper = (_UPPER, _LOWER) if flipped else (_LOWER, _UPPER)
    if isinstance(node, (*lower, exp.EQ)):
        yield limit, None
    if isinstance(node, (*upper, exp.EQ)):
        yield None, limit


def _bare(node: exp.Expr, kind: Type) -> exp.Expr:
    """A value of a type without the conversions that a comparison puts around it and that keep its number."""
    while isinstance(node, exp.Paren | exp.Cast):
        if isinstance(node, exp.Cast):
            to = node.to.this
            exact = to == exp.DType.DOUBLE or (to == exp.DType.DECIMAL and kind.kind is Kind.INTEGER)
            if not exact or isinstance(node, exp.TryCast):
                return node
        node = node.this
    return node


def _number(node: exp.Expr) -> Fraction | None:
    """The number that a literal of our own making stands for, where no conversion rounds it."""
    if isinstance(node, exp.Paren):
        return _number(node.this)
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Cast):
        inner = _number(node.this)
        return inner if inner is not None and inner * _steps(node.to) % 1 == 0 else None
    if isinstance(node, exp.Literal) and not node.is_string:
        return Fraction(node.this)
    return None


def _steps(kind: exp.DataType) -> int:
    """How many steps a type has per unit: a number that is not a multiple of one is rounded. 0 where it holds any."""
    if kind.this == exp.DType.DOUBLE:
        return 0
    if kind.this == exp.DType.DECIMAL and len(kind.expressions) == 2:
        scale = int(kind.expressions[1].name)
        return int(10**scale)
    return 1
