"""A name of its own for each item of FROM, while rules move items about; and then the analyst's names again.

Guarantee: :func:`number_anew` gives each item the name that the analyst gave it, unless another item of its FROM, or
an item that its query reads from outside, has that name. So a message says the analyst's names, and two equal queries
within a statement are equal trees, whatever stands around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from rewriter.expressions import in_place_of
from rewriter.statement import folded, from_items

Labels = dict[str, exp.Identifier]
"""The analyst's name of an item, by its own one."""

_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)
_SERIES = (exp.ExplodingGenerateSeries, exp.GenerateSeries)


def name_apart(tree: exp.Query) -> Labels:
    """Give each item of FROM a name of its own, in place, and each column that of its item. The tree is bound."""
    labels: Labels = {}

    def name_query(node: exp.Expr, reach: Mapping[str, str]) -> None:
        for inner in _defined(node):
            name_query(inner, reach)
        if not isinstance(node, exp.Select):
            name_parts(node, reach)
            return
        own = dict(reach)
        for item in from_items(node):
            if isinstance(item, exp.Subquery):
                name_query(item.this, reach)
            else:
                name_parts(item, dict(own))
            label = label_of(item)
            own[folded(label)] = name = f"{folded(label)}#{len(labels)}"
            labels[name] = label
            if isinstance(item.this, _SERIES) and not item.args["alias"].args.get("columns"):
                item.args["alias"].set("columns", [exp.to_identifier(label)])  # the series' alias names its values, too
            set_name(item, exp.Identifier(this=name, quoted=True))
        for part in _outside_from(node):
            name_expression(part, own)

    def name_parts(node: exp.Expr, reach: Mapping[str, str]) -> None:
        for child in node.iter_expressions():
            if not isinstance(child, exp.With):
                name_expression(child, reach)

    def name_expression(node: exp.Expr, reach: Mapping[str, str]) -> None:
        if isinstance(node, _QUERIES):
            name_query(node, reach)
        elif isinstance(node, exp.Column):
            if (table := node.args.get("table")) is not None:
                node.set("table", in_place_of(exp.Identifier(this=reach[folded(table)], quoted=True), table))
        else:
            name_parts(node, reach)

    name_query(tree, {})
    return labels


def copied(query: exp.Select, labels: Labels) -> exp.Select:
    """A copy in which each item of FROM has a name of its own again, under the same label."""
    copy = query.copy()
    names: dict[str, str] = {}
    for select in copy.find_all(exp.Select):
        for item in from_items(select):
            label = labels[item.alias_or_name]
            names[item.alias_or_name] = name = f"{folded(label)}#{len(labels)}"
            labels[name] = label
            set_name(item, exp.Identifier(this=name, quoted=True))
    for column in copy.find_all(exp.Column):
        if column.table in names:
            column.set("table", exp.Identifier(this=names[column.table], quoted=True))
    return copy


def number_anew(tree: exp.Query, labels: Labels) -> None:
    """Give each item of FROM its label again, with a number where it would not be the only one. In place."""

    def rename(node: exp.Expr, names: Mapping[str, exp.Identifier]) -> None:
        for part in node.iter_expressions():
            if isinstance(part, exp.Select):
                rename(part, {**names, **_chosen(part, names, labels)})
            else:
                rename(part, names)
        if isinstance(node, exp.Column):
            table = node.args.get("table")
            if table is not None and table.name in names:
                node.set("table", in_place_of(names[table.name].copy(), table))
        elif isinstance(node, exp.Select):
            for item in from_items(node):
                set_name(item, names[item.alias].copy())

    root = exp.Paren(this=tree)
    rename(root, {})
    tree.pop()


def _chosen(select: exp.Select, names: Mapping[str, exp.Identifier], labels: Labels) -> dict[str, exp.Identifier]:
    """The final names of the items of a SELECT."""
    items = from_items(select)
    own = {item.alias for item in items}
    read = {column.table for column in select.find_all(exp.Column)} - own
    taken = {names[name].name.lower() for name in read if name in names}
    found: dict[str, exp.Identifier] = {}
    for item in items:
        label = labels[item.alias]
        name, number = label.name, 1
        while name.lower() in taken:
            number += 1
            name = f"{label.name}_{number}"
        taken.add(name.lower())
        found[item.alias] = label if number == 1 else exp.Identifier(this=name, quoted=bool(label.args.get("quoted")))
    return found


def label_of(item: exp.Expr) -> exp.Identifier:
    """What an item of FROM is called."""
    alias = item.args.get("alias")
    found = alias.this if alias is not None and alias.this is not None else item.this
    if not isinstance(found, exp.Identifier):
        raise AssertionError("a bound item has a name")
    return found


def set_name(item: exp.Expr, name: exp.Identifier) -> None:
    """Call an item of FROM by a name; a table that is called by its own one needs no alias."""
    alias = item.args.get("alias")
    columns = None if alias is None else alias.args.get("columns")
    if isinstance(item, exp.Table) and not columns and folded(item.this) == folded(name):
        item.set("alias", None)
    else:
        item.set("alias", exp.TableAlias(this=name, columns=columns))


def _defined(node: exp.Expr) -> Iterator[exp.Expr]:
    with_ = node.args.get("with_")
    for cte in () if with_ is None else with_.expressions:
        yield cte.this


def _outside_from(select: exp.Select) -> Iterator[exp.Expr]:
    for name, part in select.args.items():
        if name == "joins":
            yield from (join.args["on"] for join in part or () if join.args.get("on") is not None)
        elif name not in ("from_", "with_"):
            yield from (one for one in (part if isinstance(part, list) else [part]) if isinstance(one, exp.Expr))
