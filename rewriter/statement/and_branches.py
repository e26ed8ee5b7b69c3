"""Conditions taken apart at AND, and the items of FROM."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp


def from_items(select: exp.Expr) -> list[exp.Expr]:
    """The tables and subqueries that a SELECT reads."""
    from_ = select.args.get("from_")
    if from_ is None:
        return []
    return [from_.this, *(join.this for join in select.args.get("joins") or ())]


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND joins, parentheses aside, from left to right, without recursion."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, exp.Paren):
            stack.append(current.this)
        elif isinstance(current, exp.And):
            stack += [current.expression, current.this]
        else:
            yield current


def tested_for_null(test: exp.Expr) -> exp.Expr | None:
    """The x of ``x IS NULL``; None for any other condition, ``x IS NOT NULL`` too."""
    test = unparenthesised(test)
    if not isinstance(test, exp.Is) or not isinstance(test.expression, exp.Null) or test.args.get("negate"):
        return None
    return unparenthesised(test.this)


def is_equality(node: exp.Expr) -> bool:
    node = unparenthesised(node)
    return isinstance(node, exp.EQ) and all(
        isinstance(unparenthesised(side), exp.Column) for side in (node.this, node.expression)
    )


def branches(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that OR joins, without recursion into a long left side."""
    stack = [node]
    while stack:
        current = unparenthesised(stack.pop())
        if isinstance(current, exp.Or):
            stack += [current.expression, current.this]
        else:
            yield current


def unparenthesised(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def null_safe(test: exp.Expr) -> exp.Expr | None:
    """The comparison in ``a IS NOT DISTINCT FROM b``, and in ``a = b OR (a IS NULL AND b IS NULL)``."""
    if isinstance(test, exp.NullSafeEQ):
        return test
    if isinstance(test, exp.Not):
        inner = unparenthesised(test.this)
        return inner if isinstance(inner, exp.NullSafeNEQ) else None
    parts = [unparenthesised(part) for part in branches(test)] if isinstance(test, exp.Or) else []
    equal = next((part for part in parts if is_equality(part)), None)
    both = next((part for part in parts if isinstance(part, exp.And)), None)
    if len(parts) != 2 or equal is None or both is None:
        return None
    sides = [unparenthesised(equal.this), unparenthesised(equal.expression)]
    missing = [tested_for_null(part) for part in conjuncts(both)]
    return equal if missing in (sides, sides[::-1]) else None
