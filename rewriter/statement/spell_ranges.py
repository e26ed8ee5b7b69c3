"""Conditions on constant ranges as comparisons: ``ts <@ tsrange('2026-01-01', '2026-02-01')`` is ``ts >= '2026-01-01'
AND ts < '2026-02-01'``.

Guarantee: what comes out has PostgreSQL's value for every row, NULLs included; a range whose lower end is above its
upper one, at which PostgreSQL fails, contains nothing. What is not understood stays as it is, for a refusal.
"""

from __future__ import annotations

import re

from sqlglot import exp

from rewriter.statement.respelling import respelt

_OF = {
    "tsrange": exp.DType.TIMESTAMP,
    "tstzrange": exp.DType.TIMESTAMPTZ,
    "daterange": exp.DType.DATE,
    "int4range": exp.DType.INT,
    "int8range": exp.DType.BIGINT,
    "numrange": exp.DType.DECIMAL,
}
"""What is in the ranges of a type."""
_BOUNDS = ("[)", "[]", "(]", "()")
_TEXT = re.compile(r'\s*([\[(])\s*("?)([^",\s][^",]*?|)\2\s*,\s*("?)([^",\s][^",]*?|)\4\s*([\])])\s*', re.ASCII)


def plain_ranges(tree: exp.Query) -> exp.Query:
    """``tree`` with comparisons in the place of ``x <@ range`` and ``range @> x``.

    >>> import sqlglot
    >>> def plain(text):
    ...     tree = sqlglot.parse_one("SELECT 1 FROM t WHERE " + text, read="postgres")
    ...     return plain_ranges(tree).sql("postgres").partition("WHERE ")[2]
    >>> plain("ts <@ tsrange('2026-01-01', '2026-02-01')")
    "(ts >= CAST('2026-01-01' AS TIMESTAMP) AND ts < CAST('2026-02-01' AS TIMESTAMP))"
    >>> plain("int4range(1, NULL, '(]') @> n AND d <@ '[2026-01-01,2026-02-01]'::daterange")
    "(n > 1) AND (d >= CAST('2026-01-01' AS DATE) AND d <= CAST('2026-02-01' AS DATE))"
    """
    return respelt(tree, lambda node: isinstance(node, exp.ArrayContainedBy | exp.ArrayContainsAll), _plain)


def _plain(node: exp.Expr) -> exp.Expr | None:
    value, held = (
        (node.this, node.expression) if isinstance(node, exp.ArrayContainedBy) else (node.expression, node.this)
    )
    found = _ends(held)
    if found is None or _ends(value) is not None:
        return None
    low, high, bounds = found
    parts: list[exp.Expr] = []
    if low is not None:
        parts.append((exp.GTE if bounds[0] == "[" else exp.GT)(this=value.copy(), expression=low))
    if high is not None:
        parts.append((exp.LTE if bounds[1] == "]" else exp.LT)(this=value.copy(), expression=high))
    return exp.Paren(this=exp.and_(*parts, copy=False)) if parts else None


def _ends(node: exp.Expr) -> tuple[exp.Expr | None, exp.Expr | None, str] | None:
    """The ends of a constant range, None where it has none, and the brackets; None for anything else."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Anonymous) and (kind := _OF.get(node.name.lower())) is not None:
        ends, brackets = node.expressions[:2], node.expressions[2:]
        if len(ends) < 2 or len(brackets) > 1:
            return None
        bounds = brackets[0].name if brackets and isinstance(brackets[0], exp.Literal) else "" if brackets else "[)"
        return (_end(ends[0], kind), _end(ends[1], kind), bounds) if bounds in _BOUNDS else None
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        kind, text = _OF.get(node.to.this.value.lower()), _TEXT.fullmatch(node.this.name)
        if kind is None or text is None:
            return None
        ends = [exp.Literal.string(one) if one else exp.Null() for one in (text[3], text[5])]
        return _end(ends[0], kind), _end(ends[1], kind), text[1] + text[6]
    return None


def _end(node: exp.Expr, kind: exp.DType) -> exp.Expr | None:
    """An end as a value of what is in the range."""
    if isinstance(node, exp.Null):
        return None
    return exp.cast(node.copy(), kind) if isinstance(node, exp.Literal) and node.is_string else node.copy()
