"""The first row of each person: DISTINCT ON as the rows that are numbered 1.

Theorem: ``SELECT DISTINCT ON (k) c FROM v ORDER BY k, d`` has, of each ``k``, the row that ``ROW_NUMBER() OVER
(PARTITION BY k ORDER BY d)`` numbers 1. So it is ``SELECT c FROM (SELECT c, ROW_NUMBER() … AS number FROM v) WHERE
number = 1``, but for the order of its rows, which a subquery in FROM has none of.

Put so where ``k`` has the key of a person in a table that holds people: there rows are numbered within a person.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.distinct_names import Labels
from rewriter.query.lateral_subqueries import by_expressions, numbered_first
from rewriter.statement import folded, from_items, has_aggregate, output_name, unaliased, unparenthesised

_PARTS = frozenset({"expressions", "from_", "joins", "where", "order", "distinct"})


def number_first(select: exp.Select, labels: Labels, catalog: Catalog) -> bool:
    """Rewrite a DISTINCT ON, in place; whether it was one. The names are bound, and items have names of their own."""
    distinct, order = select.args.get("distinct"), select.args.get("order")
    on = None if distinct is None else distinct.args.get("on")
    if on is None or order is None or not _is_item_of_from(select):
        return False
    if any(value for part, value in select.args.items() if part not in _PARTS):
        return False
    if any(has_aggregate(one) or one.find(exp.Window, exp.Query) is not None for one in select.expressions):
        return False
    outputs = [(output_name(one), unaliased(one)) for one in select.expressions]
    if len(dict(outputs)) < len(outputs):
        return False
    keys = [_key(one, dict(outputs)) for one in (on.expressions if isinstance(on, exp.Tuple) else [on])]
    wanted = by_expressions(order, outputs).expressions
    first, rest = wanted[: len(keys)], wanted[len(keys) :]
    if not rest or any(unparenthesised(one.this) not in keys for one in first) or len(set(keys)) < len(keys):
        return False
    if {unparenthesised(one.this) for one in first} != set(keys):
        return False
    if not any(_is_of_person(key, select, catalog) for key in keys):
        return False
    body = select.copy()
    body.set("distinct", None)
    body.set("order", None)
    found = numbered_first(body, outputs, keys, exp.Order(expressions=rest), labels)
    for part in _PARTS:
        select.set(part, found.args.get(part))
    return True


def _is_item_of_from(select: exp.Select) -> bool:
    parent = select.parent
    return isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.From | exp.Join)


def _key(node: exp.Expr, outputs: dict[str, exp.Expr]) -> exp.Expr:
    """What DISTINCT ON keeps one row of: a name alone is an output."""
    key = unparenthesised(node)
    is_output = isinstance(key, exp.Column) and not key.table and folded(key) in outputs
    return unparenthesised(outputs[folded(key)]) if is_output else key


def _is_of_person(key: exp.Expr, select: exp.Select, catalog: Catalog) -> bool:
    if not isinstance(key, exp.Column) or key.name.lower() not in catalog.keys_of_people:
        return False
    item = next((one for one in from_items(select) if one.alias_or_name == key.text("table")), None)
    if not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
        return False
    table = catalog.find(item.this.name, bool(item.this.quoted), item.db)
    return table is not None and not table.public
