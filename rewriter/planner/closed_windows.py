"""Windows: the instants before which all rows of a release lie, table by table, where its conditions say so.

Why. Once the last of them is closed, none of these rows changes any more, and neither does the release: it is bought
once, and stands for ever. To give a kept release again reads no rows, so that a wrong bound would be an answer that
grows stale in silence. Where a budget is one of the rows of each period, privacy hangs on it: a release is charged for
rows of these times alone, and one whose bound was wrong would read rows for which nothing is paid. So a table counts as
bounded only where each of its places in the statement has a condition on its ``time``, by the text. A window, a LIMIT
or a UNION may look at rows beside those: then none is.

Which conditions. A SELECT depends only on joined rows that its WHERE keeps, whatever stands around it: AND, NOT, IN,
EXISTS, an outer join or an aggregate see its result alone. A comparison with an instant keeps no row whose time is
NULL: neither a later row gets through it, nor the row that an outer join made where it missed one. So a place is
bounded by the WHERE of the SELECT whose FROM names it, and of each SELECT around that one, as long as each is in the
FROM of the next: not by one around a SELECT that is part of an expression. A comparison with a column of a row outside
bounds nothing here.

The table of the people themselves. A person with a closed row was there when it came. So what is asked of people who
have one rests on people who were there; what is asked of people without one, as by NOT IN or an outer join, may have
others tomorrow.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.columns import MICROSECOND, ColumnLimits, Facts, Variable, catalog_name, lattice_of
from rewriter.declared import UTC, Catalog, Kind, Table
from rewriter.expressions import Value
from rewriter.plan import RowsBetween
from rewriter.release import Query
from rewriter.statement import conjuncts, from_items, has_aggregate

_BESIDE = (exp.Window, exp.Limit, exp.Offset, exp.Fetch, exp.Distinct, exp.SetOperation, exp.With)
"""Where one of these stands in the SQL of people's rows, rows may matter that no condition of all rows is about."""


_Places = Mapping[str, Sequence[exp.Table]]
"""Where the SQL of a release reads each table with people, by its name."""


def with_times(query: Query, catalog: Catalog) -> Query:
    """The release with the times of its rows: ``until``, and the rows that it is found of, where each of them needs a
    row of people of such a time."""
    places: dict[str, list[exp.Table]] = {}
    for node in (node for tree in query.trees for node in tree.find_all(exp.Table)):
        table = catalog.tables.get(name := catalog_name(node))
        if table is not None and not table.public:
            places.setdefault(name, []).append(node)
    if all(catalog.tables[name].spans is None for name in places):
        return replace(query, until=(), until_of=None)
    known = _Known(query)
    return replace(
        query,
        until=_rows_until(query, places, known, catalog),
        until_of=query.rows if _needs_times(places, known, catalog) else None,
    )


def _rows_until(query: Query, places: _Places, known: _Known, catalog: Catalog) -> tuple[RowsBetween, ...]:
    """The tables with people that a release reads, each with the instant before which its rows are; ``end`` is None
    where there is no such instant. The table of the people themselves, a row for each, says what they are and not what
    happened: it is left out where each row of the release has a row that closes.
    """
    beside = any(_looks_beside(node) for tree in query.trees for node in tree.find_all(*_BESIDE))
    entity = None if catalog.unit is None else catalog.unit[0]
    tied = any(known.is_needed(node, catalog.tables[name]) for name, nodes in places.items() for node in nodes)
    return tuple(
        _until(table, nodes, known, beside=beside)
        for table, nodes in ((catalog.tables[name], nodes) for name, nodes in sorted(places.items()))
        if table.name != entity or table.closes or not tied
    )


def _needs_times(places: _Places, known: _Known, catalog: Catalog) -> bool:
    """Whether each row of a release has a row of people whose time a condition compares.

    So who has no row of those times moves nothing: of a person whose rows of these times go, all goes. Not so of ``id
    NOT IN (SELECT patient_id FROM visit WHERE …)``, or of people in groups of those who came and those who did not: a
    person would go from one number to another.
    """
    dated = ((catalog.tables[name], nodes) for name, nodes in places.items())
    needed = (known.of_needed(node, table) for table, nodes in dated if table.spans is not None for node in nodes)
    return any(times.low is not None or times.high is not None for times in needed)


def _looks_beside(node: exp.Expr) -> bool:
    return not isinstance(node, exp.Distinct) or node.args.get("on") is not None


def _until(table: Table, places: Sequence[exp.Table], known: _Known, *, beside: bool) -> RowsBetween:
    """``places`` are where the SQL reads the table."""
    spans = table.spans
    if beside or spans is None:
        return RowsBetween(table.name, None)
    limits = [known.limits(table, _around(node)) for node in places]
    first = [one.low for one in limits if one.low is not None]
    last = [one.high for one in limits if one.high is not None]
    kind = table.columns[spans.column].type
    return RowsBetween(
        table.name,
        _after(max(last), lattice_of(kind)) if len(last) == len(places) else None,
        UTC if kind.kind is Kind.TIMESTAMPTZ else None,
        _before(min(first)) if len(first) == len(places) else None,
    )


class _Known:
    """What the conditions of a release say of the rows of each place, by the SELECT that they stand in."""

    def __init__(self, query: Query) -> None:
        self._facts: dict[int, Facts] = {id(query.rows): Facts.of(query.filters)}
        self._needed = {id(select) for select in _needed(query.rows)}

    def limits(self, table: Table, around: Iterable[tuple[exp.Select, str]]) -> ColumnLimits:
        """The limits of the time of a table's rows at a place, by the conditions of the SELECTs ``around`` it."""
        column = None if table.spans is None else table.spans.column
        found = ColumnLimits()
        for select, alias in around:
            for variable, limits in self._of(select).items():
                named = (variable.alias, variable.table.name, variable.name)
                if named == (alias, table.name, column) and not variable.picked:
                    found = found.within(limits)
        return found

    def is_needed(self, place: exp.Table, table: Table) -> bool:
        """Whether each row of the release has one of that place, of a table that closes, before an instant."""
        return table.closes and self.of_needed(place, table).high is not None

    def of_needed(self, place: exp.Table, table: Table) -> ColumnLimits:
        """The limits of the time of the row of that place which each row of the release has; none where some have no
        such row."""
        around = ((select, alias) for select, alias in _around(place) if id(select) in self._needed)
        return self.limits(table, around)

    def _of(self, select: exp.Select) -> dict[Variable, ColumnLimits]:
        if id(select) not in self._facts:
            self._facts[id(select)] = Facts.of(_own_conditions(select))
        return self._facts[id(select)].limits


def _needed(rows: exp.Select) -> Sequence[exp.Select]:
    """The SELECTs without a row of which there is no row: in FROM without an outer join, and in conditions."""
    found = [rows]
    for select in found:
        where, joins = select.args.get("where"), select.args.get("joins") or ()
        parts = [] if where is None else list(conjuncts(where.this))
        inside = [part.args.get("query") for part in parts if isinstance(part, exp.In)]
        inside += [part.this for part in parts if isinstance(part, exp.Exists)]
        if not any(join.side for join in joins):
            inside += from_items(select)
        found += [one for one in map(_select_of, inside) if one is not None and not _has_a_row(one)]
    return found


def _has_a_row(select: exp.Select) -> bool:
    """Whether a SELECT has a row whatever its rows are: an aggregate of all of them."""
    having = select.args.get("having")
    aggregates = any(map(has_aggregate, select.expressions)) or (having is not None and has_aggregate(having.this))
    return aggregates and select.args.get("group") is None


def _select_of(node: exp.Expr | None) -> exp.Select | None:
    inner = node.this if isinstance(node, exp.Subquery) else node
    return inner if isinstance(inner, exp.Select) else None


def _around(place: exp.Table) -> Iterator[tuple[exp.Select, str]]:
    """The SELECT whose FROM a place is in, and those around it as long as each is in the FROM of the next, with the
    name of the place in each."""
    node: exp.Expr = place
    alias = place.alias_or_name
    while isinstance(node.parent, exp.From | exp.Join) and isinstance(select := node.parent.parent, exp.Select):
        yield select, alias
        if not isinstance(select.parent, exp.Subquery):
            return
        node = select.parent
        alias = f"{node.alias_or_name}_{alias}"


def _own_conditions(select: exp.Select) -> Iterator[Value]:
    """The conditions of a SELECT about its own rows alone."""
    where = select.args.get("where")
    names = {item.alias_or_name for item in from_items(select)}
    for part in [] if where is None else conjuncts(where.this):
        if all(column.table in names for column in part.find_all(exp.Column)):
            yield Value.condition(part, nullable=True, constant=False)


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
