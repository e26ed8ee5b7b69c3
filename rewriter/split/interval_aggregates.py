"""Aggregates of intervals as those of their seconds: ``AVG(discharged - admitted)``.

Guarantee: a length of time is averaged, added up, compared and ranked as its seconds are, and comes back as an interval
of the same length. PostgreSQL keeps days and hours of an average apart, as in ``1 day 30:00:00``; here a day has 24
hours, which a notice says.

Which expressions are intervals shows when they are read with the types of their columns. So a statement is tried as it
is, and one that is refused for an aggregated interval is tried again with its seconds in that place.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from rewriter.expressions import IsInterval
from rewriter.statement import folded, output_name, unparenthesised

SECONDS_NOTE = (
    "intervals are added up and averaged by their seconds, and shown with days of 24 hours;"
    " EXTRACT(EPOCH FROM AVG(b - a)) has an error bar"
)
MOST_LENGTHS = 20
"""So many intervals of one statement are looked at."""
_MEASURED = (exp.Avg, exp.Sum, exp.Min, exp.Max, exp.Count, exp.Median, exp.PercentileCont, exp.PercentileDisc)
_SHOWN = sqlglot.parse_one("(INTERVAL '1 day' * (s / 86400))", read="postgres")
"""An interval of ``s`` seconds: PostgreSQL puts whole days apart from the time beyond them."""


def with_seconds(tree: exp.Query, refused: IsInterval) -> exp.Query | None:
    """``tree`` with the seconds of what was refused where it is aggregated; None where it is not.

    >>> tree = sqlglot.parse_one("SELECT EXTRACT(EPOCH FROM AVG(b - a)) / 3600, COUNT(b - a) FROM t", read="postgres")
    >>> interval = sqlglot.parse_one("b - a", read="postgres")
    >>> print(with_seconds(tree, IsInterval(interval)).sql("postgres", pretty=True))
    SELECT
      AVG(EXTRACT(EPOCH FROM b - a)) / 3600,
      COUNT(EXTRACT(EPOCH FROM b - a)) AS "count"
    FROM t
    """
    copy: exp.Query = tree.copy()
    found, refused_names = False, _by_names(refused.node)
    for node in list(copy.find_all(*_MEASURED)):
        whole = _whole(node)
        measured = _measured(node, whole)
        if measured is None or _by_names(measured) != refused_names:
            continue
        found = True
        is_item = isinstance(whole.parent, exp.Select) and whole.arg_key == "expressions"
        name = output_name(whole) if is_item else ""
        measured.replace(exp.Extract(this=exp.var("EPOCH"), expression=measured.copy()))
        around = whole.parent
        while isinstance(around, exp.Paren):
            around = around.parent
        if isinstance(around, exp.Extract) and around.name.upper() == "EPOCH":
            around.replace(whole.copy())
            continue
        shown = whole.copy() if isinstance(node, exp.Count) else _interval(whole)
        whole.replace(exp.alias_(shown, name, quoted=True) if is_item else shown)
    return copy if found else None


def _by_names(node: exp.Expr) -> exp.Expr:
    """An expression with its columns by their names alone: it was resolved before it was refused."""
    return unparenthesised(node).transform(
        lambda part: exp.column(folded(part)) if isinstance(part, exp.Column) else part
    )


def _whole(node: exp.Expr) -> exp.Expr:
    """An aggregate with its WITHIN GROUP and its FILTER."""
    while isinstance(node.parent, exp.WithinGroup | exp.Filter) and node.parent.this is node:
        node = node.parent
    return node


def _measured(node: exp.Expr, whole: exp.Expr) -> exp.Expr | None:
    """The expression that an aggregate is of; None where it is numbered, compared or listed in more ways."""
    if isinstance(whole.parent, exp.Window):
        return None
    if isinstance(node.parent, exp.WithinGroup):
        order = node.parent.expression
        one = order.expressions[0] if isinstance(order, exp.Order) and len(order.expressions) == 1 else None
        return one.this if isinstance(one, exp.Ordered) else None
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct):
        return node.this.expressions[0] if len(node.this.expressions) == 1 else None
    return node.this if isinstance(node.this, exp.Expr) else None


def _interval(seconds: exp.Expr) -> exp.Expr:
    return _SHOWN.transform(lambda node: seconds.copy() if isinstance(node, exp.Column) else node)
