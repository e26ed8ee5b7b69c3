"""What an expression comes to of people whose randomized columns are known: literals stand for these columns.

Guarantee: what is decided here is what PostgreSQL makes of it. What is not decided stays as it is, and is computed of
every row: then the same people are counted, with wider error bars.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from rewriter.statement import decided, known

_LARGEST = 1 << 31
_PASSES = 8


def of_literals(node: exp.Expr) -> exp.Expr:
    """The expression with all that its literals come to.

    >>> import sqlglot
    >>> texts = ("'yes' LIKE 'y%'", "COALESCE(NULL, 0) = 0 AND x", "2 * 10 + NULL", "LENGTH(UPPER('no') || '!') = x")
    >>> [of_literals(sqlglot.parse_one(text, read="postgres")).sql("postgres") for text in texts]
    ['TRUE', 'x', 'NULL', "LENGTH('NO!') = x"]
    """
    root = exp.Paren(this=node.copy())
    for _ in range(_PASSES):
        before = root.sql()
        root.set("this", decided(root.this))
        for one in [one for one in root.find_all(*_RULES) if not isinstance(one.parent, exp.Query)]:
            found = _RULES[type(one)](one)
            if found is not None:
                one.replace(found)
        if root.sql() == before:
            break
    found_: exp.Expr = root.this
    return found_


def _whole(node: exp.Expr) -> int | None:
    value = known(node)
    number = None if value is None else value[1]
    if not isinstance(number, Fraction) or number.denominator != 1:
        return None
    return int(number) if abs(number) < _LARGEST else None


def _sum(node: exp.Expr) -> exp.Expr | None:
    """Whole numbers that no integer of PostgreSQL is too small for; of NULL, NULL."""
    if ("null", None) in (known(node.this), known(node.expression)):
        return exp.Null()
    left, right = _whole(node.this), _whole(node.expression)
    if left is None or right is None:
        return None
    found = left + right if isinstance(node, exp.Add) else left - right if isinstance(node, exp.Sub) else left * right
    return _number(found) if abs(found) < _LARGEST else None


def _number(value: int) -> exp.Expr:
    literal = exp.Literal.number(abs(value))
    return literal if value >= 0 else exp.paren(exp.Neg(this=literal))


def _text(node: exp.Expr | None) -> str | None:
    value = None if node is None else known(node)
    return str(value[1]) if value is not None and value[0] == "text" else None


def _like(node: exp.Expr) -> exp.Expr | None:
    text, pattern = _text(node.this), _text(node.expression)
    if text is None or pattern is None or "\\" in pattern or isinstance(node.parent, exp.Escape):
        return None
    if isinstance(node, exp.ILike):
        if not (text + pattern).isascii():
            return None
        text, pattern = text.lower(), pattern.lower()
    parts = (".*" if sign == "%" else "." if sign == "_" else re.escape(sign) for sign in pattern)
    return exp.Boolean(this=re.fullmatch("".join(parts), text, re.DOTALL) is not None)


def _coalesce(node: exp.Expr) -> exp.Expr | None:
    every = [node.this, *node.expressions]
    left = [one for one in every if known(one) != ("null", None)]
    if not left:
        return exp.Null()
    if known(left[0]) is not None:
        first: exp.Expr = left[0].copy()
        return first
    return None


def _nullif(node: exp.Expr) -> exp.Expr | None:
    left, right = known(node.this), known(node.expression)
    if left is None or right is None or left[0] != right[0]:
        return None
    value: exp.Expr = exp.Null() if left == right else node.this.copy()
    return value


def _cased(node: exp.Expr) -> exp.Expr | None:
    text = _text(node.this)
    if text is None or not text.isascii():
        return None
    return exp.Literal.string(text.upper() if isinstance(node, exp.Upper) else text.lower())


def _beside(node: exp.Expr) -> exp.Expr | None:
    left, right = _text(node.this), _text(node.expression)
    return None if left is None or right is None else exp.Literal.string(left + right)


def _cast(node: exp.Expr) -> exp.Expr | None:
    """A truth as a number; what is of that type already."""
    value, target = known(node.this), node.args["to"].this
    if value is None or type(node) is not exp.Cast:
        return None
    if value[0] == "truth" and target is exp.DType.INT:
        return _number(int(bool(value[1])))
    if value[0] == "text" and target is exp.DType.TEXT:
        text: exp.Expr = node.this.copy()
        return text
    whole = _whole(node.this)
    return exp.Literal.string(str(whole)) if whole is not None and target is exp.DType.TEXT else None


_RULES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr | None]] = {
    exp.Add: _sum,
    exp.Sub: _sum,
    exp.Mul: _sum,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Upper: _cased,
    exp.Lower: _cased,
    exp.DPipe: _beside,
    exp.Cast: _cast,
}
