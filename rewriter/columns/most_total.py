"""What one person's values of an expression add up to, in absolute value, by the owner's word about columns.

A column's ``max_total`` bounds the sum of the magnitudes of one person's values. For an expression that is a multiple
of the column, or the column on some rows alone, it is as good a bound. Nothing here is trusted to be true of the data:
a person who has more is scaled down (:mod:`rewriter.bound.ball`). It is known of nothing else, and then the number of
rows times the largest value bounds the sum.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from rewriter.columns.source import BEHIND, Origin, Variable
from rewriter.declared import Missing

_MOST_NODES = 2000


def most_in_total(node: exp.Expr, rows: int = 1) -> Fraction | None:
    """The most that one person's values of an expression add up to; None where it does not follow.

    ``rows`` are those of one person that it is added up over: where they are more than the rows of the table that a
    column is of, a join repeats its values as often.

    >>> most_in_total(exp.Paren(this=exp.Null())), most_in_total(exp.column("x"))
    (Fraction(0, 1), None)
    """
    return _most(node, rows, [_MOST_NODES])


def open_totals(node: exp.Expr) -> frozenset[Missing]:
    """The totals that would bound the sum of an expression, and that the owner leaves to be learned."""
    behind = [BEHIND.of(part) for part in node.walk()]
    found = frozenset(
        Missing(one.table.name, one.column.name, total=True)
        for one in behind
        if isinstance(one, Variable) and one.column.learns_total and one.column.max_total is None
    )
    return found.union(*(open_totals(one.sql) for one in behind if isinstance(one, Origin)))


def _most(node: exp.Expr, rows: int, left: list[int]) -> Fraction | None:
    left[0] -= 1
    if left[0] < 0:
        return None
    behind = BEHIND.of(node)
    if isinstance(behind, Variable):
        total, once = behind.column.max_total, behind.table.max_rows
        return total if total is None or once is None or rows <= once else total * Fraction(rows, once)
    if isinstance(behind, Origin):
        return _most(behind.sql, rows, left)
    if isinstance(node, exp.Paren | exp.Cast | exp.Neg | exp.Abs | exp.Sum):
        return _most(node.this, rows, left)
    if isinstance(node, exp.Null):
        return Fraction(0)
    if isinstance(node, exp.Literal):
        return Fraction(0) if _number(node) == 0 else None
    if isinstance(node, exp.Case):
        branches = [branch.args["true"] for branch in node.args["ifs"]]
        default = node.args.get("default")
        return _largest([*branches, *([] if default is None else [default])], rows, left)
    if isinstance(node, exp.Coalesce):
        return _largest([node.this, *node.expressions], rows, left)
    if isinstance(node, exp.Add | exp.Sub):
        one, other = _most(node.this, rows, left), _most(node.expression, rows, left)
        return None if one is None or other is None else one + other
    return _multiple(node, rows, left)


def _largest(nodes: list[exp.Expr], rows: int, left: list[int]) -> Fraction | None:
    """Each row has the value of one of them, so that all of them together bound the sum."""
    found = [_most(node, rows, left) for node in nodes]
    return None if any(one is None for one in found) else sum((one for one in found if one is not None), Fraction(0))


def _multiple(node: exp.Expr, rows: int, left: list[int]) -> Fraction | None:
    """A product with a number, or a quotient by one."""
    if not isinstance(node, exp.Mul | exp.Div):
        return None
    sides = [(node.this, node.expression), (node.expression, node.this)]
    for value, other in sides[: 1 if isinstance(node, exp.Div) else 2]:
        factor = _number(other)
        if factor:
            inner = _most(value, rows, left)
            return None if inner is None else inner * (abs(factor) if isinstance(node, exp.Mul) else 1 / abs(factor))
    return None


def _number(node: exp.Expr) -> Fraction | None:
    """The number that a literal of our own making stands for."""
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string:
        return Fraction(node.this)
    return None
