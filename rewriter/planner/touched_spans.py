"""Releases of tables whose rows are bounded in spans of time: the bound is that of the spans that conditions touch.

Only conditions on every row count, as the text has them; a bound that is too loose costs accuracy, and none protects
less, since people are clipped to it whatever it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from rewriter.columns import Facts
from rewriter.declared import Spans
from rewriter.release import Query


def in_touched_spans(query: Query) -> Query:
    """The same release with the bound of the spans that it touches."""
    return replace(query, bound=query.bound.touching(touched_by(query))) if query.bound.spans else query


def touched_by(query: Query) -> Callable[[Spans], int | Fraction]:
    """How many of some spans a release touches."""
    limits = Facts.of(query.filters).limits

    def touched(spans: Spans) -> int | Fraction:
        ends = [
            spans.touched(one.low, one.high)
            for variable, one in limits.items()
            if (variable.alias, variable.name) == (spans.alias, spans.column)
        ]
        return min(ends, default=spans.count)

    return touched
