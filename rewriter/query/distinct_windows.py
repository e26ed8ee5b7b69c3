"""Different rows of a person's windows, as different rows of a subquery that computes the windows.

Theorem: windows are computed before DISTINCT, and both before ORDER BY and LIMIT. So ``SELECT DISTINCT k, COUNT(*) OVER
(PARTITION BY k, person_id) AS n FROM t`` is ``SELECT DISTINCT k, n FROM (SELECT k, COUNT(*) OVER (PARTITION BY k,
person_id) AS n FROM t)``: the subquery has rows of one person each, and DISTINCT makes groups of its columns.

Put so where a window's partitions are one person's rows: any other one says something of many people.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.windows_of_people import is_of_people, is_of_person
from rewriter.statement import from_items, has_aggregate, output_name, unaliased, walk

_BELOW = ("from_", "joins", "where")
_PARTS = frozenset({*_BELOW, "expressions", "with_", "distinct", "order", "limit", "offset"})
_NAME = "windows"


def windows_below_distinct(select: exp.Select, catalog: Catalog) -> None:
    """Compute the windows of a SELECT DISTINCT over people in a subquery, in place. Its names are bound."""
    distinct = select.args.get("distinct")
    if distinct is None or distinct.args.get("on") or {part for part, value in select.args.items() if value} - _PARTS:
        return
    items = [unaliased(item) for item in select.expressions]
    if not _are_windows_of_people(select, items, catalog) or not _is_ordered_by_outputs(select):
        return
    inner = exp.Select(expressions=[exp.alias_(one.copy(), f"v{place}") for place, one in enumerate(items)])
    for part in _BELOW:
        inner.set(part, select.args.get(part))
        select.set(part, None)
    columns = [exp.column(f"v{place}", _NAME) for place in range(len(items))]
    names = [output_name(item) for item in select.expressions]
    select.set("expressions", [exp.alias_(one, name, quoted=True) for one, name in zip(columns, names, strict=True)])
    alias = exp.TableAlias(this=exp.to_identifier(_NAME))
    select.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))


def _are_windows_of_people(select: exp.Select, items: list[exp.Expr], catalog: Catalog) -> bool:
    """Whether items have windows, each over rows of one person, and no aggregate."""
    if select.args.get("from_") is None or isinstance(select.parent, exp.Lateral):
        return False
    if any(has_aggregate(item) or item.is_star or item.find(exp.Query) is not None for item in items):
        return False
    windows = [node for item in items for node in walk(item) if isinstance(node, exp.Window)]
    if not windows or not all(is_of_person(window, catalog.keys_of_people) for window in windows):
        return False
    return any(is_of_people(item, catalog) for item in from_items(select))


def _is_ordered_by_outputs(select: exp.Select) -> bool:
    """Whether ORDER BY names columns of the answer alone, by name or by number."""
    order = select.args.get("order")
    keys = [] if order is None else [one.this for one in order.expressions]
    return all(isinstance(key, exp.Literal) or (isinstance(key, exp.Column) and not key.table) for key in keys)
