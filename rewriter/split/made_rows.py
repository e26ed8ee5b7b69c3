"""Rows that a function makes in FROM: GENERATE_SERIES and UNNEST, as a subquery of one column, above releases."""

from __future__ import annotations

from sqlglot import exp


def made_rows(item: exp.Expr) -> exp.Subquery | None:
    """A function in FROM as a subquery; its column has the name of the table, where it is given none of its own.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT * FROM GENERATE_SERIES(1, 3) AS g", read="postgres")
    >>> made_rows(tree.args["from_"].this).sql("postgres")
    '(SELECT GENERATE_SERIES(1, 3) AS "g") AS g'
    """
    if isinstance(item, exp.Unnest) and len(item.expressions) == 1 and not item.args.get("offset"):
        made: exp.Expr = exp.Explode(this=item.expressions[0].copy())
        name = "unnest"
    elif isinstance(item, exp.Table) and isinstance(item.this, exp.ExplodingGenerateSeries):
        made, name = item.this.copy(), "generate_series"
    else:
        return None
    alias = item.args.get("alias")
    columns = alias.args.get("columns") or () if alias is not None else ()
    table = alias.this.copy() if alias is not None else exp.to_identifier(name)
    column = columns[0].name if columns else table.name
    rows = exp.Select(expressions=[exp.alias_(made, exp.to_identifier(column, quoted=True), copy=False)])
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=table))
