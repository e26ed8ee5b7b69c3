"""Several plans, answered by one statement that reads the rows of people once.

The levels of a ROLLUP, a CUBE or GROUPING SETS, and releases of one statement, often measure the same rows. Each has
SQL of its own, which begins with partial sums per (person, group). Where one of them groups by all the keys of the
others, its partial sums are computed once, for the sums of all; the partial sums of the others are made of them, as
sums over the finer groups of the same person: whole numbers, so they are the same integers. From there on each plan is
its own checked tree, unchanged: its own clipping, its own factor for each person, its own key set. Rows of all of them
are told apart by the number of the plan.

What plans share is computed from their trees alone; nothing about who is read, or in which order, follows from data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlglot import exp

from rewriter.bound import partial_of, rows_of
from rewriter.canonical_form import identity_of
from rewriter.declared import BIGINT, HUGEINT
from rewriter.dialects import Dialect, number
from rewriter.partial_sums import Named, PartialSums, PersonRows
from rewriter.plan import Plan

_Tree = TypeVar("_Tree", bound=exp.Expr)

_OURS = re.compile("t[0-9]+(?:_[0-9]+)*")
_MOST = 32
"""Plans that share a scan: trees of more are deep."""


@dataclass(frozen=True, slots=True)
class OneScan:
    """``sql`` answers rows of ``names``: the number of a plan, keys, integers. ``columns`` are those of each plan: the
    place in a row of each of its keys and integers, in its own order."""

    plans: tuple[Plan, ...]
    sql: str
    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]

    @property
    def identity(self) -> str:
        """A name that two of them share only when their SQL is the same."""
        return identity_of((self.sql,))


def one_scans(plans: Sequence[Plan], dialect: Dialect) -> tuple[OneScan, ...]:
    """Scans for those of the plans that can share one with others, each plan in one at most. Deterministic."""
    found: dict[str, list[_Level]] = {}
    for plan in plans:
        partials = None if plan.partials is None else plan.partials.in_use
        if partials is not None and partials.sql == plan.sql:
            level = _Level.of(plan, partials)
            found.setdefault(level.people, []).append(level)
    return tuple(_scan(some, dialect) for levels in found.values() for some in _shares(levels))


@dataclass(frozen=True, slots=True)
class _Level:
    """A plan, with the texts of what its partial sums are made of."""

    plan: Plan
    partials: PartialSums
    people: str
    keys: tuple[str, ...]
    columns: Mapping[str, str]

    @classmethod
    def of(cls, plan: Plan, partials: PartialSums) -> _Level:
        partials = _renumbered(partials)
        rows = partials.rows
        having = "" if partials.having is None else partials.having.sql()
        source = rows.source.copy()
        source.set("expressions", [])
        people = "\n".join((plan.dialect, source.sql(), rows.unit.sql(), having))
        columns = {name: sql.sql() for name, sql in (*rows.columns, *rows.derived)}
        return cls(plan, partials, people, tuple(sql.sql() for _, sql in rows.keys), columns)

    def agrees(self, other: _Level) -> bool:
        """Whether columns of one name are the same."""
        return all(other.columns.get(name, sql) == sql for name, sql in self.columns.items())


def _renumbered(partials: PartialSums) -> PartialSums:
    """The same, with our own names of tables numbered by themselves: ``t1``, ``t2`` and so on are numbers in a whole
    statement, where each part of a UNION ALL has other ones for the same rows."""
    rows, own = partials.rows, [partials.rows.source, *([] if partials.having is None else [partials.having])]
    names: dict[str, str] = {}
    for tree in own:
        for alias in tree.find_all(exp.TableAlias):
            if _OURS.fullmatch(alias.name):
                names.setdefault(alias.name, f"t{len(names) + 1}")
    if all(name == number for name, number in names.items()):
        return partials

    def renamed(tree: _Tree) -> _Tree:
        found = tree.copy()
        for node in list(found.find_all(exp.Column, exp.TableAlias)):
            named = node.args.get("table" if isinstance(node, exp.Column) else "this")
            if isinstance(named, exp.Identifier) and named.name in names:
                named.set("this", names[named.name])
        return found

    def columns(some: Named) -> Named:
        return tuple((name, renamed(sql)) for name, sql in some)

    return replace(
        partials,
        rows=PersonRows(
            renamed(rows.source), renamed(rows.unit), columns(rows.keys), columns(rows.columns), columns(rows.derived)
        ),
        having=None if partials.having is None else renamed(partials.having),
    )


def _shares(levels: Sequence[_Level]) -> Iterator[list[_Level]]:
    """Those that can share a scan, the finest first."""
    left = sorted(levels, key=lambda level: -len(level.keys))
    while left:
        finest, *rest = left
        some = [finest]
        for level in rest:
            if len(some) < _MOST and set(level.keys) <= set(finest.keys) and all(level.agrees(other) for other in some):
                some.append(level)
        if len(some) > 1:
            yield some
        left = [level for level in rest if level not in some]


def _scan(levels: Sequence[_Level], dialect: Dialect) -> OneScan:
    finest = levels[0]
    keys = {key: name for key, (name, _) in zip(finest.keys, finest.partials.rows.keys, strict=True)}
    pool = _Pool.of(levels)
    tables, ctes = _tables(levels, keys, pool, dialect)
    width = max(len(level.plan.columns) for level in levels)
    rows: exp.Query | None = None
    for place, level in enumerate(levels):
        one = _rows_of(place, level, tables[place], keys, pool, width, dialect)
        rows = one if rows is None else exp.union(rows, one, distinct=False, copy=False)
    if rows is None:
        raise AssertionError("a scan has plans")
    whole = exp.Select(expressions=[exp.Star()]).from_(
        exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("every"))), copy=False
    )
    whole.set("with_", exp.With(expressions=ctes))
    every, count = list(keys), len(keys)
    return OneScan(
        tuple(level.plan for level in levels),
        dialect.sql(dialect.spelt(whole)),
        ("level", *(f"k{place}" for place in range(count)), *(f"i{place}" for place in range(width))),
        tuple(
            (
                *(1 + every.index(key) for key in level.keys),
                *(1 + count + place for place in range(len(level.plan.columns))),
            )
            for level in levels
        ),
    )


@dataclass(frozen=True, slots=True)
class _Pool:
    """All sums of all levels, each once: its name by its text, and its SQL. ``counts`` are names of numbers of rows."""

    names: Mapping[str, str]
    sums: Named
    counts: frozenset[str]

    @classmethod
    def of(cls, levels: Sequence[_Level]) -> _Pool:
        sums = {sql.sql(): sql for level in levels for _, sql in level.partials.sums}
        names = {text: f"a{place}" for place, text in enumerate(sums)}
        counts = {
            names[sql.sql()] for level in levels for name, sql in level.partials.sums if name in level.partials.counts
        }
        return cls(names, tuple((names[text], sql) for text, sql in sums.items()), frozenset(counts))

    def added(self, dialect: Dialect) -> list[exp.Expr]:
        """The sums over several groups of a person. Numbers of rows stay of the type of one."""
        return [exp.alias_(self._added(name, dialect), name) for name, _ in self.sums]

    def _added(self, name: str, dialect: Dialect) -> exp.Expr:
        if name not in self.counts:
            return dialect.sum(exp.column(name), HUGEINT)
        return dialect.cast(dialect.sum(exp.column(name), BIGINT), BIGINT)


def _tables(
    levels: Sequence[_Level], keys: Mapping[str, str], pool: _Pool, dialect: Dialect
) -> tuple[list[str], list[exp.Expr]]:
    """For each level, the table of the partial sums by its keys; and these tables, each made of the coarsest before it
    that has its keys. Levels by the same keys have the same table."""
    by_keys: dict[frozenset[str], str] = {}
    queries: dict[str, exp.Select] = {}
    readers: dict[str, int] = {}
    tables: list[str] = []
    for level in levels:
        mine = frozenset(level.keys)
        if mine not in by_keys:
            names = sorted({keys[key] for key in mine})
            name = f"shared{len(by_keys)}"
            if by_keys:
                finer = by_keys[min((one for one in by_keys if mine <= one), key=len)]
                readers[finer] += 1
                queries[name] = _coarser(finer, names, pool, dialect)
            else:
                scanned = rows_of(_rows(levels), dialect)
                every = [one for one, _ in level.partials.rows.keys]
                queries[name] = partial_of(scanned, every, pool.sums, level.partials.having)
            by_keys[mine], readers[name] = name, 0
        tables.append(by_keys[mine])
        readers[tables[-1]] += 1
    return tables, [dialect.cte(name, query, shared=readers[name] > 1) for name, query in queries.items()]


def _coarser(finer: str, keys: Sequence[str], pool: _Pool, dialect: Dialect) -> exp.Select:
    """The partial sums by fewer keys: a person's sums over the finer groups."""
    by = [exp.column(name) for name in ("u", *keys)]
    select = exp.Select(expressions=[*by, *pool.added(dialect)]).from_(finer, copy=False)
    select.set("group", exp.Group(expressions=[one.copy() for one in by]))
    return select


def _rows(levels: Sequence[_Level]) -> PersonRows:
    """The rows of people with the columns of all levels and the keys of the first, the finest."""
    every = [level.partials.rows for level in levels]
    columns: dict[str, exp.Expr] = {name: sql for rows in every for name, sql in rows.columns}
    derived: dict[str, exp.Expr] = {name: sql for rows in every for name, sql in rows.derived}
    return replace(every[0], columns=tuple(columns.items()), derived=tuple(derived.items()))


def _rows_of(
    place: int, level: _Level, table: str, keys: Mapping[str, str], pool: _Pool, width: int, dialect: Dialect
) -> exp.Select:
    """The rows of a plan, with the number of the plan, the keys of the finest and as many integers as any has."""
    tree = level.partials.tree.copy()
    tree.set("order", None)
    for cte in tree.args["with_"].expressions:
        if cte.alias == "partial":
            cte.replace(dialect.cte("partial", _partial(level, table, keys, pool)))
    own = {key: name for key, (name, _) in zip(level.keys, level.partials.rows.keys, strict=True)}
    found: list[exp.Expr] = [exp.column(own[key], "one") if key in own else exp.Null() for key in keys]
    integers: list[exp.Expr] = [exp.column(name, "one") for name in level.plan.columns]
    integers += [number(0) for _ in range(width - len(integers))]
    select = exp.Select(
        expressions=[
            exp.alias_(number(place), "level"),
            *(exp.alias_(sql, f"k{at}") for at, sql in enumerate(found)),
            *(exp.alias_(sql, f"i{at}") for at, sql in enumerate(integers)),
        ]
    )
    return select.from_(exp.Subquery(this=tree, alias=exp.TableAlias(this=exp.to_identifier("one"))), copy=False)


def _partial(level: _Level, table: str, keys: Mapping[str, str], pool: _Pool) -> exp.Select:
    """The partial sums of a level under its own names."""
    own = zip(level.partials.rows.keys, level.keys, strict=True)
    columns = [exp.alias_(exp.column(keys[key]), name) for (name, _), key in own]
    columns += [exp.alias_(exp.column(pool.names[sql.sql()]), name) for name, sql in level.partials.sums]
    return exp.Select(expressions=[exp.column("u"), *columns]).from_(table, copy=False)
