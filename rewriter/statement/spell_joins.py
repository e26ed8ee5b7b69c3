"""``FULL JOIN … USING (k)`` as ``FULL JOIN … ON a.k = b.k``: what is called k is then COALESCE(a.k, b.k).

Guarantee: the rows and values are those that PostgreSQL has for USING, since that is how its manual defines the merged
column. ``SELECT *``, whose columns USING merges too, stays as it is, and so does a join beside others, for a refusal.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.statement.identifiers import folded, is_star
from rewriter.statement.output_names import output_name
from rewriter.statement.respelling import respelt


def plain_full_joins(tree: exp.Query) -> exp.Query:
    """``tree`` with the conditions of FULL JOINs in full; columns keep the names that they had.

    >>> import sqlglot
    >>> text = "SELECT k, COUNT(b.x) FROM a FULL JOIN b USING (k) GROUP BY k ORDER BY k"
    >>> print(plain_full_joins(sqlglot.parse_one(text)).sql(pretty=True))
    SELECT
      COALESCE(a.k, b.k) AS "k",
      COUNT(b.x)
    FROM a
    FULL JOIN b
      ON a.k = b.k
    GROUP BY
      COALESCE(a.k, b.k)
    ORDER BY
      k
    """
    if not any(_merged(select) for select in tree.find_all(exp.Select)):
        return tree
    copy = respelt(tree, _is_merged, _of_either).copy()
    for select in copy.find_all(exp.Select):
        for name, (one, other) in _merged(select).items():
            (join,) = select.args["joins"]
            join.set("using", None)
            equal = exp.EQ(this=_column(name, one), expression=_column(name, other))
            join.set("on", equal if join.args.get("on") is None else exp.And(this=join.args["on"], expression=equal))
    return copy


def _merged(select: exp.Select) -> dict[str, tuple[exp.Expr, exp.Expr]]:
    """The columns by which a lone FULL JOIN joins, folded, with the names of both sides."""
    joins = select.args.get("joins") or []
    if len(joins) != 1 or joins[0].side.upper() != "FULL" or joins[0].method or any(map(is_star, select.expressions)):
        return {}
    sides = _name(select.args["from_"].this), _name(joins[0].this)
    if sides[0] is None or sides[1] is None:
        return {}
    return {folded(name): (sides[0], sides[1]) for name in joins[0].args.get("using") or ()}


def _name(item: exp.Expr) -> exp.Expr | None:
    """What an item of FROM is called."""
    alias = item.args.get("alias")
    name = alias.this if alias is not None else item.this if isinstance(item, exp.Table) else None
    return name if isinstance(name, exp.Identifier) else None


def _is_merged(node: exp.Expr) -> bool:
    if not isinstance(node, exp.Column) or node.args.get("table") is not None or isinstance(node.this, exp.Star):
        return False
    select = node.find_ancestor(exp.Select)
    if select is None or folded(node) not in _merged(select):
        return False
    order = select.args.get("order")
    whole = order is not None and any(one.this is node for one in order.expressions)
    # A bare name in ORDER BY is that of the select list, where it has one.
    return not (whole and folded(node) in map(output_name, select.expressions))


def _of_either(node: exp.Expr) -> exp.Expr:
    select = node.find_ancestor(exp.Select)
    if select is None:
        raise AssertionError("a column stands in a SELECT")
    name = folded(node)
    one, other = (_column(name, side) for side in _merged(select)[name])
    return exp.Coalesce(this=one, expressions=[other])


def _column(name: str, side: exp.Expr) -> exp.Column:
    quoted = name != name.lower()
    return exp.Column(this=exp.to_identifier(name, quoted=quoted), table=side.copy())
