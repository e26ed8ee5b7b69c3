"""Public groups that are listed once, and filled in where a plan has read nobody.

Guarantee: the table is the one that the plan's own SQL answers, group by group: a listed group without rows of people
has zeros, and rows of people in no listed group are dropped. Groups are found by equality of values as the engine hands
them over, which is kept to types whose values hand over one to one.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dpsql.engines.exact_table import CursorRows, WrongShape, bounds_of, integers, ordered_keys
from dpsql.releases import ColumnarRows, ExactTable
from rewriter.declared import Kind
from rewriter.plan import Plan

MOST_GROUPS = 2048
"""Larger sets are joined by the engine."""
_BATCH = 10_000
_KINDS = frozenset({Kind.BOOLEAN, Kind.INTEGER, Kind.DECIMAL, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP, Kind.TIME})
_ENDS = frozenset({datetime.date.min, datetime.date.max, datetime.datetime.min, datetime.datetime.max})
"""What infinite times are handed over as."""

RawKey = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class KnownGroups:
    """The groups of a public key set in the order of their keys, each found by the engine's own values; and the
    engine's types of these."""

    keys: ColumnarRows
    places: Mapping[RawKey, int]
    types: tuple[str, ...]


def can_be_known(plan: Plan) -> bool:
    """Whether the groups of a plan may be listed apart from what is measured in them."""
    few = plan.cells is not None and plan.cells <= MOST_GROUPS
    own = plan.inhabited is not None and plan.inhabited.whole == plan.sql
    return own and few and all(key.type.kind in _KINDS for key in plan.keys)


def known_groups(execute: Callable[[str], CursorRows], plan: Plan) -> KnownGroups | None:
    """The groups, read; None where values of different groups may be handed over alike."""
    rows = execute(plan.groups)
    described = rows.description or ()
    if [column[0] for column in described] != [key.name for key in plan.keys]:
        raise WrongShape
    raw = rows.fetchall()
    if any(value in _ENDS for row in raw for value in row if isinstance(value, datetime.date)):
        return None
    keys, order = ordered_keys(raw, plan)
    return KnownGroups(keys, {raw[row]: place for place, row in enumerate(order)}, _types(described[: len(plan.keys)]))


def inhabited_table(rows: CursorRows, known: KnownGroups, plan: Plan) -> ExactTable | None:
    """The exact table, from the rows of groups that somebody is in; None where their keys are of other types."""
    width, described, bounds = len(plan.keys), rows.description or (), bounds_of(plan)
    names = [*(key.name for key in plan.keys), *plan.columns]
    if [column[0] for column in described] != names:
        raise WrongShape
    if _types(described[:width]) != known.types:
        return None
    found: list[tuple[object, ...]] = [(0,) * (len(names) - width)] * len(known.keys)
    seen: set[int] = set()
    while some := rows.fetchmany(_BATCH):
        for row in some:
            place = known.places.get(row[:width])
            if place is not None:
                if place in seen:
                    raise WrongShape
                seen.add(place)
                found[place] = row[width:]
    columns = list(zip(*found, strict=True)) or [()] * (len(names) - width)
    pairs = zip(names[width:], columns, strict=True)
    return ExactTable(known.keys, {name: integers(column, bounds[name]) for name, column in pairs})


def _types(described: Sequence[Sequence[object]]) -> tuple[str, ...]:
    """All integers are alike when they are handed over."""
    spelt = (str(column[1]) for column in described)
    return tuple("INTEGER" if one.endswith("INT") else one for one in spelt)
