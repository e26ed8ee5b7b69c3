"""Windows across people, as values that are asked of the same rows: ``AVG(x) OVER (PARTITION BY ward)``.

Theorems: the partition of a row has the rows of the same FROM and WHERE whose keys are its own; so ``AVG(x) OVER
(PARTITION BY k)`` of a row is ``(SELECT AVG(w.x) FROM w WHERE w.k = v.k)`` where ``w`` are these rows once more, and
without PARTITION BY it is the value of all of them. Ranks are :mod:`rewriter.query.ranks_of_people`.

Rows whose key is NULL are a partition of their own in a window, and equal to none here. So keys have to be said never
to be NULL, by the database or a condition.

Put so where the rows are people's and the partition is not a person's: such windows are computed of one person's rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.counted_rows import is_never_null
from rewriter.query.distinct_names import Labels, copied
from rewriter.query.spread_joins import set_where
from rewriter.statement import conjuncts, from_items, is_grouped, unparenthesised

_WHOLE = (
    exp.Avg,
    exp.Sum,
    exp.Min,
    exp.Max,
    exp.Count,
    exp.Stddev,
    exp.StddevSamp,
    exp.StddevPop,
    exp.Variance,
    exp.VariancePop,
)
_ASKED = ("from_", "joins", "where")


def ask_first(select: exp.Select, labels: Labels, catalog: Catalog) -> bool:
    """Put the value of a window across people in its place; whether there was one. The names are bound."""
    return any(_as_value(select, one, labels, catalog) for one in windows_across(select, catalog))


def windows_across(select: exp.Select, catalog: Catalog) -> list[exp.Window]:
    """The windows of a select list whose partitions are not one person's, where its rows are made of people's."""
    if not _is_subquery_of_people(select, catalog):
        return []
    return [one for one in _windows(select) if not is_of_person(one, catalog.keys_of_people)]


def _is_subquery_of_people(select: exp.Select, catalog: Catalog) -> bool:
    """Whether it is an item of another FROM, or a WITH query, and makes rows of rows of people."""
    if not isinstance(select.parent, exp.Subquery | exp.CTE) or is_grouped(select) or select.args.get("distinct"):
        return False
    return any(is_of_people(item, catalog) for item in from_items(select))


def is_of_people(item: exp.Expr, catalog: Catalog) -> bool:
    """Whether an item of FROM has rows of people: of a table of theirs, or made of one person's rows each."""
    if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
        table = catalog.find(item.this.name, bool(item.this.quoted), item.db)
        return table is not None and not table.public
    body = item.this if isinstance(item, exp.Subquery) else None
    if not isinstance(body, exp.Select):
        return False
    if is_grouped(body):
        keys = body.args["group"].expressions if body.args.get("group") else []
        columns = [unparenthesised(key) for key in keys]
        if not any(isinstance(one, exp.Column) and one.name.lower() in catalog.keys_of_people for one in columns):
            return False
    return any(is_of_people(one, catalog) for one in from_items(body))


def _windows(select: exp.Select) -> Iterator[exp.Window]:
    for item in select.expressions:
        for node in item.walk(prune=lambda inner: isinstance(inner, exp.Query | exp.Window)):
            if isinstance(node, exp.Window):
                yield node


def is_of_person(window: exp.Window, persons: Set[str]) -> bool:
    """Whether a window's partitions are by a key of the person."""
    keys = window.args.get("partition_by") or ()
    return any(column.name.lower() in persons for key in keys for column in key.find_all(exp.Column))


def is_plain(window: exp.Window, *, ordered: bool) -> bool:
    """Whether a window has no frame, no name and no query, and an order just where it is to be ``ordered``."""
    known = {"this", "partition_by", "over", *(("order",) if ordered else ())}
    parts = [window.this, *(window.args.get("partition_by") or ())]
    return (
        not any(value for name, value in window.args.items() if name not in known)
        and bool(window.args.get("order")) is ordered
        and not any(part.find(exp.Query, exp.Window) for part in parts)
    )


def _as_value(select: exp.Select, window: exp.Window, labels: Labels, catalog: Catalog) -> bool:
    """An aggregate of the partition as a subquery for one value."""
    keys = window.args.get("partition_by") or ()
    if not isinstance(window.this, _WHOLE) or not is_plain(window, ordered=False):
        return False
    if not all(is_never_null(select, key, catalog) for key in keys):
        return False
    window.replace(exp.Subquery(this=_of_same_rows(select, window.this, keys, labels)))
    return True


def _of_same_rows(select: exp.Select, value: exp.Expr, keys: Sequence[exp.Expr], labels: Labels) -> exp.Select:
    """A SELECT of an aggregate of the rows that a ``select`` reads, of those that have the ``keys`` of its row."""
    body, (own, *inside) = same_rows(select, [value, *keys], labels)
    body.set("expressions", [own])
    where = body.args.get("where")
    ties = [exp.EQ(this=one, expression=key.copy()) for one, key in zip(inside, keys, strict=True)]
    set_where(body, [*(() if where is None else conjuncts(where.this)), *ties])
    return body


def same_rows(select: exp.Select, values: Sequence[exp.Expr], labels: Labels) -> tuple[exp.Select, list[exp.Expr]]:
    """A SELECT without items of the rows that a ``select`` reads, once more, and ``values`` of these rows."""
    body = exp.Select(expressions=[one.copy() for one in values])
    for part in _ASKED:
        if (found := select.args.get(part)) is not None:
            body.set(part, [one.copy() for one in found] if isinstance(found, list) else found.copy())
    body = copied(body, labels)
    own = [one.copy() for one in body.expressions]
    body.set("expressions", [])
    return body, own
