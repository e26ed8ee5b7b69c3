"""A cell for all values of a key that nobody declared, so that totals are the sums of their parts.

A declaration proves nothing: rows may have a region that the owner did not list, and they are in a total and in no part
of it. Measured apart, the total says nothing of its parts. So where groupings of the same rows are shown together, such
rows are measured as one more value of the key, which no reader sees: parts and this cell add up to the total, in every
grouping, and inference makes all of them agree.

Guarantee: which groups there are, their keys and their meaning are those of the keys as they were asked, and no release
has a larger sensitivity, whatever the data: a plan with such cells is taken only where every block of it is as narrow.
Nothing changes where every row has a declared value by proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewriter.columns import Variable
from rewriter.declared import Norm
from rewriter.dialects import Dialect
from rewriter.keys import key_set
from rewriter.plan import Plan
from rewriter.planner.celled_keys import celled, is_decided, listed_by
from rewriter.planner.lineage import measured_by
from rewriter.planner.plan_release import plan
from rewriter.refused import Refused
from rewriter.release import Key, Query


def with_undeclared_cells(releases: Sequence[Query], norms: Sequence[Norm], dialect: Dialect) -> tuple[Query, ...]:
    """The releases; keys of groupings that are shown together have a cell for their undeclared values."""
    if len(releases) == 1 and len(releases[0].groupings) == 1:
        return tuple(releases)
    alike: dict[str, list[int]] = {}
    for place, query in enumerate(releases):
        if query.keys or len(releases) > 1:
            alike.setdefault(measured_by(query).asked, []).append(place)
    found = list(releases)
    for places in alike.values():
        family = [releases[place] for place in places]
        celled = _with_cells(family, norms, dialect)
        for place, query in zip(places, celled, strict=True):
            found[place] = query
    return tuple(found)


def _with_cells(family: Sequence[Query], norms: Sequence[Norm], dialect: Dialect) -> Sequence[Query]:
    """The queries with such cells in all of them; as they are where that would not make their numbers agree."""
    groupings = [grouping for query in family for grouping in query.groupings]
    if len({tuple(key.value.sql for key in one.keys) for one in groupings}) < 2 or not all(map(_is_plain, family)):
        return family
    opened = _opened(groupings, dialect)
    if not opened:
        return family
    cells = {variable: celled(key, variable, dialect) for variable, key in opened.items()}
    changed = [replace(query, keys=tuple(_in(cells, key) for key in query.keys)) for query in family]
    after = [grouping for query in changed for grouping in query.groupings]
    try:
        fit = all(_agree(groupings, after, norm, dialect) for norm in norms)
    except Refused:
        return family
    return changed if fit else family


def _is_plain(query: Query) -> bool:
    """Whether all that is measured of a release are sums over each of its groups, all of which are read."""
    read_in_parts = query.others or query.cumulative or query.ranked or query.only or query.summed_with_total
    randomized = any(key.column is not None for key in query.keys) or any(one.debiasing for one in query.aggregates)
    other_units = query.blocks or query.joined or query.bound.spans
    picked = any(one.kind.picks or one.kind.regresses for one in query.aggregates)
    return not (read_in_parts or randomized or other_units or picked)


# Which keys


def _in(cells: Mapping[Variable, Key], key: Key) -> Key:
    """The key with its cell, where it has one."""
    variable = listed_by(key)
    return key if variable is None else cells.get(variable, key)


def _opened(groupings: Sequence[Query], dialect: Dialect) -> Mapping[Variable, Key]:
    """The keys that rows may have undeclared values of, by the column of each; none where a grouping is not public."""
    found: dict[Variable, Key] = {}
    for grouping in groupings:
        if not grouping.keys:
            continue
        public = key_set(grouping.keys, grouping.filters, dialect).public
        if public is None:
            return {}
        for key, closed in zip(grouping.keys, public.closed, strict=True):
            variable = listed_by(key)
            if not closed and variable is not None:
                found[variable] = key
    filters = [one.sql for grouping in groupings[:1] for one in grouping.filters]
    return {one: key for one, key in found.items() if all(is_decided(node, one) for node in filters)}


# Whether it is worth it


def _agree(before: Sequence[Query], after: Sequence[Query], norm: Norm, dialect: Dialect) -> bool:
    """Whether numbers add up with the cells, and one person moves none of them further."""
    old = [plan(query, norm, dialect) for query in before]
    new = [plan(query, norm, dialect) for query in after]
    return (
        all(not one.steps and one.selection is None and _adds_up(one) for one in new)
        and len({one.sums for one in new}) == 1
        and all(map(_is_as_narrow, old, new))
    )


def _adds_up(planned: Plan) -> bool:
    return bool(planned.blocks) and (not planned.keys or all(part.additive for part in planned.parts))


def _is_as_narrow(old: Plan, new: Plan) -> bool:
    """Whether no block of the plan has a larger sensitivity, in numbers that are counted in the same steps."""
    steps = [[(one.name, one.granularity) for one in each.statistics] for each in (old, new)]
    if steps[0] != steps[1] or len(old.blocks) != len(new.blocks):
        return False
    for here, there in zip(old.blocks, new.blocks, strict=True):
        if there.sensitivity.l2_squared > here.sensitivity.l2_squared or there.prefix is not None:
            return False
        most, least = there.sensitivity.l1, here.sensitivity.l1
        if least is not None and (most is None or most > least):
            return False
    return True
