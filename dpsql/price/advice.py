"""The noise advisor: what would make an answer more accurate, and by how much. Public facts alone, no data is read.

Each suggestion is tried: the statement is planned and priced as if it had been made. So that an explanation does not
take many times as long as the plan that it explains, the longer a statement and its SQL are, the fewer are tried
(:func:`trials`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice

from sqlglot import exp

from dpsql.inference.estimates import BeyondShare, ValuesProfile
from dpsql.reply import Better
from rewriter.declared import Catalog, Column, Spans, Table, day_beside
from rewriter.front_door import coarser_groups

Errors = tuple[float | None, ...]
ValuesOf = Callable[[str, str], ValuesProfile | None]
"""The released profile of the values of a table's column, if there is one."""

MOST = 4
"""Suggestions to the owner that are shown."""
_WORTH = 0.9
"""A suggestion has to bring some column's error down to this part of it."""
_NODES, _FEWEST = 1_500, 75
"""Nodes of syntax trees that are planned for the sake of suggestions, and as how many the shortest statement counts."""
_CHARACTERS = 15_000
"""Characters of SQL that are planned for the sake of suggestions."""
_OF_ALL_KEYS = "max_rows_per_group"


def trials(planned: int, tree: Callable[[], exp.Query]) -> int:
    """How many suggestions are tried for a statement of which so many characters of SQL were ``planned``: 20 for a
    short one, none for one of more than 15,000 characters, or 1,500 nodes.

    >>> from rewriter.statement.parser import parse
    >>> statement = parse("SELECT COUNT(*) FROM visit").tree
    >>> [trials(planned, lambda: statement) for planned in (300, 5_000, 50_000)]
    [20, 3, 0]
    """
    by_length = _CHARACTERS // max(planned, 1)
    return by_length and min(by_length, _NODES // max(sum(1 for _ in tree().walk()), _FEWEST))


def suggestions(
    statement: str,
    catalog: Catalog,
    tables: Sequence[str],
    now: Errors,
    errors_under: Callable[[Catalog], Errors],
    most: int,
    values_of: ValuesOf = lambda *_: None,
) -> tuple[Better, ...]:
    """What the owner could change in the policy's ``tables``, the best first; of the ``most`` that are tried.

    Half of a range is a try whatever the values are. Where a profile says how they lie, the range that holds all values
    it sees takes the place of the half, and no range is suggested that cuts off what it sees.

    A bound on rows in a group comes last. It is one for all keys, and whether others lose by it follows from rows.
    """
    found = []
    for change, changed in islice(_changes(statement, catalog, tables, values_of), most):
        errors = errors_under(changed)
        if _gain(now, errors) <= _WORTH:
            found.append(Better(change, errors, by_owner=True, all_keys=_OF_ALL_KEYS in change))
    found.sort(key=lambda one: _gain(now, one.errors))
    return (*[one for one in found if not one.all_keys][:MOST], *(one for one in found if one.all_keys))


def coarser(
    tree: exp.Query,
    catalog: Catalog,
    now: tuple[Errors, int | None],
    errors_of: Callable[[exp.Query], tuple[Errors, int | None]],
    most: int,
) -> tuple[Better, ...]:
    """What the analyst could group by instead, the best first; of the ``most`` that are tried. ``errors_of`` a
    statement, and how many groups it has, where that is known before.

    A coarser group has more rows, and so a smaller error beside what it counts; that of its mean is smaller itself.
    """
    found = []
    for one in islice(coarser_groups(tree, catalog), most):
        errors, groups = errors_of(one.tree)
        larger = one.larger
        if larger is None and groups and now[1]:
            larger = Fraction(now[1], groups)
        if one.without is not None:
            errors = (*errors[: one.without], None, *errors[one.without :])
        if larger is None or larger <= 1 or len(errors) != len(now[0]):
            continue
        part = _gain(now[0], [None if error is None else error / float(larger) for error in errors])
        if any(errors) and part <= _WORTH:
            left_out = one.without is not None
            found.append((part, left_out, Better(one.change, errors, by_owner=False, larger=float(larger))))
    found.sort(key=lambda one: one[0])
    # The best of each way: a key that is coarser, and one that is left out.
    ways = {left_out: better for _, left_out, better in reversed(found)}
    return tuple(better for _, _, better in found if better in ways.values())


def beside_now(now: Errors, one: Better) -> Better:
    """A suggestion with the part of each error that it takes away."""
    pairs = zip(now, one.errors, strict=True)
    less = tuple(
        1 - new / old / one.larger if old and new is not None and new < math.inf else None for old, new in pairs
    )
    return replace(one, less=less)


def _gain(now: Errors, then: Sequence[float | None]) -> float:
    """The smallest part that an error would come down to; 1 where nothing is known."""
    parts = [new / old for old, new in zip(now, then, strict=True) if old and new is not None]
    return min(parts, default=1.0) if all(part <= 1.01 for part in parts) else 1.0


def _changes(
    statement: str, catalog: Catalog, tables: Sequence[str], values_of: ValuesOf
) -> Iterator[tuple[str, Catalog]]:
    """Bounds of rows before ranges of values, of which there are more."""
    words = {word.lower() for word in re.findall(r"\w+", statement)}
    for name in tables:
        table = catalog.tables[name]
        yield from _of_key(catalog, table)
        for change, changed in _of_rows(table):
            yield f"{name}: {change}", _with(catalog, changed)
    for name in tables:
        table = catalog.tables[name]
        for column in table.columns.values():
            if column.name.lower() in words:
                for change, tighter in _of_column(column, values_of(name, column.name)):
                    columns = {**table.columns, column.name: tighter}
                    yield f"{name}.{column.name}: {change}", _with(catalog, replace(table, columns=columns))


def _of_key(catalog: Catalog, table: Table) -> Iterator[tuple[str, Catalog]]:
    """The key of the people's table, for an owner whose people have one row of it each, and who did not say so."""
    if catalog.unit is None or not catalog.is_entity(table):
        return
    column = table.columns.get(catalog.unit[1])
    key = frozenset({catalog.unit[1]})
    if (column is None or not column.unique) and key not in table.claimed and table.max_rows != 1:
        changed = replace(table, claimed=(*table.claimed, key))
        yield f"{table.name}, if a person has one row alone: key: [{catalog.unit[1]}]", _with(catalog, changed)


def _by_day(table: Table, spans: Spans, each: int) -> Iterator[tuple[str, Table]]:
    """A bound of each day beside that of a longer span: a series by day pays for as many spans as it has days, and has
    the noise of a whole span in each."""
    if (most := day_beside(spans, each)) is None:
        return
    tighter = replace(spans, more=(*spans.more, ("day", Fraction(most, each))))
    changed = replace(table, spans=tighter, max_rows=math.ceil(each * tighter.count))
    yield f"max_rows: {each} per {spans.unit}, {most} per day", changed


def _of_rows(table: Table) -> Iterator[tuple[str, Table]]:
    if table.spans is not None and table.max_rows is not None:
        # The bound is that of each span, and max_rows of all of them.
        unit, count = table.spans.unit, table.spans.count
        each = math.floor(table.max_rows / count)
        yield from _by_day(table, table.spans, each)
        if each > 1:
            half = (each + 1) // 2
            yield (
                f"max_rows: {half} per {unit}, not {each} per {unit}",
                replace(table, max_rows=math.ceil(half * count)),
            )
    elif table.max_rows is not None and table.max_rows > 1:
        fewer = (table.max_rows + 1) // 2
        yield f"max_rows: {fewer}, not {table.max_rows}", replace(table, max_rows=fewer)
        if table.max_rows > 2 and (table.max_rows_per_group or table.max_rows) > 2:
            yield f"{_OF_ALL_KEYS}: 2", replace(table, max_rows_per_group=2)


def _of_column(column: Column, values: ValuesProfile | None) -> Iterator[tuple[str, Column]]:
    if column.range is None or not column.type.numeric or column.step is not None:
        return
    low, high = (Fraction(str(end)) for end in column.range)
    if high <= low:
        return
    # Half as wide, about zero where values are on both sides of it, as changes are.
    ends, told = (low / 2, high / 2) if low < 0 < high else (low, low + (high - low) / 2), ""
    if values is not None and values.spread is not None:
        if (seen := values.narrower) is None:
            return
        ends = Fraction(seen.low), Fraction(seen.high)
        told = f" ({BeyondShare(0.0, seen.beyond)} of the values beyond it, by the profile)"
    narrow = (_plain(ends[0]), _plain(ends[1]))
    said = f"range: [{narrow[0]}, {narrow[1]}], not [{column.range[0]}, {column.range[1]}]{told}"
    yield said, replace(column, range=narrow)


def _plain(end: Fraction) -> int | float:
    return int(end) if end == int(end) else float(end)


def _with(catalog: Catalog, table: Table) -> Catalog:
    return replace(catalog, tables={**catalog.tables, table.name: table})
