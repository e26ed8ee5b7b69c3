"""The row of other groups: a total minus the groups that are shown.

Where groups are selected under δ, those of few people are not named. What they add up to is known all the same, once
the total is measured beside the groups: it is the total less the shown groups, which is post-processing. Whether there
is such a row follows from text and policy alone, and so does what it has: aggregates that add up over groups, and
figures that are made of such sums. A median of the groups that are not shown is not known.

Why contributions agree: a person who keeps to the declared bounds is clipped in neither measurement, and so the total
is the sum of all groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.declared import Kind, Scalar
from rewriter.dialects import Dialect
from rewriter.keys import public_keys
from rewriter.release import Aggregate, Key, Query
from rewriter.statement import walk

LABEL = "(other)"
"""What a key of text is in the row of the groups that are not shown, unless a group of that name is shown."""

_NO_ROW = "there is no row of the groups that are not shown"


@dataclass(frozen=True, slots=True)
class Others:
    """The aggregates, by place, that the row has: none where there is no row. ``notes`` say what is, or why not."""

    aggregates: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def others(query: Query, select: exp.Select, dialect: Dialect) -> Others:
    """What the row of a release has, as it was asked in ``select``.

    Where the groups are declared, all of them are shown: then there is none, and nothing to be said.
    """
    if not any(_is_selected(one, dialect) for one in query.groupings):
        return Others()
    if query.sets:
        return Others(notes=(f"{_NO_ROW}: the totals of grouping sets tell what they add up to",))
    known = tuple(place for place, one in enumerate(query.aggregates) if _adds_up(one, query))
    if not known:
        return Others(notes=(f"{_NO_ROW}: nothing here adds up over groups; ask for COUNT(*) beside it",))
    if all(key.value.nullable and not _is_text(key) for key in query.keys) and not _is_told(select):
        first = query.keys[0].text
        return Others(
            notes=(
                f"{_NO_ROW}: NULL may be a group of {first}; select GROUPING({first}) too, which is 1 in that row, "
                f"or GROUP BY CAST({first} AS TEXT)",
            )
        )
    unknown = [one.text for place, one in enumerate(query.aggregates) if place not in known]
    notes = [f"the groups that are not shown are added up in one row, {_where(query.keys)}"]
    if unknown:
        notes.append(f"NULL in that row, since it does not add up over groups: {', '.join(unknown)}")
    return Others(known, tuple(notes))


def _is_selected(query: Query, dialect: Dialect) -> bool:
    keys = query.keys
    return bool(keys) and public_keys(keys, query.filters, dialect) is None


def _adds_up(aggregate: Aggregate, query: Query) -> bool:
    """Whether it follows from sums over groups. A person may be in several groups, but counts once in all of them."""
    measured = aggregate.within or aggregate
    if measured.kind.picks:
        return False
    if not measured.distinct:
        return True
    people = measured.argument is not None and measured.argument.unit
    return people and (query.bound.unique or all(key.value.constant for key in query.keys))


def _is_text(key: Key) -> bool:
    return key.value.type.kind is Kind.TEXT


def _is_told(select: exp.Select) -> bool:
    return any(isinstance(node, exp.Grouping) for item in select.expressions for node in walk(item))


def _where(keys: Sequence[Key]) -> str:
    """How the row is known."""
    said = [f"{key.text} is '{LABEL}'" for key in keys if _is_text(key)]
    said = said or [f"{key.text} is NULL" for key in keys]
    return f"where {' and '.join([*said, f'GROUPING({keys[0].text}) is 1'])}"


def label(shown: Iterable[Scalar | None]) -> str:
    """The name of the row, in a key of text: none of a group that is shown.

    >>> label(["flu", None]), label(["flu", "(other)"])
    ('(other)', '((other))')
    """
    taken = {value for value in shown if isinstance(value, str)}
    name = LABEL
    while name in taken:
        name = f"({name})"
    return name


# The total beside the groups
