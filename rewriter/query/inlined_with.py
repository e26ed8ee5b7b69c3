"""WITH queries that are read once, put where they are read.

Theorem: a WITH query without RECURSIVE is a subquery under a name. One that is read twice stays: its rows are computed
once, and whoever measures them measures them once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlglot import exp

from rewriter.statement import folded


def inline_with(tree: exp.Query) -> None:
    """Put WITH queries that are read once into FROM, in place. Items of FROM have names of their own."""
    all_defined = Counter(folded(cte.args["alias"].this) for cte in tree.find_all(exp.CTE))
    for with_ in list(tree.find_all(exp.With)):
        query = with_.parent
        if query is None:
            continue
        for place in range(len(with_.expressions) - 1, -1, -1):
            cte = with_.expressions[place]
            name = folded(cte.args["alias"].this)
            before = {folded(one.args["alias"].this) for one in with_.expressions[:place]}
            readers = [table for table in _tables(query) if _named(table) == name]
            if all_defined[name] > 1 or len(readers) != 1 or cte.args["alias"].args.get("columns"):
                continue
            if any(all_defined[one] > (1 if one in before else 0) for one in map(_named, _tables(cte.this))):
                # Where it is read, the name may mean another query.
                continue
            if not isinstance(cte.this, exp.Select | exp.SetOperation):
                continue
            reader, body = readers[0], cte.this
            alias = exp.TableAlias(this=exp.Identifier(this=reader.alias, quoted=True))
            with_.set("expressions", [one for one in with_.expressions if one is not cte])
            reader.replace(exp.Subquery(this=body, alias=alias))
        if not with_.expressions:
            query.set("with_", None)


def _tables(node: exp.Expr) -> Iterator[exp.Table]:
    return (table for table in node.find_all(exp.Table) if isinstance(table.this, exp.Identifier) and not table.db)


def _named(table: exp.Table) -> str:
    return folded(table.this)
