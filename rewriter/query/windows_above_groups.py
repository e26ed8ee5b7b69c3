"""Ranks of groups of one person each, above these groups: ``NTILE(5) OVER (ORDER BY SUM(x)) … GROUP BY person_id``.

Theorem: windows are computed of the rows that GROUP BY and HAVING leave. So such a SELECT computes its items of the
keys and aggregates of a subquery that groups alone.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.distinct_names import Labels
from rewriter.statement import output_name, unaliased, unparenthesised

PARTS = ("expressions", "from_", "joins", "where", "group", "having")
"""What such a SELECT may consist of."""
_NAME = "grouped"


def group_below(
    select: exp.Select, kinds: tuple[type[exp.Expr], ...], labels: Labels, catalog: Catalog
) -> exp.Select | None:
    """The SELECT over a subquery that groups by the person, where windows of some kinds stand beside GROUP BY; None
    where there are none, or an item reads something else than keys and aggregates."""
    group = select.args.get("group")
    if group is None or any(value for name, value in select.args.items() if name not in PARTS):
        return None
    keys = [unparenthesised(key) for key in group.expressions]
    sets = any(value for name, value in group.args.items() if name != "expressions")
    if sets or any(isinstance(key, exp.Literal) for key in keys):
        return None
    if not any(isinstance(key, exp.Column) and key.name.lower() in catalog.keys_of_people for key in keys):
        return None
    if not any(isinstance(one.this, kinds) for item in select.expressions for one in item.find_all(exp.Window)):
        return None
    named = {unaliased(item): output_name(item) for item in reversed(select.expressions)}
    lifted = _Lifted(keys, f"{_NAME}#{len(labels)}", named)
    root = exp.Tuple(expressions=[item.copy() for item in select.expressions])
    if not all(lifted.lift(item) for item in list(root.expressions)):
        return None
    labels[lifted.name] = exp.to_identifier(_NAME)
    inner = select.copy()
    inner.set("expressions", [exp.alias_(one, name, quoted=True) for one, name in lifted.columns.items()])
    alias = exp.TableAlias(this=exp.Identifier(this=lifted.name, quoted=True))
    names = [output_name(item) for item in select.expressions]
    items = [
        item if isinstance(item, exp.Alias) else exp.alias_(item, name, quoted=True)
        for item, name in zip(root.expressions, names, strict=True)
    ]
    return exp.Select(expressions=[one.copy() for one in items]).from_(exp.Subquery(this=inner, alias=alias))


class _Lifted:
    """Keys and aggregates as columns of a subquery of a ``name``, called as the analyst ``named`` them."""

    def __init__(self, keys: list[exp.Expr], name: str, named: dict[exp.Expr, str]) -> None:
        self.name = name
        self._named = named
        self.columns: dict[exp.Expr, str] = {}
        self._keys = keys

    def lift(self, node: exp.Expr) -> bool:
        """Put columns in the place of keys and aggregates, in place; whether nothing else is read."""
        is_function = isinstance(node.parent, exp.Window) and node.arg_key == "this"
        if node in self._keys or (isinstance(node, exp.AggFunc | exp.Filter) and not is_function):
            column = self.columns.setdefault(node.copy(), self._free(self._named.get(node) or output_name(node)))
            table = exp.Identifier(this=self.name, quoted=True)
            node.replace(exp.column(exp.Identifier(this=column, quoted=True), table))
            return True
        if isinstance(node, exp.Column | exp.Query):
            return False
        return all(self.lift(child) for child in list(node.iter_expressions()))

    def _free(self, name: str) -> str:
        """The name, with a number where another column has it."""
        used, count = set(self.columns.values()), 1
        while name in used:
            count += 1
            name = f"{name} {count}" if count == 2 else f"{name.rpartition(' ')[0]} {count}"
        return name
