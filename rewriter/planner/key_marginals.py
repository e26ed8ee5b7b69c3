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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rewriter.declared import Norm
from rewriter.dialects import Dialect
from rewriter.plan import Options, Plan
from rewriter.planner.family import Family, KeyMarginal
from rewriter.planner.number_of_groups import number_of_groups
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.release import KeptGroups, Query

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
