"""Conditions over literals, decided: ``'yes' = 'yes' AND age > 40`` is ``age > 40``.

Guarantee: SQL's three-valued logic, on literals alone. What is not decided here stays as it was written, and means the
same.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from rewriter.statement.and_branches import unparenthesised

_SAME = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
_ORDER = (exp.LT, exp.LTE, exp.GT, exp.GTE)

Known = tuple[str, object] | None
"""What a literal is: its kind and its value; None for all that is no literal."""


def decided(node: exp.Expr) -> exp.Expr:
    """The expression with all that literals decide. Works on a copy.

    >>> import sqlglot
    >>> texts = ("'a' = 'a' AND x > 1", "'a' IN ('b', 'c') OR x", "NOT NULL = 'a'", "CASE WHEN 1 = 2 THEN x ELSE 0 END")
    >>> [decided(sqlglot.parse_one(text)).sql() for text in texts]
    ['x > 1', 'x', 'NULL', '0']
    """
    return _decided(node.copy())


def _decided(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Query):
        return node
    for child in list(node.iter_expressions()):
        changed = _decided(child)
        if changed is not child:
            child.replace(changed)
    rule = _RULES.get(type(node))
    found = None if rule is None else rule(node)
    return node if found is None else found


def known(node: exp.Expr) -> Known:
    """What a literal stands for."""
    node = unparenthesised(node)
    if isinstance(node, exp.Null):
        return "null", None
    if isinstance(node, exp.Boolean):
        return "truth", bool(node.this)
    if isinstance(node, exp.Neg):
        inner = known(node.this)
        return None if inner is None or inner[0] != "number" else ("number", -inner[1])  # type: ignore[operator]
    if isinstance(node, exp.Literal):
        return ("text", node.name) if node.is_string else ("number", Fraction(node.name))
    return None


def _truth(value: bool | None) -> exp.Expr:
    return exp.Null() if value is None else exp.Boolean(this=value)


def _same(node: exp.Expr) -> exp.Expr | None:
    left, right = known(node.this), known(node.expression)
    if left is None or right is None:
        return None
    negated = isinstance(node, exp.NEQ | exp.NullSafeNEQ)
    if "null" in (left[0], right[0]):
        if isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ):
            return _truth((left[0] == right[0]) is not negated)
        return _truth(None)
    return _truth((left[1] == right[1]) is not negated) if left[0] == right[0] else None


def _order(node: exp.Expr) -> exp.Expr | None:
    left, right = known(node.this), known(node.expression)
    if left is None or right is None:
        return None
    if "null" in (left[0], right[0]):
        return _truth(None)
    if not left[0] == right[0] == "number":
        return None
    sign = (left[1] > right[1]) - (left[1] < right[1])  # type: ignore[operator]
    return _truth(
        {exp.LT: sign < 0, exp.LTE: sign <= 0, exp.GT: sign > 0, exp.GTE: sign >= 0}[type(node)]  # type: ignore[index]
    )


def _in(node: exp.Expr) -> exp.Expr | None:
    value = known(node.this)
    if value is None or node.args.get("query") is not None or not node.expressions:
        return None
    listed = [known(one) for one in node.expressions]
    if any(one is None or one[0] not in (value[0], "null") for one in listed) and value[0] != "null":
        return None
    if value[0] == "null":
        return _truth(None)
    if value in listed:
        return _truth(True)
    return _truth(None if any(one is not None and one[0] == "null" for one in listed) else False)


def _is(node: exp.Expr) -> exp.Expr | None:
    value, other = known(node.this), known(node.expression)
    if value is None or other is None or other[0] not in ("null", "truth"):
        return None
    return _truth((value == other) is not bool(node.args.get("negate")))


def _not(node: exp.Expr) -> exp.Expr | None:
    value = known(node.this)
    if value is None or value[0] not in ("truth", "null"):
        return None
    return _truth(None if value[0] == "null" else not value[1])


def _and(node: exp.Expr) -> exp.Expr | None:
    return _joined(node, decides=False)


def _or(node: exp.Expr) -> exp.Expr | None:
    return _joined(node, decides=True)


def _joined(node: exp.Expr, *, decides: bool) -> exp.Expr | None:
    sides: tuple[exp.Expr, exp.Expr] = (node.this, node.expression)
    truths = [known(side) for side in sides]
    if any(one == ("truth", decides) for one in truths):
        return _truth(decides)
    for one, other in ((0, 1), (1, 0)):
        if truths[one] == ("truth", not decides):
            left: exp.Expr = sides[other].copy()
            return left
    return _truth(None) if all(one is not None and one[0] == "null" for one in truths) else None


def _paren(node: exp.Expr) -> exp.Expr | None:
    inner: exp.Expr = node.this
    return inner.copy() if known(inner) is not None else None


def _case(node: exp.Expr) -> exp.Expr | None:
    subject = node.args.get("this")
    left: list[exp.Expr] = []
    for branch in node.args.get("ifs") or []:
        test = branch.this if subject is None else _decided(exp.EQ(this=subject.copy(), expression=branch.this.copy()))
        truth = known(test)
        if truth is None:
            left.append(branch)
        elif truth == ("truth", True):
            if not left:
                value: exp.Expr = branch.args["true"].copy()
                return value
            return _rest(node, left, branch.args["true"])
    default = node.args.get("default")
    if not left:
        return exp.Null() if default is None else default.copy()
    return _rest(node, left, default) if len(left) < len(node.args["ifs"]) else None


def _rest(node: exp.Expr, left: list[exp.Expr], default: exp.Expr | None) -> exp.Expr:
    copy: exp.Expr = node.copy()
    copy.set("ifs", [branch.copy() for branch in left])
    copy.set("default", None if default is None else default.copy())
    return copy


_RULES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr | None]] = {
    **dict.fromkeys(_SAME, _same),
    **dict.fromkeys(_ORDER, _order),
    exp.In: _in,
    exp.Is: _is,
    exp.Not: _not,
    exp.And: _and,
    exp.Or: _or,
    exp.Paren: _paren,
    exp.Case: _case,
}
