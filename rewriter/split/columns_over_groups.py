"""Which columns of an answer are numbers of groups, or means over groups: their error bars are told with the groups."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.release import OverGroups, is_over_groups


def over_groups(tree: exp.Query) -> Iterator[OverGroups]:
    """Those of a SELECT from one release.

    >>> import sqlglot
    >>> sql = "SELECT ROUND(MAX(dpsql_mean_a0), 1), MAX(a0), COALESCE(MAX(dpsql_groups), 0) AS n FROM dpsql_release_0"
    >>> [(one.at, one.column, one.digits) for one in over_groups(sqlglot.parse_one(sql, read="postgres"))]
    [(0, 'dpsql_mean_a0', 1), (2, 'dpsql_groups', None)]
    """
    table = tree.args["from_"].this if isinstance(tree, exp.Select) and tree.args.get("from_") else None
    if not isinstance(table, exp.Table):
        return
    for at, item in enumerate(tree.selects):
        node, digits = item.unalias(), None
        if isinstance(node, exp.Round):
            decimals = node.args.get("decimals") or exp.Literal.number(0)
            if not isinstance(decimals, exp.Literal) or not decimals.is_int:
                continue
            node, digits = node.this, int(decimals.name)
        while isinstance(node, exp.Coalesce | exp.Paren | exp.Cast):
            if isinstance(node, exp.Cast) and not node.to.is_type(*exp.DataType.REAL_TYPES):
                break
            node = node.this
        column = node.this if isinstance(node, exp.Max) else None
        if isinstance(column, exp.Column) and is_over_groups(column.name):
            yield OverGroups(at, table.name, column.name, digits)
