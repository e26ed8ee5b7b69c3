"""Releases over the same rows, as one: ``(SELECT COUNT(*) FROM t WHERE p)`` and its like are aggregates of one SELECT.

Figures of a dashboard stand in scalar subqueries, in branches of UNION ALL, or in WITH queries that are compared with
each other. Where their FROM is the same and their WHERE differs, they are ``COUNT(*) FILTER (WHERE p)`` of one release:
what all of them ask of a row stays in WHERE, the rest moves into FILTER, and the planner measures them together.

Why meaning is kept: an aggregate over the rows of ``WHERE p AND q`` is that aggregate, with FILTER (WHERE p), over the
rows of WHERE q. Without GROUP BY there is one row of each release, whatever the data.

Why privacy is kept: nothing that was checked is put together by hand. Each SELECT is rewritten and then compiled again,
as if it had been asked like that; ownership, bounds and facts are those of the rows that are read in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.aggregates import MAX_AGGREGATES, Grouped, aggregates_of
from rewriter.declared import ContributionBound
from rewriter.planner import canonical
from rewriter.refused import Refused
from rewriter.relations import SelectRows
from rewriter.release import Aggregate, Query, Wording, release_name, renumber
from rewriter.statement import conjuncts


@dataclass(frozen=True, slots=True)
class Site:
    """A SELECT that became a release: ``again`` compiles another one over the same FROM, in the same place."""

    select: exp.Select
    block: SelectRows
    query: Query
    again: Callable[[exp.Select], tuple[SelectRows, Query]]

    @property
    def is_plain(self) -> bool:
        """Whether its release is one row, of aggregates and nothing else."""
        query = self.query
        free = not (query.keys or query.sets or query.others or query.cumulative or query.ranked)
        return free and bool(query.aggregates) and not self.select.args.get("having")


def release_of(grouped: Grouped, block: SelectRows) -> Query:
    """The release of a SELECT over people."""
    if block.unit is None:
        raise AssertionError("a private block has an owner")
    return Query(
        block.rows,
        block.unit,
        block.bound,
        block.filters,
        grouped.keys,
        grouped.aggregates,
        grouped.sets,
        everybody=block.everybody,
    )


@dataclass(frozen=True, slots=True)
class Merged:
    """Releases; and for the table of each release before, the table that it is now with the new places of its
    aggregates."""

    releases: tuple[Query, ...]
    tables: Mapping[str, tuple[str, Mapping[int, int]]]

    def renamed(self, outer: exp.Query) -> exp.Query:
        """The outer SELECT over the new tables. Changes ``outer``."""
        for table in [node for node in outer.find_all(exp.Table) if node.name in self.tables]:
            table.set("this", exp.to_identifier(self.tables[table.name][0]))
        for column in [node for node in outer.find_all(exp.Column) if node.table in self.tables]:
            new, places = self.tables[column.table]
            renumber(column, places)
            column.set("table", exp.to_identifier(new))
        return outer


def merged(releases: Sequence[Query], sites: Sequence[Site], read: Container[str]) -> Merged:
    """The releases whose tables are ``read``, those over the same rows as one. Sites whose release is not among them
    are passed over."""
    numbered = [(number, query) for number, query in enumerate(releases) if release_name(number) in read]
    several = len(numbered) > 1
    known = {id(query) for _, query in numbered if several}
    kept = {_name(query) for _, query in numbered if query.keys and several}
    groups: dict[str, list[Site]] = {}
    for site in sites:
        # A total is made to agree with its parts where both are asked for.
        if id(site.query) in known and site.is_plain and _name(site.query) not in kept:
            groups.setdefault(_rows_of(site), []).append(site)
    together: dict[int, tuple[Query, Sequence[int]]] = {}
    for group in groups.values():
        if (one := _one(group)) is not None:
            members, query, columns = one
            together |= {id(site.query): (query, own) for site, own in zip(members, columns, strict=True)}
    found: list[Query] = []
    tables: dict[str, tuple[str, Mapping[int, int]]] = {}
    for number, query in numbered:
        one_, kept_ = together.get(id(query), (query, range(len(query.aggregates))))
        at = next((place for place, other in enumerate(found) if other is one_), len(found))
        if at == len(found):
            found.append(one_)
        tables[release_name(number)] = release_name(at), dict(enumerate(kept_))
    return Merged(tuple(found), tables)


def _one(group: Sequence[Site]) -> _Joint | None:
    """One release for sites over the same FROM; None where fewer than two of them are known to be the same."""
    while len(group) > 1:
        texts = [_conditions(site.block) for site in group]
        common = [text for text in dict.fromkeys(texts[0]) if all(text in other for other in texts)]
        made = [_again(site, own, common) for site, own in zip(group, texts, strict=True)]
        first = next((one for one in made if one is not None), None)
        if first is None:
            return None
        fitting = [site for site, one in zip(group, made, strict=True) if one is not None and _alike(site, one, first)]
        if len(fitting) == len(group):
            return _joint(group, [query for _, query in filter(None, made)])
        group = fitting
    return None


_Joint = tuple[Sequence[Site], Query, Sequence[Sequence[int]]]
"""Sites, the release that they are now, and the places of each one's aggregates in it."""


def _again(site: Site, own: Sequence[str], common: Sequence[str]) -> tuple[SelectRows, Query] | None:
    try:
        return site.again(_filtered(site.select, own, common))
    except Refused:
        return None


def _joint(group: Sequence[Site], made: Sequence[Query]) -> _Joint | None:
    query = made[0]
    known: list[Aggregate] = []
    found = [[_place(one, known) for one in query.aggregates] for query in made]
    # In whatever order they are asked, it is the same release.
    order = sorted(range(len(known)), key=lambda place: _spelt(query, known[place]))
    places = [[order.index(place) for place in own] for own in found]
    aggregates = tuple(known[place] for place in order)
    return (group, replace(query, aggregates=aggregates), places) if len(known) <= MAX_AGGREGATES else None


def _conditions(block: SelectRows) -> list[str]:
    """The conjuncts of WHERE as texts: equal texts are equal conditions over the same FROM."""
    return canonical([_without_where(block)], [value.sql for value in block.filters[: block.conditions]])[1]


def _rows_of(site: Site) -> str:
    """The rows of a SELECT without its WHERE, their owner and the bounds of a person, as a text to compare."""
    block = site.block
    unit = exp.Null() if block.unit is None else block.unit
    parts = [*site.select.expressions, *filter(None, [site.select.args.get("where")])]
    # A subquery in a condition finds the columns around it by the names that FROM gives.
    nested = any(part.find(exp.Query) for part in parts)
    names = [source.name.lower() for source in block.scope.sources] if nested else []
    spelt, _ = canonical([_without_where(block), unit, *block.owned], [])
    return f"{spelt}\n{_bound(block.bound)}\n{names}"


def _bound(bound: ContributionBound) -> ContributionBound:
    """The bound without the facts of a grouping, whose names differ from SELECT to SELECT."""
    return replace(bound, apart=(), values=())


def _without_where(block: SelectRows) -> exp.Select:
    rows = block.rows.copy()
    rows.set("where", None)
    return rows


def _filtered(select: exp.Select, own: Sequence[str], common: Sequence[str]) -> exp.Select:
    """The SELECT with the ``common`` conditions in WHERE, in their order, and the rest of its ``own`` in FILTER."""
    copy: exp.Select = select.copy()
    where = copy.args.get("where")
    tests = dict(zip(own, conjuncts(where.this) if where is not None else (), strict=True))
    kept = [tests[text].copy() for text in common]
    moved = [test.copy() for text, test in tests.items() if text not in common]
    copy.set("where", exp.Where(this=exp.and_(*kept, copy=False)) if kept else None)
    for call in list(_calls(copy)) if moved else ():
        inner, more = (call.this, [call.expression.this]) if isinstance(call, exp.Filter) else (call, [])
        test = exp.and_(*(one.copy() for one in (*more, *moved)), copy=False)
        call.replace(exp.Filter(this=inner.copy(), expression=exp.Where(this=test)))
    return copy


def _calls(select: exp.Select) -> Iterator[exp.Expr]:
    order = select.args.get("order")
    for part in (*select.expressions, *([] if order is None else [order])):
        yield from aggregates_of(part)


def _alike(site: Site, made: tuple[SelectRows, Query], first: tuple[SelectRows, Query]) -> bool:
    """Whether a release that was compiled again measures the same as asked, over the rows of the first release."""
    rows = [canonical([one.rows, one.unit], [value.sql for value in one.filters]) for _, one in (made, first)]
    sources = [[source.alias for source in block.scope.sources] for block, _ in (made, first)]
    asked = site.query
    kinds = [[_kind(one) for one in query.aggregates] for query in (made[1], asked)]
    same = rows[0] == rows[1] and sources[0] == sources[1]
    return same and kinds[0] == kinds[1] and _bound(made[1].bound) == _bound(asked.bound)


def _kind(aggregate: Aggregate) -> tuple[object, ...]:
    """The kind of an aggregate, whatever its argument: SUM(CASE WHEN p THEN 1 ELSE 0 END) is a count with FILTER,
    too."""
    one = aggregate.within or aggregate
    return one.kind, one.distinct, one.fraction, bool(one.decides)


_UNWRITTEN = Wording("", ())


def _place(aggregate: Aggregate, known: list[Aggregate]) -> int:
    """The place of an aggregate among those that are measured; the same is measured once."""
    bare = [replace(one, wording=_UNWRITTEN) for one in known]
    if (own := replace(aggregate, wording=_UNWRITTEN)) in bare:
        return bare.index(own)
    known.append(aggregate)
    return len(known) - 1


def _name(query: Query) -> str:
    """The rows and aggregates of a query, whatever its keys, as a text to compare."""
    rows, _ = canonical([query.rows, query.unit], [])
    return "\n".join([rows, *(_spelt(query, one) for one in query.aggregates)])


def _spelt(query: Query, one: Aggregate) -> str:
    """An aggregate as a text, whatever the aliases are."""
    values = [value.sql for value in (one.argument, one.condition, one.second, *one.row) if value is not None]
    spelt = canonical([query.rows, query.unit], values)[1]
    return "\n".join([one.kind.node.__name__, str((one.distinct, one.fraction, one.regression)), *spelt])
