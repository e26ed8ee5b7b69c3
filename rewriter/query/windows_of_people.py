"""Windows across people, as values that are asked of the same rows: ``AVG(x) OVER (PARTITION BY ward)``.

Theorems: the partition of a row has the rows of the same FROM and WHERE whose keys are its own; so ``AVG(x) OVER
(PARTITION BY k)`` of a row is ``(SELECT AVG(w.x) FROM w WHERE w.k = v.k)`` where ``w`` are these rows once more, and
without PARTITION BY it is the value of all of them. The row is in the first of ``n`` parts of the order of ``x`` where
``x`` is at most the first n-th of all values, and so on: ``NTILE(n)`` is one more than the number of such ends that are
below it, but for ties, which NTILE parts as it pleases.

Rows whose key is NULL are a partition of their own in a window, and equal to none here; and rows whose ``x`` is NULL
are in a part of NTILE, and in no quantile. So both have to be said never to be NULL, by the database or a condition.

Put so where the rows are people's and the partition is not a person's: such windows are computed of one person's rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.counted_rows import declared_column
from rewriter.query.distinct_names import Labels, copied
from rewriter.query.spread_joins import set_where
from rewriter.statement import conjuncts, from_items, is_grouped, unparenthesised

MOST_PARTS = 8
"""Parts of NTILE, each end of which has a part of the price."""

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
    if not _is_subquery_of_people(select, catalog):
        return False
    found = [one for one in _windows(select) if not _is_of_person(one, catalog.keys_of_people)]
    return any(_as_value(select, one, labels, catalog) or _as_part(select, one, labels, catalog) for one in found)


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


def _is_of_person(window: exp.Window, persons: Set[str]) -> bool:
    keys = window.args.get("partition_by") or ()
    return any(column.name.lower() in persons for key in keys for column in key.find_all(exp.Column))


def _is_plain(window: exp.Window, *, ordered: bool) -> bool:
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
    if not isinstance(window.this, _WHOLE) or not _is_plain(window, ordered=False):
        return False
    if not all(_is_never_null(select, key, catalog) for key in keys):
        return False
    window.replace(exp.Subquery(this=_of_same_rows(select, window.this, keys, labels)))
    return True


def _as_part(select: exp.Select, window: exp.Window, labels: Labels, catalog: Catalog) -> bool:
    """The part of the order that a row is in, by the ends of the parts."""
    parts = window.this.this if isinstance(window.this, exp.Ntile) else None
    if not isinstance(parts, exp.Literal) or not parts.is_int or not _is_plain(window, ordered=True):
        return False
    order, count = window.args["order"].expressions, int(parts.name)
    if window.args.get("partition_by") or len(order) != 1 or not 2 <= count <= MOST_PARTS:
        return False
    key, falls = order[0].this, bool(order[0].args.get("desc"))
    if not _is_never_null(select, key, catalog):
        return False
    ends = [_quantile(key, Fraction(place, count), falls) for place in range(1, count)]
    compare = exp.GTE if falls else exp.LTE
    tests = [
        exp.If(
            this=compare(this=key.copy(), expression=exp.Subquery(this=_of_same_rows(select, end, (), labels))),
            true=exp.Literal.number(place),
        )
        for place, end in enumerate(ends, start=1)
    ]
    window.replace(exp.Case(ifs=tests, default=exp.Literal.number(count)))
    return True


def _is_never_null(select: exp.Select, key: exp.Expr, catalog: Catalog) -> bool:
    """Whether a condition or the database says so, or it is computed of such."""
    column = unparenthesised(key)
    if isinstance(column, _NULL_OF_NULL):
        return all(_is_never_null(select, one, catalog) for one in column.iter_expressions())
    if isinstance(column, exp.Literal | exp.Var | exp.DataType):
        return True
    known = declared_column(column, select, catalog) if isinstance(column, exp.Column) else None
    if known is not None and not known.nullable:
        return True
    where = select.args.get("where")
    tests = [] if where is None else [unparenthesised(one) for one in conjuncts(where.this)]
    return any(unparenthesised(one.this) == column for one in tests if _is_false_of_null(one))


def _is_false_of_null(test: exp.Expr) -> bool:
    return isinstance(test, _STRICT) or (isinstance(test, exp.Is) and bool(test.args.get("negate")))


_NULL_OF_NULL = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg, exp.Extract, exp.TimestampTrunc, exp.DateTrunc, exp.Lower)
"""What is NULL only of a NULL, but for what an engine would raise an error of."""
_STRICT = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


def _quantile(key: exp.Expr, part: Fraction, falls: bool) -> exp.Expr:
    order = exp.Order(expressions=[exp.Ordered(this=key.copy(), desc=falls or None)])
    share = exp.Literal.number(f"{float(part):.6f}".rstrip("0"))
    return exp.WithinGroup(this=exp.PercentileDisc(this=share), expression=order)


def _of_same_rows(select: exp.Select, value: exp.Expr, keys: Sequence[exp.Expr], labels: Labels) -> exp.Select:
    """A SELECT of an aggregate of the rows that a ``select`` reads, of those that have the ``keys`` of its row."""
    body = exp.Select(expressions=[one.copy() for one in (value, *keys)])
    for part in _ASKED:
        if (found := select.args.get(part)) is not None:
            body.set(part, [one.copy() for one in found] if isinstance(found, list) else found.copy())
    body = copied(body, labels)
    own, *inside = body.expressions
    body.set("expressions", [own.copy()])
    where = body.args.get("where")
    ties = [exp.EQ(this=one.copy(), expression=key.copy()) for one, key in zip(inside, keys, strict=True)]
    set_where(body, [*(() if where is None else conjuncts(where.this)), *ties])
    return body
