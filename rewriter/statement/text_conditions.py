"""Texts that stand for conditions, as PostgreSQL reads them: ``WHERE ('true')`` is ``WHERE TRUE``.

Guarantee: a literal is read where a condition is wanted and nothing else, and as PostgreSQL's boolean input reads it;
other texts stay for a refusal.
"""

from __future__ import annotations

from sqlglot import exp

_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})
_WANTED = (exp.Where, exp.Having, exp.And, exp.Or, exp.Not)


def plain_texts(tree: exp.Query) -> exp.Query:
    """``tree`` with such texts as conditions.

    >>> import sqlglot
    >>> plain_texts(sqlglot.parse_one("SELECT 1 FROM t WHERE ('true') AND NOT 'off' AND x = 'true'")).sql()
    "SELECT 1 FROM t WHERE (TRUE) AND NOT FALSE AND x = 'true'"
    """
    if not any(_value(node) is not None for node in tree.find_all(exp.Literal)):
        return tree
    copy: exp.Query = tree.copy()
    for node in list(copy.find_all(exp.Literal)):
        value = _value(node)
        if value is not None:
            node.replace(exp.Boolean(this=value))
    return copy


def _value(node: exp.Literal) -> bool | None:
    """What a literal says as a condition; None where it is none."""
    word = node.name.strip().lower()
    if not node.is_string or word not in _TRUE | _FALSE:
        return None
    inner: exp.Expr = node
    while isinstance(inner.parent, exp.Paren):
        inner = inner.parent
    outer = inner.parent
    is_condition = isinstance(outer, _WANTED) or (isinstance(outer, exp.Join) and inner.arg_key == "on")
    return word in _TRUE if is_condition else None
