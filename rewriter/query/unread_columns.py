"""Columns of subqueries and of WITH queries that nothing reads, left out: they are neither planned nor bought.

Theorem: a query's rows do not hang on a column of a subquery that nothing reads, unless the column decides which rows
the subquery has: a column of distinct rows, the name or the position that it is sorted by, and a function that makes
rows do. Names are bound, so what reads a column says its item of FROM.

Why aggregates are left out of groups of one person each alone: those of other groups are released, and whoever asks
for one column of what was released before, as dashboards do, has it at no price. Why the MIN and MAX of a person's key
stay: by them a statement says whose a group is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.query.merged_subqueries import is_volatile
from rewriter.statement import folded, has_aggregate, is_grouped, output_name, unaliased, unparenthesised

_SAYS_WHOSE = (exp.Min, exp.Max, exp.AnyValue)


def drop_unread(tree: exp.Query, catalog: Catalog) -> None:
    """Leave such columns out, in place. The tree is bound, and each item of FROM has a name of its own."""
    persons = catalog.keys_of_people
    read = Counter(map(_read, tree.find_all(exp.Column)))
    items: dict[str, list[str]] = {}
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and not table.db:
            items.setdefault(folded(table.this), []).append(table.alias_or_name)
    defined = Counter(_name(cte) for cte in tree.find_all(exp.CTE))
    for select in _outermost_first(tree):
        parent = select.parent
        if isinstance(parent, exp.CTE):
            names = items.get(_name(parent), []) if defined[_name(parent)] == 1 else None
        elif isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.From | exp.Join):
            names = [parent.alias]
        elif isinstance(parent, exp.Exists):
            names = []
        else:
            continue
        if names is None or not _may_lack(select, persons):
            continue
        kept = [
            any(read[name, output_name(item)] > 0 for name in names) or _is_needed(item, select, persons)
            for item in select.expressions
        ]
        _keep_one(select, kept)
        for item, is_kept in zip(list(select.expressions), kept, strict=True):
            if not is_kept:
                read.subtract(map(_read, item.find_all(exp.Column)))
                item.pop()


def _read(column: exp.Column) -> tuple[str, str]:
    return column.text("table"), folded(column)


def _name(cte: exp.CTE) -> str:
    return folded(cte.args["alias"].this)


def _outermost_first(tree: exp.Query) -> Iterator[exp.Select]:
    """Each SELECT after all that may read its columns: WITH queries after what follows them, the last one first."""
    stack: list[exp.Expr] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Select):
            yield node
        with_ = node.args.get("with_")
        if with_ is not None:
            stack += with_.expressions
        stack += (child for child in node.iter_expressions() if child is not with_)


def _may_lack(select: exp.Select, persons: Set[str]) -> bool:
    """Whether columns of a SELECT can be left out: it makes rows, not distinct ones, or groups of one person each."""
    group, order = select.args.get("group"), select.args.get("order")
    keys = [] if group is None else [unparenthesised(key) for key in group.expressions]
    places = [*keys, *(unparenthesised(one.this) for one in (() if order is None else order.expressions))]
    if select.args.get("distinct") or any(isinstance(one, exp.Literal) for one in places):
        return False
    by_person = any(isinstance(key, exp.Column) and key.name.lower() in persons for key in keys)
    return by_person or not is_grouped(select) or any(_says_whose(item, persons) for item in select.expressions)


def _is_needed(item: exp.Expr, select: exp.Select, persons: Set[str]) -> bool:
    """Whether an item decides which rows there are, or whose: what makes rows, a key of groups, what is sorted by."""
    if is_volatile(item) or _says_whose(item, persons):
        return True
    if is_grouped(select) and not has_aggregate(item):
        return True
    order, name = select.args.get("order"), output_name(item)
    keys = () if order is None else (unparenthesised(one.this) for one in order.expressions)
    return any(isinstance(key, exp.Column) and not key.table and folded(key) == name for key in keys)


def _keep_one(select: exp.Select, kept: list[bool]) -> None:
    """Keep a column if none is read, and an aggregate of an only group: of no columns there would be no rows."""
    alone = is_grouped(select) and select.args.get("group") is None
    fit = [place for place, item in enumerate(select.expressions) if not alone or has_aggregate(item)]
    if fit and not any(kept[place] for place in fit):
        columns = [place for place in fit if isinstance(unaliased(select.expressions[place]), exp.Column)]
        kept[(columns or fit)[0]] = True


def _says_whose(item: exp.Expr, persons: Set[str]) -> bool:
    """Whether an item may be the MIN or MAX of the key of a person, by which a statement says whose a group is."""
    call = unparenthesised(unaliased(item))
    of = unparenthesised(call.this) if isinstance(call, _SAYS_WHOSE) else None
    return isinstance(of, exp.Column) and of.name.lower() in persons
