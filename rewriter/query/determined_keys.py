"""What the keys of groups determine, as keys of these groups: columns beside a primary key, and looked-up values.

Theorem: rows that agree in the keys of GROUP BY agree in whatever is a function of these keys. So it makes no other
groups where it is one of the keys. ``SELECT p.title, COUNT(o.id) … GROUP BY p.id`` is ``GROUP BY p.id, p.title`` where
``id`` is the primary key of a public table; and ``SELECT m.plan, COUNT(*) / (SELECT COUNT(*) FROM t AS o WHERE o.plan =
m.plan) … GROUP BY m.plan`` is grouped by the subquery, too.

A primary key is what the database calls so. Were it none, there would be more groups, which are asked for as any are.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.lateral_subqueries import reads_outside
from rewriter.query.windows_of_people import is_of_people
from rewriter.statement import from_items, grouped_item, unparenthesised


def group_by_determined(select: exp.Select, catalog: Catalog) -> None:
    """Add to GROUP BY of a SELECT over people what its keys determine, in place. Its names are bound."""
    group = select.args.get("group")
    if group is None or {name for name, part in group.args.items() if part} != {"expressions"}:
        return
    if not any(is_of_people(item, catalog) for item in from_items(select)):
        return
    keys = [unparenthesised(grouped_item(key, select)) for key in group.expressions]
    tables = {item.alias_or_name.lower() for item in from_items(select) if _is_told_by(item, keys, catalog)}
    found = dict.fromkeys(
        node.copy()
        for node in _read_of_groups(select)
        if node not in keys
        and (_is_looked_up(node, keys) if isinstance(node, exp.Subquery) else node.text("table").lower() in tables)
    )
    for node in found:
        group.append("expressions", node)


def _read_of_groups(select: exp.Select) -> Iterator[exp.Column | exp.Subquery]:
    """Columns and subqueries for one value that are read of whole groups: outside of aggregates."""
    parts = (*select.expressions, select.args.get("having"), select.args.get("order"))
    for part in parts:
        for node in () if part is None else part.walk(prune=lambda one: isinstance(one, exp.Query | exp.AggFunc)):
            if isinstance(node, exp.Column) or (
                isinstance(node, exp.Subquery) and not isinstance(node.parent, exp.In | exp.Exists | exp.Any | exp.All)
            ):
                yield node


def _is_told_by(item: exp.Expr, keys: list[exp.Expr], catalog: Catalog) -> bool:
    """Whether an item of FROM is a public table whose primary key is among the keys."""
    if not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
        return False
    table = catalog.find(item.this.name, bool(item.this.quoted), item.db)
    name = item.alias_or_name.lower()
    told = {key.name for key in keys if isinstance(key, exp.Column) and key.table.lower() == name}
    return table is not None and table.public and bool(table.primary_key) and told.issuperset(table.primary_key)


def _is_looked_up(node: exp.Subquery, keys: list[exp.Expr]) -> bool:
    """Whether a subquery reads keys of the groups around it, and nothing else of them."""
    inner = {item.alias_or_name.lower() for one in node.find_all(exp.Select) for item in from_items(one)}
    outside = [column for column in node.find_all(exp.Column) if column.table.lower() not in inner]
    return reads_outside(node.this, node.this) and bool(outside) and all(column in keys for column in outside)
