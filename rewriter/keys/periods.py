"""The periods that an expression cuts times to: by what step times have to be listed to have all of its values."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewriter.dialects import Period, TimeStep, reading_of
from rewriter.expressions import CUT, ZONE

_DAYS = ("day", "week", "month", "quarter", "year", "decade", "century", "dow", "isodow", "doy", "isoyear")
_PERIODS: Mapping[str, Period] = {
    **dict.fromkeys(_DAYS, Period.DAY),
    "hour": Period.HOUR,
    "minute": Period.MINUTE,
    "second": Period.SECOND,
    "microsecond": Period.within(1),
}


def step_of(node: exp.Expr, around: TimeStep | None) -> TimeStep | None:
    """The step at which a time inside of an expression is listed: that of the expression, where it cuts times to days
    or parts of one, or else of the expression ``around`` it; by the clocks of the zone whose time it gives."""
    period = _period_of(node)
    step = around if period is None else TimeStep(period)
    zone = ZONE.of(node)
    return step if step is None or zone is None else step.by(zone)


def _period_of(node: exp.Expr) -> Period | None:
    if (reading := reading_of(node)) is not None:
        return _PERIODS.get(reading.unit)
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE:
        return Period.DAY
    return CUT.of(node)
