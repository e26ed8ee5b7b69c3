"""A row, or a distinct value, counted from the first of an order: the argument of PERCENTILE_DISC for a rank.

Guarantee: no statement that is parsed has it. ``row 100`` and ``value 100`` are no name and no number, so a rank is
asked for by rules of :mod:`rewriter.query` alone, and its text is that of no share.
"""

from __future__ import annotations

import re

from sqlglot import exp

MADE_NAMES = frozenset({"grouped", "limited"})
"""What subqueries are called that rules make of an analyst's rows to number them."""

_RANK = re.compile(r"(row|value) (\d+)")


def row_of_order(rank: int) -> exp.Var:
    """The argument for a rank, from 1.

    >>> exp.PercentileDisc(this=row_of_order(100)).sql()
    'PERCENTILE_DISC(row 100)'
    """
    return exp.Var(this=f"row {rank}")


def value_of_order(rank: int) -> exp.Var:
    """The argument for a rank among distinct values, from 1."""
    return exp.Var(this=f"value {rank}")


def counts_values(node: exp.Expr) -> bool:
    """Whether a rank is one among distinct values.

    >>> counts_values(value_of_order(10)), counts_values(row_of_order(10))
    (True, False)
    """
    return rank_of_row(node) is not None and node.name.startswith("value")


def rank_of_row(node: exp.Expr) -> int | None:
    """The rank that an argument stands for; None for a share.

    >>> rank_of_row(row_of_order(100)), rank_of_row(exp.Literal.number("0.5"))
    (100, None)
    """
    found = _RANK.fullmatch(node.name) if isinstance(node, exp.Var) else None
    return None if found is None else int(found[2])


def ranks_in_words(tree: exp.Expr) -> exp.Expr:
    """The tree, changed in place, with values at ranks as an analyst asks for them: by ORDER BY and a number of a row.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("PERCENTILE_DISC(x) WITHIN GROUP (ORDER BY s DESC)", dialect="postgres")
    >>> tree.this.set("this", row_of_order(100))
    >>> ranks_in_words(tree).sql("postgres")
    'row 100 of ORDER BY s DESC'
    """
    for node in list(tree.find_all(exp.WithinGroup)):
        rank = rank_of_row(node.this.this) if isinstance(node.this, exp.PercentileDisc) else None
        order = node.expression
        if rank is not None and isinstance(order, exp.Order) and len(order.expressions) == 1:
            by = order.expressions[0]
            value, desc = (by.this, by.args.get("desc")) if isinstance(by, exp.Ordered) else (by, False)
            told = exp.Var(this=f"{node.this.this.name} of ORDER BY {value.sql('postgres')}{' DESC' if desc else ''}")
            tree = told if node is tree else tree
            node.replace(told)
    return tree
