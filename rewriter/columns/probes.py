"""Values that stand for all values of a column, as far as comparisons with literals tell them apart."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction

from rewriter.columns.column_limits import ColumnLimits
from rewriter.columns.regions import Probe, Subject
from rewriter.columns.source import Variable
from rewriter.columns.value_lists import lattice_of
from rewriter.declared import Kind, Scalar, measure
from rewriter.dialects import TimeStep

_USUAL: dict[Kind, Scalar] = {
    Kind.DATE: datetime.date(2000, 1, 1),
    Kind.TIMESTAMP: datetime.datetime(2000, 1, 1),
    Kind.TIMESTAMPTZ: datetime.datetime(2000, 1, 1),
    Kind.TIME: datetime.time(12),
}


@dataclass(frozen=True, slots=True)
class Use:
    """How keys use a column: ``whole``, or only as ``cuts`` tell its values apart. Times are cut to a ``step``."""

    whole: bool = False
    step: TimeStep | None = None
    cuts: frozenset[Probe] = frozenset()


def admits(limits: ColumnLimits, value: Scalar) -> bool:
    """Whether what conditions say of a column leaves one of its values.

    >>> admits(ColumnLimits(values=frozenset({"a"})), "b")
    False
    """
    probe = value if isinstance(value, str | bool) else measure(value)
    if isinstance(probe, str | bool):
        return limits.values is None or probe in limits.values
    return _inside(limits, probe)


def probes_of(variable: Variable, use: Use, limits: ColumnLimits) -> list[Probe]:
    """One value of each region that comparisons with literals tell apart, for the regions that conditions leave; not
    NULL."""
    kind = variable.column.type.kind
    if variable.column.type.nested:
        return []
    texts = {cut for cut in (*use.cuts, *(limits.values or ())) if isinstance(cut, str)}
    if kind is Kind.TEXT:
        known: list[Probe] = [*sorted(texts), max(texts, default="") + "?"]
        return known if limits.values is None else [probe for probe in known if probe in limits.values]
    if kind is Kind.BOOLEAN:
        return [True, False]
    cuts = (*use.cuts, *(limits.values or ()), limits.low, limits.high)
    numbers = {cut for cut in cuts if isinstance(cut, Fraction)}
    # A value of everyday size, where nothing is compared: times begin with the year 1.
    subject = Subject(lattice_of(variable.column.type), numbers or {measure(_USUAL.get(kind, 0))})
    return [probe for probe in subject.probes() if isinstance(probe, Fraction) and _inside(limits, probe)]


def _inside(limits: ColumnLimits, point: Fraction) -> bool:
    if limits.values is not None and point not in limits.values:
        return False
    return (limits.low is None or limits.low <= point) and (limits.high is None or point <= limits.high)
