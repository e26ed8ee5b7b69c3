"""Windows: the instants before which all rows of a release lie, table by table, where its conditions say so.

Why. Once the last of them is closed, none of these rows changes any more, and neither does the release: it is bought
once, and stands for ever. Nothing of privacy hangs on it; what would be wrong is an answer that grows stale in silence.
So a table counts as bounded only where each of its places in the statement has a condition on its ``time`` that every
row of the release satisfies, by the text. A window, a LIMIT or a UNION may look at rows beside those: then none is.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from sqlglot import exp

from rewriter.columns import MICROSECOND, Facts, catalog_name, lattice_of
from rewriter.declared import UTC, Catalog, Kind, Table
from rewriter.plan import RowsBetween
from rewriter.release import Query

_BESIDE = (exp.Window, exp.Limit, exp.Offset, exp.Fetch, exp.Distinct, exp.SetOperation, exp.With)
"""Where one of these stands in the SQL of people's rows, rows may matter that no condition of all rows is about."""


def rows_until(query: Query, catalog: Catalog) -> tuple[RowsBetween, ...]:
    """The tables with people that a release reads, each with the instant before which its rows are; ``end`` is None
    where there is no such instant. Empty where it reads none that closes. The table of the people themselves, a row for
    each, says what they are and not what happened: it is left out."""
    trees = list(query.trees)
    places: Counter[tuple[str, str]] = Counter()
    for node in (node for tree in trees for node in tree.find_all(exp.Table)):
        places[catalog_name(node), node.alias_or_name] += 1
    read = {name: table for name, _ in places if (table := catalog.tables.get(name)) is not None and not table.public}
    if not any(table.closes for table in read.values()):
        return ()
    beside = any(_looks_beside(node) for tree in trees for node in tree.find_all(*_BESIDE))
    entity = None if catalog.unit is None else catalog.unit[0]
    return tuple(
        _until(
            table, Counter({alias: many for (of, alias), many in places.items() if of == name}), query, beside=beside
        )
        for name, table in sorted(read.items())
        if name != entity or table.closes
    )


def _looks_beside(node: exp.Expr) -> bool:
    return not isinstance(node, exp.Distinct) or node.args.get("on") is not None


def _until(table: Table, places: Counter[str], query: Query, *, beside: bool) -> RowsBetween:
    """``places`` are the names under which the SQL reads the table, and how often each is written."""
    spans = table.spans
    if beside or not table.closes or spans is None:
        return RowsBetween(table.name, None)
    mine = {
        variable.alias: one
        for variable, one in Facts.of(query.filters).limits.items()
        if (variable.table.name, variable.name) == (table.name, spans.column)
    }
    last = {alias: one.high for alias, one in mine.items() if one.high is not None}
    first = {alias: one.low for alias, one in mine.items() if one.low is not None}
    kind = table.columns[spans.column].type
    return RowsBetween(
        table.name,
        _after(max(last.values()), lattice_of(kind)) if _everywhere(places, last) else None,
        UTC if kind.kind is Kind.TIMESTAMPTZ else None,
        _before(min(first.values())) if _everywhere(places, first) else None,
    )


def _everywhere(places: Counter[str], bounded: Iterable[str]) -> bool:
    """Whether a table is bounded wherever it is read. A copy of a subquery has another way to the same name."""
    known = Counter(alias.rpartition("_")[2] for alias in bounded)
    return all(known[alias] >= many for alias, many in places.items())


def _before(first: Fraction) -> datetime.datetime | None:
    """The instant, or the last one before it."""
    try:
        return datetime.datetime.min + datetime.timedelta(microseconds=math.floor((first - 1) / MICROSECOND))
    except OverflowError:
        return None


def _after(last: Fraction, step: Fraction) -> datetime.datetime | None:
    """The first instant after the last one, both in steps.

    >>> str(_after(Fraction(datetime.date(2026, 4, 30).toordinal()), Fraction(1)))
    '2026-05-01 00:00:00'
    """
    days = (math.floor(last / step) + 1) * step - 1
    try:
        return datetime.datetime.min + datetime.timedelta(microseconds=int(days / MICROSECOND))
    except OverflowError:
        return None
