"""Marginals: how many rows each value of an ordered key has by that key alone, measured beside groups of several keys.

An ordered key is shown from its first to its last value with people. Sums of noisy groups tell these ends only where
the other keys have few values: a sum has the noise of all groups that it adds up. One number for each value, measured
at a small part of the price, has less noise than the sum of many groups, and none of the noise of the groups that are
shown: what is chosen by it stays unbiased.

A marginal is a release: the same rows grouped by one key, planned as if it was asked for, with its own bounds, and paid
for with the statement. A grouping set of the statement that has this key alone is a marginal, and then none is bought.

No marginal is planned where nothing bounds the rows of a person by that key alone, where an answer shows only its
largest groups, where groups are selected or are blocks of people, and where periods are measured one by one: a period
that is kept knows its own groups alone.

How many groups have rows, measured beside groups whose number or mean is asked for: ``AVG(n)`` of groups by day.

Noisy groups tell how many have rows only where they are larger than their noise. Where half of 365 days have 5 people
each, and noise is 4, the estimate of the groups themselves makes their mean half too large. One more number tells it:
how many different keys rows have, of those that are declared. One person moves it by the number of that person's
groups, so it is measured where there are many groups, at a small part of the price.

It is a release: COUNT(DISTINCT key) of the same rows, planned as if it was asked for, with its own bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.aggregates import COUNT
from rewriter.columns import BEHIND, Variable
from rewriter.declared import BOOLEAN, Norm
from rewriter.dialects import Dialect, wrap
from rewriter.expressions import Value, both, literal
from rewriter.plan import Options, Plan
from rewriter.planner.family import Family, KeyMarginal
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.release import Aggregate, KeptGroups, Key, Query, Wording

_MANY = 100
"""Groups whose number is measured: of fewer, it would not be known to a tenth of them."""


@dataclass(frozen=True, slots=True)
class KeyMarginals:
    """The ``options`` of marginals that are measured beside those of a statement, a family for each, and the marginals
    that each measurement of the statement reads, by its place. ``numbers`` has the places of the numbers of groups, by
    those of the groups."""

    options: tuple[Options, ...]
    families: tuple[Family, ...]
    read: tuple[tuple[KeyMarginal, ...], ...]
    numbers: Mapping[int, int]


def marginals(
    queries: Sequence[Query],
    options: Sequence[Options],
    related: Sequence[Family],
    norms: Sequence[Norm],
    dialect: Dialect,
    above: int,
) -> KeyMarginals:
    """The marginals of ordered keys beside which the other keys have more than ``above`` groups, and the numbers of
    groups where there are many."""
    bought: list[Options] = []
    families: list[Family] = []
    numbers: dict[int, int] = {}
    read: dict[int, list[KeyMarginal]] = {place: [] for place in range(len(options))}
    places = {one.first.identity: place for place, one in enumerate(options)}
    for number, family in enumerate(related):
        for place, keys in zip(family.measurements, family.keys, strict=True):
            query, cells = queries[place], options[place].first.cells or 0
            for at in _axes(query, options[place], above):
                level = _level(family, keys[at], options)
                if level is not None:
                    if _is_of_many(cells, options[level].first, above):
                        read[place].append(KeyMarginal(at, level, query.counted))
                    continue
                found = _planned(query, at, norms, dialect)
                if found is None or not _is_of_many(cells, found.first, above):
                    continue
                own = places.setdefault(found.first.identity, len(options) + len(bought))
                if own == len(options) + len(bought):
                    bought.append(found)
                    families.append(Family((own,), ((0,),), number, query.counted))
                read[place].append(KeyMarginal(at, own, 0))
            number_alone = number_of_groups(query, options[place], norms, dialect, _MANY)
            if number_alone is not None:
                numbers[place] = len(options) + len(bought)
                bought.append(number_alone)
                families.append(Family((numbers[place],), ((),), number, query.counted))
    return KeyMarginals(tuple(bought), tuple(families), tuple(map(tuple, read.values())), numbers)


def _axes(query: Query, options: Options, above: int) -> Iterator[int]:
    """The places of keys whose ends are looked for among groups of several keys."""
    first = options.first
    ends = any(one.kept is not KeptGroups.CERTAIN for one in query.presences)
    largest = query.ranked is not None or options.picks or options.sorts is not None
    if not ends or largest or query.blocks or options.series is not None:
        return
    if len(first.keys) > 1 and first.selection is None and (first.cells or 0) > above:
        yield from (at for at, key in enumerate(first.keys) if key.ordered)


def _level(family: Family, key: int, options: Sequence[Options]) -> int | None:
    """The measurement of a family that has a key alone, and all of its values."""
    alone = (place for place, keys in zip(family.measurements, family.keys, strict=True) if keys == (key,))
    return next((place for place in alone if options[place].first.cells is not None), None)


def _planned(query: Query, at: int, norms: Sequence[Norm], dialect: Dialect) -> Options | None:
    """The number of rows by one key; None where it is not answered."""
    alone = replace(
        query,
        keys=(query.keys[at],),
        aggregates=(query.aggregates[query.counted],),
        cumulative=None,
        presences=(),
        counted=0,
        bought=False,
        together=False,
        only=None,
    )
    try:
        found = Options(tuple(plan(alone, norm, dialect) for norm in norms))
    except Refused:
        return None
    first = found.first
    fits = first.cells is not None and first.selection is None and first.outputs[0].estimator.as_sum is not None
    return found if fits else None


def _is_of_many(cells: int, alone: Plan, above: int) -> bool:
    """Whether each value of a key has more than so many groups by the other keys."""
    return alone.cells is not None and alone.cells > 1 and cells > above * alone.cells


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
