"""Refusal of the parts of a SELECT that are not answered."""

from __future__ import annotations

from sqlglot import exp

from rewriter.dialects import is_fact
from rewriter.expressions import position_of
from rewriter.refused import NOT_ANSWERED, Refused

_PARTS = {
    "locks": "FOR UPDATE",
    "sample": "TABLESAMPLE",
    "laterals": "LATERAL",
    "into": "SELECT INTO",
    "pivots": "PIVOT",
    "expressions": "a second argument",
}
"""The words for parts of a query whose names in the tree are others."""
_INSTEAD = {"pivots": "write COUNT(*) FILTER (WHERE key = …) for each column"}
"""Hints of parts that cannot just be left out."""


def only(node: exp.Expr, allowed: frozenset[str], what: str, hint: str = "leave it out") -> None:
    """Refuse a node that carries anything but the allowed parts: what is not known is not ignored."""
    for name, value in node.args.items():
        if value and name not in allowed and not is_fact(value):
            word = _PARTS.get(name) or name.rstrip("_").replace("_", " ").upper()
            part = value[0] if isinstance(value, list) else value
            raise Refused(
                f"{word} is not answered in {what}",
                hint=_INSTEAD.get(name, hint),
                sqlstate=NOT_ANSWERED,
                position=position_of(part if isinstance(part, exp.Expr) else node),
            )


def no_qualify(node: exp.Expr) -> Refused:
    """The refusal of QUALIFY, which PostgreSQL has not."""
    return Refused(
        "QUALIFY is not answered here",
        hint="name the window in a subquery: FROM (SELECT key, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS r …"
        " GROUP BY key) AS t WHERE r = 1",
        position=min(filter(None, map(position_of, node.walk())), default=None),
    )
