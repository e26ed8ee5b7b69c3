"""Windows that add up neighbouring groups read unbiased numbers, though no shown group is below 0.

A shown count is moved to 0 where its noise is below that. A sum of many such counts is too high: by 0.4 standard
deviations of the noise for each empty group. So a window that is a running sum of a release reads the column that
:func:`rewriter.release.added_name` names, in the place of the shown one. Through subqueries in FROM and WITH that hand
on the shown column, a column beside it hands on the other one: stars are spelled out by then, and show no column more.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.release import RESERVED, RunningSums, added_name, release_name
from rewriter.statement import folded, output_name


def add_up_unbiased(running: RunningSums) -> None:
    """Changes the windows in place: the tree is the caller's."""
    for window, sums in running:
        column, select = window.this.this, window.parent_select
        if isinstance(column, exp.Column) and isinstance(select, exp.Select):
            unbiased = _unbiased(column, select, release_name(sums.release))
            if unbiased is not None:
                window.this.set("this", unbiased)


def _unbiased(column: exp.Column, select: exp.Select, release: str) -> exp.Column | None:
    """The column in reach of ``select`` that has the unbiased numbers of a column; None where it cannot be had."""
    from_ = select.args.get("from_")
    if from_ is None or select.args.get("joins"):
        return None
    item, name = from_.this, folded(column.this)
    if isinstance(item, exp.Table) and item.name == release:
        return _named(added_name(name), column)
    inner = _query_of(item)
    if not isinstance(inner, exp.Select):
        return None
    handed = f"{RESERVED}{added_name(name)}"
    if all(output_name(one) != handed for one in inner.expressions):
        shown = next((one.unalias() for one in inner.expressions if output_name(one) == name), None)
        found = _unbiased(shown, inner, release) if isinstance(shown, exp.Column) else None
        if found is None:
            return None
        inner.append("expressions", exp.alias_(found, handed, quoted=True))
    return _named(handed, column)


def _query_of(item: exp.Expr) -> exp.Expr | None:
    """The query that an item of FROM names, or is; None where its columns are named anew."""
    alias = item.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        return None
    if isinstance(item, exp.Subquery):
        query: exp.Expr = item.this
        return query
    if not isinstance(item, exp.Table) or item.db:
        return None
    around = item.parent
    while around is not None:
        with_ = around.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            if cte.alias == item.name:
                return None if cte.args["alias"].args.get("columns") else cte.this
        around = around.parent
    return None


def _named(name: str, like: exp.Column) -> exp.Column:
    table = like.args.get("table")
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=None if table is None else table.copy())
