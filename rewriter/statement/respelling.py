"""A statement with some of its expressions in plainer words; its columns keep their names."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rewriter.statement.output_names import output_name


def respelt(
    tree: exp.Query, is_known: Callable[[exp.Expr], bool], plain: Callable[[exp.Expr], exp.Expr | None]
) -> exp.Query:
    """``tree`` with what ``plain`` says in the place of each node that is known, the inner ones first.

    Where that is None the node stays; a statement of which all stays is ``tree`` itself. A select item that changes
    and has no alias is given the name that it had.
    """
    if not any(is_known(node) for node in tree.walk()):
        return tree
    copy: exp.Query = tree.copy()
    named: dict[int, tuple[exp.Expr, str]] = {}
    changed = False
    for node in reversed(list(copy.walk())):
        spelt = plain(node) if is_known(node) else None
        if spelt is None:
            continue
        changed = True
        item = _item_of(node)
        if item is not None and id(item) not in named:
            named[id(item)] = item, output_name(item)
        node.replace(spelt)
        if item is node:
            named[id(spelt)] = spelt, named.pop(id(node))[1]
    for item, name in named.values():
        item.replace(exp.Alias(this=item.copy(), alias=exp.to_identifier(name, quoted=True)))
    return copy if changed else tree


def _item_of(node: exp.Expr) -> exp.Expr | None:
    """The select item without an alias that a node is, or is part of."""
    found: exp.Expr | None = node
    while found is not None and not (isinstance(found.parent, exp.Select) and found.arg_key == "expressions"):
        found = None if isinstance(found, exp.Query) and not isinstance(found.parent, exp.Expr) else found.parent
    return None if isinstance(found, exp.Alias) else found
