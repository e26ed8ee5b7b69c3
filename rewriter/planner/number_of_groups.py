"""How many groups have rows, measured beside groups whose number or mean is asked for: ``AVG(n)`` of groups by day.

Noisy groups tell how many have rows only where they are larger than their noise. Where half of 365 days have 5 people
each, and noise is 4, the estimate of the groups themselves makes their mean half too large. One more number tells it:
how many different keys rows have, of those that are declared. One person moves it by the number of that person's
groups, so it is measured where there are many groups, at a small part of the price.

It is a release: COUNT(DISTINCT key) of the same rows, planned as if it was asked for, with its own bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from rewriter.aggregates import COUNT
from rewriter.columns import BEHIND, Variable
from rewriter.declared import BOOLEAN, Norm
from rewriter.dialects import Dialect, wrap
from rewriter.expressions import Value, both, literal
from rewriter.plan import Options
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.release import Aggregate, KeptGroups, Key, Query, Wording


def number_of_groups(
    query: Query, options: Options, norms: Sequence[Norm], dialect: Dialect, above: int
) -> Options | None:
    """The number of groups that have rows, of a release with more than ``above`` of them; None where nobody asks for
    it, and where it cannot be told which values are declared."""
    asked = any(one.kept is KeptGroups.COUNTED for one in query.presences)
    first = options.first
    apart = query.ranked is not None or options.picks or options.sorts is not None or options.series is not None
    if not asked or apart or query.blocks or first.selection is not None or (first.cells or 0) <= above:
        return None
    declared = [_is_declared(key, dialect) for key in query.keys]
    test: Value | None = None
    for one in declared:
        if one is None:
            return None
        test = both(test, one)
    text = ", ".join(key.text for key in query.keys)
    values = tuple(key.value for key in query.keys)
    wording = Wording(f"COUNT(DISTINCT ({text}))", tuple(key.text for key in query.keys))
    counted = Aggregate(COUNT, None, test, True, wording, row=values)
    alone = replace(
        query, keys=(), aggregates=(counted,), cumulative=None, presences=(), counted=0, bought=False, together=False
    )
    try:
        found = Options(tuple(plan(alone, norm, dialect) for norm in norms))
    except Refused:
        return None
    return found if found.first.outputs[0].estimator.as_sum is not None else None


def _is_declared(key: Key, dialect: Dialect) -> Value | None:
    """That a key has one of its declared values; None where it is not of columns with declared ranges alone."""
    tests = list(_in_range(key.value.sql, dialect))
    if not tests or None in tests:
        return None
    sql = exp.and_(*[test for test in tests if test is not None], copy=False)
    return Value(sql, BOOLEAN, None, nullable=True, constant=False, domain=None)


def _in_range(node: exp.Expr, dialect: Dialect) -> Iterator[exp.Expr | None]:
    """For each column that an expression reads, that it is in its declared range; None for any that has none."""
    for part in node.walk(prune=lambda inner: isinstance(BEHIND.of(inner), Variable)):
        behind = BEHIND.of(part)
        if isinstance(behind, Variable) and behind.column.range is not None:
            low, high = (literal(end, behind.column.type, dialect).sql for end in behind.column.range)
            yield exp.Between(this=wrap(part.copy()), low=low, high=high)
        elif behind is not None or isinstance(part, exp.Column):
            yield None
