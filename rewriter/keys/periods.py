"""The unit that an expression cuts times to: by what step times have to be listed to have all of its values.

A step is DAY, HOUR, MINUTE or SECOND, and after it the zones by whose clocks periods begin.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.columns import STEPS
from rewriter.dialects import finer, lists, reading_of
from rewriter.expressions import STEP

_DAY_UNITS = frozenset(
    {"DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY", "DOW", "ISODOW", "DOY", "ISOYEAR"}
)


def finer_step(one: str | None, other: str | None) -> str | None:
    """A step that lists the periods of both; None where none does: minutes and seconds are listed by UTC alone."""
    if other is None or (" " in other and other.split()[0] not in ("DAY", "HOUR")):
        return None
    if one is None or one == other:
        return other
    if " " in one or " " in other:
        return one if lists(one, other) else finer(one, other)
    return max(one, other, key=lambda step: STEPS[step])


def step_of(node: exp.Expr) -> str | None:
    """The unit that an expression cuts timestamps to, where it does: a day or a part of one."""
    unit: str | None = STEP.of(node)
    if (reading := reading_of(node)) is not None:
        unit = reading.unit.upper()
    elif isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE:
        unit = "DAY"
    if unit in _DAY_UNITS:
        return "DAY"
    return unit if unit in STEPS else None
