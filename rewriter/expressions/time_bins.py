"""Times cut to bins of one length: DATE_BIN, and TO_TIMESTAMP of seconds.

A bin is a public key where the range of its column is declared: :data:`CUT` says by what step times are listed so that
each bin has one, :data:`WIDTH` how far apart two bins begin.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BIGINT, DOUBLE, TIMESTAMP, TIMESTAMPTZ, UTC, Interval, Kind, grid, measure
from rewriter.dialects import Fact, Period, number, refuse, wrap
from rewriter.expressions import arithmetic
from rewriter.expressions.build import (
    Context,
    derive,
    finite,
    is_literal,
    is_null,
    is_unknown,
    literal,
    scalar_of,
    settled,
)
from rewriter.expressions.casts import convert_to, widen
from rewriter.expressions.elapsed import CALENDAR, at_microsecond, since_1970
from rewriter.expressions.interval_length import DAY, whole
from rewriter.expressions.literals import interval_value
from rewriter.expressions.local_time import CUT, moment_of
from rewriter.expressions.shown_times import BEGUN, BegunPeriod
from rewriter.expressions.value import Value

WIDTH: Fact[Fraction] = Fact("width")
"""The days from the beginning of one bin to that of the next."""
BINNED: Fact[exp.Expr] = Fact("binned")
"""The time that a bin is around, as it was before it was cut."""
_ORIGIN = Fraction(719_163)


def date_bin(node: exp.Expr, context: Context) -> Value:
    """DATE_BIN(stride, x, origin): the beginning of the bin around x, of those that begin at the origin.

    Without an origin, bins begin at midnight and divide a day; ``zone`` is the same in other words, which is computed
    where the clocks of the session's zone matter.
    """
    value = context.finite(node.args["expression"])
    if is_unknown(value) or is_null(value) or value.type.kind is Kind.DATE:
        value = widen(value, TIMESTAMP, context.dialect)
    if not value.type.temporal:
        raise refuse(f"DATE_BIN needs a timestamp, not {value.type}", "cast it, as in x::timestamp", "42883")
    zoned, spelt = value.type.kind is Kind.TIMESTAMPTZ, node.args.get("zone")
    width = _stride(node.this, context)
    if spelt is not None and zoned and not _is_even(value, width, context.dialect.zone):
        return context.compile(spelt)
    origin = _origin(node.args.get("unit"), value, context) if spelt is None else 0
    return _binned(value, width, origin, context)


def _is_even(value: Value, width: int, zone: str) -> bool:
    """Whether the local times of a declared range are whole bins away from UTC."""
    if zone == UTC:
        return True
    ends = None if value.interval is None else (moment_of(value.interval.low), moment_of(value.interval.high))
    if ends is None or ends[0] is None or ends[1] is None:
        return False
    steps = grid(ends[0], ends[1], zone)
    return steps is not None and steps * 1_000_000 % width == 0


def _stride(node: exp.Expr, context: Context) -> int:
    length = context.compile(node)
    if is_unknown(length):
        length = interval_value(str(scalar_of(length)), context.dialect)
    if length.span is None:
        raise refuse("the stride of DATE_BIN is a constant interval", "write DATE_BIN('15 minutes', x, …)")
    if length.span[0]:
        raise refuse("timestamps cannot be binned into intervals containing months", "use DATE_TRUNC('month', x)")
    if whole(length.span) <= 0:
        raise refuse("the stride of DATE_BIN must be greater than zero", "write '15 minutes'", "22008")
    return whole(length.span)


def _origin(node: exp.Expr | None, value: Value, context: Context) -> int:
    if node is None:
        raise refuse("DATE_BIN takes a stride, a time and an origin", "write TIMESTAMP '2001-01-01' last", "42883")
    if isinstance(node, exp.Var):  # what the parser makes of a text there
        node = exp.Literal.string(node.name)
    start = widen(context.finite(node), value.type, context.dialect)
    if not is_literal(start) or scalar_of(start) is None:
        raise refuse("the origin of DATE_BIN is a constant", "write TIMESTAMP '2001-01-01'")
    scalar = scalar_of(start)
    return int((measure(scalar) - _ORIGIN) * DAY) if scalar is not None else 0


def _binned(value: Value, width: int, origin: int, context: Context) -> Value:
    """Counted from before the calendar begins, so that rounding toward zero is rounding down."""
    first = origin - (origin - CALENDAR[0] + width) // width * width
    amount = since_1970(replace(value, type=TIMESTAMP), context)
    since = exp.Paren(this=exp.Sub(this=wrap(amount.sql), expression=number(first)))
    bins = exp.Paren(this=context.dialect.integer_divide(since, number(width)))
    start = exp.Add(this=exp.Mul(this=bins, expression=number(width)), expression=number(first))
    interval = None
    if amount.interval is not None:
        ends = ((end - first) // width * width + first for end in (amount.interval.low, amount.interval.high))
        interval = Interval(*map(Fraction, ends))
    limits = (first, CALENDAR[1])
    found = at_microsecond(derive(start, BIGINT, value, interval=interval, limits=limits), context)
    sql = WIDTH.on(CUT.on(exp.Paren(this=found.sql), Period.within(width, first)), Fraction(width, DAY))
    BINNED.on(sql, value.sql)
    if (width, Period.within(width, first)) == (DAY, Period.DAY):
        BEGUN.on(sql, BegunPeriod("day", value.sql, is_date=False))
    return settled(replace(found.carried_by(sql), type=value.type, nullable=found.nullable), context.dialect, value)


def to_timestamp(node: exp.Expr, context: Context) -> Value:
    """TO_TIMESTAMP(seconds since 1970): an instant, NULL outside of the calendar."""
    if (cut := _cut_seconds(node.this)) is not None:
        moment = context.finite(cut[0])
        if moment.type.kind is Kind.DATE:
            moment = widen(moment, TIMESTAMP, context.dialect)
        if moment.type.kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
            # The seconds of a local time are those of the instant at which UTC shows it.
            return _binned(replace(moment, type=TIMESTAMPTZ), cut[1] * 1_000_000, 0, context)
    value = context.compile(node.this)
    if is_unknown(value):
        raise refuse("TO_TIMESTAMP of a text needs a format", "write '2024-12-31'::timestamptz", "42883")
    if is_null(value):
        return widen(value, TIMESTAMPTZ, context.dialect)
    if not value.type.numeric:
        raise refuse(f"TO_TIMESTAMP needs a number of seconds, not {value.type}", "cast it, as in x::bigint", "42883")
    seconds = widen(value, DOUBLE, context.dialect) if value.type.kind is not Kind.INTEGER else value
    million = literal(1_000_000, BIGINT, context.dialect)
    amount = arithmetic.multiply(*arithmetic.numbers(seconds, million, context, "*"), context)
    found = at_microsecond(convert_to(finite(amount, context.dialect), BIGINT, context.dialect), context)
    return settled(replace(found, type=TIMESTAMPTZ), context.dialect, value)


def _cut_seconds(node: exp.Expr) -> tuple[exp.Expr, int] | None:
    """The time and the whole seconds of FLOOR(EXTRACT(EPOCH FROM x) / n) * n; None of anything else.

    PostgreSQL counts such seconds exactly, and so do bins of whole microseconds.
    """
    node = _bare(node)
    if not isinstance(node, exp.Mul):
        return None
    for floor, times in ((node.this, node.expression), (node.expression, node.this)):
        rounded, width = _bare(floor), _seconds(times)
        over = _bare(rounded.this) if type(rounded) is exp.Floor and not rounded.args.get("decimals") else None
        if width is None or not isinstance(over, exp.Div) or _seconds(over.expression) != width:
            continue
        read = _bare(over.this)
        if isinstance(read, exp.Extract) and read.name.lower() == "epoch":
            return read.expression, width
    return None


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _seconds(node: exp.Expr) -> int | None:
    node = _bare(node)
    whole_number = isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and len(node.name) < 9
    return (int(node.name) or None) if whole_number else None
