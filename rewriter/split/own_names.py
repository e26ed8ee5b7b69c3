"""Names of WITH queries of their own, where they hide a table: ``WITH visit AS (SELECT … FROM visit) …``.

Guarantee: the meaning is the same. A name that hides a table is another one wherever it is in reach, and the item of
FROM that read it goes on being called as it was; so a name means one thing in all of a statement.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.statement import folded


def with_own_names(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """``tree`` without WITH queries that hide a table of the catalog.

    >>> import sqlglot
    >>> from rewriter.declared import Table
    >>> catalog = Catalog({"visit": Table("visit", {})}, None)
    >>> tree = sqlglot.parse_one("WITH visit AS (SELECT 1 AS a FROM visit) SELECT visit.a FROM visit")
    >>> with_own_names(tree, catalog).sql()
    'WITH visit_1 AS (SELECT 1 AS a FROM visit) SELECT visit.a FROM visit_1 AS visit'
    """
    found = [cte for cte in tree.find_all(exp.CTE) if _hides(cte, catalog)]
    if not found:
        return tree
    copy: exp.Query = tree.copy()
    taken = {name.name.lower() for name in copy.find_all(exp.Identifier)} | {name.lower() for name in catalog.tables}
    _Renaming(catalog, taken).visit(copy, {})
    return copy


def _hides(cte: exp.CTE, catalog: Catalog) -> bool:
    name = cte.args["alias"].this
    return name is not None and catalog.find(name.name) is not None


class _Renaming:
    """Walks scopes from the outermost in; ``taken`` are names that mean something already."""

    def __init__(self, catalog: Catalog, taken: set[str]) -> None:
        self._catalog = catalog
        self._taken = taken

    def visit(self, node: exp.Expr, names: Mapping[str, str]) -> None:
        """Rename in a query, or in a part of one, where ``names`` are other ones."""
        stack = [(node, names)]
        while stack:
            part, reach = stack.pop()
            if isinstance(part, exp.Table):
                _read(part, reach)
            with_ = part.args.get("with_") if isinstance(part, exp.Query) else None
            if with_ is not None:
                inner = dict(reach)
                for cte in with_.expressions:
                    stack.append((cte.this, dict(inner)))
                    self._define(cte, inner)
                reach = inner
            stack += [(child, reach) for child in part.iter_expressions() if child is not with_]

    def _define(self, cte: exp.CTE, names: dict[str, str]) -> None:
        name = cte.args["alias"].this
        known_as = folded(name)
        if not _hides(cte, self._catalog):
            names.pop(known_as, None)
            return
        number = 1
        while f"{known_as}_{number}" in self._taken:
            number += 1
        names[known_as] = f"{known_as}_{number}"
        self._taken.add(names[known_as])
        cte.args["alias"].set("this", exp.to_identifier(names[known_as]))


def _read(table: exp.Table, names: Mapping[str, str]) -> None:
    """An item of FROM that reads a renamed query keeps its own name as an alias."""
    if table.db or table.catalog or not isinstance(table.this, exp.Identifier):
        return
    found = names.get(folded(table.this))
    if found is None:
        return
    if not table.alias:
        alias = table.args.get("alias") or exp.TableAlias()
        alias.set("this", table.this.copy())
        table.set("alias", alias)
    table.set("this", exp.to_identifier(found))
