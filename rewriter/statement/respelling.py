"""A statement with some of its expressions in plainer words; its columns keep their names."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rewriter.statement.output_names import output_name


def respelt(
    tree: exp.Query, is_known: Callable[[exp.Expr], bool], plain: Callable[[exp.Expr], exp.Expr | None]
) -> exp.Query:
    """``tree`` with what ``plain`` says in the place of each node that is known, the inner ones first.

    Where that is None the node stays. A select item without an alias is given the name that it had.
    """
    if not any(is_known(node) for node in tree.walk()):
        return tree
    copy: exp.Query = tree.copy()
    items = [item for select in copy.find_all(exp.Select) for item in select.expressions]
    names = {
        id(item): output_name(item)
        for item in items
        if not isinstance(item, exp.Alias | exp.Column | exp.Star) and any(is_known(node) for node in item.walk())
    }
    for node in reversed(list(copy.walk())):
        spelt = plain(node) if is_known(node) else None
        if spelt is not None:
            if (name := names.pop(id(node), None)) is not None:
                names[id(spelt)] = name
            node.replace(spelt)
    for select in copy.find_all(exp.Select):
        for item in select.expressions:
            if (name := names.get(id(item))) is not None:
                item.replace(exp.Alias(this=item.copy(), alias=exp.to_identifier(name, quoted=True)))
    return copy
