"""What an audit asks: counts, sums, means, spreads, medians and groups of every table of people that is declared."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rewriter.declared import Catalog, Column, Kind, Table

MOST_TABLES = 6

_PARTS = ((0.25, "low"), (0.9, "high"))
"""Quantiles that are picked together."""


@dataclass(frozen=True, slots=True)
class AuditQuestion:
    """A statement, its kind, and how many of its first columns are the names of groups."""

    sql: str
    kind: str
    keys: int = 0


def questions(catalog: Catalog) -> tuple[AuditQuestion, ...]:
    """All of them, those of the tables with the most rows of one person first."""
    private = [table for table in catalog.tables.values() if not table.public]
    private.sort(key=lambda table: (-len(table.path), -(table.max_rows or 0)))
    return tuple(itertools.chain.from_iterable(map(_of_table, private[:MOST_TABLES])))


def of_each_kind(some: Sequence[AuditQuestion], most: int) -> tuple[AuditQuestion, ...]:
    """As many as are asked over the wire: one of each kind first, then one more of each.

    >>> some = [AuditQuestion("a", "x"), AuditQuestion("b", "x"), AuditQuestion("c", "y")]
    >>> [one.sql for one in of_each_kind(some, 2)]
    ['a', 'c']
    """
    kinds: Mapping[str, list[AuditQuestion]] = {one.kind: [] for one in some}
    for one in some:
        kinds[one.kind].append(one)
    turns = itertools.chain.from_iterable(itertools.zip_longest(*kinds.values()))
    return tuple(one for one in turns if one is not None)[:most]


def _of_table(table: Table) -> Iterator[AuditQuestion]:
    source = _name(table.name)
    hops = (*table.path[:1], *table.ways)
    keys = {name for hop in hops for name in hop.columns}
    columns = [one for one in table.columns.values() if one.name not in keys and not one.unique]
    summed = [one for one in columns if one.type.numeric and one.interval is not None][:3]
    listed = [one for one in columns if one.values is not None or one.values_from is not None][:2]
    named = [one for one in columns if one.type.kind is Kind.TEXT and one not in listed][:1]
    yield AuditQuestion(f"SELECT COUNT(*) AS n FROM {source}", "count")
    for column in listed:
        yield from _grouped(_name(column.name), source, "groups that are declared")
    for column in summed:
        name = _name(column.name)
        yield AuditQuestion(f"SELECT SUM({name}) AS total FROM {source}", "sum")
        yield AuditQuestion(f"SELECT AVG({name}) AS mean FROM {source}", "mean")
        yield AuditQuestion(f"SELECT STDDEV({name}) AS spread FROM {source}", "spread")
        yield AuditQuestion(f"SELECT MEDIAN({name}) AS middle FROM {source}", "median")
    for key, column in itertools.product(listed[:1], summed[:1]):
        name = _name(column.name)
        ends = ", ".join(f"PERCENTILE_CONT({part}) WITHIN GROUP (ORDER BY {name}) AS {end}" for part, end in _PARTS)
        yield AuditQuestion(
            f"SELECT {_name(key.name)} AS name, {ends} FROM {source} GROUP BY 1", "quantiles of groups", 1
        )
    for column in [one for one in listed if one.values is not None][:1]:
        yield AuditQuestion(f"SELECT MODE() WITHIN GROUP (ORDER BY {_name(column.name)}) AS most FROM {source}", "mode")
    for column in named:
        yield from _grouped(_name(column.name), source, "groups that are selected")
    for column in _timed(columns):
        yield from _grouped(f"DATE_TRUNC('month', {_name(column.name)})", source, "months")
    for key, column in itertools.product(listed[:1], summed[:1]):
        sql = f"SELECT {_name(key.name)} AS name, SUM({_name(column.name)}) AS total FROM {source} GROUP BY 1"
        yield AuditQuestion(sql, "sums of groups", 1)


def _grouped(key: str, source: str, kind: str) -> Iterator[AuditQuestion]:
    yield AuditQuestion(f"SELECT {key} AS name, COUNT(*) AS n FROM {source} GROUP BY 1", kind, 1)


def _timed(columns: Sequence[Column]) -> list[Column]:
    return [one for one in columns if one.type.temporal and one.range is not None][:1]


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
